// What waits for the person at the page, as cards: approvals and questions. A card that is settled folds to one line.
//
// A card says what it is about to the letter: an approval shows the very text of the arguments that its digest covers, laid out but not
// read as numbers or objects, with every character spelled that would hide or reorder its neighbours.

const UNSEEN = /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/gu;

const BUTTONS = { allow_once: "Allow once", allow_session: "Allow for this conversation", allow_always: "Always allow", deny: "Deny" };
const OUTCOMES = {
  allow_once: "allowed once",
  allow_session: "allowed for this conversation",
  allow_always: "always allowed",
  unavailable: "not allowed: nobody could be asked",
  deny: "denied",
};

let cards = 0;

/** An element with a class and, as text, what it says. */
export function element(tag, className, text = "") {
  const made = document.createElement(tag);
  made.className = className;
  made.textContent = text;
  return made;
}

/** Text in which nothing hides. */
export const spell = (text) =>
  text.replace(UNSEEN, (char) => {
    const code = char.codePointAt(0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });

/** The text of a member of a JSON object, as it was sent; undefined where there is none. */
export function rawMember(json, name) {
  let depth = 0;
  let key;
  let from = 0;
  for (const { 0: token, index } of json.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/gs)) {
    if (depth === 1 && (token === "," || token === "}")) {
      if (key === name) return json.slice(from, index).trim();
      key = undefined;
    }
    if (token === "{" || token === "[") depth += 1;
    else if (token === "}" || token === "]") depth -= 1;
    else if (depth === 1 && token === ":") from = index + 1;
    else if (depth === 1 && key === undefined && token[0] === '"') key = JSON.parse(token);
  }
  return undefined;
}

/** JSON on lines of its own: only white space between its parts is added. */
function layOut(json) {
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|\{\}|\[\]|[{}[\],:]/gs, (token) => {
    if (token === "{" || token === "[") return (depth += 1), token + line();
    if (token === "}" || token === "]") return (depth = Math.max(0, depth - 1)), line() + token;
    if (token === ",") return token + line();
    return token === ":" ? ": " : token;
  });
}

/** How long something waits still, in words. */
function lasting(until) {
  const minutes = Math.ceil((new Date(until) - Date.now()) / 60_000);
  const count = (n, unit) => `for ${n} ${unit}${n === 1 ? "" : "s"}`;
  if (!(minutes > 0)) return "no longer";
  if (minutes <= 90) return count(minutes, "minute");
  return minutes <= 48 * 60 ? count(Math.round(minutes / 60), "hour") : count(Math.round(minutes / 1440), "day");
}

/** A card: a group that its heading names. What it says of the time goes on by itself, unannounced. */
function card(kind, heading, expiresAt) {
  const made = element("div", `card ${kind}`);
  const title = made.appendChild(element("h2", "", heading));
  title.id = `card-${(cards += 1)}`;
  made.role = "group";
  made.setAttribute("aria-labelledby", title.id);
  const time = element("p", "time");
  time.ariaLive = "off";
  const tell = () => (time.textContent = `Waits ${lasting(expiresAt)}.`);
  const clock = setInterval(() => (made.isConnected ? tell() : clearInterval(clock)), 30_000);
  tell();
  return [made, time];
}

function button(label, kind, onclick) {
  const made = element("button", kind, label);
  made.type = onclick ? "button" : "submit";
  made.onclick = onclick ?? null;
  return made;
}

/** Runs `act` with the card's controls off, and on again where it failed: a second click must not be a second answer. */
async function once(box, act) {
  const controls = box.querySelectorAll("button, input, textarea");
  for (const control of controls) control.disabled = true;
  const done = await act();
  if (!done) for (const control of controls) control.disabled = false;
}

/** An approval's card. `args` is their text as sent; `decide(decision)` resolves to whether it was taken. */
export function approvalCard({ tool, digest, reason, decisions, expires_at }, args, decide) {
  const [made, time] = card("approval", `Allow ${spell(tool)}?`, expires_at);
  if (reason) made.append(element("p", "", spell(reason)));
  if (args !== undefined) made.append(argsBox(args));
  made.append(time);
  // A reader without the digest may not decide, and is not shown what is decided.
  if (!digest) return made;
  const actions = made.appendChild(element("div", "actions"));
  for (const decision of decisions ?? []) {
    actions.append(button(BUTTONS[decision] ?? spell(decision), decision === "allow_once" ? "" : "quiet", () => once(made, () => decide(decision))));
  }
  return made;
}

function argsBox(args) {
  const box = element("pre", "", spell(layOut(args)));
  box.tabIndex = 0;
  box.role = "region";
  box.ariaLabel = "Arguments";
  return box;
}

/** What a decided approval folds to; the arguments stay behind the line. */
export function decided(tool, args, decision, note) {
  const allowed = decision.startsWith("allow");
  const line = `${allowed ? "✓" : "✗"} ${spell(tool)} ${OUTCOMES[decision] ?? decision}${note ? `: ${spell(note)}` : ""}`;
  if (args === undefined) return element("p", "settled", line);
  const made = element("details", "settled");
  made.append(element("summary", "", line), argsBox(args));
  return made;
}

/** The form of a set of questions. `answer(body)` resolves to whether it was taken. */
export function questionCard({ questions, expires_at }, answer) {
  const [made, time] = card("question", questions.length === 1 ? "A question for you" : "Questions for you", expires_at);
  const form = made.appendChild(document.createElement("form"));
  const fields = questions.map((question) => field(form, question));
  const actions = element("div", "actions");
  actions.append(button("Answer", ""), button("Skip", "quiet", () => once(made, () => answer({ declined: true }))));
  form.append(time, actions);
  form.onsubmit = (event) => {
    event.preventDefault();
    const answers = fields.map((read) => read());
    once(made, () => answer({ answers }));
  };
  return made;
}

/** Appends one question's controls; gives what reads the answer from them. */
function field(form, { id, text, options = [], multiple, free_text }) {
  const group = form.appendChild(document.createElement("fieldset"));
  group.append(element("legend", "", spell(text)));
  const name = `question-${(cards += 1)}`;
  const choices = options.map(({ label, description }) => {
    const input = document.createElement("input");
    input.type = multiple ? "checkbox" : "radio";
    input.name = name;
    input.required = !multiple && !free_text;
    const row = group.appendChild(element("label", "choice"));
    const words = element("span", "", spell(label));
    if (description) words.append(element("small", "", spell(description)));
    row.append(input, words);
    return { label, input };
  });
  let written;
  if (free_text) {
    written = element("textarea", "");
    written.rows = 1;
    written.required = options.length === 0;
    written.ariaLabel = options.length ? `In your own words: ${text}` : text;
    if (options.length) written.placeholder = "In your own words";
    group.append(written);
  }
  return () => {
    const selected = choices.filter(({ input }) => input.checked).map(({ label }) => label);
    const own = written?.value.trim();
    return own ? { id, selected, text: own } : { id, selected };
  };
}

/** What answered questions fold to: each with its answer. */
export function answered(questions, { answers, declined, reason }) {
  if (!answers) return element("p", "settled", `✗ Question ${reason ?? (declined ? "skipped" : "closed")}`);
  const made = element("div", "settled");
  for (const { id, text } of questions) {
    const { selected = [], text: own } = answers.find((answer) => answer.id === id) ?? {};
    made.append(element("p", "", `✓ ${spell(text)} ${spell([...selected, ...(own ? [own] : [])].join(", ")) || "no answer"}`));
  }
  return made;
}
