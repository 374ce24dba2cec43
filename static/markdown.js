// The little Markdown that answers use, as DOM nodes: paragraphs, bold, italic, code, fences, lists, headings, tables, http links.
//
// Whatever else a text holds stays text: nothing here reads HTML, and no address but http and https becomes a link. Text that is still
// growing is drawn again and again, so only the blocks that changed are made anew. Time grows with the length of the text, whatever is in it.

/** How deep lists and emphasis may stand inside each other; below that the text is shown as it is. */
const MAX_DEPTH = 6;

const FENCE = /^ {0,3}(`{3,}|~{3,})[^`]*$/;
const HEADING = /^ {0,3}#{1,6}[ \t]+(\S.*)$/;
const ITEM = /^( *)([-*+]|\d{1,9}[.)])([ \t]+)\S/;
const RULE = /^\|?[ \t]*:?-+:?[ \t]*(\|[ \t]*:?-+:?[ \t]*)*\|?$/;

/** The source of each block that stands on the page, to leave it alone while it is the same. */
const sources = new WeakMap();

/** Makes `parent` show `text`. */
export function draw(parent, text) {
  const wanted = split(text.split("\n"));
  wanted.forEach((block, i) => {
    const standing = parent.childNodes[i];
    if (standing && sources.get(standing) === block.source) return;
    const node = block.make(0);
    sources.set(node, block.source);
    if (standing) standing.replaceWith(node);
    else parent.append(node);
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild.remove();
}

// ---- blocks

/** The blocks of these lines: the source of each and how to make its node. */
function split(lines) {
  const blocks = [];
  for (let at = 0; at < lines.length; ) {
    if (!lines[at].trim()) {
      at += 1;
      continue;
    }
    const [end, make] = fence(lines, at) ?? heading(lines, at) ?? table(lines, at) ?? list(lines, at) ?? paragraph(lines, at);
    blocks.push({ source: lines.slice(at, end).join("\n"), make });
    at = end;
  }
  return blocks;
}

const startsBlock = (lines, at) => FENCE.test(lines[at]) || HEADING.test(lines[at]) || ITEM.test(lines[at]) || isTable(lines, at);

function paragraph(lines, at) {
  let end = at + 1;
  while (end < lines.length && lines[end].trim() && !startsBlock(lines, end)) end += 1;
  return [end, (depth) => element("p", inline(lines.slice(at, end).join("\n"), depth))];
}

function heading(lines, at) {
  const found = lines[at].match(HEADING);
  return found && [at + 1, (depth) => element("p", [element("strong", inline(found[1].replace(/[ \t]{1,9}#{1,9}[ \t]*$/, ""), depth))])];
}

function fence(lines, at) {
  const mark = lines[at].match(FENCE)?.[1];
  if (!mark) return null;
  let end = at + 1;
  while (end < lines.length && !(lines[end].trim().startsWith(mark) && !lines[end].trim().replaceAll(mark[0], ""))) end += 1;
  const make = () => scrolling(element("pre", [element("code", [lines.slice(at + 1, end).join("\n")])]), "Code");
  return [Math.min(end + 1, lines.length), make];
}

const cells = (line) => line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

const isTable = (lines, at) =>
  lines[at].includes("|") && RULE.test(lines[at + 1]?.trim() ?? "") && cells(lines[at]).length === cells(lines[at + 1]).length;

function table(lines, at) {
  if (!isTable(lines, at)) return null;
  let end = at + 2;
  while (end < lines.length && lines[end].includes("|")) end += 1;
  const sides = cells(lines[at + 1]).map((rule) => (!rule.endsWith(":") ? "" : rule.startsWith(":") ? "center" : "end"));
  const row = (tag, line, depth) => {
    const found = cells(line);
    return element("tr", sides.map((side, i) => {
      const cell = element(tag, inline(found[i] ?? "", depth));
      if (side) cell.dataset.side = side;
      return cell;
    }));
  };
  const make = (depth) => {
    const head = element("thead", [row("th", lines[at], depth)]);
    const body = element("tbody", lines.slice(at + 2, end).map((line) => row("td", line, depth)));
    return scrolling(element("div", [element("table", [head, body])]), "Table");
  };
  return [end, make];
}

function list(lines, at) {
  const first = lines[at].match(ITEM);
  if (!first) return null;
  const ordered = /\d/.test(first[2]);
  const items = [];
  let end = at;
  let inside = 0;
  for (; end < lines.length; end += 1) {
    const line = lines[end];
    const item = line.match(ITEM);
    if (item && (items.length === 0 || item[1].length < inside)) {
      if (/\d/.test(item[2]) !== ordered || (items.length > 0 && item[1].length < first[1].length)) break;
      inside = item[1].length + item[2].length + Math.min(item[3].length, 4);
      items.push([line.slice(inside)]);
    } else if (!line.trim()) {
      const next = lines.slice(end + 1, end + 3).find((other) => other.trim());
      if (next === undefined || !(ITEM.test(next) || next.startsWith(" ".repeat(inside)))) break;
      items.at(-1).push("");
    } else if (line.startsWith(" ".repeat(inside))) {
      items.at(-1).push(line.slice(inside));
    } else if (items.at(-1).at(-1) === "" || FENCE.test(line) || HEADING.test(line)) {
      break;
    } else {
      items.at(-1).push(line.trimStart());
    }
  }
  const make = (depth) => {
    const made = element(ordered ? "ol" : "ul", items.map((item) => element("li", entry(item, depth + 1))));
    if (ordered) made.start = Number.parseInt(first[2], 10);
    return made;
  };
  return [end, make];
}

/** What stands in a list's item; one that begins with a paragraph begins on the marker's line. */
function entry(lines, depth) {
  if (depth >= MAX_DEPTH) return [lines.join("\n")];
  const nodes = split(lines).map((block) => block.make(depth));
  return nodes[0]?.tagName === "P" ? [...nodes[0].childNodes, ...nodes.slice(1)] : nodes;
}

// ---- what stands in a line

const OPENER = /\\[!-/:-@[-`{-~]|`+|\*\*|__|[*_]|\[|https?:\/\//g;
const LINK = /\[([^[\]\n]{1,1000})\]\((https?:\/\/(?:[^\s()<>]|\([^\s()<>]{0,200}\)){1,2000})\)/y;
const ADDRESS = /https?:\/\/[^\s<>"`|\\^{}]{1,2000}/y;
const wordly = (char) => char !== undefined && /[\p{L}\p{N}_]/u.test(char);

function inline(text, depth) {
  if (depth >= MAX_DEPTH) return [text];
  const nodes = [];
  const opener = new RegExp(OPENER);
  /** Marks that nothing closes from here on: they are looked for once only. */
  const lost = new Set();
  let plain = 0;
  for (let found; (found = opener.exec(text)); ) {
    const made = span(text, found.index, found[0], depth, lost);
    if (!made) continue;
    nodes.push(text.slice(plain, found.index), made.node);
    plain = opener.lastIndex = made.end;
  }
  return [...nodes, text.slice(plain)];
}

/** What begins with `mark` at `at`: its node and where it ends; null where the mark is only text. */
function span(text, at, mark, depth, lost) {
  if (mark[0] === "\\") return { node: mark[1], end: at + 2 };
  if (mark === "[") {
    LINK.lastIndex = at;
    const found = LINK.exec(text);
    return found && { node: link(found[2], [found[1]]), end: LINK.lastIndex };
  }
  if (mark.startsWith("http")) return address(text, at);
  if (lost.has(mark)) return null;
  const from = at + mark.length;
  if (mark[0] !== "`" && (!text[from] || /\s/.test(text[from]) || (mark[0] === "_" && wordly(text[at - 1])))) return null;
  const close = closer(text, from, mark);
  if (close < 0) {
    lost.add(mark);
    return null;
  }
  const inner = text.slice(from, close);
  if (mark[0] === "`") {
    const padded = inner.startsWith(" ") && inner.endsWith(" ") && inner.trim();
    return { node: element("code", [padded ? inner.slice(1, -1) : inner]), end: close + mark.length };
  }
  return { node: element(mark.length === 2 ? "strong" : "em", inline(inner, depth + 1)), end: close + mark.length };
}

/** Where `mark` is closed, behind `from`; -1 where it is not. Whether a place closes does not depend on where the span began. */
function closer(text, from, mark) {
  const char = mark[0];
  const run = mark.length;
  for (let at = text.indexOf(mark, from); at >= 0; at = text.indexOf(mark, at)) {
    let end = at + run;
    while (text[end] === char) end += 1;
    const length = end - at;
    const last = end - run;
    const before = text[at - 1];
    if (char === "`" ? length === run : (length === run || length === 3) && last > from && !/[\s\\]/.test(before) && !(char === "_" && wordly(text[end]))) {
      return last;
    }
    at = end;
  }
  return -1;
}

function address(text, at) {
  ADDRESS.lastIndex = at;
  const found = ADDRESS.exec(text)?.[0];
  if (!found || wordly(text[at - 1])) return null;
  const trimmed = found.replace(found.includes("(") ? /[.,:;!?'*_\]]+$/ : /[.,:;!?'*_\])]+$/, "");
  return { node: link(trimmed, [trimmed]), end: at + trimmed.length };
}

// ---- nodes

/** An element with these nodes and texts in it. */
function element(tag, nodes) {
  const made = document.createElement(tag);
  made.append(...nodes.filter((node) => node !== ""));
  return made;
}

/** A link that tells its target nothing of this page and leaves it open. */
function link(href, nodes) {
  const made = element("a", nodes);
  made.href = href;
  made.title = href;
  made.target = "_blank";
  made.rel = "noopener noreferrer";
  return made;
}

/** What may be wider than the page scrolls in a box of its own, with the keyboard too. */
function scrolling(box, name) {
  box.classList.add("scrolling");
  box.tabIndex = 0;
  box.role = "region";
  box.ariaLabel = name;
  return box;
}
