// Requests: where they go, with which credential, and what a refusal is. And what all of the client stands on.

/** How long it may take to accept something, or to say a credential, in ms: after that the answer is a lost one. */
const ACCEPT_MS = 30_000;

/** The network, the clock, chance, and what a page tells of itself. */
export const browser = {
  fetch: (...args) => fetch(...args),
  setTimeout: (...args) => setTimeout(...args),
  clearTimeout: (timer) => clearTimeout(timer),
  now: () => Date.now(),
  random: () => Math.random(),
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

const unreachable = (cause) => new Problem("The server cannot be reached.", { cause });

/** Sends requests to the gateway at `base`: resolves to a 2xx answer, else throws `Problem`. */
export function sender({ base, credential, host }) {
  async function once(method, path, { body, headers, signal }, refused) {
    const token = credential && (await tokenOf(credential, { refused, signal, host }));
    return host.fetch(new URL(path.replace(/^\//, ""), base), {
      method,
      headers: { ...headers, ...(body && { "content-type": "application/json" }), ...(token && { authorization: `Bearer ${token}` }) },
      body: body && JSON.stringify(body),
      cache: "no-store",
      signal,
    });
  }
  return async (method, path, options = {}) => {
    let answer;
    try {
      answer = await once(method, path, options, false);
      if (answer.status === 401 && credential) answer = await once(method, path, options, true);
    } catch (error) {
      throw error instanceof Problem ? error : unreachable(error);
    }
    if (answer.ok) return answer;
    const { detail, title, code = "unknown" } = (await answer.json().catch(() => null)) ?? {};
    const { status, headers } = answer;
    const wait = headers.get("retry-after");
    // seconds or a date
    const retry_after_ms = Number(wait) * 1000 || Math.max(0, Date.parse(wait) - host.now());
    throw new Problem(detail ?? title ?? `The server answered ${status}.`, { status, code, ...(retry_after_ms && { retry_after_ms }) });
  };
}

/** What a page's own callback says; one that throws or says nothing is a problem that may pass. */
async function tokenOf(credential, { refused, signal, host }) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = host.setTimeout(() => reject(new Error(`It took longer than ${ACCEPT_MS / 1000} s.`)), ACCEPT_MS);
    signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
  try {
    return await Promise.race([(async () => credential({ refused }))(), late]);
  } catch (cause) {
    throw new Problem("This page could not sign in: its credential failed.", { code: "credential", cause });
  } finally {
    host.clearTimeout(timer);
  }
}

/** The text of an answer and its JSON, null where it has none. One that lacks the `expected` member is no answer of the gateway. */
export async function read(answer, expected) {
  const text = await answer.text().catch((error) => Promise.reject(unreachable(error)));
  try {
    const json = text ? JSON.parse(text) : null;
    if (!expected || expected in json) return { text, json };
  } catch {
    // as below
  }
  throw new Problem("What answered is not the gateway.", { status: answer.status, code: "unreadable" });
}

/** POSTs what only has to be accepted, any number of times by the same key. */
export async function postOnce({ send, host }, path, body, key, expected) {
  const cut = new AbortController();
  const timer = host.setTimeout(() => cut.abort(), ACCEPT_MS);
  try {
    return (await read(await send("POST", path, { body, headers: { "idempotency-key": key }, signal: cut.signal }), expected)).json;
  } finally {
    host.clearTimeout(timer);
  }
}
