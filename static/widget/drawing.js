// What stands of one answer: its blocks, each an element. A block is drawn when it changes, and never again once nothing can change it.

import { mend, normal, split } from "./blocks.js";
import { element } from "./dom.js";
import { html, library } from "./html.js";
import { settled } from "./mend.js";
import { clean, patch } from "./nodes.js";

/** On the libraries' own classes. Throws where the page's policy lets no cleaned HTML become nodes. */
export function pen(MarkdownIt, purify) {
  clean(purify, "<p>a</p>", String);
  const md = library(MarkdownIt);
  return (parent, t) => drawing(parent, t, md, purify);
}

/**
 * `{draw(text, isLive, deadline)}` makes the empty element `parent` show `text`; false where the deadline came before the end: it wants to
 * be called again. While it is live, the end of the text is mended.
 */
function drawing(parent, t, md, purify) {
  /** Blocks that show something; the first `done` are final as long as the text begins with `prefix`. */
  let blocks = [];
  let done = 0;
  /** Those before this one are drawn. */
  let next = 0;
  let prefix = "";
  /** Link definitions: of the prefix, and of all that was read. */
  let known = Object.create(null);
  let refs = known;
  let plan = {};

  function draw(text, isLive, deadline) {
    if (plan.text !== text || plan.isLive !== isLive) plan = { text, isLive, lines: normal(text) };
    do {
      while (blocks[next]?.isDrawn) next += 1;
      if (plan.isWhole !== undefined && next < blocks.length) paint(blocks[next]);
      else if (plan.isWhole) return true;
      else plan.isWhole = read(plan.lines, isLive);
    } while (performance.now() <= deadline);
    return false;
  }

  /** Reads what is not final yet; whether that is all there is. Where it is not, the prefix has grown. */
  function read(text, isLive) {
    if (!text.startsWith(prefix)) [prefix, done, known] = ["", 0, Object.create(null)];
    const rest = isLive ? settled(text.slice(prefix.length)) : text.slice(prefix.length);
    const found = split(md, rest, known);
    redefine(found.refs);
    const last = found.blocks.at(-1);
    const isMended = isLive && found.isWhole && last?.isOpen && !last.isHidden;
    const shown = found.blocks.filter((block) => !block.isHidden && (block !== last || !isMended || mend(block)));
    shown.forEach((block, i) => place(done + i, block, isMended && block === last));
    for (const block of blocks.splice(done + shown.length)) block.node?.remove();
    for (const block of found.blocks.slice(0, found.final)) {
      for (const label of block.defines) known[label] ??= found.refs[label];
      if (!block.isHidden) done += 1;
    }
    if (found.final > 0 || !found.isWhole) prefix = text.slice(0, prefix.length + found.until);
    return found.isWhole || found.until === 0;
  }

  function place(i, { source, tokens }, isMended) {
    const old = blocks[i];
    if (old?.source === source && old.isMended === isMended) return;
    next = Math.min(next, i);
    blocks[i] = { source, tokens, isMended, node: old?.node, html: old?.html, labels: new Set(), isDrawn: false };
  }

  /** Has the blocks drawn again that look up a label which means something else now. */
  function redefine(now) {
    const changed = Object.keys({ ...refs, ...now }).filter((label) => refs[label]?.href !== now[label]?.href);
    refs = now;
    if (changed.length === 0) return;
    for (const block of blocks) if (changed.some((label) => block.labels.has(label))) block.isDrawn = false;
    next = 0;
  }

  function paint(block) {
    block.isDrawn = true;
    const made = make(block);
    if (!made) return;
    if (block.node) block.node = patch(block.node, made);
    else parent.append((block.node = made));
  }

  /** The block's element; null where it would be the one that stands. One that cannot be drawn is as it was written. */
  function make(block) {
    try {
      const tokens = block.tokens ?? split(md, block.source, Object.create(null)).blocks[0].tokens;
      block.tokens = null;
      const text = html(md, tokens, watched(refs, block.labels), t);
      if (text !== null && text === block.html) return null;
      block.html = text;
      if (text !== null) return clean(purify, text, t);
    } catch {
      block.html = null;
    }
    return element("p", "plain", block.source);
  }

  return { draw };
}

/** `refs`, of which `labels` gets what is looked up. */
const watched = (refs, labels) =>
  new Proxy(refs, {
    get(_, label) {
      labels.add(label);
      return refs[label];
    },
  });
