// The page at "/": one session's stream, and a text box that posts to it.
//
// Everything it shows comes from the stream, in the stream's order: what it posts appears when the record comes back. So a reload, which
// replays the records, ends with the same page. Text only ever enters the page as text: here, in the cards, and in the Markdown of answers.

import { get, keepKey, post, problemOf } from "/api.js";
import { answered, approvalCard, decided, element, questionCard, rawMember, spell } from "/cards.js";
import { readFeed } from "/feed.js";
import { draw } from "/markdown.js";
import { keepEnd } from "/scroll.js";

const $ = (id) => document.getElementById(id);
const log = $("log");
const toEnd = keepEnd(document.querySelector("main"), log, $("newest"));

const UNREACHABLE = "The server cannot be reached.";
const SPEAKERS = { user: "You", assistant: "Portico", human: "A person" };
/** How a turn ended, where it is not as it should be. */
const ENDS = {
  aborted: "This answer was stopped.",
  blocked: "This answer was blocked.",
  budget: "This answer ended because its budget is used up.",
  error: "This answer failed.",
  interrupted: "This answer was interrupted.",
  max_steps: "This answer ended after as many steps as it may take.",
  max_tokens: "This answer ended at the length that it may have.",
};

/**
 * What stands on the page: live answers and tool lines that are open, what waits (approvals, questions) and messages by id, the calls whose
 * end another line tells already, the turn's last answer.
 */
const fresh = () => ({ live: new Map(), tools: new Map(), waits: new Map(), messages: new Map(), told: new Set(), answer: "" });
let view = fresh();
let session, source;
/** The id of the last frame: every connection goes on from here. */
let lastId = "";
/** A message without an answer yet, and its key: sending the same text again must not post it twice. */
let unsent = {};

// ---- the session and its stream

/** The session that the address names, or `otherwise`; its `key` goes to this tab's storage and out of sight. */
function readAddress(otherwise) {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (fragment.get("key")) keepKey(fragment.get("key"));
  return fragment.get("session") ?? otherwise;
}

/** The address names the session, so that it resumes it; `how` is whether Back returns to what was there before. */
function useSession(id, how = "replaceState") {
  session = id;
  if (id) sessionStorage.setItem("portico.session", id);
  else sessionStorage.removeItem("portico.session");
  history[how](null, "", id ? `#session=${encodeURIComponent(id)}` : location.pathname);
  source?.close();
  source = null;
  clear();
  say("");
  $("composer").hidden = false;
  $("again").hidden = true;
  // a session's own messages are on their way
  $("empty").hidden = Boolean(id);
  if (id) connect();
  else knock();
  toComposer();
}

/** After Back, Forward, or an address typed in: a bare one is a new conversation, one with only a key stays where it is. */
function revisit() {
  const id = readAddress(location.hash.includes("key=") ? session : null);
  if (id !== session || location.hash.includes("key=")) useSession(id);
}

const path = () => `/v1/sessions/${encodeURIComponent(session)}`;

function connect() {
  connection("waiting", "Connecting…");
  source = readFeed(`${path()}/events`, {
    lastId: () => lastId,
    event(name, text, id) {
      on[name]?.(JSON.parse(text), text);
      if (id) lastId = id;
    },
    lost: () => connection("waiting", "Reconnecting…"),
    refused,
  });
}

/** No other try would be answered otherwise: say what it was. */
async function refused(answer) {
  if (answer.status === 404) return gone("This conversation does not exist (any more).");
  connection("closed", "Closed");
  say(await problemOf(answer));
}

/** Before there is a conversation: whether there could be one. */
async function knock() {
  connection("idle", "Ready");
  const answer = await get("/v1/sessions?limit=1").catch(() => null);
  if (!session && answer && [401, 403].includes(answer.status)) await refused(answer);
}

/** There is no more to read and nothing to write to: all that is left is to begin anew. */
function gone(sentence) {
  source?.close();
  connection("closed", "Closed");
  dropLive();
  setRunning(false);
  for (const { card } of view.waits.values()) card.remove();
  say(sentence);
  $("composer").hidden = true;
  $("again").hidden = false;
  $("again").focus();
}

async function attempt(what) {
  say("");
  try {
    return await what();
  } catch (error) {
    say(error instanceof TypeError ? UNREACHABLE : error.message);
    return null;
  }
}

async function send() {
  const text = $("text").value.trim();
  if (!text) return;
  if (unsent.text !== text) unsent = { text, key: crypto.getRandomValues(new Uint32Array(4)).join("-") };
  $("send").disabled = true;
  const sent = await attempt(async () => {
    if (!session) useSession((await post("/v1/sessions", { channel: "web" })).id);
    return post(`${path()}/messages`, { text }, { "idempotency-key": unsent.key });
  });
  $("send").disabled = false;
  if ($("again").hidden) toComposer();
  if (!sent) return;
  toEnd();
  unsent = {};
  if ($("text").value.trim() === text) $("text").value = "";
}

