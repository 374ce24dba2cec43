// One life of the element on a page: which session it shows, what it remembers of it, and what it tells the page.
//
// The session (client.js) knows what was said; the panel shows it. Here is what lies between them and the page: storage, other tabs, a page
// that is hidden or kept for Back, what is unread, and the element's events.

import { emptyView, Portico, Problem } from "../client.js";
import { away } from "./away.js";
import { last } from "./last.js";
import { remember } from "./memory.js";
import { openPanel } from "./panel.js";
import { words } from "./strings.js";

/**
 * `given` has what the page set as properties, and what outlasts a life; `home` is the gateway where the page names none; `seat` is the
 * element's own.
 */
export function startChat(host, given, home, seat) {
  const life = new AbortController();
  const { signal } = life;
  const t = words(languageOf(host), given.strings);
  const base = addressOf(host.getAttribute("base") || home);
  let ask = given.credential;
  let isOver = false;
  const client = new Portico({ base: base ?? home, credential });
  const whose = [String(base), host.storageKey || location.pathname, host.visitor, host.agent];
  // a session that is named is nobody's place
  const place = host.session ? (seat.leave(), JSON.stringify(whose)) : seat.take(whose);
  const memory = remember(place, host.session, { follow, saw: () => count() }, signal);
  const emit = (name, detail) => host.dispatchEvent(new CustomEvent(`portico-${name}`, { detail, bubbles: true, composed: true }));
  const panel = openPanel({ host, given, t, memory, signal, send, stop, renew, again, attempt, looked: () => count() });
  const page = away({ isBusy, leave: () => session.pause(), back: () => session.open() }, signal);
  const newsOf = last((items, seen) => items.filter(({ kind, role, seq }) => kind === "message" && role !== "user" && seq > seen).length);
  let session;
  let told = {};

  /** The token of who is here now is never asked for what somebody before them has begun. */
  async function credential(how) {
    const refuse = () => {
      if (isOver) throw new Error("This conversation is closed.");
    };
    refuse();
    const token = await ask?.(how);
    refuse();
    return token;
  }

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
    const flaw = flawOf(base, id);
    const made = flaw ? closedBy(flaw, panel.giveBack) : client.session(history >= 0 ? { ...options, history } : options);
    session = made;
    const refused = made.outbox.filter(({ state }) => state === "refused").map((one) => one.key);
    told = { __proto__: null, key, isOld: Boolean(id), unread: -1, stops: new Map(), stopped: [], refused: new Set(refused), codes: new Set() };
    made.subscribe(() => made === session && changed(key));
    made.onEvent((event) => made === session && heard(event));
    panel.show(made);
    if (page.is) made.pause();
    else made.open();
    for (const { text, mode } of unsent) made.send(text, { mode });
    changed(key);
    if (!session.id) shows(null);
  }

  /** Another conversation than the one before, also where a life ended in between. */
  function shows(id) {
    if (id === given.shown) return;
    given.shown = id;
    emit("session", { id });
  }

  /** Another tab has begun a conversation. What is on its way here is waited for; what was refused is a draft again. */
  function follow() {
    const isOther = memory.key !== told.key || (memory.id && memory.id !== session.id);
    const isSending = session.outbox.some(({ state }) => state === "waiting" || state === "sending");
    if (host.session || !isOther || isSending) return;
    const text = takeBack();
    begin();
    panel.giveBack(text);
  }

  function changed(key) {
    const { id, connection, outbox, view } = session;
    if (id && id !== told.id) {
      told.id = id;
      if (!host.session) memory.made(id, key);
      shows(id);
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
    complainOnce(session);
    panel.draw();
    count();
    page.check();
    follow();
  }

  /** The page hears once of each message that is refused, and once of what keeps the connection from coming back by itself. */
  function complainOnce({ connection: { state, problem }, outbox }) {
    // what is refused then is refused here
    if (isOver) return;
    for (const message of outbox) {
      if (message.state !== "refused") told.refused.delete(message.key);
      else if (!told.refused.has(message.key)) told.refused.add(message.key), complain(message.problem);
    }
    if (state === "open") told.codes.clear();
    if (state !== "waiting" || !problem || told.codes.has(problem.code)) return;
    if (problem.code === "credential" || problem.status === 401 || problem.status === 403) told.codes.add(problem.code), complain(problem);
  }

  function isBusy() {
    return session.view.turn !== null || session.outbox.some(({ state }) => state !== "refused");
  }

  function heard({ type, data }) {
    // what is older than this page's first sight of the session is no news, and nothing is news twice
    if (type === "hello") told.head = Number.parseInt(data.head, 10);
    if (type === "hello" && told.from === undefined) told.newest = told.from = told.isOld ? told.head : 0;
    // the gateway has less than was seen: what it still has comes again
    if (type === "reset") memory.see(session.id, (told.newest = told.from = told.seen = told.head ?? 0));
    if (!(data.seq > told.newest)) return;
    told.newest = data.seq;
    if (type === "message_queued") {
      const at = told.stopped.indexOf(data.text);
      if (at >= 0) told.stops.set(data.message_id, ...told.stopped.splice(at, 1));
      emit("message", { message_id: data.message_id, role: "user", text: data.text });
    }
    if (type === "message") {
      const text = data.content.map((block) => (block.type === "text" ? block.text : "")).join("");
      if (text) emit("message", { message_id: data.message_id, role: data.author === "human" ? "human" : "assistant", text });
    }
    if (type === "approval_requested" || type === "tool_approval") emit("approval", data);
    if (type === "done") emit("done", data);
    // what was waiting when this person pressed Stop is theirs again
    if (type === "message_removed" && data.reason === "cancelled") panel.giveBack(told.stops.get(data.message_id));
    panel.heard(type, data);
  }

  /** What the agent, or a person in its place, has said since somebody looked. */
  function count() {
    const { id, view } = session;
    let unread = 0;
    if (told.from !== undefined) {
      // of a session that this browser never showed, what was there when it came counts as seen
      const seen = Math.max(told.seen ?? 0, memory.seen(id) ?? told.from, panel.isSeen() ? view.head : 0);
      if (seen !== told.seen) memory.see(id, (told.seen = seen));
      unread = newsOf(view.items, seen);
    }
    if (unread === told.unread) return;
    const isFirst = told.unread < 0;
    told.unread = unread;
    panel.unread(unread);
    if (unread || !isFirst) emit("unread", { count: unread });
  }

  // ---- what a person, or the page for them, does

  function send(what) {
    const text = String(what ?? "");
    if (!text.trim()) return;
    if (!host.session && !memory.key) memory.claim(), begin();
    session.send(text);
  }

  function stop() {
    for (const item of session.view.items) if (item.queued) told.stops.set(item.message_id, item.text);
    // what is on its way may be taken, and removed, before its record is seen here
    for (const { message_id, text } of session.outbox) {
      if (message_id) told.stops.set(message_id, text);
      else told.stopped.push(text);
    }
    return attempt(() => session.cancel()).catch((error) => panel.problem(t.problem(error)));
  }

  /** A new conversation; the one before stays where it is, and what it has not got comes along as a draft. */
  function renew() {
    const text = takeBack();
    if (host.session) {
      given.anew = text;
      return host.removeAttribute("session");
    }
    memory.renew();
    begin();
    panel.giveBack(text);
    panel.focus();
  }

  function takeBack() {
    const unsent = session.outbox.filter(({ state }) => state === "waiting" || state === "refused");
    for (const { key } of unsent) session.discard(key);
    return unsent.map(({ text }) => text).join("\n");
  }

  /** With another credential what was refused, or is being refused, may be allowed. */
  function again() {
    const { state, reason } = session.connection;
    ask = given.credential;
    if (state === "connecting" || state === "waiting" || reason === "refused") begin();
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
  const complain = (error) => 
    emit("problem", { code: error.code ?? "internal", message: t.problem(error), status: error.status ?? 0, detail: error.message });

  function toggled() {
    if (host.open && !host.session && !memory.key) begin();
    panel.toggled();
    count();
    emit("toggle", { open: host.open });
  }

  document.addEventListener("visibilitychange", () => count(), { signal });
  const { anew } = given;
  delete given.anew;
  if (anew !== undefined) memory.renew();
  begin();
  panel.giveBack(anew);
  return {
    get session() {
      return session;
    },
    t,
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
    /** Nothing more is asked for with a credential: it may be another person's from now on. */
    leave: () => (isOver = true),
    end() {
      isOver = true;
      life.abort();
      session.close();
      panel.end();
    },
  };
}

const isGone = ({ reason, problem }) => reason !== "refused" || problem?.status === 404;

/** Null where it is no address that a browser could ask. */
function addressOf(base) {
  const url = URL.canParse(base, document.baseURI) ? new URL(base, document.baseURI) : null;
  return /^https?:$/.test(url?.protocol) ? url : null;
}

/** What makes any request useless. */
function flawOf(base, id) {
  if (!base) return new Problem("The attribute base is no http or https address.", { code: "invalid_base" });
  // a path that ends in it is another one
  return /^\.\.?$/.test(id) ? new Problem(`There is no session ${id}.`, { code: "not_found", status: 404 }) : null;
}

/** In place of a session that cannot be; `send(text)` takes what is written to it. */
function closedBy(problem, send) {
  const nothing = () => {};
  const refuse = async () => {
    throw problem;
  };
  const connection = { state: "closed", reason: "refused", problem };
  const acts = { subscribe: nothing, onEvent: nothing, open: nothing, pause: nothing, close: nothing, discard: nothing, send };
  return { ...acts, cancel: refuse, view: emptyView, outbox: [], connection, hasEarlier: false };
}

/** The nearest `lang`, also of what is around a shadow tree. */
export function languageOf(host) {
  for (let at = host; at; at = at.parentNode ?? at.host) if (at.lang) return at.lang;
  return navigator.language;
}
