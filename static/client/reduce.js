// The client's rule as a fold: what a page shows of a session is a function of the events that it has read.
//
// Only records change `items`, and deltas only `live`. So two readers with the same records have the same items, wherever they were cut.

import { rawElements, rawMember } from "./json.js";

export const emptyView = Object.freeze({ items: Object.freeze([]), live: null, turn: null, last_id: "", head: 0 });

/** @type {typeof import("../client.js").reduce} */
export const reduce = (view, event) => shown(fold(view, event));

/**
 * `reduce` for many events: a draft, whose `items` are its own (`own`) from their first change on and are changed in place, so that an
 * event costs the same however many there are. `shown` makes a view of it.
 */
export function fold(view, { type, id, data, raw }) {
  // a record that it has: somebody began again from an older place
  if (data?.seq <= view.head) return view;
  const next = on[type]?.(view, data, raw) ?? view;
  return id === undefined ? next : { ...next, last_id: id, head: data?.seq ?? next.head };
}

/** The view of a draft; what is folded into it from now on changes a copy. */
export function shown(draft) {
  if (!draft.own) return draft;
  const { own: _, ...view } = draft;
  return view;
}

const on = {
  __proto__: null,
  // the live text goes, so the place must not name any of it
  join: (view, { resumed }) => (resumed ? view : { ...quiet(view), last_id: view.last_id.split(".")[0] }),
  reset: () => emptyView,
  hello,
  stream_progress: (view, { mode }) => (view.mode === mode ? view : { ...view, mode }),
  session_created: (view, data) => ({ ...view, ...pick(data, "channel", "title") }),
  session_updated: ({ title: before, ...view }, { title = before }) => ({ ...view, ...(title && { title }) }),

  message_queued: (view, data) => splice(view, view.items.length, 0, { ...message(data, "user", data.text), queued: true }),
  message_removed: (view, { message_id }) => without(view, indexOf(view, message_id)),
  turn_start: (view, data) => claim({ ...view, turn: data.turn }, data),
  queue_drain: claim,

  text_delta: (view, data) => grow(view, data, "text"),
  reasoning_delta: (view, data) => grow(view, data, "reasoning"),
  message(view, data) {
    const text = textOf(data.content, "text");
    if (data.author === "human") return put(view, message(data, "human", text));
    const settled = withoutTries(quiet(view), data);
    const reasoning = textOf(data.content, "reasoning");
    return text ? put(settled, { ...message(data, "assistant", text), ...(reasoning && { reasoning }) }) : settled;
  },
  retry: (view, data) => trying(data.discarded ? quiet(view) : view, data, data.code === "restart" ? "restart" : "retry"),
  turn_continued: (view, data) => trying(view, data, "restart"),

  tool_start: (view, data, raw) => tool(view, data, { state: "running", ...args(data, raw) }),
  tool_end: (view, data) => tool(view, data, { state: "ok", ...pick(data, "duration_ms", "preview", "bytes", "artifact_id") }),
  tool_error: (view, data) => tool(view, data, { state: UNFINISHED[data.code] ?? "error", ...pick(data, "code", "error") }),
  tool_denied: (view, data) => tool(view, data, { state: "denied", ...pick(data, "reason") }),

  approval_requested: (view, data, raw) => ask(view, approval(data, raw)),
  tool_approval: (view, data) => settle(view, data.approval_id, data, pick(data, "decision", "note")),
  question_asked: (view, data) => ask(view, question(data)),
  question_answered: (view, data) =>
    settle(view, data.question_id, data, data.answers ? pick(data, "answers") : { outcome: data.reason ?? "declined" }),

  handoff: (view, data) => put(view, notice(data, "handoff")),
  compaction: (view, data) => (data.phase === "end" && data.success !== false ? put(view, notice(data, "compacted")) : view),
  done,
};

const UNFINISHED = { ABORTED: "aborted", ABORTED_BEFORE_DISPATCH: "aborted", TOOL_OUTCOME_UNKNOWN: "unknown" };

// ---- items

const pick = (data, ...names) =>
  Object.fromEntries(names.filter((name) => Object.hasOwn(data, name) && data[name] !== undefined).map((name) => [name, data[name]]));

const item = (kind, key, data, ...names) => ({ kind, key, ...pick(data, "seq", "at", "turn", "step", ...names) });

const message = (data, role, text) => ({
  ...item("message", data.message_id, data, "message_id"),
  role,
  text,
  queued: false,
  interrupted: data.interrupted === true,
});

const notice = (data, name) => ({ ...item("notice", `notice.${data.seq}`, data, "reason", "cause", "code", "detail"), notice: name });

const approval = (data, raw) => ({
  ...item("approval", data.approval_id, data, "approval_id", "tool_call_id", "tool", "expires_at", "digest", "reason", "decisions"),
  ...args(data, raw),
  state: "pending",
});

const question = (data) => ({
  ...item("question", data.question_id, data, "question_id", "tool_call_id", "questions", "expires_at"),
  state: "pending",
});

const args = (data, raw) => (data.args === undefined ? {} : { args: raw ? rawMember(raw, "args") : JSON.stringify(data.args) });

const textOf = (blocks, kind) => blocks.map((block) => ((block?.type ?? block?.kind) === kind && block.text) || "").join("");

// ---- changes; each gives the same view where nothing changes

const quiet = (view) => (view.live ? { ...view, live: null } : view);

