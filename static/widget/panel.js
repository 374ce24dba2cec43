// What a person sees: heading, conversation, composer, and in launcher mode the button that opens them.

import { announcer } from "./announce.js";
import { composer } from "./composer.js";
import { button, element } from "./dom.js";
import { ICONS, iconButton } from "./icons.js";
import { last } from "./last.js";
import { launcher } from "./launcher.js";
import { conversation } from "./list.js";
import { libraries } from "./markdown.js";
import { keepEnd } from "./scroll.js";

let panels = 0;

/**
 * `send`, `stop`, `renew` and `again` are what a person asks for; `attempt(what)` also tells the page what it failed at; `looked()` hears that
 * the panel came into sight or went.
 */
export function openPanel({ host, given, t, memory, signal, send, stop, renew, again, attempt, looked }) {
  const isLauncher = host.mode === "launcher";
  const root = host.shadowRoot;
  let session;
  /** What rows can do. */
  const actions = {
    retry: (key) => session.retry(key),
    discard: (key) => session.discard(key),
    takeBack(key) {
      write.giveBack(session.outbox.find((one) => one.key === key)?.text);
      session.discard(key);
      focus();
    },
    decide: (id, decision) => attempt(() => session.decide(id, decision)),
    answer: (id, answers) => attempt(() => session.answer(id, answers)),
    artifact: (id) => attempt(() => artifact(id)),
    leave: () => focus(),
  };

  const heading = element("h2", "heading");
  heading.id = `heading-${(panels += 1)}`;
  const state = element("p", "state");
  const head = element("header", "head", heading, state, iconButton(t("newConversation"), ICONS.anew, "icon anew", renew));
  head.part = "header";

  const earlier = button(t("earlier"), "link earlier", () => loadEarlier());
  const greeting = element("p", "greeting");
  const chips = element("div", "chips");
  Object.assign(chips, { role: "group", ariaLabel: t("suggestions") });
  const empty = element("div", "empty", greeting, chips);
  const list = conversation(t, actions, () => draw());
  const typing = element("p", "typing");
  const content = element("div", "content", earlier, empty, list.element, typing);
  const log = element("div", "log", content);
  Object.assign(log, { role: "log", ariaLive: "off", ariaLabel: t("conversation"), tabIndex: 0, part: "log" });
  const newest = iconButton(t("newest"), ICONS.down, "newest", () => (scroll.toEnd(), focus()));
  const newer = element("span", "count");
  newest.append(newer);

  const alert = element("p", "alert");
  alert.role = "alert";
  /** In place of the composer where there is nothing to write to. */
  const on = button("", "over", () => (mayPass(session.connection) ? again() : renew()));
  const write = composer(t, {
    draft: memory.draft,
    keep: (text) => (memory.draft = text),
    send: (text) => (send(text), scroll.toEnd()),
    stop: () => (stop(), write.focus()),
    problem,
    placeholder: () => host.placeholder,
  });
  const panel = element("section", "panel", head, element("div", "middle", log, newest), element("div", "foot", alert, on, write.element));
  panel.part = "panel";
  panel.setAttribute("aria-labelledby", heading.id);
  const status = announcer(t);
  const frame = isLauncher && launcher(t, { host, panel, head, signal, focus });
  const all = element("div", "frame", ...(frame ? [frame.button] : []), panel, status.region);
  all.lang = t.lang;
  root.replaceChildren(all);
  const scroll = keepEnd(log, content, list.element, () => (draw(), watch()));
  const sized = new ResizeObserver(looked);
  sized.observe(panel);

  let mark = 0;
  let hasLibraries = false;
  let isLoading = false;
  const near = { root: log, rootMargin: "400px 0px 0px" };
  const sight = new IntersectionObserver(([{ isIntersecting }]) => isIntersecting && !scroll.following && loadEarlier(), near);

  const isShown = () => !isLauncher || host.open;
  /** Also where the page hides what is around it: a dialog that is closed, a tab that is not chosen. */
  const isSeen = () => isShown() && document.visibilityState === "visible" && (panel.checkVisibility?.() ?? true);
  const isTold = last((items) => items.some(({ state: is }) => is === "pending" || is === "running"));
  const countBelow = last((items, after) => items.filter(({ kind, seq }) => kind === "message" && seq > after).length);

  function draw() {
    if (!isShown()) return status.connection(session.connection.state);
    const { view, connection, outbox } = session;
    const focused = root.activeElement;
    list.draw(session);
    const isEmpty = view.items.length + outbox.length === 0 && !view.live;
    empty.hidden = !isEmpty || connection.state === "connecting" || (connection.state === "open" && view.head === 0) || isOver();
    earlier.hidden = !session.hasEarlier || !list.whole;
    doing();
    place();
    // what was said of the cut is over with it
    if (connection.state === "open" && state.dataset.state !== "open") problem("");
    state.textContent = stateOf(connection);
    state.dataset.state = connection.state;
    write.running(view.turn !== null);
    write.element.hidden = isOver();
    on.hidden = !isOver() || isAstray(connection);
    if (isOver()) {
      problem(over(connection));
      on.textContent = t(mayPass(connection) ? "tryAgain" : "newConversation");
    }
    status.connection(connection.state);
    // what had the focus went away or folded
    if (focused && !root.activeElement) focus();
  }

  /** What the agent does while no text of it can be seen. */
  function doing() {
    const { view } = session;
    typing.hidden = view.turn === null || Boolean(view.live?.text) || isTold(view.items);
    typing.textContent = t.of("mode", view.mode ?? "requesting");
  }

  /** How much has come below what is seen. */
  function place() {
    const { view } = session;
    if (scroll.following) mark = view.head;
    const count = scroll.following ? 0 : countBelow(view.items, mark);
    newest.hidden = scroll.following;
    newer.textContent = count ? t.number(count) : "";
    newest.ariaLabel = count ? `${t("newest")} (${t.number(count)})` : t("newest");
  }

  const isOver = () => session.connection.state === "closed";
  /** With another credential it may be answered otherwise. */
  const mayPass = ({ reason, problem: why }) => reason === "refused" && why?.status !== 404;

  /** No request can be made, whoever asks. */
  const isAstray = ({ problem: why }) => why?.code === "invalid_base";

  /** Only what is not fine is worth words. */
  function stateOf({ state: is }) {
    if (is === "closed") return t("closed");
    if (!navigator.onLine) return t("offline");
    return is === "waiting" ? t("reconnecting") : is === "connecting" ? t("connecting") : "";
  }

  function over({ reason, problem: why }) {
    if (isAstray({ problem: why })) return t.problem(why);
    if (reason !== "refused") return t.of("closed", reason);
    if (why?.status === 404) return t("closedMissing");
    return why?.status === 401 ? t("problemUnauthorized") : t("closedRefused");
  }

  function problem(text) {
    if (alert.textContent !== text) alert.textContent = text;
  }

  async function loadEarlier() {
    if (isLoading) return;
    isLoading = true;
    try {
      await attempt(() => session.earlier());
      // the session tells of it in a task of its own; only what is drawn says whether the person is still near the top
      await new Promise((resolve) => setTimeout(resolve));
      watch();
    } catch (error) {
      problem(t.problem(error));
    }
    isLoading = false;
  }

  /** Looks, once and then at each change, whether the person is near the top: they went there, for a short list is there by itself. */
  function watch() {
    sight.unobserve(earlier);
    sight.observe(earlier);
  }

  /** Opens a kept result as text in a tab of its own: a plain link could not show the credential. */
  async function artifact(id) {
    const url = URL.createObjectURL(new Blob([await session.artifact(id)], { type: "text/plain; charset=utf-8" }));
    open(url, "_blank", "noopener");
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  }

  function look() {
    heading.textContent = host.heading || t("heading");
    greeting.textContent = host.greeting || t("greeting");
    chips.hidden = given.suggestions.length === 0;
    chips.replaceChildren(...given.suggestions.map((text) => button(text, "chip", () => (send(text), focus()))));
    write.look();
  }

  /** Where one writes; on a touch screen, where that raises a keyboard, only where it is asked for. */
  function focus() {
    if (isOver()) on.focus();
    else if (matchMedia("(pointer: coarse)").matches && root.activeElement !== write.field) log.focus({ preventScroll: true });
    else write.focus();
  }

  /** The libraries are loaded once something is seen without them. */
  function seen() {
    if (hasLibraries || !isShown()) return;
    hasLibraries = true;
    requestAnimationFrame(() => setTimeout(libraries));
  }

  for (const name of ["online", "offline"]) addEventListener(name, draw, { signal });
  look();
  seen();
  return {
    /** Another session. */
    show(made) {
      session = made;
      list.clear();
      problem("");
      scroll.toEnd();
    },
    draw,
    look,
    problem,
    isShown,
    isSeen,
    focus,
    heard: status.heard,
    giveBack: write.giveBack,
    unread: (count) => frame && frame.unread(count),
    toggled() {
      frame && frame.toggled();
      seen();
      draw();
      write.grow();
      scroll.toEnd();
    },
    end() {
      sight.disconnect();
      sized.disconnect();
      scroll.end();
      status.end();
      list.clear();
      root.replaceChildren();
    },
  };
}
