// The conversation as a list of keyed nodes: what did not change is not touched, and a long one is drawn in slices, newest first.

import { element } from "./dom.js";
import { last } from "./last.js";
import { drawing } from "./rows.js";

/** How long one slice of drawing may take, in ms: a fifth of what a person would notice. */
const SLICE_MS = 20;

/** `actions` are what rows can do; `drawn` hears of a slice that it has drawn of its own accord. */
export function conversation(t, actions, drawn) {
  const list = element("ol", "list");
  list.role = "list";
  const standing = new Map();
  /** The rows that stand whatever is being written, and the row of that. */
  const settled = last(rowsOf);
  let live;
  let rows = [];
  let of = [];
  /** How many of the rows, from the end, are drawn. */
  let most = 0;
  let next;

  function draw({ view, outbox }) {
    const now = settled(view.items, outbox);
    const row = view.live?.text ? { key: view.live.message_id, kind: "message", value: view.live } : undefined;
    const isGrown = now === of && row && row.key === live?.key && standing.has(row.key);
    if (isGrown) {
      live.value = row.value;
      return stand(live, standing.get(live.key));
    }
    [of, live] = [now, row];
    rows = [...now.said, ...(row ? [row] : []), ...now.queued];
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
      [rows, of, live, most] = [[], [], undefined, 0];
    },
  };
}

/** Tools that stand together are a new array each time. */
const isSame = (a, b) => a === b || (Array.isArray(a) && a.length === b.length && a.every((one, at) => one === b[at]));

/** What stands in the list, in order: `{key, kind, value}`. What waits for its turn stands below the answer that is being written. */
function rowsOf(items, outbox) {
  const said = [];
  const queued = [];
  let midnight = -Infinity;
  for (const item of items) {
    const row = { key: item.key, kind: item.kind, value: item };
    // an answer keeps its row from its first letter on
    if (item.kind === "message") row.key = item.message_id;
    if (item.queued) {
      queued.push(row);
      continue;
    }
    // a message that waited over midnight is older than what it stands below
    if (Date.parse(item.at) >= midnight) {
      if (said.length) said.push({ key: `day ${item.key}`, kind: "day", value: item.at });
      midnight = new Date(item.at).setHours(24, 0, 0, 0);
    }
    if (item.kind !== "tool") said.push(row);
    else if (said.at(-1)?.kind === "tools") said.at(-1).value.push(item);
    else said.push({ ...row, kind: "tools", value: [item] });
  }
  for (const one of outbox) queued.push({ key: one.key, kind: "outgoing", value: one });
  return { said, queued };
}
