// What the client stands on: the network, the clock, chance, and what a page tells of itself. Tests bring their own.

export const browser = {
  fetch: (...args) => fetch(...args),
  setTimeout: (...args) => setTimeout(...args),
  clearTimeout: (timer) => clearTimeout(timer),
  now: () => Date.now(),
  random: () => Math.random(),
  /** Calls `wake` when the network is back and when the page is looked at again; gives what ends that. */
  watch(wake) {
    if (!globalThis.addEventListener) return () => {};
    const visible = () => globalThis.document?.visibilityState === "visible" && wake();
    addEventListener("online", wake);
    addEventListener("visibilitychange", visible);
    return () => {
      removeEventListener("online", wake);
      removeEventListener("visibilitychange", visible);
    };
  },
};

/** The most that a wait grows to, in ms, beside what the server asks for. */
const MOST_MS = 30_000;

/** How long to wait after `failures` in a row: what the server asks for, and a random part of a time that doubles. */
export const backoff = (host, failures, { base = 1000, floor = 0 } = {}) =>
  floor + host.random() * Math.min(MOST_MS, base * 2 ** Math.min(failures, 16));

/** Waits that can be cut short. */
export function sleeper(host) {
  let awake = () => {};
  return {
    wake: () => awake(),
    sleep: (ms) =>
      new Promise((resolve) => {
        const timer = host.setTimeout(resolve, ms);
        awake = () => {
          host.clearTimeout(timer);
          resolve();
        };
      }),
  };
}
