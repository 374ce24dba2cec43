// Messages on their way: in order, one at a time, repeated by the same key until the server has said yes or no.
//
// A message whose record comes before its 202 must not stand in the view and here, nor in neither. Its message_id tells which record it is,
// but only the 202 tells the message_id: until then the oldest message that may have arrived and says the same is taken to be the one.

import { closed, isPassing, own, Problem } from "./api.js";
import { sleeper } from "./stream.js";

/**
 * `ready()` resolves once there is a session, and `post(message)` to `{message_id, seq}`, or they throw `Problem`; `place()` is the seq that
 * the stream has passed, `known()` the newest that is known to be there; `changed()` is called after each change of `list`. Messages of `shelf`
 * are there from the beginning.
 */
export function makeOutbox({ host, shelf, ready, post, place, known, changed }) {
  const { sleep, wake } = sleeper(host);
  let all = shelf.load();
  let shown = all;
  let isOn = false;
  let isBusy = false;

  const find = (key, ...states) => all.find((message) => message.key === key && states.includes(message.state));

  function keep(messages) {
    all = messages;
    shown = all.filter(({ isTaken }) => !isTaken);
    changed();
  }

  /** Puts it where the one with its key is, or last. */
  function set(message) {
    // what is accepted the ledger keeps
    if (message.state === "sent") shelf.remove(message.key);
    else if (!isGone(message)) shelf.put(message);
    keep(placed(all, message.key, Object.freeze(own(message))));
  }

  function drop({ key }) {
    shelf.remove(key);
    keep(placed(all, key));
  }

  /** Whether another tab has posted or dropped what this one only found. */
  const isGone = (message) => !message || (message.isFound && !shelf.has(message.key));

  async function pump() {
    if (isBusy) return;
    isBusy = true;
    let failures = 0;
    for (let next; isOn && (next = all.find(({ state }) => state === "waiting"));) {
      const problem = await attempt(next);
      failures = problem ? failures + 1 : 0;
      if (problem && isOn) await sleep(failures, problem.retry_after_ms);
    }
    isBusy = false;
  }

  /** Resolves to a problem that may pass. */
  async function attempt({ problem: _, ...next }) {
    const { key, isTried, after = isTried ? undefined : known() } = own(next);
    set({ ...next, state: "sending", isTried: true, after });
    const answer = await ready()
      .then(() => {
        if (!isOn) throw closed();
        return isGone(find(key, "sending")) ? null : post(own(next));
      })
      .catch((problem) => ({ problem }));
    const message = find(key, "sending");
    if (!answer) {
      if (message) drop(message);
    } else if (!answer.problem) {
      set({ ...message, state: "sent", ...answer, isTaken: false });
      settle();
    } else if (isPassing(answer.problem)) {
      // cut short by `stop`: it may have arrived, which its key makes harmless, and is no failure to wait after
      const isCut = answer.problem.code === "closed";
      set({ ...message, state: "waiting", ...(!isCut && { problem: answer.problem }) });
      return isCut ? null : answer.problem;
    } else set({ ...message, state: "refused", problem: answer.problem, isTaken: false });
    return null;
  }

  /** What the stream has passed is in the view, or was. */
  function settle() {
    for (const message of all) if (message.seq <= place()) drop(message);
  }

  return {
    get list() {
      return shown;
    },
    settle,
    wake,
    start() {
      isOn = true;
      pump();
    },
    stop() {
      isOn = false;
      wake();
    },
    add(text, mode) {
      const key = newKey();
      set({ key, text, ...(mode && { mode }), state: "waiting" });
      return find(key, "waiting");
    },
    retry(key) {
      const { problem, isFound: _, ...message } = find(key, "refused") ?? own();
      if (problem) set({ ...message, state: "waiting" });
    },
    discard(key) {
      const message = find(key, "waiting", "refused");
      if (message) drop(message);
    },
    /** The stream brought this message of a person. */
    seen({ message_id, text, seq }, replayTo) {
      if (all.some((one) => one.message_id === message_id)) return;
      const mine = all.find(
        (one) => one.isTried && !one.isTaken && /waiting|sending/.test(one.state) && one.text === text && seq > (one.after ?? replayTo),
      );
      if (mine) set({ ...mine, isTaken: true });
    },
    /** From here on they are kept on this shelf, behind those that are there already. */
    move(to) {
      const mine = all.filter((message) => !isGone(message));
      for (const { key } of mine) shelf.remove(key);
      shelf = to;
      keep(mine.reduce((list, message) => placed(list, message.key, message), shelf.load()));
      for (const message of mine) if (message.state !== "sent") shelf.put(message);
    },
  };
}

/** The list with `messages` in place of the one of that key, or behind all. */
function placed(list, key, ...messages) {
  const at = list.findIndex((one) => one.key === key);
  return at < 0 ? [...list, ...messages] : [...list.slice(0, at), ...messages, ...list.slice(at + 1)];
}

export const newKey = () => Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");

/**
 * Where unsent messages outlast the page: a list under one name that all tabs share, so each writes only what it changed itself. A storage
 * that fails costs that, and nothing else.
 */
export function makeShelf(storage, name) {
  const attempt = (act) => {
    try {
      return act();
    } catch {
      return null;
    }
  };
  const read = () => attempt(() => JSON.parse(storage.getItem(name) ?? "[]").map(own).filter(isMessage));
  const write = (list) => attempt(() => (list.length ? storage.setItem(name, JSON.stringify(list)) : storage.removeItem(name)));
  return {
    load: () =>
      // a key is there once
      [...new Map(read()?.map((message) => [message.key, kept(message)])).values()],
    put: ({ problem, ...message }) =>
      
      write(placed(read() ?? [], message.key, { ...message, ...(problem && { why: { ...problem, message: problem.message } }) })),
    remove: (key) => write(placed(read() ?? [], key)),
    /** A storage that fails has all. */
    has: (key) => read()?.some((message) => message.key === key) ?? true,
  };
}

/** What is kept may be anybody's: a key that no header takes would be tried for ever. */
const isMessage = ({ key, text }) => typeof key === "string" && /^[!-~]{1,255}$/.test(key) && typeof text === "string";

function kept({ key, text, mode, state, isTried, after, why }) {
  const { message, status = 0, code = "unknown" } = own(why);
  const problem = message && new Problem(message, { status, code });
  return Object.freeze(
    own({
      ...{ key, text, isTried, after, isFound: true, state: problem && state === "refused" ? state : "waiting" },
      ...(/^(followup|steer)$/.test(mode) && { mode }),
      ...(problem && { problem }),
    }),
  );
}
