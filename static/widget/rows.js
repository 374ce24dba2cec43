// How each kind of row is drawn: `(t, row, actions)` gives `{element, update(value)}`, and `update` is called with what changed only.

import { approvalCard } from "./cards.js";
import { button, element } from "./dom.js";
import { answer } from "./markdown.js";
import { questionCard } from "./questions.js";
import { toolGroup } from "./tools.js";

/** A bubble and what stands under it; who speaks is said to those who do not see its place. */
function bubble(t, role, body) {
  const under = element("p", "under");
  const made = element("li", "message", element("span", role === "human" ? "who" : "unseen", t("says", { who: t(role) })), body, under);
  made.dataset.role = role;
  // the words around it are the widget's, in their own language
  body.lang = document.documentElement.lang;
  made.part = `message ${role}`;
  return { made, under };
}

/** Only the agent's text is Markdown; what people write is shown as they wrote it. */
function message(t, { value: { role = "assistant" } }) {
  const drawn = role === "assistant" && answer(t);
  const body = drawn ? drawn.element : element("div", "plain");
  const { made, under } = bubble(t, role, body);
  let thought;
  body.dir = "auto";
  return {
    element: made,
    update(value) {
      const isLive = value.kind === undefined;
      made.classList.toggle("live", isLive);
      made.classList.toggle("queued", Boolean(value.queued));
      if (drawn) drawn.show(value.text, { live: isLive });
      else body.textContent = made.dataset.raw = value.text;
      if (value.at) made.title = t.moment(new Date(value.at));
      if (value.reasoning && !thought) {
        thought = element("details", "thought", element("summary", "", t("reasoning")), element("p", "plain", value.reasoning));
        body.before(thought);
      }
      under.textContent = value.queued ? t("queued") : value.interrupted ? t("interrupted") : "";
    },
  };
}

/** Statuses of a request that is wrong in itself: the same one again can only be refused again. */
const WRONG = [400, 409, 413, 422];

/** A message that is not in the session yet. `takeBack` makes it a draft again. */
function outgoing(t, { value: { key, text } }, { retry, discard, takeBack }) {
  const body = element("div", "plain", text);
  const { made, under } = bubble(t, "user", body);
  body.dir = "auto";
  made.dataset.raw = text;
  return {
    element: made,
    update({ state, problem }) {
      made.dataset.state = state;
      const words = state === "refused" ? `${t("refused")}. ${t.of("problem", problem.code, { reason: problem.message })}` : t(state);
      under.replaceChildren(words);
      const isWrong = state === "refused" && WRONG.includes(problem.status);
      if (state === "refused" && !isWrong) under.append(button(t("tryAgain"), "link", () => retry(key)));
      if (state === "refused" || state === "waiting") under.append(button(t("discard"), "link", () => (isWrong ? takeBack : discard)(key)));
    },
  };
}

function inRow(part, { element: made, update }) {
  made.part = part;
  return { element: element("li", "", made), update };
}

const tools = (t, _, { artifact }) => inRow("tools", toolGroup(t, { artifact }));
const approval = (t, { value }, { decide, leave }) =>
  inRow("card", approvalCard(value, { t, leave, decide: (decision) => decide(value.approval_id, decision) }));
const question = (t, { value }, { answer: give, leave }) =>
  inRow("card", questionCard(value, { t, leave, answer: (answers) => give(value.question_id, answers) }));

function notice(t) {
  const made = element("li", "notice");
  return {
    element: made,
    update(item) {
      made.classList.toggle("bad", item.reason === "error");
      made.textContent = sentence(t, item);
    },
  };
}

/** What a notice says. */
function sentence(t, { notice: kind, reason, cause, code, detail, text }) {
  if (kind === "handoff" && reason === "end") return t("handoffEnd");
  if (kind !== "end") return t(kind, { code });
  const known = { "aborted user": "endAbortedUser", "error detail": "endErrorDetail" };
  const key = known[`${reason} ${cause ?? (detail ? "detail" : "")}`] ?? t.keyOf("end", reason);
  return [text, t(key, { reason, detail })].filter(Boolean).join("\n");
}

function day(t) {
  const made = element("li", "day");
  return { element: made, update: (at) => (made.textContent = t.day(new Date(at))) };
}

export const drawing = { message, outgoing, tools, approval, question, notice, day };
