// Questions of the agent as a form: one choice, several, or own words; all of it can be skipped.

import { spell } from "../client.js";
import { bidi, mark, waiting } from "./cards.js";
import { button, element } from "./dom.js";

/**
 * A set of questions, while it waits and after. `answer(answers)`, or `answer(null)` to decline, resolves to whether it was taken, or throws
 * what it failed at; `leave` is as for an approval.
 */
export function questionCard(item, { t, answer, leave }) {
  const body = (card, { key, questions }) => {
    const form = card.box.appendChild(element("form"));
    const fields = questions.map((question, at) => field(form, question, `${key}-${at}`, t));
    const submit = Object.assign(element("button", "primary", t("answer")), { type: "submit" });
    card.actions.append(submit, button(t("skip"), "", () => card.once(() => answer(null))));
    form.append(card.time, card.actions);
    form.onsubmit = (event) => {
      event.preventDefault();
      const answers = fields.map((read) => read());
      card.once(() => answer(answers));
    };
  };
  const title = ({ questions }) => [t(questions.length === 1 ? "question" : "questions")];
  return waiting(item, { t, leave, kind: () => "question", title, body, folded: (settled) => answered(settled, t) });
}

/** Appends one question's controls; gives what reads the answer from them. */
function field(form, { id, text, options = [], multiple, free_text }, name, t) {
  const group = form.appendChild(element("fieldset", "", bidi(element("legend", "", spell(text)))));
  const choices = options.map(({ label, description }) => {
    const input = Object.assign(element("input"), { type: multiple ? "checkbox" : "radio", name, required: !multiple && !free_text });
    const words = bidi(element("span", "", spell(label)));
    if (description) words.append(element("small", "", spell(description)));
    group.append(element("label", "choice", input, words));
    return { label, input };
  });
  const written = free_text ? group.appendChild(ownWords(text, options.length > 0, t)) : undefined;
  return () => {
    const selected = choices.filter(({ input }) => input.checked).map(({ label }) => label);
    const own = written?.value.trim();
    return own ? { id, selected, text: own } : { id, selected };
  };
}

function ownWords(question, beside, t) {
  const made = element("textarea");
  const ariaLabel = beside ? t("ownWordsTo", { question: spell(question) }) : spell(question);
  return Object.assign(bidi(made), { rows: 1, required: !beside, ariaLabel, placeholder: beside ? t("ownWords") : "" });
}

/** What answered questions fold to: each with its answer. */
function answered({ questions, answers, outcome }, t) {
  if (!answers) return element("p", "settled", mark(false), " ", t.of("question", outcome ?? "other"));
  return element("div", "settled", ...questions.map(({ id, text }) => {
    const { selected = [], text: own } = answers.find((answer) => answer.id === id) ?? {};
    const said = spell([...selected, ...(own ? [own] : [])].join(t("listJoin"))) || t("noAnswer");
    return bidi(element("p", "", mark(true), ` ${spell(text)} `, element("strong", "", said)));
  }));
}
