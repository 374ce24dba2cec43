// Requests: where they go, with which credential, and what a refusal is. And what all of the client stands on.

/** How long an answer may take to begin, and to bring its next bytes, and a credential, in ms: after that it is a lost one. */
const ANSWER_MS = 30_000;

/** The network, the clock, chance, and what a page tells of itself. */
export const browser = {
  fetch: (...args) => fetch(...args),
  setTimeout: (...args) => setTimeout(...args),
  clearTimeout: (timer) => clearTimeout(timer),
  now: () => Date.now(),
  random: () => Math.random(),
  breathe: () => new Promise((resolve) => setTimeout(resolve)),
  watch(wake) {
    const looked = () => document.visibilityState === "visible" && wake();
    globalThis.addEventListener?.("online", wake);
    globalThis.addEventListener?.("visibilitychange", looked);
    return () => {
      globalThis.removeEventListener?.("online", wake);
      globalThis.removeEventListener?.("visibilitychange", looked);
    };
  },
};

export class Problem extends Error {
  name = "Problem";
  status = 0;
  code = "unreachable";

  constructor(message, fields) {
    super(message);
    Object.assign(this, fields);
  }
}

/** Whether the same request may be answered otherwise later. A success that cannot be read came from something in between. */
export const isPassing = ({ status }) => status < 400 || status === 408 || status === 429 || status >= 500;

/** Without what others have put into `Object.prototype`. */
export const own = (options) => ({ __proto__: null, ...options });

/** Of a session, an approval, an artifact: what cannot leave its place in a path. */
export const isId = (id) => typeof id === "string" && /^[\w-]+$/.test(id);

/** What the server would say had it been asked. */
export const notFound = () => new Problem("There is no such address.", { status: 404, code: "not_found" });

export const closed = () => new Problem("The conversation was closed.", { code: "closed" });

const problemOf = (error) => (error instanceof Problem ? error : new Problem("The server cannot be reached.", { cause: error }));

export const unreadable = ({ status }, what = "") =>
  new Problem(`What answered is not the gateway${what}.`, { status, code: "unreadable" });

/** Sends requests to the gateway at `base`: resolves to a 2xx answer, else throws `Problem`. */
export function sender({ base, credential, host }) {
  async function once(method, path, { body, headers, signal }, refused) {
    const url = new URL(path.replace(/^\//, ""), base);
    if (url.origin !== base.origin || !url.pathname.startsWith(base.pathname)) throw notFound();
    signal?.throwIfAborted();
    const token = credential && (await tokenOf(credential, { refused, signal, host }));
    signal?.throwIfAborted();
    const head = { ...headers, ...(body && { "content-type": "application/json" }), ...(token && { authorization: `Bearer ${token}` }) };
    // `manual` follows none, as `error` does, and can be told from a network that fails
    const init = { method, headers: head, body: body && JSON.stringify(body), cache: "no-store", redirect: "manual", signal };
    return host.fetch(url, own(init));
  }
  return async (method, path, options) => {
    const given = own(options);
    let answer;
    try {
      answer = await once(method, path, given, false);
      if (answer.status === 401 && credential) answer = await once(method, path, given, true);
    } catch (error) {
      throw problemOf(error);
    }
    if (answer.ok) return answer;
    const { status, headers } = answer;
    // a browser says 0
    if (status < 400) throw unreadable(answer, " but a redirect, which is not followed");
    const { detail, title, code = "unknown" } = own(await answer.json().catch(() => null));
    const wait = headers.get("retry-after");
    // seconds or a date
    const retry_after_ms = Number(wait) * 1000 || Math.max(0, Date.parse(wait) - host.now());
    throw new Problem(detail ?? title ?? `The server answered ${status}.`, { status, code, ...(retry_after_ms && { retry_after_ms }) });
  };
}

/** What a page's own callback says; one that throws or says nothing is a problem that may pass. */
const tokenOf = (credential, { refused, signal, host }) =>
  within(host, signal, async () => credential({ refused })).catch((cause) => {
    throw new Problem("This page could not sign in: its credential failed.", { code: "credential", cause });
  });

/** What `take(answer, wait)` makes of an answer. */
export const ask = ({ send, host }, method, path, { signal, expected, take = read, ...options }) =>
  within(host, signal, async (cut, wait) => take(await send(method, path, { ...options, signal: cut }), wait, expected)).catch((error) => {
    throw problemOf(error);
  });

/** What `run(signal, wait)` comes to in `ANSWER_MS`, which `wait()` begins anew. Ends with `signal`, whatever it waits for. */
const within = (host, signal, run) =>
  new Promise((resolve, reject) => {
    const cut = new AbortController();
    let timer;
    const end = (settle) => (value) => {
      host.clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
      cut.abort(value);
      settle(value);
    };
    const fail = end(reject);
    const stop = () => fail(signal.reason);
    const wait = () => {
      host.clearTimeout(timer);
      if (!cut.signal.aborted) timer = host.setTimeout(() => fail(new Error("It took too long.")), ANSWER_MS);
    };
    if (signal?.aborted) return stop();
    signal?.addEventListener("abort", stop);
    run(cut.signal, wait).then(end(resolve), fail);
    wait();
  });

/** The text of an answer and its JSON, null where it has none. One that lacks the `expected` member is no answer of the gateway. */
async function read(answer, wait, expected) {
  const text = await (await whole(answer, wait)).text();
  try {
    const json = text ? JSON.parse(text) : null;
    if (!expected || Object.hasOwn(json, expected)) return { text, json };
  } catch {
    // as below
  }
  throw unreadable(answer);
}

export async function whole({ body, headers }, wait) {
  const parts = [];
  const reader = body?.getReader();
  for (let part; reader && !(part = await reader.read()).done; wait()) parts.push(part.value);
  return new Blob(parts, { type: headers.get("content-type") ?? "" });
}
