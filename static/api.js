// The page's calls to the gateway: each with the key that the address brought, which this tab keeps to itself.

const KEY = "portico.key";

/** The key goes to this tab's storage. It never stands in a query, which proxies and servers write to their logs. */
export const keepKey = (key) => sessionStorage.setItem(KEY, key);

/** These headers, and the key where there is one. */
export function withKey(headers = {}) {
  const key = sessionStorage.getItem(KEY);
  return key ? { ...headers, authorization: `Bearer ${key}` } : headers;
}

export const get = (url) => fetch(url, { headers: withKey() });

/** POSTs JSON; throws with the sentence to show where it is refused. */
export async function post(url, body, headers = {}) {
  const all = withKey({ "content-type": "application/json", ...headers });
  const answer = await fetch(url, { method: "POST", headers: all, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await problemOf(answer));
  return answer.json();
}

/** A refusal as a sentence that says what to do. */
export async function problemOf(answer) {
  const problem = await answer.json().catch(() => ({}));
  if (problem.code === "local_key_required") return "This needs the local key: open the link that the server printed when it started.";
  const words = problem.detail ?? problem.title ?? `The server answered ${answer.status}.`;
  if (answer.status !== 401) return words;
  const key = sessionStorage.getItem(KEY) ? "a key that this server takes, and the one it has is none" : "a key of this server";
  return `This page needs ${key}. Open ${location.origin}/#key=KEY with your key in place of KEY; who runs the server gives you one.`;
}
