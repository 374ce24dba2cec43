// The records that a view was folded from, as long as there are older ones: with a page of those in front they are folded anew.

import { rawElements, rawMember } from "./json.js";
import { emptyView, reduce } from "./reduce.js";

/** The records after `from` up to `to`, as events; `page(after, limit)` resolves to the text of a page. */
export async function recordsBetween(page, from, to) {
  const found = [];
  for (let after = from; after < to; ) {
    const text = await page(after, to - after);
    for (const raw of rawElements(rawMember(text, "data"))) {
      const data = JSON.parse(raw);
      if (data.seq <= to) found.push({ type: data.type, id: String(data.seq), data, raw });
    }
    const next = rawMember(text, "next_cursor");
    if (!next) break;
    after = Number(JSON.parse(next));
  }
  return found;
}

/** What `view` would be had it begun with the first of `records`; items that come out equal are the same objects as before. */
export function refold(view, records) {
  const { title, channel } = view;
  const start = { ...emptyView, ...(title !== undefined && { title }), ...(channel !== undefined && { channel }) };
  const { items, head } = records.reduce(reduce, start);
  const known = new Map(view.items.map((item) => [item.key, item]));
  const merged = items.map((item) => {
    const before = known.get(item.key);
    known.delete(item.key);
    return before && JSON.stringify(before) === JSON.stringify(item) ? before : item;
  });
  // what only `hello` named is older still
  const older = [...known.values()].filter(({ seq }) => seq === 0);
  return { ...view, items: [...older, ...merged], head: Math.max(head, view.head) };
}
