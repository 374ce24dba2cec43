// What a text that is still being written may show of its end: what may yet turn into a mark is held back, what is open is closed. Pure.

/** What may stand in front of a line's own text: quotes and items of lists. */
const FRONT = /(?:[ \t>]|[-*+][ \t]|\d{1,9}[.)][ \t])*/;
/** A rule, an item, an underline of a heading, a table's second line; a fence; a link's definition: by halves, too. */
const MARKS = /[-*+_=#|:`~ \t]*|\d{1,9}[.)]?[ \t]*|(?:```|~~~).*|\[(?:[^\]\\\n]|\\.){0,300}(?:\\|\](?::.*)?)?/;
/** A last line of which nobody knows yet what it is. */
const UNDECIDED = new RegExp(`^${FRONT.source}(?:${MARKS.source})$`);

/** How much of an open label or address is taken for one; what is longer is text. */
const MAX_OPEN = 1000;
/** How many marks are kept open at once; of more, the oldest stay as they are written. */
const MAX_MARKS = 50;

/** The text without a last line of which nobody knows yet what it is. */
export function settled(text) {
  const start = text.lastIndexOf("\n") + 1;
  return text.length - start < MAX_OPEN && UNDECIDED.test(text.slice(start)) ? text.slice(0, start) : text;
}

/** The text of a paragraph without lines that may yet turn out to be a table's head. */
export function beforeTable(text) {
  const start = text.lastIndexOf("\n") + 1;
  const line = text.slice(start);
  return /^\s*\|/.test(line) || (start === 0 && / \| /.test(line)) ? text.slice(0, start).trimEnd() : text;
}

const OPENER = /\\|`+|\*+|_+|~+|!?\[|\]|<|&/g;
/** What may follow a link's text, unfinished. */
const OPEN_TARGET = /^(?:\(\s*(?:<[^<>\n]*|[^\s<]*)(?:\s+(?:["'(][^]*)?)?|\[[^\]]*)$/;
const TARGET = /(?:\((?:\\.|[^()\\\n]|\((?:\\.|[^()\\\n])*\))*\)|\[(?:\\.|[^[\]\\])*\](?!\())/y;
const wordly = (char) => char !== undefined && /[\p{L}\p{N}]/u.test(char);

/** Inline Markdown whose open marks are closed, and whose last mark is left away where it is not whole. */
export function mended(source) {
  const text = source.trimEnd();
  const open = [];
  const opener = new RegExp(OPENER);
  const closed = (end, marks = "") => closing(text, end, marks, open);
  for (let found; (found = opener.exec(text)); ) {
    if (open.length > MAX_MARKS) open.shift();
    const at = found.index;
    const mark = found[0];
    const end = at + mark.length;
    const isLast = end === text.length;
    if (mark === "\\") {
      if (isLast) return closed(at);
      opener.lastIndex = end + 1;
    } else if (mark[0] === "`") {
      const close = codeEnd(text, end, mark.length);
      if (close < 0) return isLast ? closed(at) : closed(withoutTicks(text), mark);
      opener.lastIndex = close;
    } else if (mark === "&" || mark === "<") {
      const rest = text.slice(at, at + MAX_OPEN);
      if (at + rest.length === text.length && (mark === "&" ? /^&#?\w{0,31}$/ : /^<[a-z]*(?::[^\s<>]*)?$/i).test(rest)) return closed(at);
    } else if (mark.endsWith("[")) {
      open.push({ mark: "[", at, end });
    } else if (mark === "]") {
      const label = open.findLastIndex((other) => other.mark === "[");
      if (label < 0) continue;
      TARGET.lastIndex = end;
      const rest = text.slice(end, end + MAX_OPEN);
      if (isLast || (end + rest.length === text.length && OPEN_TARGET.test(rest) && !TARGET.test(text))) {
        return closed(at);
      }
      TARGET.lastIndex = end;
      if (TARGET.test(text)) opener.lastIndex = TARGET.lastIndex;
      open.splice(label);
    } else if (isLast) {
      return closed(at);
    } else {
      run(text, at, end, mark, open);
    }
  }
  if (/(^|\s)!$/.test(text)) return closed(text.length - 1);
  return closed(text.length);
}

function withoutTicks(text) {
  let end = text.length;
  while (text[end - 1] === "`") end -= 1;
  return end;
}

/** Where the code that `length` backticks began ends; -1 where it does not. */
function codeEnd(text, from, length) {
  const ticks = /`+/g;
  ticks.lastIndex = from;
  for (let found; (found = ticks.exec(text)); ) if (found[0].length === length) return ticks.lastIndex;
  return -1;
}

/** A run of `*`, `_` or `~` within the text closes what it can and opens the rest. */
function run(text, at, end, mark, open) {
  const char = mark[0];
  const before = text[at - 1];
  const after = text[end];
  const inWord = char === "_" && wordly(before) && wordly(after);
  let left = mark.length;
  if (inWord || (char === "~" && left < 2)) return;
  if (before !== undefined && !/\s/.test(before)) {
    const bottom = open.findLastIndex((other) => other.mark === "[") + 1;
    for (let i; left > 0 && (i = open.findLastIndex((other) => other.mark === char)) >= bottom; ) {
      const taken = Math.min(left, open[i].length);
      left -= taken;
      open[i].length -= taken;
      open.splice(open[i].length > 0 ? i + 1 : i);
    }
  }
  if (left > 0 && !/\s/.test(after)) open.push({ mark: char, at, end, length: left });
}

/**
 * `text` up to `end` with `marks` behind it: without the brackets of links and without images that are open, and with what else is open
 * closed.
 */
function closing(text, end, marks, open) {
  let cut = text.slice(0, end);
  if (!marks) cut = cut.trimEnd();
  let tail = marks;
  for (const { mark, at, end: inner, length } of open.toReversed()) {
    if (mark === "[" && cut.length - at > MAX_OPEN) continue;
    if (mark === "[" && inner - at === 2) [cut, tail] = [cut.slice(0, at).trimEnd(), ""];
    else if (mark === "[") cut = cut.slice(0, at) + cut.slice(inner);
    else if (tail || cut.length > inner) tail += mark.repeat(length);
    else cut = cut.slice(0, at).trimEnd();
  }
  return cut + tail;
}
