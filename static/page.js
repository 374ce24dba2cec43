// The page at "/": one session's stream, read with the browser's own EventSource, and a text box that posts to it.
//
// Everything it shows comes from the stream, in the stream's order: what it posts appears when the record comes back. So a reload, which
// replays the records, ends with the same page. Text only ever enters the page as textContent.

const $ = (id) => document.getElementById(id);
const log = $("log");
const main = document.querySelector("main");

/** What stands on the page: live answers and tool lines that are open, approvals and messages by id, the turn's last answer. */
const fresh = () => ({ live: new Map(), tools: new Map(), approvals: new Map(), messages: new Map(), answer: "" });
let view = fresh();
let session, source, retryTimer;
/** The id of the last frame: a new EventSource goes on from here, as the browser's own reconnect does. */
let lastId = "";
/** A message without an answer yet, and its key: sending the same text again must not post it twice. */
let unsent = {};

// ---- the session and its stream

/** The fragment of the address: `session` stays, so that the address resumes it; `key` goes to this tab's storage and out of sight. */
function readAddress() {
  const fragment = new URLSearchParams(location.hash.slice(1));
  if (fragment.get("key")) sessionStorage.setItem("portico.key", fragment.get("key"));
  return fragment.get("session") ?? sessionStorage.getItem("portico.session");
}

function useSession(id) {
  session = id;
  if (id) sessionStorage.setItem("portico.session", id);
  else sessionStorage.removeItem("portico.session");
  history.replaceState(null, "", id ? `#session=${encodeURIComponent(id)}` : location.pathname);
  clearTimeout(retryTimer);
  source?.close();
  source = null;
  clear();
  say("");
  if (id) connect();
  else connection("idle", "Ready");
}

const path = () => `/v1/sessions/${encodeURIComponent(session)}`;

function connect() {
  const mine = new EventSource(`${path()}/events${lastId ? `?after=${encodeURIComponent(lastId)}` : ""}`);
  source = mine;
  connection("waiting", "Connecting…");
  mine.onerror = () => {
    if (mine !== source) return;
    connection("waiting", "Reconnecting…");
    // The browser reconnects by itself, with its last id, unless the answer was one that it takes for final.
    if (mine.readyState === EventSource.CLOSED) reopen();
  };
  for (const [name, draw] of Object.entries(on)) {
    mine.addEventListener(name, (event) => {
      if (mine !== source) return;
      const pinned = main.scrollHeight - main.scrollTop - main.clientHeight < 80;
      draw(JSON.parse(event.data, numbersAsSpelled));
      if (event.lastEventId && name !== "reset") lastId = event.lastEventId;
      if (pinned) main.scrollTop = main.scrollHeight;
    });
  }
}

/** Keeps numbers that JavaScript would round or spell anew as they were sent: who decides about a call sees its very arguments. */
function numbersAsSpelled(_, value, context) {
  const changed = typeof value === "number" && context && JSON.rawJSON && String(value) !== context.source;
  return changed ? JSON.rawJSON(context.source) : value;
}

/** After an end that EventSource takes for final: say what it was, or try again. */
async function reopen() {
  const mine = source;
  const answer = await fetch(path()).catch(() => null);
  if (mine !== source) return;
  if (answer && [401, 403, 404].includes(answer.status)) {
    connection("closed", "Closed");
    say(answer.status === 404 ? "This conversation is not here (any more). Start a new one." : await problemOf(answer));
  } else {
    retryTimer = setTimeout(connect, 2000);
  }
}