/** Answers what waits in a card; resolves to whether it was taken. */
async function settle(where, body) {
  const taken = await attempt(() => post(`${path()}/${where}`, body));
  if (taken) toComposer();
  return Boolean(taken);
}

// ---- what each event does to the page

const on = {
  hello({ turn, head }) {
    connection("open", "Connected");
    if ($("problem").textContent === UNREACHABLE) say("");
    // only its creation stands in the ledger
    if (Number.parseInt(head, 10) <= 1 && !$("send").disabled) $("empty").hidden = false;
    setRunning(turn !== undefined);
  },
  reset: () => clear(),
  closing({ reason }) {
    if (reason === "deleted") gone("This conversation was deleted.");
    else connection("waiting", "Reconnecting…");
  },
  message_queued: ({ message_id, text }) => view.messages.set(message_id, bubble("user", text, "unclaimed")),
  message_removed({ message_id }) {
    view.messages.get(message_id)?.remove();
    view.messages.delete(message_id);
  },
  turn_start({ message_ids }) {
    view.answer = "";
    view.told.clear();
    setRunning(true);
    claim(message_ids);
  },
  queue_drain: ({ message_ids }) => claim(message_ids),
  text_delta({ message_id, block, text }) {
    const live = liveAnswer(message_id);
    live.blocks[block] = (live.blocks[block] ?? "") + text;
    drawSoon();
  },
  message({ message_id, content, author }) {
    const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
    if (author === "human") return bubble("human", text);
    const standing = view.live.get(message_id)?.item;
    if (text) view.live.delete(message_id);
    dropLive();
    if (!text) return;
    const item = standing ?? bubble("assistant", "");
    show(item, text);
    item.classList.remove("live");
    view.answer = text;
  },
  retry({ code, discarded }) {
    if (discarded) dropLive();
    note(code === "restart" ? "Starting again after a restart." : `The model did not finish (${code}); trying again.`);
  },
  tool_start({ tool_call_id, tool }, record) {
    view.tools.delete(tool_call_id);
    const args = spell(rawMember(record, "args") ?? "");
    toolLine(tool_call_id, tool, `${args.length > 200 ? `${args.slice(0, 200)}…` : args} running…`);
  },
  tool_end({ tool_call_id, tool, duration_ms, artifact_id, bytes }) {
    const done = duration_ms < 1000 ? "done" : `done in ${(duration_ms / 1000).toFixed(1)} s`;
    const line = endTool(tool_call_id, tool, artifact_id ? `${done}, ` : done, "");
    if (artifact_id) line?.append(artifactButton(artifact_id, `${Math.ceil(bytes / 1000)} KB kept`));
  },
  tool_error: ({ tool_call_id, tool, code }) => endTool(tool_call_id, tool, `failed: ${code}`, "failed"),
  tool_denied: ({ tool_call_id, tool }) => endTool(tool_call_id, tool, "was not allowed", "failed"),
  approval_requested(approval, record) {
    const args = rawMember(record, "args");
    const card = approvalCard(approval, args, (decision) =>
      settle(`approvals/${encodeURIComponent(approval.approval_id)}`, { decision, digest: approval.digest }));
    wait(approval.approval_id, card, ({ decision, note: why }) => decided(approval.tool, args, decision, why));
  },
  tool_approval(outcome) {
    if (!outcome.decision.startsWith("allow")) view.told.add(outcome.tool_call_id);
    fold(outcome.approval_id, outcome);
  },
  question_asked(asked) {
    view.told.add(asked.tool_call_id);
    view.tools.get(asked.tool_call_id)?.remove();
    const card = questionCard(asked, (body) => settle(`questions/${encodeURIComponent(asked.question_id)}`, body));
    wait(asked.question_id, card, (outcome) => answered(asked.questions, outcome));
  },
  question_answered: (outcome) => fold(outcome.question_id, outcome),
  done({ reason, cause, code, detail, answer }) {
    dropLive();
    setRunning(false);
    if (!view.answer && answer) note(answer);
    if (reason === "completed") return;
    const end = reason === "aborted" && cause === "user" ? "You stopped this answer." : (ENDS[reason] ?? `This answer ended: ${reason}.`);
    const words = reason === "error" && detail ? `This answer failed: ${detail}` : end;
    note(code ? `${words} (${code})` : words, reason === "error" ? "bad" : "");
  },
};

// ---- drawing

