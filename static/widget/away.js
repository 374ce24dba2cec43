// A page that is hidden or kept for Back leaves its connection to others: a browser has six of them to an origin over HTTP/1.

/** How long a page is hidden before it does, in ms. */
const HIDDEN_MS = 20_000;

/** `isBusy()`: there is something on its way that one may be waiting for in another tab; `leave()` and `back()` do it. */
export function away({ isBusy, leave, back }, signal) {
  let isAway = false;
  let timer;

  function wait(is) {
    if (is) timer ??= setTimeout(go, HIDDEN_MS);
    else timer = clearTimeout(timer);
  }
  function go() {
    wait(false);
    isAway = true;
    leave();
  }
  function come() {
    if (!isAway) return;
    isAway = false;
    back();
  }
  const isHidden = () => document.visibilityState === "hidden";
  /** To be called where what `isBusy` says may have changed. */
  const check = () => wait(isHidden() && !isAway && !isBusy());

  document.addEventListener("visibilitychange", () => (isHidden() || come(), check()), { signal });
  addEventListener("pagehide", go, { signal });
  addEventListener("pageshow", ({ persisted }) => persisted && (come(), check()), { signal });
  signal.addEventListener("abort", () => wait(false));
  return {
    check,
    get is() {
      return isAway;
    },
  };
}
