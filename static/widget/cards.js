// What waits for the person at the page, as cards: approvals here, questions in `questions.js`. A card that is settled folds to one line.
//
// Who may not decide is not shown what is decided: the gateway leaves it out, and there are no buttons.

import { spell } from "../client.js";
import { argsBox } from "./args.js";
import { button, element } from "./dom.js";

/** How often a card tells the time that is left, in ms. */
const TELL_MS = 15_000;

/** The name of a tool as it is, with nothing in it hidden. */
export const toolName = (tool) => element("code", "tool-name", spell(tool));

/**
 * An approval, while it waits and after. `decide(decision)` resolves to whether it was taken, or throws what it failed at, which the card
 * says; `leave()` takes the focus where the card had it and folds.
 */
export function approvalCard(item, { t, decide, leave }) {
  const body = (card, { args, digest, reason, decisions = [] }) => {
    if (!digest) return;
    if (reason) card.box.append(bidi(element("p", "card-reason", spell(reason))));
    if (args !== undefined) card.box.append(argsBox(t("args"), args));
    card.actions.append(...decisions.map((decision) =>
      button(t.of("decide", decision, { name: spell(decision) }), decision === "allow_once" ? "primary" : "", () => card.once(() => decide(decision)))));
  };
  const title = ({ tool, digest }) => t.pieces(digest ? "allow" : "elsewhere", { tool: toolName(tool) });
  return waiting(item, { t, leave, kind: ({ digest }) => (digest ? "approval" : "approval elsewhere"), title, body, folded: (settled) => decided(settled, t) });
}

/** What a decided approval folds to; the arguments stay behind the line. */
function decided({ tool, args, decision, note }, t) {
  const what = element("span", "", ...t.pieces(t.keyOf("outcome", decision), { tool: toolName(tool), name: spell(decision) }));
  const line = [mark(decision.startsWith("allow")), " ", ...(note ? t.pieces("withNote", { what, note: spell(note) }) : [what])];
  if (args === undefined) return element("p", "settled", ...line);
  return element("details", "settled", element("summary", "", ...line), argsBox(t("args"), args));
}

export function mark(good) {
  const made = element("span", good ? "mark" : "mark no", good ? "✓" : "✗");
  made.ariaHidden = "true";
  return made;
}

/** In the direction that the text itself has. */
export const bidi = (node) => Object.assign(node, { dir: "auto" });

/**
 * The life of a card: it waits, its time runs out, it is settled. `body(card, item)` fills it, `folded(item)` is what stands in its place
 * in the end.
 */
export function waiting(item, { t, leave, kind, title, body, folded }) {
  const root = element("div", "wait");
  let shown;
  let clock;

  /** A group that its heading names. What it says of the time goes on by itself, unannounced. */
  function open(now) {
    const box = element("div", `card ${kind(now)}`);
    const heading = element("h3", "card-title", ...title(now));
    heading.id = `card-${now.key}`;
    box.role = "group";
    box.setAttribute("aria-labelledby", heading.id);
    const time = Object.assign(element("p", "card-time"), { ariaLive: "off" });
    const actions = element("div", "actions");
    box.append(heading);
    body({ box, time, actions, once: (act) => once(box, act, t) }, now);
    if (!time.parentNode) box.append(time, ...(actions.hasChildNodes() ? [actions] : []));
    root.replaceChildren(box);
    tell(now, box, time);
  }

  /**
   * The server says when it is over; a card of which nothing is heard any more says so by itself. The clock of this machine may be wrong:
   * it never gives more time than there was, and it ends only what it saw begin.
   */
  function tell(now, box, time) {
    const end = Date.parse(now.expires_at);
    const left = Math.min(end - Date.now(), end - (Date.parse(now.at) || 0));
    if (left > 0) {
      time.textContent = t("expires", { when: t.relative(left) });
      clock = setTimeout(() => root.isConnected && tell(now, box, time), Math.min(left + 1, TELL_MS));
    } else if (time.textContent) {
      keepFocus(() => {
        box.querySelectorAll("form, .actions, .card-problem, .card-time").forEach((part) => part.remove());
        box.append(element("p", "card-time", t("expired")));
      });
    }
  }

  /** Focus that would go with what is removed goes where `leave` takes it. */
  function keepFocus(change) {
    const had = root.contains(root.getRootNode().activeElement);
    change();
    if (!had || root.contains(root.getRootNode().activeElement)) return;
    if (leave) return leave();
    root.tabIndex = -1;
    root.focus();
  }

  function update(now) {
    if (now.state === shown) return;
    shown = now.state;
    clearTimeout(clock);
    if (shown === "pending") open(now);
    else keepFocus(() => root.replaceChildren(folded(now)));
  }

  update(item);
  return { element: root, update };
}

/** Runs `act` unless it runs already: a second click must not be a second answer. What it fails at stands in the card. */
async function once(box, act, t) {
  if (box.ariaBusy === "true") return;
  setBusy(box, true);
  box.querySelector(".card-problem")?.remove();
  const problem = await Promise.resolve(act()).then((taken) => (taken === false ? t("cardFailed") : ""), (error) => t.problem(error));
  if (!problem) return;
  setBusy(box, false);
  const said = element("p", "card-problem", problem);
  said.role = "alert";
  box.querySelector(".actions")?.before(said);
}

/** A control that is disabled would lose the focus. */
function setBusy(box, busy) {
  box.ariaBusy = String(busy);
  for (const control of box.querySelectorAll(".actions button")) control.ariaDisabled = String(busy);
}
