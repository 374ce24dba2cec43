// One life of the element on a page: which session it shows, what it remembers of it, and what it tells the page.
//
// The session (client.js) knows what was said; the panel shows it. Here is what lies between them and the page: storage, other tabs, a page
// that is hidden or kept for Back, what is unread, and the element's events.

import { Portico } from "../client.js";
import { remember } from "./memory.js";
import { openPanel } from "./panel.js";
import { words } from "./strings.js";

/** A page that is hidden longer leaves its connection to others: a browser has six of them to an origin over HTTP/1. */
const HIDDEN_MS = 20_000;

/** `given` has what the page set as properties; `home` is the gateway where the page names none. */
export function startChat(host, given, home) {
  const life = new AbortController();
  const { signal } = life;
  const t = words(languageOf(host), given.strings);
  const base = new URL(host.base || home, document.baseURI);
  const client = new Portico({ base, credential: (ask) => given.credential?.(ask) });
  const place = take([base.href, host.storageKey || location.pathname, host.visitor, host.agent]);
  const memory = remember(place, host.session, { follow, saw: () => count() }, signal);
  const emit = (name, detail) => host.dispatchEvent(new CustomEvent(`portico-${name}`, { detail, bubbles: true, composed: true }));
  const panel = openPanel({ host, given, t, memory, signal, send, stop, renew, again, attempt });
  let session;
  let told = {};
  let hiding;

  /** Shows the session that is remembered or named, or none yet; `unsent` was meant for one that is gone. */
  function begin(unsent = []) {
    session?.close();
    // as soon as there is something to write in, so that tabs that begin at once begin the same
    if (panel.isShown() && !host.session) memory.claim();
    const id = host.session || memory.id;
    const { key } = memory;
    const create = { channel: "web", ...(host.agent && { agent: host.agent }), key };
    const options = { id, create, view: host.view, storage: memory.local };
    const history = Number.parseInt(host.history, 10);
    const made = client.session(history >= 0 ? { ...options, history } : options);
    session = made;
    told = { key, isOld: Boolean(id), unread: -1, stops: new Map() };
    made.subscribe(() => made === session && changed(key));
    made.onEvent((event) => made === session && heard(event));
    panel.show(made);
    made.open();
    for (const { text, mode } of unsent) made.send(text, { mode });
    changed(key);
    if (!session.id) emit("session", { id: null });
  }

  /** Another tab has begun a conversation. What is on its way here comes to the session of its key by itself. */
  function follow() {
    const isOther = memory.key !== told.key || (memory.id && memory.id !== session.id);
    if (!host.session && isOther && session.outbox.length === 0) begin();
  }

  function changed(key) {
    const { id, connection, outbox, view } = session;
    if (id && id !== told.id) {
      told.id = id;
      if (!host.session) memory.made(id, key);
      emit("session", { id });
    }
    if (connection.state === "closed" && connection !== told.closed) {
      told.closed = connection;
      // what was remembered is gone, and nothing of it is on the screen: nobody needs to hear of it. One that is gone as soon as it is
      // made would be so again and again
      if (told.isOld && isGone(connection) && !host.session && view.items.length === 0) {
        memory.renew(id);
        for (const { key: one } of outbox) session.discard(one);
        return begin(outbox);
      }
      if (connection.problem) complain(connection.problem);
    }
    panel.draw();
    count();
  }

  function heard({ type, data }) {
    // what is older than this page's first sight of the session is no news, and nothing is news twice
    if (type === "hello" && told.from === undefined) told.newest = told.from = told.isOld ? Number.parseInt(data.head, 10) : 0;
    if (!(data.seq > told.newest)) return;
    told.newest = data.seq;
    if (type === "message_queued") emit("message", { message_id: data.message_id, role: "user", text: data.text });
    if (type === "message") {
      const text = data.content.map((block) => (block.type === "text" ? block.text : "")).join("");
      if (text) emit("message", { message_id: data.message_id, role: data.author === "human" ? "human" : "assistant", text });
    }
    if (type === "approval_requested" || type === "tool_approval") emit("approval", data);
    if (type === "done") emit("done", data);
    // what was waiting when this person pressed Stop is theirs again
    if (type === "message_removed" && told.stops.has(data.message_id)) panel.giveBack(told.stops.get(data.message_id));
    panel.heard(type, data);
  }

  /** What the agent, or a person in its place, has said since somebody looked. */
  function count() {
    const { id, view } = session;
    let unread = 0;
    if (told.from !== undefined) {
      const isLooking = panel.isShown() && document.visibilityState === "visible";
      // of a session that this browser never showed, what was there when it came counts as seen
      const seen = Math.max(told.seen ?? 0, memory.seen(id) ?? told.from, isLooking ? view.head : 0);
      if (seen !== told.seen) memory.see(id, (told.seen = seen));
      const isNew = (item) => item.kind === "message" && item.role !== "user" && item.seq > told.seen;
      unread = view.items.filter(isNew).length;
    }
    if (unread === told.unread) return;
    const isFirst = told.unread < 0;
    told.unread = unread;
    panel.unread(unread);
    if (unread || !isFirst) emit("unread", { count: unread });
  }

  // ---- what a person, or the page for them, does

  function send(text) {
    if (!text.trim()) return;
    if (!host.session && !memory.key) memory.claim(), begin();
    session.send(text);
  }

  function stop() {
    for (const item of session.view.items) if (item.queued) told.stops.set(item.message_id, item.text);
    return attempt(() => session.cancel()).catch((error) => panel.problem(t.problem(error)));
  }

  /** A new conversation; the one before stays where it is. */
  function renew() {
    memory.renew();
    if (host.session) return host.removeAttribute("session");
    begin();
    panel.focus();
  }

  /** With another credential what was refused, or is being refused, may be allowed. */
  function again() {
    const { state, reason } = session.connection;
    if (state === "connecting" || reason === "refused") begin();
  }

  /** Runs what may be refused: the page hears of it, and so does who asked. */
  async function attempt(what) {
    try {
      return await what();
    } catch (error) {
      complain(error);
      throw error;
    }
  }
  const complain = (error) => emit("problem", { code: error.code ?? "internal", message: t.problem(error) });

  function toggled() {
    if (host.open && !host.session && !memory.key) begin();
    panel.toggled();
    count();
    emit("toggle", { open: host.open });
  }

  // ---- a page that is not looked at

  function looked() {
    clearTimeout(hiding);
    if (document.visibilityState === "hidden") hiding = setTimeout(() => session.pause(), HIDDEN_MS);
    else if (session.connection.state === "paused") session.open();
    count();
  }
  document.addEventListener("visibilitychange", looked, { signal });
  // a page that is kept for Back must have nothing open
  addEventListener("pagehide", () => session.pause(), { signal });
  addEventListener("pageshow", ({ persisted }) => persisted && session.open(), { signal });

  begin();
  looked();
  return {
    get session() {
      return session;
    },
    get unread() {
      return Math.max(0, told.unread);
    },
    again,
    look: () => panel.look(),
    focus: () => panel.focus(),
    send,
    stop,
    renew,
    toggled,
    end() {
      life.abort();
      clearTimeout(hiding);
      session.close();
      panel.end();
      places.delete(place);
    },
  };
}

const isGone = ({ reason, problem }) => reason !== "refused" || problem?.status === 404;

const places = new Set();

/** Whose conversation, and where; two elements that say the same on one page have one each, in their order. */
function take(whose) {
  const named = (nth) => JSON.stringify(nth ? [...whose, nth] : whose);
  let nth = 0;
  while (places.has(named(nth))) nth += 1;
  places.add(named(nth));
  return named(nth);
}

/** The nearest `lang`, also of what is around a shadow tree. */
function languageOf(host) {
  for (let at = host; at; at = at.parentNode ?? at.host) if (at.lang) return at.lang;
  return navigator.language;
}
