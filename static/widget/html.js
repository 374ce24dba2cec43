// The HTML of a block, by the library and rules of our own: links say where they go, nothing loads by itself.

/** Deeper than anybody reads. What is deeper yet the library leaves out, so such a block is shown as its source. */
const MAX_DEPTH = 24;
/** What 50 ms make elements of: a few characters may be a table of any number of cells. A link counts twice. */
const MAX_ELEMENTS = 2_500;
/** How many marks the library pairs in as much time, for it looks back from each. */
const MAX_MARKS = 2_500;
const MARKS = /[*_~`[\]!<&\\]|:\/\//g;

const SAFE = /^(?:https?:\/\/|mailto:)/;
const WITH_USER = /^https?:\/\/[^/]*@/;
const HOST = /(?:\b[a-z][a-z0-9+.-]*:\/\/|\bwww\.)?(?:[^\s/@]+@)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]+)/iu;
/** Characters that reorder what stands beside them. */
const REORDERS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const SIDES = { "text-align:right": "end", "text-align:center": "center", "text-align:left": "start" };

export function library(MarkdownIt) {
  const md = new MarkdownIt({ linkify: true, breaks: true, maxNesting: MAX_DEPTH });
  // blocks come split
  md.disable(["normalize", "block"]);
  md.normalizeLink = address;
  md.normalizeLinkText = (text) => text;
  md.validateLink = (href) => SAFE.test(href) && !WITH_USER.test(href);
  Object.assign(md.renderer.rules, { fence: code, code_block: code, image, link_close: close });
  return md;
}

/** The HTML of a block's tokens, which are used up by it; null where it takes too long or is too deep. `refs` are link definitions. */
export function html(md, tokens, refs, t) {
  if (elements(tokens) > MAX_ELEMENTS || marks(tokens) > MAX_MARKS || tokens.some(({ level }) => level >= MAX_DEPTH - 1)) return null;
  const state = new md.core.State("", md, { references: refs, t });
  state.tokens = tokens;
  md.core.process(state);
  if (tokens.reduce((sum, { children }) => sum + elements(children ?? []), elements(tokens)) > MAX_ELEMENTS) return null;
  for (const token of tokens) {
    if (token.level === 0 && token.nesting > 0) token.attrSet("dir", "auto");
    if (token.type.startsWith("heading_")) token.tag = "h4";
    const side = SIDES[token.attrGet("style")];
    if (side) token.attrs = [["data-side", side]];
    if (token.isOpen) unlink(token.children);
    if (token.type === "inline") links(token.children);
  }
  return md.renderer.render(tokens, md.options, state.env);
}

const elements = (tokens) => tokens.reduce((sum, { type, nesting }) => sum + (type === "link_open" ? 2 : type !== "text" && nesting >= 0), 0);
const marks = (tokens) => tokens.reduce((sum, { type, content }) => sum + (type === "inline" ? (content.match(MARKS)?.length ?? 0) : 0), 0);

/** As the browser reads it, so that what is judged is what is opened. */
function address(text) {
  try {
    return new URL(text).href;
  } catch {
    return text;
  }
}

/** An address that is the last thing of a text that is being written may go on: it is no link yet. */
function unlink(tokens) {
  const at = tokens.findLastIndex(({ type }) => type === "link_open");
  if (at < 0 || !tokens[at].markup) return;
  if (tokens.slice(at + 3).some(({ content, type }) => /\s/.test(content) || type.endsWith("break"))) return;
  tokens.splice(at + 2, 1);
  tokens.splice(at, 1);
}

function links(tokens) {
  let open = null;
  for (const token of tokens) {
    if (token.type === "link_open") open = Object.assign(token, { shown: "", isEmpty: true });
    else if (token.type === "link_close") {
      const href = open.attrGet("href");
      open.attrs = attributes(href, open.shown);
      if (open.isEmpty) token.label = href;
      open = null;
    } else if (open) {
      open.shown += token.content;
      if (token.type === "image" || /\S/.test(token.content)) open.isEmpty = false;
      token.isInLink = true;
    }
  }
}

/** A link that tells its target nothing of this page and leaves it open; it shows where it goes if its text says something else. */
function attributes(href, text) {
  const all = [["href", href], ["target", "_blank"], ["rel", "noopener noreferrer nofollow"]];
  const { hostname, host } = new URL(href);
  const [written, shown] = text.match(HOST) ?? ["", hostname];
  const hides = REORDERS.test(text);
  if (hides || shown.toLowerCase() !== hostname) all.push(["title", href]);
  // "Node.js" only looks like a host
  if (host && (hides || (shown.toLowerCase() !== hostname && /:\/\/|^www\./i.test(written)))) all.push(["data-host", host]);
  return all;
}

/** As a link: an address can carry away what was said. */
function image(tokens, i, options, { t }, renderer) {
  const token = tokens[i];
  const alt = renderer.renderInlineAsText(token.children, options);
  const text = escaped(renderer, alt ? t("image", { text: alt }) : t("imageLink"));
  return token.isInLink ? text : `<a${renderer.renderAttrs({ attrs: attributes(token.attrGet("src"), alt) })}>${text}</a>`;
}

/** A link without a text shows its address. */
const close = (tokens, i, options, env, renderer) => `${escaped(renderer, tokens[i].label ?? "")}</a>`;

function code(tokens, i, options, env, renderer) {
  const { content, info } = tokens[i];
  const lang = info.trim().split(/\s/)[0].slice(0, 40);
  return `<pre${renderer.renderAttrs({ attrs: [["data-lang", lang]] })}><code>${escaped(renderer, content)}</code></pre>\n`;
}

const escaped = (renderer, content) => renderer.rules.text([{ content }], 0);
