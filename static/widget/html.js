// The HTML of a block, by the library and rules of our own: links say where they go, nothing loads by itself.

/** Deeper than anybody reads. What is deeper yet the library leaves out, so such a block is shown as its source. */
const MAX_DEPTH = 24;
/** What 50 ms make elements of: a few characters may be a table of any number of cells. A link counts twice. */
const MAX_ELEMENTS = 2_000;
/** Wider tables are text: the library fills up rows that are too short, whatever their number. */
const MAX_COLUMNS = 64;
/** How many marks the library pairs, or tries as addresses, in as much time. */
const MAX_MARKS = 2_000;
const MARKS = /[*_~`[\]!<&\\]|:(?=\S)/g;

const SAFE = /^(?:https?:\/\/|mailto:)/;
const WITH_USER = /^https?:\/\/[^/]*@/;
/** What reads as an address or a host, up to its end; the host is the first group. */
const HOSTS = /(?:[^\s/@]+@)?((?:[\p{L}\p{N}_-]+\.)+[\p{L}\p{N}-]+)(?:[:/?#]\S*)?/giu;
/** A scheme's end, also in characters that look like it. */
const SCHEME_END = /[:\u02d0\u02f8\u0589\u05c3\u2236\ua789][/\u2044\u2215\u2571\u29f6\u29f8\u3033]{2}/;
/** Names that only look like hosts: "Node.js", "config.toml". */
const FILES =
  "cc cfg cpp cs css csv docx? env go html? ini ipynb java jpe?g js jsonl? jsx kt lock log lua md mjs pdf php png " +
  "pptx? py rb rs sh sql svg swift toml tsx? txt vue xlsx? xml ya?ml";
const FILE = new RegExp(`\\.(?:${FILES.replaceAll(" ", "|")})$`, "i");
/** How much of a link's text is looked at; what is longer is no plain name, and may hide one. */
const MAX_NAME = 300;
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
  const { ruler } = md.block;
  const table = ruler.__rules__[ruler.__find__("table")].fn;
  const narrow = (state, line, ...more) => columns(state, line + 1) <= MAX_COLUMNS && table(state, line, ...more);
  ruler.at("table", narrow, { alt: ["paragraph", "reference"] });
  Object.assign(md.renderer.rules, { fence: code, code_block: code, image, link_close: close });
  return md;
}

const columns = ({ src, bMarks, eMarks }, line) => src.slice(bMarks[line], eMarks[line]).split("|").length;

/** The HTML of a block's tokens, which are used up by it; null where it takes too long or is too deep. `refs` are link definitions. */
export function html(md, tokens, refs, t) {
  if (elements(tokens) > MAX_ELEMENTS || marks(tokens) > MAX_MARKS || tokens.some(({ level }) => level >= MAX_DEPTH - 1)) return null;
  const state = new md.core.State("", md, { references: refs, t });
  state.tokens = tokens;
  md.core.process(state);
  if (elements(tokens) + sum(tokens, ({ children }) => elements(children ?? [])) > MAX_ELEMENTS) return null;
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

const sum = (all, weight) => all.reduce((total, one) => total + weight(one), 0);
const elements = (tokens) => sum(tokens, ({ type, nesting }) => (type === "link_open" ? 2 : Number(type !== "text" && nesting >= 0)));
const marks = (tokens) => sum(tokens, ({ type, content }) => (type === "inline" && content.match(MARKS)?.length) || 0);

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
  if (!REORDERS.test(text) && address(text.trim()) === href) return all;
  const { hostname, host } = new URL(href);
  if (misleads(text, hostname)) all.push(["title", href], ...(host ? [["data-host", host]] : []));
  return all;
}

/** Whether a text that is not the address itself may be taken for another one. */
function misleads(text, hostname) {
  if (text.length > MAX_NAME || REORDERS.test(text)) return true;
  // as the eye reads it, and the browser: a full-width or ideographic dot is one, and what is not seen is not there
  const seen = text.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "").replace(/[\u3002\u06d4\ua4f8](?=[a-z\d])/gi, ".");
  if (SCHEME_END.test(seen)) return true;
  return Array.from(seen.matchAll(HOSTS), (found) => found[1]).some((name) => isHost(name) && hostOf(name) !== bare(hostname));
}

/** A number or an abbreviation is none: the last part of one has two letters, or it is an address of four numbers. */
const isHost = (name) => (/\.(?:\p{L}{2}[^.]*|xn--[^.]*)$/u.test(name) && !FILE.test(name)) || /^(?:www\..*|\d+(?:\.\d+){3})$/i.test(name);
const bare = (name) => name.toLowerCase().replace(/^www\./, "");

function hostOf(name) {
  try {
    return bare(new URL(`http://${name}`).hostname);
  } catch {
    return "";
  }
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
