// A network and a clock for the client that tests move by hand: nothing happens but what a test lets happen, and nothing waits.

import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { Portico } from "../../static/client.js";

/** Until all that can happen without time and network has happened. */
export async function settled() {
  for (let i = 0; i < 20; i += 1) await turnOfTheLoop();
}

export class Clock {
  now = 1_000_000;
  #timers = new Map();
  #ids = 0;

  set(act, ms = 0) {
    this.#timers.set((this.#ids += 1), { act, at: this.now + ms });
    return this.#ids;
  }

  clear(id) {
    this.#timers.delete(id);
  }

  /** Lets time pass, each timer at its own time. */
  async pass(ms) {
    await settled();
    const end = this.now + ms;
    for (;;) {
      const [next] = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at);
      if (!next) break;
      this.#timers.delete(next[0]);
      this.now = Math.max(this.now, next[1].at);
      next[1].act();
      await settled();
    }
    this.now = end;
  }

  /** How long until each timer that is set, shortest first. */
  get waits() {
    return [...this.#timers.values()].map(({ at }) => at - this.now).sort((a, b) => a - b);
  }
}

const JSON_HEAD = { "content-type": "application/json" };
export const json = (status, body, headers = {}) => new Response(JSON.stringify(body), { status, headers: { ...JSON_HEAD, ...headers } });
export const problem = (status, code, headers) => json(status, { title: "No", detail: `no: ${code}`, code }, headers);
const frame = (type, data, id) => `event: ${type}\n${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(data)}\n\n`;

/** A stream that a test feeds. */
export function openStream({ signal }) {
  let controller;
  const body = new ReadableStream({ start: (c) => (controller = c) });
  const stream = {
    answer: new Response(body, { headers: { "content-type": "text/event-stream" } }),
    raw: (text) => controller.enqueue(new TextEncoder().encode(text)),
    send: (type, data, id) => stream.raw(frame(type, data, id)),
    record: (seq, type, data) => stream.send(type, { seq, at: "then", type, ...data }, seq),
    hello: (more) => stream.send("hello", { session_id: "s", head: 0, approvals: [], questions: [], client_calls: [], ...more }),
    end: () => controller.close(),
    cut: () => controller.error(new TypeError("cut")),
  };
  signal?.addEventListener("abort", () => {
    stream.isAborted = true;
    try {
      stream.cut();
    } catch {
      // it had ended
    }
  });
  return stream;
}

/**
 * A client whose requests a test answers: `asked` has those without an answer, oldest first, each `{method, path, body, headers}` with
 * `give(response)` and `fail()`.
 */
export function makeClient({ random = () => 0, ...options } = {}) {
  const clock = new Clock();
  const asked = [];
  const nothing = () => {};
  let wake = nothing;
  const host = {
    fetch: (url, { method, headers, body, signal }) =>
      new Promise((resolve, reject) => {
        const { pathname, searchParams } = new URL(url);
        const remove = () => asked.splice(asked.indexOf(request), 1);
        const request = {
          method,
          path: pathname,
          query: Object.fromEntries(searchParams),
          headers,
          body: body && JSON.parse(body),
          give: async (response) => (remove(), resolve(response), settled()),
          fail: async () => (remove(), reject(new TypeError("failed to fetch")), settled()),
          async stream() {
            const stream = openStream({ signal });
            await request.give(stream.answer);
            return stream;
          },
        };
        asked.push(request);
        signal?.addEventListener("abort", () => asked.includes(request) && (remove(), reject(signal.reason)));
      }),
    setTimeout: (act, ms) => clock.set(act, ms),
    clearTimeout: (id) => clock.clear(id),
    now: () => clock.now,
    breathe: async () => {},
    random,
    watch: (act) => {
      wake = act;
      return () => (wake = nothing);
    },
  };
  const client = new Portico({ base: "http://gateway/", host, ...options });
  return { client, clock, asked, isWatching: () => wake !== nothing, wake: async () => (wake(), settled()) };
}

/** What a page's storage is, in memory. */
export function makeStorage() {
  const map = new Map();
  return {
    map,
    getItem: (key) => map.get(key) ?? null,
    setItem: (key, value) => map.set(key, String(value)),
    removeItem: (key) => map.delete(key),
  };
}

/** A page of somebody else: a captive portal's, say. */
export const html = (status = 200) => new Response("<p>Log in</p>", { status, headers: { "content-type": "text/html" } });
export const accepted = (message_id, seq) => json(202, { message_id, session_id: "s", seq, status: "queued" });
export const outbox = (session) => session.outbox.map(({ text, state }) => [text, state]);
export const posts = (asked) => asked.filter(({ method }) => method === "POST");

export function posting(options = {}, clientOptions = {}) {
  const all = makeClient(clientOptions);
  const session = all.client.session({ id: "s", ...options });
  return { ...all, session };
}

/** A session that reads, at its first connection. */
export async function reading(options = {}) {
  const all = makeClient(options);
  const session = all.client.session({ id: "s" });
  session.open();
  await settled();
  await all.asked[0].give(json(200, { id: "s", head: 2 }));
  return { ...all, session };
}

/** Also reads: resolves with the stream once it is open, at `head`. */
export async function conversing(options = {}, head = 1) {
  const all = posting(options);
  all.session.open();
  await settled();
  const get = () => all.asked.find(({ method }) => method === "GET");
  await get().give(json(200, { id: "s", head, channel: "web" }));
  const stream = await get().stream();
  stream.hello({ head });
  stream.record(1, "session_created", { channel: "web" });
  await settled();
  return { ...all, stream };
}
