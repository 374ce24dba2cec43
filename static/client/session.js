// One session: what has been read of it, what is on its way to it, and what a person may do in it.

import { jsonOf, post, Problem } from "./api.js";
import { recordsBetween, refold } from "./history.js";
import { makeOutbox, makeShelf, newKey, noShelf } from "./outbox.js";
import { emptyView, reduce } from "./reduce.js";
import { follow } from "./stream.js";

/** Records that a view begins with, and that each page puts in front of it. */
const HISTORY = 400;

export class Session {
  view = emptyView;
  connection = { state: "idle" };
  #id;
  #call;
  #host;
  #options;
  #base;
  #outbox;
  #makingKey;
  #making;
  #paging;
  #reading;
  #wantsToRead = false;
  #unwatch;
  /** The seq in front of the first record that the view was folded from; undefined until it is known. */
  #since;
  /** Those records, as long as there are older ones. */
  #records = [];
  /** Where the ledger stood when the connection began: what comes up to there is a replay. */
  #replayTo = 0;
  #listeners = new Set();
  #eventListeners = new Set();
  #notice;

  constructor({ call, host, base, options }) {
    this.#call = call;
    this.#host = host;
    this.#base = base;
    this.#options = options;
    this.#id = options.id;
    this.#makingKey = options.create?.key ?? newKey();
    this.#outbox = makeOutbox({
      host,
      shelf: this.#shelf(),
      post: (message) => this.#post(message),
      place: () => Number.parseInt(this.view.last_id, 10) || 0,
      changed: () => this.#changed(),
    });
  }

  get id() {
    return this.#id;
  }

  get outbox() {
    return this.#outbox.list;
  }

  get hasEarlier() {
    return this.#since > 0;
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
    if (this.#id === undefined) await (this.#making ??= this.#make().finally(() => (this.#making = undefined)));
    return this.#id;
  }

  open() {
    this.#wantsToRead = true;
    this.#read();
    this.#begin();
  }

  pause() {
    this.#stopReading();
    if (this.connection.state !== "closed") this.#tell({ state: "paused" });
  }

  close() {
    this.#stopReading();
    this.#outbox.stop();
    this.#unwatch?.();
    this.#unwatch = undefined;
    if (this.connection.state !== "closed") this.#tell({ state: "idle" });
  }

  send(text, { mode } = {}) {
    const message = this.#outbox.add(text, mode);
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
    await this.#ask("cancel", options);
  }

  async decide(approval_id, decision, note) {
    const { digest } = this.view.items.find(({ key }) => key === approval_id) ?? {};
    await this.#ask(`approvals/${encodeURIComponent(approval_id)}`, { decision, note, digest });
  }

  async answer(question_id, answers) {
    await this.#ask(`questions/${encodeURIComponent(question_id)}`, answers ? { answers } : { declined: true });
  }

  earlier() {
    return (this.#paging ??= this.#page().finally(() => (this.#paging = undefined)));
  }

  async artifact(artifact_id) {
    return (await this.#call("GET", this.#path(`artifacts/${encodeURIComponent(artifact_id)}`))).blob();
  }

  // ---- requests

  #path(rest = "") {
    if (this.#id === undefined) throw new Problem("There is no conversation yet.", { code: "not_found" });
    return `v1/sessions/${encodeURIComponent(this.#id)}${rest && `/${rest}`}`;
  }

  async #ask(what, body) {
    await this.#call("POST", this.#path(what), { body });
  }

  async #make() {
    const { key: _, ...body } = this.#options.create ?? {};
    const made = await post(this.#call, this.#host, "v1/sessions", body, this.#makingKey);
    if (typeof made?.id !== "string") throw new Problem("What answered is not the gateway.", { status: 200, code: "unreadable" });
    this.#id = made.id;
    this.#outbox.move(this.#shelf());
    this.#read();
  }

  async #post({ key, text, mode }) {
    await this.create();
    const accepted = await post(this.#call, this.#host, this.#path("messages"), { text, mode }, key);
    if (typeof accepted?.message_id !== "string") throw new Problem("What answered is not the gateway.", { status: 200, code: "unreadable" });
    return accepted;
  }

  #shelf() {
    const { storage, create } = this.#options;
    const name = this.#id ?? (create?.key && `new.${create.key}`);
    return storage && name ? makeShelf(storage, `portico.outbox.${this.#base.href}.${name}`) : noShelf;
  }

  // ---- reading

  /** Posts what waits, and tries again as soon as the network is back. */
  #begin() {
    this.#unwatch ??= this.#host.watch(() => {
      this.#reading?.wake();
      this.#outbox.wake();
    });
    this.#outbox.start();
  }

  #read() {
    if (!this.#wantsToRead || this.#reading || this.#id === undefined) return;
    this.#reading = follow({
      host: this.#host,
      connect: (signal) => this.#connect(signal),
      take: (event) => this.#take(event),
      tell: (connection) => this.#tell(connection),
    });
  }

  #stopReading() {
    this.#wantsToRead = false;
    this.#reading?.stop();
    this.#reading = undefined;
  }

  async #connect(signal) {
    if (this.#since === undefined) await this.#locate(signal);
    const { last_id } = this.view;
    return this.#call("GET", this.#path(`events${this.#query()}`), { headers: { accept: "text/event-stream", ...(last_id && { "last-event-id": last_id }) }, signal });
  }

  #query(values = {}) {
    const { view } = this.#options;
    const query = new URLSearchParams({ ...values, ...(view && { view }) }).toString();
    return query && `?${query}`;
  }

  /** Where the newest records begin. */
  async #locate(signal) {
    const { history = HISTORY } = this.#options;
    const { head, title, channel } = await jsonOf(await this.#call("GET", this.#path(), { signal }));
    this.#since = history ? Math.max(0, head - history) : 0;
    if (!this.#since) return;
    this.view = { ...emptyView, last_id: String(this.#since), channel, ...(title && { title }) };
  }

  #take(event) {
    if (event.type === "hello") this.#replayTo = event.data.head;
    if (event.type === "reset") [this.#since, this.#records] = [0, []];
    if (this.#since && event.data?.seq) this.#records.push(event);
    this.view = reduce(this.view, event);
    if (event.type === "message_queued") this.#outbox.seen(event.data);
    this.#outbox.settle();
    this.#changed();
    if (!event.type) return;
    const how = { live: !(event.data.seq <= this.#replayTo) };
    for (const listener of this.#eventListeners) safely(() => listener(event, how));
  }

  #tell(connection) {
    this.connection = connection;
    if (connection.state === "open") this.#outbox.wake();
    if (connection.state === "closed") this.#reading = undefined;
    this.#changed();
  }

  async #page() {
    const since = this.#since;
    if (!since) return false;
    const from = Math.max(0, since - (this.#options.history || HISTORY));
    const page = async (after, limit) => (await this.#call("GET", this.#path(`records${this.#query({ after, limit })}`))).text();
    const older = await recordsBetween(page, from, since);
    // unless the stream has begun anew meanwhile
    if (this.#since === since) {
      this.#since = from;
      this.#records = [...older, ...this.#records];
      this.view = refold(this.view, this.#records);
      if (!from) this.#records = [];
      this.#changed();
    }
    return this.hasEarlier;
  }

  /** Tells the listeners once all that this task brings is in. */
  #changed() {
    this.#notice ??= this.#host.setTimeout(() => {
      this.#notice = undefined;
      for (const listener of this.#listeners) safely(() => listener(this));
    }, 0);
  }
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
