// The client's rule as a fold: what a page shows of a session is a function of the events that it has read.
//
// Nothing here keeps state or reads a clock. Only records change `items`, and live text changes `live` alone, so two readers that have the
// same records have the same items, wherever their connections were cut. What waits for a turn stands at the end of the items.

import { rawElements, rawMember } from "./json.js";

export const emptyView = Object.freeze({ items: Object.freeze([]), live: null, turn: null, last_id: "", head: 0 });

/** The view after `event`. */
export function reduce(view, event) {
  const { type, id, data, raw } = event;
  // a record that it has: somebody began again from an older place
  if (data?.seq <= view.head) return view;
  const next = on[type]?.(view, data, raw) ?? view;
  if (id === undefined) return next;
  const head = data?.seq ?? next.head;
  return next.last_id === id && next.head === head ? next : { ...next, last_id: id, head };
}

const on = {
  __proto__: null,
  join: (view, { resumed }) => (resumed ? view : quiet(view)),
  reset: () => emptyView,
  hello,
  stream_progress: (view, { mode }) => (view.mode === mode ? view : { ...view, mode }),
  session_created: (view, data) => ({ ...view, ...pick(data, "channel", "title") }),
  session_updated(view, { title }) {
    if (title === undefined) return view;
    const { title: _, ...untitled } = view;
    return title ? { ...view, title } : untitled;
  },

  message_queued: (view, data) => ({ ...view, items: [...view.items, { ...said(data, "user", data.text), queued: true }] }),
  message_removed: (view, { message_id }) => without(view, (item) => item.key === message_id),
  turn_start: (view, data) => claim({ ...view, turn: data.turn ?? null }, data),
  queue_drain: claim,

  text_delta: (view, data) => grow(view, data, "text"),
  reasoning_delta: (view, data) => grow(view, data, "reasoning"),
  message(view, data) {
    const text = textOf(data.content, "text");
    if (data.author === "human") return put(view, said(data, "human", text));
    const settled = without(quiet(view), isTrying);
    return text ? put(settled, answer(data, text)) : settled;
  },
  retry: (view, data) => trying(data.discarded ? quiet(view) : view, data, data.code === "restart" ? "restart" : "retry"),
  turn_continued: (view, data) => trying(view, data, "restart"),

  tool_start: (view, data, raw) => tool(view, data, { state: "running", ...argsOf(data, raw) }),
  tool_end: (view, data) => tool(view, data, { state: "ok", ...pick(data, "duration_ms", "preview", "bytes", "artifact_id") }),
  tool_error: (view, data) => tool(view, data, { state: STATES[data.code] ?? "error", ...pick(data, "code", "error") }),
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

const STATES = { ABORTED: "aborted", ABORTED_BEFORE_DISPATCH: "aborted", TOOL_OUTCOME_UNKNOWN: "unknown" };

// ---- items

const pick = (data, ...names) => Object.fromEntries(names.filter((name) => data[name] !== undefined).map((name) => [name, data[name]]));
const base = (kind, key, data) => ({ kind, key, ...pick(data, "seq", "at", "turn", "step") });
const notice = (data, name) => ({ ...base("notice", `notice.${data.seq}`, data), notice: name, ...pick(data, "reason", "cause", "code", "detail") });
const said = (data, role, text) =>
  ({ ...base("message", data.message_id, data), message_id: data.message_id, role, text, queued: false, interrupted: false });
const argsOf = (data, raw) => (data.args === undefined ? {} : { args: (raw && rawMember(raw, "args")) ?? JSON.stringify(data.args) });
const textOf = (content, type) => content.map((block) => (block.type === type && block.text) || "").join("");

function answer(data, text) {
  const reasoning = textOf(data.content, "reasoning");
  return { ...said(data, "assistant", text), interrupted: data.interrupted === true, ...(reasoning && { reasoning }) };
}

const approval = (data, raw) => ({
  ...base("approval", data.approval_id, data),
  ...pick(data, "approval_id", "tool_call_id", "tool", "expires_at", "digest", "reason", "decisions"),
  ...argsOf(data, raw),
  state: "pending",
});
const question = (data) =>
  ({ ...base("question", data.question_id, data), ...pick(data, "question_id", "tool_call_id", "questions", "expires_at"), state: "pending" });

// ---- changes of the items; each gives the same view where nothing changes

const quiet = (view) => (view.live ? { ...view, live: null } : view);
const last = (items, test) => {
  let at = items.length - 1;
  while (at >= 0 && !test(items[at])) at -= 1;
  return at;
};

/** In front of what waits for a turn. */
function put(view, ...items) {
  const end = last(view.items, (item) => !item.queued) + 1;
  return { ...view, items: [...view.items.slice(0, end), ...items, ...view.items.slice(end)] };
}

function without(view, test) {
  const items = view.items.filter((item) => !test(item));
  return items.length === view.items.length ? view : { ...view, items };
}

function change(view, at, patch) {
  const items = [...view.items];
  items[at] = { ...items[at], ...patch };
  return { ...view, items };
}

/** A message stands where a turn takes it up. */
function claim(view, { message_ids, turn }) {
  const claimed = view.items.filter((item) => item.queued && message_ids.includes(item.key));
  if (!claimed.length) return view;
  return put(without(view, (item) => claimed.includes(item)), ...claimed.map((item) => ({ ...item, queued: false, ...(turn && { turn }) })));
}

function grow(view, { message_id, block, text }, kind) {
  const { blocks: before, text: all } = view.live?.message_id === message_id ? view.live : { blocks: [], text: "" };
  const blocks = before.slice();
  blocks[block] = { kind, text: (before[block]?.text ?? "") + text };
  // mostly it is the last block that grows: then the text need not be joined anew
  const joined = block === blocks.length - 1 ? all + (kind === "text" ? text : "") : textOfLive(blocks);
  return { ...view, live: { message_id, blocks, text: joined } };
}

const textOfLive = (blocks) => blocks.map((block) => (block?.kind === "text" ? block.text : "")).join("");

const isTrying = (item) => item.notice === "retry" || item.notice === "restart";

/** One line for all tries of an answer. It goes when there is one, or when the turn's end says why there is none. */
function trying(view, data, name) {
  const line = notice(data, name);
  const at = last(view.items, isTrying);
  if (at < 0) return put(view, line);
  const { key, seq, at: since } = view.items[at];
  const items = [...view.items];
  items[at] = { ...line, key, seq, at: since };
  return { ...view, items };
}

/** What the call's step has of it already. An id may be used again in another step. */
const ofCall = ({ tool_call_id, turn, step }) => (item) =>
  item.tool_call_id === tool_call_id && (item.turn === undefined || (item.turn === turn && item.step === step));

function tool(view, data, patch) {
  const isSame = ofCall(data);
  // a question, and an approval that was not given, tell the call's end themselves
  const isTold = (item) => isSame(item) && (item.kind === "question" || (item.kind === "approval" && !(item.decision ?? "allow").startsWith("allow")));
  if (last(view.items, isTold) >= 0) return view;
  const at = last(view.items, (item) => item.kind === "tool" && isSame(item));
  if (at >= 0) return change(view, at, patch);
  const { tool_call_id, tool: name, turn, step } = data;
  return put(view, { ...base("tool", `${turn}.${step}.${tool_call_id}`, data), tool_call_id, tool: name, ...patch });
}

/** The record of something that `hello` named before is the same item at its own place. */
const ask = (view, item) => put(without(view, ({ key }) => key === item.key), item);

function settle(view, key, data, outcome) {
  const at = last(view.items, (item) => item.key === key);
  return at < 0 ? view : change(view, at, { state: "settled", ...outcome, ...pick(data, "turn", "step") });
}

function hello(view, { turn = null, live, approvals = [], questions = [] }, raw) {
  const texts = raw ? rawElements(rawMember(raw, "approvals") ?? "[]") : [];
  // what the records that it has do not tell: it is older than they are, or its record is on its way
  const at = ({ requested_at }) => ({ seq: 0, at: requested_at });
  const waiting = [
    ...approvals.map((data, i) => ({ ...approval(data, texts[i]), ...at(data) })),
    ...questions.map((data) => ({ ...question(data), ...at(data) })),
  ].filter(({ key }) => last(view.items, (item) => item.key === key) < 0);
  const { mode: _, ...rest } = waiting.length ? put(view, ...waiting) : view;
  return { ...rest, turn, ...pick(live ?? {}, "mode") };
}

function done(view, data) {
  const { mode: _, ...rest } = without(quiet(view), isTrying);
  const items = rest.items.some(isRunning) ? rest.items.map((item) => (isRunning(item) ? { ...item, ...endOf(data, item) } : item)) : rest.items;
  const ended = { ...rest, items, turn: null };
  const isBrought = items.some((item) => item.role === "assistant" && item.turn === data.turn);
  const text = data.answer && !isBrought ? { text: data.answer } : {};
  return data.reason === "completed" && !text.text ? ended : put(ended, { ...notice(data, "end"), ...text });
}

const isRunning = (item) => item.state === "running";

function endOf({ tool_calls = [] }, { tool_call_id }) {
  const { status = "aborted", duration_ms } = tool_calls[last(tool_calls, (call) => call.tool_call_id === tool_call_id)] ?? {};
  return { state: status, ...pick({ duration_ms }, "duration_ms") };
}
