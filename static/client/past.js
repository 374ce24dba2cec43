// Where a view begins. An older page is put in front of it by folding the page and the few records that what is older may concern; all
// behind them is untouched, however much it is.
//
// A turn's records concern its own items only, so where a turn ends nothing is open but what is queued or asked; and who takes up, removes
// or settles that names it.

import { emptyView, fold, newest } from "./reduce.js";

/**
 * What is kept of a view that begins behind `since`: all its records up to `until`, the end of the first turn that ends in it, and those of
 * the later ones that name something older.
 */
export const pastFrom = (since) => ({ since, until: Infinity, records: [] });

const NAMED = {
  turn_start: ({ message_ids }) => message_ids,
  queue_drain: ({ message_ids }) => message_ids,
  message_removed: ({ message_id }) => [message_id],
  tool_approval: ({ approval_id }) => [approval_id],
  question_answered: ({ question_id }) => [question_id],
};

/** Keeps `event` in `past`, where need be, before it is folded into the view of these `items`. */
export function keep(past, { items }, event) {
  const { type, data } = event;
  if (!data?.seq || !past.since) return;
  const isOlder = (id) => !(items[newest(items, ({ key }) => key === id)]?.seq > past.until);
  if (data.seq <= past.until || NAMED[type]?.(data).some(isOlder)) past.records.push(event);
  if (type === "done") past.until = Math.min(past.until, data.seq);
}

/** By which record an item stands where it does. */
const placeOf = ({ queued, taken_seq, seq }) => (queued ? Infinity : (taken_seq ?? seq));

const byPlace = (a, b) => (placeOf(a) === placeOf(b) ? 0 : placeOf(a) - placeOf(b));

/**
 * The view as it would be had it begun with the first of `page`, which are the records behind `since` and in front of it; and its past.
 * Items that come out equal are the same objects as before.
 */
export function prepend({ view, past, page, since }) {
  const next = pastFrom(since);
  const behind = view.items.filter((item) => placeOf(item) > past.until);
  let draft = emptyView;
  for (const event of [...page, ...past.records]) {
    keep(next, draft, event);
    draft = fold(draft, event);
  }
  const before = view.items.filter((item) => placeOf(item) <= past.until);
  const known = new Map(before.map((item) => [item.key, item]));
  const older = [];
  // messages that are taken up behind what was kept, or not at all yet
  const late = [];
  for (const item of draft.items) {
    const same = known.get(item.key);
    known.delete(item.key);
    if (placeOf(item) <= past.until) older.push(same && JSON.stringify(same) === JSON.stringify(item) ? same : item);
    else if (!behind.some(({ key }) => key === item.key)) late.push(item);
  }
  // what only `hello` has named is older still
  const named = [...known.values()].filter(({ seq }) => seq === 0);
  const rest = late.length ? [...late, ...behind].sort(byPlace) : behind;
  return { past: next, view: { ...view, items: [...named, ...older, ...rest], head: Math.max(draft.head, view.head) } };
}
