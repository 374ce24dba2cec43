// The conversation as a list of keyed nodes: what did not change is not touched, and a long one is drawn in slices, newest first.

import { drawing } from "./rows.js";
import { element } from "./dom.js";

/** How long one slice of drawing may take, in ms: a fifth of what a person would notice. */
const SLICE_MS = 20;

/** `actions` are what rows can do; `drawn` hears of a slice that it has drawn of its own accord. */
export function conversation(t, actions, drawn) {
  const list = element("ol", "list");
  list.role = "list";
  const standing = new Map();
  let rows = [];
  let of = {};
  /** How many of the rows, from the end, are drawn. */
  let most = 0;
  let next;

  function draw({ view, outbox }) {
    if (of.items !== view.items || of.live !== view.live || of.outbox !== outbox) {
      of = { items: view.items, live: view.live, outbox };
      rows = rowsOf(view, outbox);
    }
    slice();
  }

  /** Draws what is drawn already, and as much in front of it as there is time for. */
  function slice() {
    clearTimeout(next);
    const wanted = new Set(rows.map(({ key }) => key));
    for (const [key, { element: node }] of standing) {
      if (wanted.has(key)) continue;
      node.remove();
      standing.delete(key);
    }
    fill();
    if (most < rows.length) next = setTimeout(() => (slice(), drawn()));
  }

  function fill() {
    const until = performance.now() + SLICE_MS;
    let at = null;
    most = 0;
    for (const row of rows.toReversed()) {
      const known = standing.get(row.key);
      if (!known && performance.now() > until) return;
      const { element: node } = stand(row, known);
      // a node that is moved loses its focus
      if (node.nextSibling !== at || node.parentNode !== list) list.insertBefore(node, at);
      at = node;
      most += 1;
    }
  }

  function stand(row, known) {
    const made = known ?? drawing[row.kind](t, row, actions);
    if (!known) {
      made.element.dataset.kind = row.kind;
      made.element.dataset.key = row.key;
      standing.set(row.key, made);
    }
    if (!isSame(made.value, row.value)) {
      made.update(row.value);
      made.value = row.value;
    }
    return made;
  }

  return {
    element: list,
    draw,
    /** Whether all is drawn. */
    get whole() {
      return most === rows.length;
    },
    clear() {
      clearTimeout(next);
      standing.clear();
      list.replaceChildren();
      [rows, of, most] = [[], {}, 0];
    },
  };
}

/** Tools that stand together are a new array each time. */
const isSame = (a, b) => a === b || (Array.isArray(a) && a.length === b.length && a.every((one, at) => one === b[at]));

/** What stands in the list, in order: `{key, kind, value}`. What waits for its turn stands below the answer that is being written. */
function rowsOf({ items, live }, outbox) {
  const rows = [];
  const queued = [];
  let day;
  for (const item of items) {
    const date = new Date(item.at).toDateString();
    if (day && date !== day) rows.push({ key: `day ${date}`, kind: "day", value: item.at });
    day = date;
    // an answer keeps its row from its first letter on
    if (item.kind === "message") (item.queued ? queued : rows).push({ key: item.message_id, kind: "message", value: item });
    else if (item.kind !== "tool") rows.push({ key: item.key, kind: item.kind, value: item });
    else if (rows.at(-1)?.kind === "tools") rows.at(-1).value.push(item);
    else rows.push({ key: item.key, kind: "tools", value: [item] });
  }
  if (live?.text) rows.push({ key: live.message_id, kind: "message", value: live });
  for (const one of outbox) queued.push({ key: one.key, kind: "outgoing", value: one });
  return [...rows, ...queued];
}