const note = (text, kind = "") => log.appendChild(element("li", `note ${kind}`, text));

/** A message: who speaks, for those who do not see its place, and the text. `data-raw` keeps the text as it was sent. */
function bubble(role, text, extra = "") {
  const item = log.appendChild(element("li", `message ${extra}`));
  item.dataset.role = role;
  item.append(element("span", "hidden", `${SPEAKERS[role]}: `), element("div", "body"));
  show(item, text);
  return item;
}

/** Only the agent's text is Markdown; what people write is shown as they wrote it. */
function show(item, text) {
  item.dataset.raw = text;
  if (item.dataset.role === "assistant") draw(item.lastChild, text);
  else item.lastChild.textContent = text;
}

function liveAnswer(messageId) {
  if (!view.live.has(messageId)) view.live.set(messageId, { item: bubble("assistant", "", "live"), blocks: [] });
  return view.live.get(messageId);
}

let frame = 0;

/** Deltas come faster than a screen shows them: live text is drawn once a frame. While it grows it is not read out. */
function drawSoon() {
  $("feed").ariaBusy = "true";
  frame ||= requestAnimationFrame(() => {
    frame = 0;
    for (const { item, blocks } of view.live.values()) show(item, blocks.join(""));
  });
}

/** Nothing streams from here on: what is still live goes. */
function dropLive() {
  for (const { item } of view.live.values()) item.remove();
  view.live.clear();
  $("feed").ariaBusy = "false";
}

const claim = (messageIds) => messageIds.forEach((id) => view.messages.get(id)?.classList.remove("unclaimed"));

function toolLine(id, tool, state) {
  if (!view.tools.has(id)) view.tools.set(id, log.appendChild(element("li", "tool")));
  const line = view.tools.get(id);
  line.replaceChildren(element("code", "", spell(tool)), ` ${state}`);
  return line;
}

/** A model may use a call's id again in a later step, so an ended line is nobody's any more. */
function endTool(id, tool, state, kind) {
  const told = view.told.delete(id);
  if (told) view.tools.get(id)?.remove();
  const line = told ? null : toolLine(id, tool, state);
  if (line) line.className = `tool ${kind}`;
  view.tools.delete(id);
  return line;
}

/** Opens a kept result as text in a tab of its own: a plain link could not show the key. */
function artifactButton(id, label) {
  const made = element("button", "quiet kept", label);
  made.type = "button";
  made.onclick = () => attempt(async () => {
    const answer = await get(`${path()}/artifacts/${encodeURIComponent(id)}`);
    if (!answer.ok) throw new Error(await problemOf(answer));
    const url = URL.createObjectURL(new Blob([await answer.blob()], { type: "text/plain; charset=utf-8" }));
    open(url, "_blank", "noopener");
    setTimeout(() => URL.revokeObjectURL(url), 60_000);
  });
  return made;
}

/** A card on the page, and how to fold it; as something new in the log it is read out. */
function wait(id, card, folded) {
  const item = log.appendChild(element("li", "wait"));
  item.append(card);
  view.waits.set(id, { card, item, folded });
}

function fold(id, outcome) {
  const { card, item, folded } = view.waits.get(id) ?? {};
  if (!card?.isConnected) return;
  if (card.contains(document.activeElement)) toComposer();
  item.replaceChildren(folded(outcome));
}

function clear() {
  dropLive();
  view = fresh();
  lastId = "";
  log.replaceChildren();
  toEnd();
  setRunning(false);
}

function connection(state, text) {
  $("connection").dataset.state = state;
  $("connection").textContent = text;
}

function say(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

function setRunning(running) {
  if (!running && document.activeElement === $("stop")) toComposer();
  $("stop").hidden = !running;
}

const toComposer = () => $("text").focus({ preventScroll: true });

// ---- controls

$("composer").onsubmit = (event) => {
  event.preventDefault();
  send();
};
$("text").onkeydown = (event) => {
  if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  if (!$("send").disabled) send();
};
$("stop").onclick = async () => {
  await attempt(() => post(`${path()}/cancel`, {}));
  toComposer();
};
$("new").onclick = () => (session ? useSession(null, "pushState") : toComposer());
$("again").onclick = () => useSession(null, "pushState");
$("newest").onclick = () => {
  toEnd();
  toComposer();
};
for (const suggestion of document.querySelectorAll(".suggestion")) {
  suggestion.onclick = () => {
    $("text").value = suggestion.textContent;
    if (!$("send").disabled) send();
  };
}
// a new fragment in the same page may come with either event; the second finds nothing to do
addEventListener("popstate", revisit);
addEventListener("hashchange", revisit);
useSession(readAddress(sessionStorage.getItem("portico.session")));