/** The index of the newest one; with `turn` no further back than that turn's items go. */
export function newest(items, test, turn) {
  for (let at = items.length - 1; at >= 0; at -= 1) {
    if (test(items[at])) return at;
    if (items[at].turn < turn) break;
  }
  return -1;
}

const indexOf = ({ items }, id) => newest(items, ({ key }) => key === id);

/** Queued ones stand last. */
const firstQueued = (items) => newest(items, ({ queued }) => !queued) + 1;

/** All changes of items: in place where the draft has them alone. */
function splice(view, at, count, ...added) {
  const items = view.own === view.items ? view.items : [...view.items];
  items.splice(at, count, ...added);
  return { ...view, items, own: items };
}

/** In front of what waits for a turn. */
const put = (view, ...added) => (added.length ? splice(view, firstQueued(view.items), 0, ...added) : view);

const without = (view, at) => (at < 0 ? view : splice(view, at, 1));

const change = (view, at, patch) => splice(view, at, 1, { ...view.items[at], ...patch });

function claim(view, { message_ids, turn, seq }) {
  const at = firstQueued(view.items);
  const queued = view.items.slice(at);
  const isClaimed = ({ key }) => message_ids.includes(key);
  const claimed = queued.filter(isClaimed).map((one) => ({ ...one, turn, queued: false, taken_seq: seq }));
  return claimed.length ? splice(view, at, queued.length, ...claimed, ...queued.filter((one) => !isClaimed(one))) : view;
}

function grow(view, { message_id, block, text }, kind) {
  const { blocks: before, text: all } = view.live?.message_id === message_id ? view.live : { blocks: [], text: "" };
  const blocks = before.slice();
  blocks[block] = { kind, text: (before[block]?.text ?? "") + text };
  // where it is the last block that grows, and mostly it is, nothing need be joined anew
  const joined = block < blocks.length - 1 ? textOf(blocks, "text") : kind === "text" ? all + text : all;
  return { ...view, live: { message_id, blocks, text: joined } };
}

const isTrying = ({ notice: name }) => name === "retry" || name === "restart";

const withoutTries = (view, { turn }) => without(view, newest(view.items, isTrying, turn));

/** One line for all tries. It goes when there is an answer, or when the turn's end says why there is none. */
function trying(view, data, name) {
  const at = newest(view.items, isTrying, data.turn);
  return at < 0 ? put(view, notice(data, name)) : change(view, at, { ...notice(data, name), ...pick(view.items[at], "key", "seq", "at") });
}

function tool(view, data, patch) {
  const { tool_call_id, turn, step } = data;
  // an id may be used again in another step
  const isSame = (one) => one.tool_call_id === tool_call_id && one.turn === turn && one.step === step;
  // a question, or an approval that was not given, tells the call's end itself
  const isTold = (one) => one.kind === "question" || (one.kind === "approval" && one.decision && !one.decision.startsWith("allow"));
  if (newest(view.items, (one) => isSame(one) && isTold(one), turn) >= 0) return view;
  const at = newest(view.items, (one) => one.kind === "tool" && isSame(one), turn);
  if (at >= 0) return change(view, at, patch);
  return put(view, { ...item("tool", `${turn}.${step}.${tool_call_id}`, data, "tool_call_id", "tool"), ...patch });
}

/** The record of what `hello` has named is the same item, at its own place. */
const ask = (view, asked) => put(without(view, indexOf(view, asked.key)), asked);

function settle(view, id, data, outcome) {
  const at = indexOf(view, id);
  return at < 0 ? view : change(view, at, { ...pick(data, "turn", "step"), ...outcome, state: "settled" });
}

/** What it names that no record has brought is older than all that the view has, or on its way. */
function hello({ mode: _, ...view }, { turn = null, live, approvals = [], questions = [] }, raw) {
  const texts = rawElements(rawMember(raw ?? "", "approvals") ?? "");
  const asked = [...approvals.map((data, i) => [data, approval(data, texts[i])]), ...questions.map((data) => [data, question(data)])];
  const added = asked
    .map(([{ requested_at }, one]) => ({ ...one, seq: 0, at: requested_at }))
    .filter(({ key }) => !view.items.some((one) => one.key === key));
  // where the view has records, they tell the turn: `done` may be on its way
  return put({ ...view, turn: view.head ? view.turn : turn, ...pick(live ?? {}, "mode") }, ...added);
}

function done(view, data) {
  const { mode: _, ...quieted } = withoutTries(quiet(view), data);
  let ended = quieted;
  let isBrought = false;
  for (let at = ended.items.length - 1; at >= 0 && !(ended.items[at].turn < data.turn); at -= 1) {
    const one = ended.items[at];
    if (one.state === "running") ended = change(ended, at, endOf(data, one));
    isBrought ||= one.role === "assistant" && one.turn === data.turn;
  }
  const end = { ...notice(data, "end"), ...(!isBrought && data.answer && { text: data.answer }) };
  return put({ ...ended, turn: null }, ...(data.reason === "completed" && !end.text ? [] : [end]));
}

function endOf({ tool_calls = [] }, { tool_call_id }) {
  const { status = "aborted", duration_ms } = tool_calls[newest(tool_calls, (call) => call.tool_call_id === tool_call_id)] ?? {};
  return { state: status, ...pick({ duration_ms }, "duration_ms") };
}
