// Calls of the gateway: where they go, with which credential, and what a refusal is.

/** How long a call that only has to be accepted may take, in ms: then it is a lost one. */
const ACCEPT_MS = 30_000;

export class Problem extends Error {
  constructor(message, { status = 0, code = "unreachable", retry_after_ms } = {}) {
    super(message);
    this.name = "Problem";
    this.status = status;
    this.code = code;
    if (retry_after_ms !== undefined) this.retry_after_ms = retry_after_ms;
  }
}

/** Whether the same call may be answered otherwise later. An answer that is none came from something in between. */
export const isPassing = ({ status }) => status < 400 || status === 408 || status === 429 || status >= 500;

/** What `credential` and `base` make of `fetch`: resolves to a 2xx answer, throws `Problem` for every other outcome but the caller's own abort. */
export function caller({ base, credential, host }) {
  async function once(method, path, { body, headers, signal }, refused) {
    const token = await credential?.({ refused });
    const sent = { ...headers, ...(body !== undefined && { "content-type": "application/json" }), ...(token && { authorization: `Bearer ${token}` }) };
    return host.fetch(new URL(path.replace(/^\//, ""), base), { method, headers: sent, signal, cache: "no-store", body: body && JSON.stringify(body) });
  }

  return async function call(method, path, options = {}) {
    let answer;
    try {
      answer = await once(method, path, options, false);
      if (answer.status === 401 && credential) answer = await once(method, path, options, true);
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new Problem("The server cannot be reached.");
    }
    if (answer.ok) return answer;
    throw await problemOf(answer, host.now());
  };
}

async function problemOf(answer, now) {
  const { detail, title, code = "unknown" } = (await answer.json().catch(() => null)) ?? {};
  const retry_after_ms = retryAfter(answer.headers.get("retry-after"), now);
  return new Problem(detail ?? title ?? `The server answered ${answer.status}.`, { status: answer.status, code, retry_after_ms });
}

/** Seconds or a date. */
function retryAfter(text, now) {
  if (!text) return undefined;
  const ms = /^\d+$/.test(text) ? text * 1000 : Date.parse(text) - now;
  return ms >= 0 ? ms : undefined;
}

/** The JSON of an answer, null where it has none. */
export async function jsonOf(answer) {
  const text = await answer.text().catch(() => {
    throw new Problem("The server cannot be reached.");
  });
  try {
    return text ? JSON.parse(text) : null;
  } catch {
    throw new Problem("What answered is not the gateway.", { status: answer.status, code: "unreadable" });
  }
}

/** POSTs what only has to be accepted, and gives up on an answer that does not come. */
export async function post(call, host, path, body, key) {
  const cut = new AbortController();
  const timer = host.setTimeout(() => cut.abort(), ACCEPT_MS);
  try {
    return await jsonOf(await call("POST", path, { body, headers: { "idempotency-key": key }, signal: cut.signal }));
  } catch (error) {
    throw error instanceof Problem ? error : new Problem("The server cannot be reached.");
  } finally {
    host.clearTimeout(timer);
  }
}
