// Markdown as blocks, each of which becomes HTML on its own. Knows the library; knows no page.

import { beforeTable, mended } from "./mend.js";

/** Deeper than anybody can read; what stands deeper than the library goes is lost, so such a block is shown as its source. */
const MAX_DEPTH = 24;
/** About 50 ms of a slow phone's time, for that is what one block takes at once; a longer one is shown as its source. */
const MAX_INLINE = 50_000;
const MAX_TOKENS = 12_000;

const ADDRESS = /^(?:https?:\/\/|mailto:)/;
const HOST = /(?:[a-z][a-z0-9+.-]*:\/\/|\bwww\.)?(?:[^\s/@]+@)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]+)/iu;
/** Reorders what stands beside it. */
const DIRECTION = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const SIDES = { "text-align:right": "end", "text-align:center": "center", "text-align:left": "start" };

/** `{split, html}` on the class of the library. */
export function parser(MarkdownIt) {
  const md = new MarkdownIt({ linkify: true, breaks: true, maxNesting: MAX_DEPTH });
  // what `split` does
  md.disable(["normalize", "block"]);
  md.linkify.set({ fuzzyLink: false, fuzzyEmail: false }).add("ftp:", null).add("//", null);
  md.normalizeLink = (address) => URL.parse?.(address)?.href ?? whole(address);
  md.normalizeLinkText = (text) => text;
  md.validateLink = (address) => ADDRESS.test(address) && !/^https?:\/\/[^/]*@/.test(address);
  md.renderer.rules.fence = md.renderer.rules.code_block = code;
  md.renderer.rules.image = image;

  /** The top-level blocks of `text`; link definitions go to `refs`, and are blocks that show nothing (`isHidden`). */
  function split(text, refs) {
    const tokens = [];
    md.block.parse(text, md, { references: refs }, tokens);
    const starts = lines(text);
    const blocks = [];
    for (const token of tokens) {
      if (token.level === 0 && token.nesting >= 0) {
        const [from, to] = token.map;
        blocks.push({ from, at: starts[from], isOpen: to >= starts.length - 1, source: text.slice(starts[from], starts[to]), tokens: [] });
      }
      blocks.at(-1).tokens.push(token);
    }
    for (const block of blocks) block.isHidden = block.tokens[0].type === "reference_definition";
    return blocks;
  }

  /** The block's HTML, once: its tokens are used up. Null where it is too deep or too long. */
  function html({ tokens }, refs, t) {
    const state = new md.core.State("", md, { references: refs, t });
    state.tokens = tokens;
    if (isTooMuch(tokens)) return null;
    md.core.process(state);
    return finish(md, state.tokens, state.env);
  }

  return { split, html };
}

/** Where the lines of `text` begin, and where the last one ends. */
function lines(text) {
  const starts = [0];
  for (let at = 0; (at = text.indexOf("\n", at) + 1) > 0; ) starts.push(at);
  if (starts.at(-1) !== text.length) starts.push(text.length);
  return starts;
}

const isTooMuch = (tokens) =>
  tokens.length > MAX_TOKENS ||
  tokens.some((token) => token.level >= MAX_DEPTH - 1) ||
  tokens.reduce((sum, token) => sum + (token.type === "inline" ? token.content.length : 0), 0) > MAX_INLINE;

function whole(address) {
  try {
    return new URL(address).href;
  } catch {
    return address;
  }
}

// ---- what is not written yet

/** Mends the end of a block that is still being written. Tells whether there is anything to show of it. */
export function mend(block) {
  const last = block.tokens.findLast((token) => token.type === "inline" || token.type === "fence" || token.type === "code_block");
  if (last?.type !== "inline") return true;
  const isParagraph = block.tokens[block.tokens.indexOf(last) - 1].type === "paragraph_open";
  last.content = mended(isParagraph ? beforeTable(last.content) : last.content);
  last.isUnfinished = true;
  return last.content !== "" || block.tokens.length > 3;
}

/** Leaves a bare address text that is the very last thing: it may go on. */
function unlink(tokens) {
  const at = tokens.findLastIndex((token) => token.type === "link_open");
  if (at < 0 || !["linkify", "autolink"].includes(tokens[at].markup)) return;
  if (tokens.slice(at + 3).every((token) => !/\s/.test(token.content) && !/break$/.test(token.type))) {
    tokens.splice(at + 2, 1);
    tokens.splice(at, 1);
  }
}

// ---- HTML

function finish(md, tokens, env) {
  for (const token of tokens) {
    if (token.level === 0 && token.nesting > 0) token.attrSet("dir", "auto");
    if (/^heading_/.test(token.type)) token.tag = "h4";
    const side = SIDES[token.attrGet("style")];
    if (token.attrs && side) token.attrs = [["data-side", side]];
    if (token.isUnfinished) unlink(token.children);
    if (token.type === "inline") links(token.children);
  }
  return md.renderer.render(tokens, md.options, env);
}

function links(tokens) {
  let isInside = false;
  tokens.forEach((token, i) => {
    if (token.type === "link_open") {
      isInside = true;
      token.attrs = target(token.attrGet("href"), textOf(tokens.slice(i + 1, tokens.findIndex((t, j) => j > i && t.type === "link_close"))));
    } else if (token.type === "link_close") isInside = false;
    else token.isInside = isInside;
  });
}

const textOf = (tokens) => tokens.map((token) => (token.children ? textOf(token.children) : token.content)).join("");

/** The attributes of a link, which says where it goes if its text says something else. */
function target(href, text) {
  const attrs = [["href", href], ["target", "_blank"], ["rel", "noopener noreferrer nofollow"]];
  const { host } = new URL(href);
  const found = text.match(HOST);
  const shown = found?.[1].toLowerCase();
  if ((shown && host && shown !== host.replace(/:\d+$/, "")) || DIRECTION.test(text)) {
    attrs.push(["title", href]);
    // "Node.js" looks like a host, and only who writes an address means one
    if (host && (/:\/\/|^www\./i.test(found?.[0] ?? "") || DIRECTION.test(text))) attrs.push(["data-host", host]);
  }
  return attrs;
}

/** Nothing loads by itself, for an address can carry away what was said. */
function image(tokens, i, options, { t }, renderer) {
  const token = tokens[i];
  const text = renderer.renderInlineAsText(token.children, options);
  const shown = renderer.rules.text([{ content: text ? t("image", { text }) : t("imageLink") }], 0);
  return token.isInside ? shown : `<a${renderer.renderAttrs({ attrs: target(token.attrGet("src"), text) })}>${shown}</a>`;
}

function code(tokens, i, options, env, renderer) {
  const { content, info } = tokens[i];
  const lang = info.trim().split(/\s+/)[0];
  const attrs = lang ? renderer.renderAttrs({ attrs: [["data-lang", lang.slice(0, 40)]] }) : "";
  return `<pre${attrs}><code>${renderer.rules.text([{ content }], 0)}</code></pre>\n`;
}
