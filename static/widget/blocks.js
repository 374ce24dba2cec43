// Markdown as top-level blocks, each of which is read and drawn on its own. Pure but for the library.

import { beforeTable, mended } from "./mend.js";

/** As many characters and lines as the library reads in 20 ms, and a page lays out: of longer blocks, so much at once. */
const MAX_CHARS = 16_000;
const MAX_LINES = 300;
/** How many lines behind its beginning decide what a block is: a table is one by its second line. */
const AHEAD = 2;

/** Longer lines are broken, where a word begins if they have any. Nothing shows of a break: a text has no NUL of its own. */
const MAX_LINE = 4_000;
const PIECES = new RegExp(`.{1,${MAX_LINE}}(?<=\\s)(?=\\p{L})|.{1,${MAX_LINE}}`, "gsu");
const BREAK = "\0\n";
const joined = (text) => (text.includes("\0") ? text.replace(/\0\n?/g, "") : text);

/** The text as the library counts its lines, with long lines broken. */
export function normal(text) {
  const clean = /[\r\0]/.test(text) ? text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd") : text;
  // an expression that looks for a long run would try it from each of its letters
  return clean.replace(/[^\n]+/g, (line) => (line.length > MAX_LINE ? line.match(PIECES).join(BREAK) : line));
}

/**
 * The blocks at the beginning of `text`, as far as it is read at once; `isWhole` where that is all. The first `final` of them, up to
 * `until`, are the same whatever follows. `known` are link definitions from before, and `refs` those and the new ones; a definition is a
 * block that shows nothing (`isHidden`). A block that is too long is cut.
 */
export function split(md, text, known) {
  for (let most = 1; ; most *= 2) {
    const reach = linesOf(text, most);
    const found = parse(md, text, reach, known);
    const final = finals(found.blocks, reach);
    if (reach.isWhole || final > 0) return { ...found, final, until: found.blocks[final]?.at ?? reach.end, isWhole: reach.isWhole };
    // what follows a cut would be no code any more, and code is cheap
    if (found.blocks[0]?.tokens[0].type === "fence") continue;
    const end = reach.starts[reach.within];
    const cut = parse(md, text, { ...reach, end }, known);
    return { ...cut, final: cut.blocks.length, until: end, isWhole: false };
  }
}

/** Where lines begin, as far as is read at once: a block that begins within `within` lines is decided by what is read. */
function linesOf(text, most) {
  const starts = [0];
  let within = Infinity;
  for (let at = 0; (at = text.indexOf("\n", at) + 1) > 0; ) {
    starts.push(at);
    const count = starts.length - 1;
    if (within === Infinity && (count >= MAX_LINES * most || at >= MAX_CHARS * most)) within = count;
    if (count === within + AHEAD) return { starts, within, end: at, isWhole: false };
  }
  return { starts, within, end: text.length, isWhole: true };
}

function parse(md, text, { starts, end }, known) {
  const tokens = [];
  const refs = Object.create(known);
  md.block.parse(text.slice(0, end), md, { references: refs }, tokens);
  const blocks = [];
  for (const token of tokens) {
    if (token.level === 0 && token.nesting >= 0) {
      const [from, to] = token.map;
      const stop = Math.min(starts[to] ?? end, end);
      const source = joined(text.slice(starts[from], stop));
      blocks.push({ from, at: starts[from], source, isOpen: stop === text.length, tokens: [], defines: [] });
    }
    token.content = joined(token.content);
    const block = blocks.at(-1);
    block.tokens.push(token);
    if (token.type === "reference_definition") block.defines.push(token.meta.label);
  }
  for (const block of blocks) block.isHidden = block.tokens[0].type === "reference_definition";
  return { blocks, refs };
}

/** How many blocks are final: those before the last one whose own lines are there. */
function finals(blocks, { starts, within }) {
  const complete = starts.length - 1;
  for (let i = blocks.length - 1; i > 0; i -= 1) {
    const isTitle = i === blocks.length - 1 && blocks[i - 1].isHidden; // a definition may still take the lines below it for its title
    if (blocks[i].from < within && blocks[i].from + AHEAD <= complete && !isTitle) return i;
  }
  return 0;
}

/** Mends the end of a block that is still being written. Gives whether there is anything to show of it. */
export function mend({ tokens }) {
  // the cells that a row has not come to yet are empty
  const last = tokens.findLast(({ type, content }) => (type === "inline" && content) || type === "fence" || type === "code_block");
  if (last?.type !== "inline") return true;
  const isParagraph = tokens[tokens.indexOf(last) - 1].type === "paragraph_open";
  last.content = mended(isParagraph ? beforeTable(last.content) : last.content);
  last.isOpen = true;
  return last.content !== "" || tokens.length > 3;
}