/** POSTs JSON; throws with the sentence to show where it is refused. */
async function post(url, body, headers = {}) {
  const key = sessionStorage.getItem("portico.key");
  if (key) headers.authorization = `Bearer ${key}`;
  const answer = await fetch(url, { method: "POST", headers: { "content-type": "application/json", ...headers }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await problemOf(answer));
  return answer.json();
}

async function problemOf(answer) {
  const problem = await answer.json().catch(() => ({}));
  if (problem.code === "local_key_required") return "This needs the local key: open the link that the server printed when it started.";
  return problem.detail ?? problem.title ?? `The server answered ${answer.status}.`;
}

async function attempt(what) {
  say("");
  try {
    return await what();
  } catch (error) {
    say(error instanceof TypeError ? "The server cannot be reached." : error.message);
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
  if (!sent) return;
  unsent = {};
  if ($("text").value.trim() === text) $("text").value = "";
}

// ---- what each event does to the page

const on = {
  hello({ turn }) {
    connection("open", "Connected");
    setBusy(turn !== undefined);
  },
  reset: () => clear(),
  closing({ reason }) {
    if (reason !== "deleted") return connection("waiting", "Reconnecting…");
    source.close();
    connection("closed", "Closed");
    say("This conversation was deleted.");
  },
  message_queued: ({ message_id, text }) => view.messages.set(message_id, bubble("user", text, "unclaimed")),
  message_removed({ message_id }) {
    view.messages.get(message_id)?.remove();
    view.messages.delete(message_id);
  },
  turn_start({ message_ids }) {
    view.answer = "";
    setBusy(true);
    claim(message_ids);
  },
  queue_drain: ({ message_ids }) => claim(message_ids),
  text_delta: ({ message_id, block, text }) => blockOf(liveBubble(message_id), block).firstChild.appendData(text),
  message({ message_id, content, author }) {
    const text = content.map((block) => (block.type === "text" ? block.text : "")).join("");
    if (author === "human") return bubble("human", text);
    const item = liveBubble(message_id);
    view.live.delete(message_id);
    dropLive();
    if (!text) return item.remove();
    view.answer = item.textContent = text;
    item.classList.remove("live");
  },
  retry({ code, discarded }) {
    if (discarded) dropLive();
    note(`The model did not finish (${code}); trying again.`);
  },
  tool_start({ tool_call_id, tool, args }) {
    view.tools.delete(tool_call_id);
    const shown = args === undefined ? "" : spell(args);
    toolLine(tool_call_id, tool, `${shown.length > 200 ? `${shown.slice(0, 200)}…` : shown} running…`);
  },
  tool_end: ({ tool_call_id, tool, duration_ms }) => endTool(tool_call_id, tool, `done in ${(duration_ms / 1000).toFixed(1)} s`, ""),
  tool_error: ({ tool_call_id, tool, code }) => endTool(tool_call_id, tool, `failed: ${code}`, "failed"),
  tool_denied: ({ tool_call_id, tool }) => endTool(tool_call_id, tool, "was not allowed", "failed"),
  approval_requested: (approval) => view.approvals.set(approval.approval_id, approvalCard(approval)),
  tool_approval({ approval_id, decision, note: why }) {
    const card = view.approvals.get(approval_id);
    card?.querySelector(".actions")?.remove();
    card?.querySelector(".outcome").replaceChildren(`Decision: ${decision.replace("_", " ")}${why ? ` (${why})` : ""}`);
  },
  done({ reason, code, answer }) {
    dropLive();
    setBusy(false);
    if (!view.answer && answer) note(answer);
    if (reason !== "completed") note(`This turn ended: ${reason}${code ? ` (${code})` : ""}.`, reason === "error" ? "bad" : "");
  },
};

// ---- drawing

function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

const note = (text, kind = "") => log.appendChild(element("li", `note ${kind}`, text));

function bubble(role, text, extra = "") {
  const item = log.appendChild(element("li", `message ${extra}`, text));
  item.dataset.role = role;
  return item;
}

function liveBubble(messageId) {
  if (!view.live.has(messageId)) view.live.set(messageId, bubble("assistant", "", "live"));
  return view.live.get(messageId);
}

/** The span of one content block; spans stand in the blocks' order, whichever came first. */
function blockOf(item, block) {
  const spans = [...item.children];
  const found = spans.find((span) => Number(span.dataset.block) === block);
  if (found) return found;
  const span = document.createElement("span");
  span.dataset.block = block;
  span.append(document.createTextNode(""));
  return item.insertBefore(span, spans.find((other) => Number(other.dataset.block) > block) ?? null);
}

function dropLive() {
  for (const item of view.live.values()) item.remove();
  view.live.clear();
}

const claim = (messageIds) => messageIds.forEach((id) => view.messages.get(id)?.classList.remove("unclaimed"));

function toolLine(id, tool, state) {
  if (!view.tools.has(id)) view.tools.set(id, log.appendChild(element("li", "tool")));
  const line = view.tools.get(id);
  line.replaceChildren(element("code", "", tool), ` ${state}`);
  return line;
}

/** A model may use a call's id again in a later step, so an ended line is nobody's any more. */
function endTool(id, tool, state, kind) {
  toolLine(id, tool, state).className = `tool ${kind}`;
  view.tools.delete(id);
}

/** Arguments as text; characters that hide or reorder what stands beside them are spelled out. */
function spell(args, indent) {
  const text = typeof args === "string" ? args : JSON.stringify(args, null, indent);
  return text.replace(/[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/gu, (c) => `\\u{${c.codePointAt(0).toString(16)}}`);
}

function approvalCard({ approval_id, tool, args, digest, reason, expires_at }) {
  const card = log.appendChild(element("li", "approval"));
  card.append(element("h2", "", `May ${tool} run?`));
  if (reason) card.append(element("p", "", reason));
  if (args !== undefined) card.append(element("pre", "", spell(args, 2)));
  card.append(element("p", "outcome", `Waits until ${new Date(expires_at).toLocaleString()}.`));
  // A reader without the digest may not decide, and is not shown what is decided.
  if (!digest) return card;
  const actions = card.appendChild(element("div", "actions"));
  for (const [decision, label, kind] of [["allow_once", "Allow once", ""], ["deny", "Deny", "quiet"]]) {
    const button = actions.appendChild(element("button", kind, label));
    button.type = "button";
    button.onclick = () => attempt(() => post(`${path()}/approvals/${encodeURIComponent(approval_id)}`, { decision, digest }));
  }
  return card;
}

function clear() {
  view = fresh();
  lastId = "";
  log.replaceChildren();
  setBusy(false);
}

function connection(state, text) {
  $("connection").dataset.state = state;
  $("connection").textContent = text;
}

function say(text) {
  $("problem").textContent = text;
  $("problem").hidden = !text;
}

function setBusy(busy) {
  $("stop").hidden = !busy;
  log.ariaBusy = String(busy);
}

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
$("stop").onclick = () => attempt(() => post(`${path()}/cancel`, {}));
$("new").onclick = () => useSession(null);
addEventListener("hashchange", () => useSession(readAddress()));
useSession(readAddress());
