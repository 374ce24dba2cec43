// What the agent did between two messages: a line that tells it in short, and behind it each call. A reader of the view `chat` is shown names
// and times; arguments, results and errors are there for whom the gateway sends them to.

import { argsBox, textBox } from "./args.js";
import { toolName } from "./cards.js";
import { button, element } from "./dom.js";

/** How long a call runs before the line says so, in ms. */
const SLOW_MS = 2000;
/** What took less has no time worth telling in the line, in ms. */
const QUICK_MS = 100;

/** A run of calls. `artifact(id)` opens a kept result; what it throws stands beside the button. */
export function toolGroup(t, { artifact }) {
  const summary = element("summary");
  const list = element("ol", "steps");
  const group = element("details", "tools", summary, list);
  // each second would be read out
  group.ariaLive = "off";
  list.role = "list";
  const steps = new Map();
  let shown = [];
  let clock;

  function update(items) {
    const hadFocus = group.contains(group.getRootNode().activeElement);
    shown = items;
    for (const item of items) {
      const known = steps.get(item.key);
      if (known?.item === item) continue;
      const made = step(item, t, artifact);
      if (known) made.keep(known);
      steps.set(item.key, { item, ...made });
    }
    const nodes = items.map(({ key }) => steps.get(key).element);
    if (nodes.some((node, at) => node !== list.children[at]) || list.children.length > nodes.length) list.replaceChildren(...nodes);
    // a single call's details are what one opens the line for
    if (!group.open) for (const { unfold } of steps.values()) unfold(items.length === 1);
    tell();
    if (hadFocus && !group.contains(group.getRootNode().activeElement)) summary.focus();
  }

  function tell() {
    group.dataset.state = shown.some(isRunning) ? "running" : shown.every(isFine) ? "ok" : "failed";
    summary.replaceChildren(...headline(shown, t));
    for (const { item, element: row } of steps.values()) if (isRunning(item)) row.querySelector(".time").textContent = elapsed(item, t);
    clearTimeout(clock);
    if (shown.some(isRunning)) clock = setTimeout(() => group.isConnected && tell(), 1000);
  }

  update([]);
  return { element: group, update };
}

const isRunning = ({ state }) => state === "running";
const isFine = ({ state }) => state === "running" || state === "ok";

/** What runs now, else what was done; how long; what went wrong. */
function headline(items, t) {
  const running = items.filter(isRunning);
  const failed = items.filter((item) => !isFine(item)).length;
  const told = running.length ? running : items;
  const ran = ranFor(items);
  const time = running.length ? elapsed(running[0], t) : ran >= QUICK_MS ? t.duration(ran) : "";
  const parts = [element("span", "what", ...sentence(told, running.length > 0, t))];
  if (failed && items.length > 1) parts.push(element("span", "failures", t("toolFailedMany", { count: failed })));
  parts.push(element("span", "time", time));
  return parts.flatMap((part, at) => (at ? [" ", part] : [part]));
}

function sentence(items, running, t) {
  const [{ tool, state } = { tool: "" }] = items;
  const which = items.length === 1 ? "" : "Many";
  if (!running && items.length === 1 && state !== "ok") return t.pieces("toolOne", { tool: toolName(tool), state: t.of("toolState", state) });
  return t.pieces(`${running ? "toolRunning" : "toolDone"}${which}`, { tool: toolName(tool), count: items.length });
}

function elapsed({ at }, t) {
  const ms = Date.now() - Date.parse(at);
  return ms >= SLOW_MS ? t.duration(Math.floor(ms / 1000) * 1000) : "";
}

/** How long any of them ran, in ms: calls that ran side by side count once. */
function ranFor(items) {
  let sum = 0;
  let end = -Infinity;
  for (const { at, duration_ms = 0 } of items.toSorted((a, b) => Date.parse(a.at) - Date.parse(b.at))) {
    const from = Math.max(Date.parse(at), end);
    end = Math.max(end, Date.parse(at) + duration_ms);
    sum += Math.max(0, end - from);
  }
  return sum;
}

/** One call: a line, and behind it what it was given and what it gave where this reader may see that. */
function step(item, t, artifact) {
  const { tool, state, code, duration_ms } = item;
  const said = element("span", "state", t.of("toolState", state), ...(code ? [" ", element("code", "", code)] : []));
  const line = [toolName(tool), " ", said, " ", element("span", "time", duration_ms === undefined ? "" : t.duration(duration_ms))];
  const parts = details(item, t, artifact);
  const row = element("li", "step");
  row.dataset.state = state;
  const fold = parts.length ? element("details", "", element("summary", "", ...line), ...parts) : null;
  row.append(...(fold ? [fold] : line));
  return {
    element: row,
    unfold: (open) => fold && (fold.open = open),
    /** The same call before, whose fold a person may have opened, and whose place may have the focus. */
    keep(before) {
      const old = before.element.querySelector("details");
      if (fold && old) fold.open = old.open;
      const hadFocus = before.element.contains(before.element.getRootNode().activeElement);
      before.element.replaceWith(row);
      if (hadFocus) fold?.firstElementChild.focus();
    },
  };
}

function details({ args, preview, bytes, artifact_id, error, reason }, t, artifact) {
  const parts = [];
  const named = (label, box) => parts.push(element("p", "label", label), box);
  if (args !== undefined) named(t("args"), argsBox(t("args"), args));
  if (preview) {
    const label = t(artifact_id ? "toolResultBegin" : "toolResult");
    named(label, textBox(label, preview));
  }
  if (error || reason) named(t("toolError"), textBox(t("toolError"), error || reason, "bad"));
  if (artifact_id) parts.push(kept(artifact_id, bytes, t, artifact));
  return parts;
}

function kept(id, bytes, t, artifact) {
  const problem = element("p", "card-problem");
  problem.role = "alert";
  const open = button(t("toolKept", { size: t.bytes(bytes ?? 0) }), "kept", async () => {
    problem.textContent = "";
    await Promise.resolve(artifact(id)).catch((error) => (problem.textContent = t.problem(error)));
  });
  return element("div", "actions", open, problem);
}
