// A gateway and one of its sessions: what has been read of it, what is on its way to it, and what a person may do in it.

import { ask, browser, closed, isId, notFound, own, Problem, sender, unreadable, whole } from "./api.js";
import { rawElements, rawMember } from "./json.js";
import { makeOutbox, makeShelf, newKey } from "./outbox.js";
import { keep, pastFrom, prepend } from "./past.js";
import { emptyView, fold, shown } from "./reduce.js";
import { follow } from "./stream.js";

/** Records that a view begins with, and that each page puts in front of it. */
const HISTORY = 400;

export class Portico {
  #to;

  constructor(options) {
    const { base, credential, host } = own(options);
    const here = new URL("../", import.meta.url);
    this.base = new URL(base ?? here, globalThis.location?.href ?? here);
    if (!this.base.pathname.endsWith("/")) this.base.pathname += "/";
    const all = { ...browser, ...host };
    this.#to = { base: this.base, host: all, send: sender({ base: this.base, credential, host: all }) };
  }

  session(options) {
    return new Session(this.#to, own(options));
  }

  async request(method, path, options) {
    const { body, headers, signal } = own(options);
    return (await ask(this.#to, method, path, { body, headers, signal })).json;
  }
}

export class Session {
  /** @type {import("../client.js").Connection} */
  connection = { state: "idle" };
  id;
  #to;
  #options;
  #create;
  #key;
  #outbox;
  /** Ends what is under way. */
  #life = new AbortController();
  #making;
  #paging;
  #isOpen = false;
  #reading;
  #unwatch;
  /** A draft: what a page does not look at is not made for it. */
  #view = emptyView;
  /** Undefined until it is known where the view begins. */
  #past;
  /** Where the ledger stood when the connection began: what comes up to there is a replay. */
  #replayTo = 0;
  /** A record that was there when it was last asked; undefined as long as nothing was heard of a session that may have some. */
  #known;
  #listeners = new Set();
  #eventListeners = new Set();
  #notice;

  constructor(to, options) {
    this.#to = to;
    this.#options = options;
    this.id = options.id;
    this.#known = options.id ? undefined : 0;
    this.#create = own(options.create);
    this.#key = this.#create.key ?? newKey();
    this.#outbox = makeOutbox({
      host: to.host,
      shelf: this.#shelf(),
      ready: () => this.create(),
      post: (message) => this.#post(message),
      place: () => Number.parseInt(this.#view.last_id, 10) || 0,
      known: () => this.#known,
      changed: () => this.#changed(),
    });
  }

  get view() {
    return (this.#view = shown(this.#view));
  }

  get outbox() {
    return this.#outbox.list;
  }

  get hasEarlier() {
    return this.#past?.since > 0;
  }

  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  onEvent(listener) {
    this.#eventListeners.add(listener);
    return () => this.#eventListeners.delete(listener);
  }

  async create() {
    if (!this.id) {
      const making = (this.#making ??= this.#make().finally(() => {
        if (this.#making === making) this.#making = undefined;
      }));
      await making;
    }
    return this.id;
  }

  open() {
    this.#isOpen = true;
    if (this.connection.state === "paused") this.#tell({ state: "idle" });
    this.#read();
    this.#begin();
  }

  pause() {
    this.#stop("paused");
  }

  close() {
    this.#stop("idle");
    this.#outbox.stop();
    this.#life.abort(closed());
    this.#life = new AbortController();
    this.#making = this.#paging = undefined;
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  send(text, options) {
    if (typeof text !== "string") throw new TypeError("A message is a string.");
    const message = this.#outbox.add(text, own(options).mode);
    this.#begin();
    return message;
  }

  retry(key) {
    this.#outbox.retry(key);
    this.#begin();
  }

  discard(key) {
    this.#outbox.discard(key);
  }

  async cancel(options = {}) {
    await this.#ask("cancel", options, "removed");
  }

  async decide(approval_id, decision, note) {
    const { digest } = this.view.items.find(({ key }) => key === approval_id) ?? own();
    await this.#ask(`approvals/${named(approval_id)}`, { decision, note, digest }, "approval_id");
  }

  async answer(question_id, answers) {
    await this.#ask(`questions/${named(question_id)}`, answers ? { answers } : { declined: true }, "question_id");
  }

  earlier() {
    return (this.#paging ??= this.#page().finally(() => (this.#paging = undefined)));
  }

  async artifact(artifact_id) {
    return this.#get(`artifacts/${named(artifact_id)}`, {}, { take: whole });
  }

  // ---- requests

  #path(rest) {
    if (!this.id) throw new Problem("There is no conversation yet.", { code: "not_found" });
    return `v1/sessions/${named(this.id)}${rest && `/${rest}`}`;
  }

  #inView(rest, query) {
    const { view } = this.#options;
    return `${this.#path(rest)}?${new URLSearchParams({ ...query, ...(view && { view }) })}`;
  }

  #get(rest, query, options) {
    return ask(this.#to, "GET", this.#inView(rest, query), { signal: this.#life.signal, ...options });
  }

  #ask(what, body, expected) {
    return ask(this.#to, "POST", this.#path(what), { body, expected, signal: this.#life.signal });
  }

  /** What may be posted any number of times by the same key. */
  async #postOnce(path, body, key, expected) {
    const headers = { "idempotency-key": key };
    return (await ask(this.#to, "POST", path, { body, headers, expected, signal: this.#life.signal })).json;
  }

  async #post({ text, mode, key }) {
    const { message_id, seq } = await this.#postOnce(this.#path("messages"), { text, mode }, key, "message_id");
    return { message_id, seq };
  }

  async #make() {
    const { key: _, ...body } = this.#create;
    const { id } = await this.#postOnce("v1/sessions", body, this.#key, "id");
    if (!isId(id)) throw unreadable({});
    this.id = id;
    this.#outbox.move(this.#shelf());
    this.#read();
  }

  /** Under the session's own name, or before it has one under that of the key by which it will be found again. */
  #shelf() {
    const { storage } = this.#options;
    const { key } = this.#create;
    const name = this.id ?? (key && `new.${key}`);
    return makeShelf(name && storage, `portico.outbox.${this.#to.base}.${name}`);
  }

