// A model of a session's ledger and of the gateway's reader, small enough to be tried many thousand times: live text, resuming and views as
// the contract has them. It knows nothing of the client; what a page must show it tells in its own words (`truth`).

const HIDDEN = { chat: /^(request|thinking|reasoning_delta|tool_input_delta)$/, owner: /^request$/ };
const CHAT_FIELDS = {
  message_queued: ["message_id", "target", "mode", "text"],
  tool_start: ["tool_call_id", "tool"],
  tool_end: ["tool_call_id", "tool", "duration_ms"],
  tool_error: ["tool_call_id", "tool", "code"],
  tool_denied: ["tool_call_id", "tool"],
};
const ENVELOPE = ["seq", "at", "turn", "step", "type"];
const isAgents = ({ type, author }) => type === "message" && !author;
const ends = (record) => isAgents(record) || record.type === "retry" || record.type === "done";

function project(record, view) {
  if (HIDDEN[view].test(record.type)) return null;
  const { usage: _, detail: __, by: ___, ...shown } = record;
  if (view === "owner") return record;
  if (record.type === "message") {
    return {
      ...shown,
      content: record.content.map((b) => (b.type === "text" ? b : { type: b.type, ...(b.id && { id: b.id, tool: b.tool }) })),
    };
  }
  const only = CHAT_FIELDS[record.type];
  return only ? Object.fromEntries(Object.entries(record).filter(([name]) => ENVELOPE.includes(name) || only.includes(name))) : shown;
}

/** The server: `step()` does something that may happen next, as `draw(n)` (0 to n - 1) decides. */
export class Server {
  records = [];
  /** Deltas of the open attempt. */
  deltas = [];
  #draw;
  #ids = 0;
  #turn = null;
  #turns = 0;
  #step = 0;
  #attempt = null;
  /** Calls of the open step without a result: [id, state]. */
  #calls = [];
  #kinds = [];

  constructor(draw) {
    this.#draw = draw;
    this.append("session_created", { channel: "web" });
  }

  get head() {
    return this.records.length;
  }

