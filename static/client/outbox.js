// Messages on their way: in order, one at a time, repeated by the same key until the server has said yes or no.
//
// A message whose record the stream brings before its 202 must not stand in both places, nor in none. The record is known for sure by its
// message_id, which the 202 tells; until then the oldest message that may have arrived and says the same is taken to be it.

import { isPassing, Problem } from "./api.js";
import { backoff, sleeper } from "./host.js";

/** `post(message)` resolves to `{message_id, seq}` or throws `Problem`; `place()` is the newest seq that the stream has passed. */
export function makeOutbox({ host, shelf, post, place, changed }) {
  const { sleep, wake } = sleeper(host);
  let all = shelf.load();
  let shown = [];
  let isOn = false;
  let isBusy = false;

  function set(messages) {
    all = messages;
    const before = shown;
    shown = all.filter((message) => !message.taken).map(outgoing);
    shown = shown.map((one) => before.find((old) => same(old, one)) ?? one);
    changed();
  }

  function change(key, patch) {
    set(all.map((message) => (message.key === key ? { ...message, ...patch } : message)));
    const message = all.find((one) => one.key === key);
    if (message) shelf.put(message);
  }

  function drop(key) {
    shelf.remove(key);
    set(all.filter((message) => message.key !== key));
  }

  async function pump() {
    if (isBusy) return;
    isBusy = true;
    let failures = 0;
    for (let next; isOn && (next = all.find(({ state }) => state === "waiting")); ) {
      const problem = await attempt(next);
      if (!problem) failures = 0;
      else if (isOn) await sleep(backoff(host, failures++, { floor: problem.retry_after_ms }));
    }
    isBusy = false;
  }

  /** Resolves to a problem that may pass. */
  async function attempt({ key, text, mode }) {
    change(key, { state: "sending", tried: true });
    try {
      const { message_id, seq } = await post({ key, text, mode });
      shelf.remove(key);
      // accepted: from here on the ledger keeps it
      set(all.map((message) => (message.key === key ? { ...message, state: "sent", message_id, seq, taken: false } : message)));
      settle();
    } catch (problem) {
      if (isPassing(problem)) {
        change(key, { state: "waiting" });
        return problem;
      }
      change(key, { state: "refused", problem, taken: false });
    }
    return null;
  }

  /** What the stream has passed is in the view, or was. */
  function settle() {
    const left = all.filter(({ seq }) => !(seq <= place()));
    if (left.length < all.length) set(left);
  }

  set(all);
  return {
    get list() {
      return shown;
    },
    settle,
    start() {
      isOn = true;
      pump();
    },
    stop() {
      isOn = false;
      wake();
    },
    wake,
    add(text, mode) {
      const message = { key: newKey(), text, ...(mode && { mode }), state: "waiting", after: place() };
      shelf.put(message);
      set([...all, message]);
      return outgoing(message);
    },
    retry(key) {
      if (all.some((message) => message.key === key && message.state === "refused")) change(key, { state: "waiting", problem: undefined });
    },
    discard(key) {
      if (all.some((message) => message.key === key && (message.state === "refused" || message.state === "waiting"))) drop(key);
    },
    /** The stream brought a person's message. */
    seen({ text, seq }) {
      const mine = all.find((one) => one.tried && !one.message_id && !one.taken && one.state !== "refused" && one.text === text && seq > one.after);
      if (mine) set(all.map((message) => (message === mine ? { ...message, taken: true } : message)));
    },
    /** Messages of another shelf come too, and stay on this one from here on. */
    move(to) {
      for (const { key, state } of all) if (state !== "sent") shelf.remove(key);
      const known = new Set(all.map(({ key }) => key));
      const found = to.load().filter(({ key }) => !known.has(key));
      shelf = to;
      for (const message of all) if (message.state !== "sent") shelf.put(message);
      set([...found, ...all]);
    },
  };
}

const outgoing = ({ key, text, mode, state, message_id, problem }) =>
  Object.freeze({ key, text, ...(mode && { mode }), state, ...(message_id && { message_id }), ...(problem && { problem }) });
const same = (a, b) => a.key === b.key && a.state === b.state && a.message_id === b.message_id && a.problem === b.problem;

export const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/**
 * Where unsent messages outlast the page: a list under one name, shared by all tabs, so each writes only what it changed. A storage that
 * refuses costs that, and nothing else.
 */
export function makeShelf(storage, name) {
  function read() {
    try {
      return JSON.parse(storage.getItem(name)) ?? [];
    } catch {
      return [];
    }
  }
  function write(list) {
    try {
      if (list.length) storage.setItem(name, JSON.stringify(list));
      else storage.removeItem(name);
    } catch {
      // private mode, or full: they are in memory
    }
  }
  const revive = ({ problem, ...message }) => ({
    ...message,
    ...(problem ? { problem: new Problem(problem.message, problem) } : { state: "waiting" }),
  });
  const plain = ({ key, text, mode, state, after, tried, problem }) =>
    ({ key, text, mode, state, after, tried, ...(problem && { problem: { message: problem.message, status: problem.status, code: problem.code } }) });
  return {
    load: () => read().map(revive),
    put(message) {
      const list = read();
      const at = list.findIndex(({ key }) => key === message.key);
      list.splice(at < 0 ? list.length : at, 1, plain(message));
      write(list);
    },
    remove: (key) => write(read().filter((message) => message.key !== key)),
  };
}

/** For sessions that nothing could find again. */
export const noShelf = { load: () => [], put() {}, remove() {} };