  // ---- reading

  /** Posts what waits, and tries again as soon as the network is back. */
  #begin() {
    this.#unwatch ??= this.#to.host.watch(() => {
      this.#reading?.wake();
      this.#outbox.wake();
    });
    this.#outbox.start();
  }

  #read() {
    if (!this.#isOpen || this.#reading || !this.id) return;
    this.#reading = follow({
      host: this.#to.host,
      connect: (signal) => this.#connect(signal),
      take: (event) => this.#take(event),
      tell: (connection) => this.#tell(connection),
    });
  }

  #stop(state) {
    this.#isOpen = false;
    this.#reading?.stop();
    this.#reading = undefined;
    if (this.connection.state !== "closed") this.#tell({ state });
  }

  #tell(connection) {
    this.connection = connection;
    if (connection.state === "open") this.#outbox.wake();
    if (connection.state === "closed") this.#reading = undefined;
    this.#changed();
  }

  async #connect(signal) {
    if (!this.#past) await this.#locate(signal);
    const { last_id } = this.#view;
    const headers = { accept: "text/event-stream", ...(last_id && { "last-event-id": last_id }) };
    // its own silence is its deadline
    return this.#to.send("GET", this.#inView("events"), { headers, signal });
  }

  /** Where the newest records begin. */
  async #locate(signal) {
    const { history = HISTORY } = this.#options;
    const { head, title, channel } = (await this.#get("", {}, { signal, expected: "head" })).json;
    const since = Math.max(0, history && head - history);
    this.#past = pastFrom(since);
    if (since) this.#view = { ...emptyView, last_id: String(since), channel, ...(title && { title }) };
  }

  #take(event) {
    const { type, data } = event;
    if (type === "hello") this.#known = this.#replayTo = data.head;
    if (type === "reset") this.#past = pastFrom(0);
    keep(this.#past, this.#view, event);
    this.#view = fold(this.#view, event);
    if (type === "message_queued") this.#outbox.seen(data, this.#replayTo);
    this.#outbox.settle();
    this.#changed();
    const how = { live: !(data?.seq <= this.#replayTo) };
    if (type) for (const listener of this.#eventListeners) safely(() => listener(event, how));
  }

  async #page() {
    const past = this.#past;
    if (!this.hasEarlier) return false;
    const since = Math.max(0, past.since - (this.#options.history || HISTORY));
    const page = await this.#recordsBetween(since, past.since);
    // unless the stream has begun anew meanwhile
    if (this.#past === past) {
      ({ view: this.#view, past: this.#past } = prepend({ view: this.view, past, page, since }));
      this.#changed();
    }
    return this.hasEarlier;
  }

  async #recordsBetween(from, to) {
    const found = [];
    for (let after = from; after < to;) {
      const { text, json } = await this.#get("records", { after, limit: to - after }, { expected: "data" });
      const texts = rawElements(rawMember(text, "data"));
      json.data.forEach((data, i) => found.push({ type: data.type, id: String(data.seq), data, raw: texts[i] }));
      after = Number(json.next_cursor ?? to);
    }
    return found;
  }

  /** Tells the listeners once what one task brings. */
  #changed() {
    this.#notice ??= this.#to.host.setTimeout(() => {
      this.#notice = undefined;
      for (const listener of this.#listeners) safely(() => listener(this));
    }, 0);
  }
}

function named(id) {
  if (isId(id)) return id;
  throw notFound();
}

/** What a listener fails at is its page's to hear of, and costs the stream nothing. */
function safely(act) {
  try {
    act();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