  append(type, data = {}, place = "session") {
    const seq = this.head + 1;
    const of = place === "session" || this.#turn === null ? {} : { turn: this.#turn, ...(this.#step > 0 && { step: this.#step }) };
    const record = { seq, at: `2026-11-30T21:00:00.${String(seq).padStart(3, "0")}Z`, ...of, type, ...data };
    if (type === "request") this.#attempt = data.attempt;
    if (ends(record)) [this.#attempt, this.deltas, this.#kinds] = [null, [], []];
    this.records.push(Object.defineProperty(record, "open", { value: this.#attempt }));
  }

  step() {
    const x = this.#draw(100);
    if (x < 8) return this.#queue();
    if (x < 11)
      return this.append("message", { message_id: this.#id("h"), content: [{ type: "text", text: "a person" }], author: "human" });
    if (x < 13) return this.append("session_updated", { title: `title ${x}` });
    if (x < 15) return this.#remove();
    if (this.#turn === null) return this.#begin();
    if (this.#attempt !== null) return this.#stream(x);
    if (this.#calls.length) return this.#work(x);
    return this.#next(x);
  }

  #id = (prefix) => `${prefix}${(this.#ids += 1)}`;
  #queued = () => truth(this, "owner").queued;
  /** Not always in the order in which they came, as where some wait for the next step and some for a turn of their own. */
  #some = () => this.#queued().filter((_, i, { length }) => i === length - 1 || this.#draw(2));
  #queue = () => this.append("message_queued", { message_id: this.#id("u"), text: `text ${this.#draw(3)}`, author: "local" });

  #remove() {
    const [message_id] = this.#queued();
    if (message_id) this.append("message_removed", { message_id, by: "local", reason: "taken_back" });
  }

  #begin() {
    if (!this.#queued().length) this.#queue();
    this.#turn = this.#turns += 1;
    this.#step = 0;
    this.append("turn_start", { message_ids: this.#some() }, "turn");
    this.#beginStep();
  }

  #beginStep() {
    this.#step += 1;
    this.append("step_start", {}, "turn");
    this.#request();
  }

  #request = () => this.append("request", { attempt: this.#id("a") }, "turn");

  #stream(x) {
    if (x < 65) return this.#delta();
    if (x < 72) return this.#again("overloaded");
    if (x < 78) return this.#restart();
    if (x < 81) return this.#end("error", { code: "auth", detail: "no" });
    if (x < 84) {
      if (this.deltas.length) this.append("message", { ...this.#answer(), interrupted: true }, "turn");
      return this.#end("aborted", { cause: "user" });
    }
    const calls = Array.from({ length: this.#draw(3) }, (_, i) => `c${i}`);
    const { message_id, content } = this.#answer();
    // the ids are those of the last step again
    this.#calls = calls.map((id) => [id, "open"]);
    const blocks = calls.map((id) => ({ type: "tool_call", id, tool: "look", args: { n: 1 } }));
    this.append("message", { message_id, content: [...content, ...blocks], usage: { output: 1 } }, "turn");
  }

  #delta() {
    if (!this.#kinds.length || this.#draw(4) === 0) this.#kinds.push(["text", "text", "reasoning"][this.#draw(3)]);
    const block = this.#draw(6) ? this.#kinds.length - 1 : this.#draw(this.#kinds.length);
    const n = this.deltas.length + 1;
    const data = { message_id: `m${this.#attempt}`, block, text: `[${this.#attempt}:${n}]` };
    this.deltas.push({ type: `${this.#kinds[block]}_delta`, data });
  }

  #answer() {
    const content = this.#kinds.map((type) => ({ type, text: "" }));
    for (const { data } of this.deltas) content[data.block].text += data.text;
    return { message_id: `m${this.#attempt}`, content };
  }

  #again(code) {
    this.append("retry", { attempt: 1, code, delay_ms: 1, discarded: this.deltas.length > 0 }, "turn");
    this.#request();
  }

  #restart() {
    if (this.#attempt !== null) this.append("retry", { attempt: 1, code: "restart", delay_ms: 0, discarded: true }, "turn");
    this.append("turn_continued", { count: 1, cause: "crash" }, "turn");
    if (!this.#calls.length) this.#request();
  }

  /** Something for the first call that has no result. */
  #work(x) {
    const [[tool_call_id, state]] = this.#calls;
    const of = { tool_call_id, tool: "look" };
    const to = (next) => (next ? (this.#calls[0][1] = next) : this.#calls.shift());
    if (x < 20) return this.append("turn_continued", { count: 1, cause: "stop" }, "turn");
    if (state === "open" && x < 45) {
      const approval_id = this.#id("p");
      this.append(
        "approval_requested",
        { approval_id, ...of, args: { n: 1 }, digest: "d", decisions: ["allow_once", "deny"], expires_at: "later" },
        "turn",
      );
      return to(`approval ${approval_id}`);
    }
    if (state === "open" && x < 60) {
      const question_id = this.#id("q");
      this.append("question_asked", { question_id, tool_call_id, questions: [{ id: "1", text: "?" }], expires_at: "later" }, "turn");
      return to(`question ${question_id}`);
    }
    if (state.startsWith("approval")) {
      const decision = ["allow_once", "deny", "expired"][x % 3];
      this.append("tool_approval", { approval_id: state.slice(9), tool_call_id, decision, by: "local" }, "turn");
      if (decision !== "allow_once") this.append("tool_denied", { ...of, reason: "no" }, "turn");
      return to(decision === "allow_once" ? "allowed" : null);
    }
    if (state.startsWith("question")) {
      const outcome = x % 2 ? { answers: [{ id: "1", selected: [], text: "so" }] } : { declined: true };
      this.append("question_answered", { question_id: state.slice(9), tool_call_id, ...outcome }, "turn");
      this.append("tool_start", { ...of, args: { n: 1 } }, "turn");
      this.append("tool_end", { ...of, preview: "so", bytes: 2, duration_ms: 0 }, "turn");
      return to(null);
    }
    if (state !== "running" && x < 90) {
      this.append("tool_start", { ...of, args: { n: 1 } }, "turn");
      return to("running");
    }
    if (x % 3) this.append("tool_end", { ...of, preview: "found", bytes: 5, duration_ms: 7 }, "turn");
    else this.append("tool_error", { ...of, code: x % 2 ? "ABORTED" : "TOOL_TIMEOUT", error: "no" }, "turn");
    return to(null);
  }

  #next(x) {
    const last = this.records.findLast(ends);
    if (!last || !isAgents(last)) return this.#request();
    this.append("step_end", {}, "turn");
    if (x < 55 && last.content.some(({ type }) => type === "tool_call")) {
      if (this.#queued().length) this.append("queue_drain", { message_ids: this.#some(), message_count: 1, merged_text: "" }, "turn");
      return this.#beginStep();
    }
    return this.#end("completed");
  }

  #end(reason, more = {}) {
    this.append("done", { reason, answer: "the answer", message_ids: [], tool_calls: [], ...more }, "turn");
    [this.#turn, this.#calls] = [null, []];
  }
}

/** One connection: `next()` gives its next event, or nothing as long as there is none. */
export class Reader {
  #server;
  #view;
  #draw;
  #seq;
  #n = 0;
  /** The attempt whose deltas this reader holds `n` of. */
  #attempt = null;
  #hello;

  constructor(server, { view, draw, from }) {
    const [seq, n] = String(from || 0)
      .split(".")
      .map(Number);
    [this.#server, this.#view, this.#draw, this.#seq] = [server, view, draw, seq];
    const open = seq ? server.records[seq - 1].open : null;
    if (open !== null && open === server.records.at(-1).open && !server.records.slice(seq).some(ends))
      [this.#attempt, this.#n] = [open, n ?? 0];
    this.#hello = { type: "hello", ...both({ head: server.head, ...truth(server, view).hello }) };
  }

  next() {
    if (this.#hello) {
      const hello = this.#hello;
      this.#hello = null;
      return hello;
    }
    const { records, deltas, head } = this.#server;
    const open = this.#seq ? records[this.#seq - 1].open : null;
    const isCurrent = open !== null && open === records.at(-1).open;
    if (isCurrent && this.#attempt !== open) [this.#attempt, this.#n] = [open, 0];
    if (isCurrent && this.#n < deltas.length && (this.#seq === head || this.#draw(2))) return this.#delta();
    return this.#seq < head ? this.#record() : null;
  }

  #id = () => (this.#attempt === null || !this.#n ? `${this.#seq}` : `${this.#seq}.${this.#n}`);

  #record() {
    const record = this.#server.records[this.#seq];
    this.#seq += 1;
    if (record.open !== this.#attempt) [this.#attempt, this.#n] = [null, 0];
    const data = project(record, this.#view);
    return data ? { type: record.type, id: this.#id(), ...both(data) } : this.next();
  }

  /** A run of neighbours of one block may come as one. */
  #delta() {
    const { type, data } = this.#server.deltas[this.#n];
    let text = "";
    do {
      text += this.#server.deltas[this.#n].data.text;
      this.#n += 1;
    } while (this.#draw(3) && this.#server.deltas[this.#n]?.data.block === data.block);
    return HIDDEN[this.#view].test(type) ? this.next() : { type, id: this.#id(), ...both({ ...data, text }) };
  }
}

const both = (data) => ({ data, raw: JSON.stringify(data) });

/** What a page must show, told from the whole ledger without folding. */
export function truth({ records, deltas }, view) {
  const of = (...types) => records.filter(({ type }) => types.includes(type));
  const claims = new Map(of("turn_start", "queue_drain").flatMap(({ seq, message_ids }) => message_ids.map((id) => [id, seq])));
  const removed = new Set(of("message_removed").map(({ message_id }) => message_id));
  const mine = of("message_queued").filter(({ message_id }) => !removed.has(message_id));
  const queued = mine.map(({ message_id }) => message_id).filter((id) => !claims.has(id));
  const textOf = (content) =>
    content
      .filter(({ type }) => type === "text")
      .map(({ text }) => text)
      .join("");
  const said = of("message")
    .map(({ message_id, seq, content }) => [seq, message_id, textOf(content)])
    .filter(([, , text]) => text);
  const asked = mine.map(({ message_id, text }) => [claims.get(message_id) ?? Infinity, message_id, text]);
  const messages = [...said, ...asked].sort(([a], [b]) => (a === b ? 0 : a - b)).map(([, ...rest]) => rest);
  const settled = new Set(of("tool_approval", "question_answered").map(({ approval_id, question_id }) => approval_id ?? question_id));
  const waits = (type, id) =>
    of(type)
      .filter((record) => !settled.has(record[id]))
      .map(({ seq: _, turn: __, step: ___, type: ____, at, ...record }) => ({ ...record, status: "pending", requested_at: at }));
  const open = records.findLast(({ type }) => type === "turn_start" || type === "done");
  const turn = open?.type === "turn_start" ? open.turn : undefined;
  const live = deltas.filter(({ type }) => !HIDDEN[view].test(type));
  const blocks = [];
  for (const { data } of live.filter(({ type }) => type === "text_delta")) blocks[data.block] = (blocks[data.block] ?? "") + data.text;
  return {
    messages,
    queued,
    turn,
    live: blocks.join(""),
    hello: {
      ...(turn && { turn }),
      approvals: waits("approval_requested", "approval_id"),
      questions: waits("question_asked", "question_id"),
      client_calls: [],
    },
  };
}
