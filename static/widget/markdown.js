// Streaming Markdown: one answer as an element that grows with its text. Until the libraries are there, and where one fails, it is plain text.

import { mend, parser } from "./blocks.js";
import { element } from "./dom.js";
import { settled } from "./mend.js";
import { clean, patch } from "./nodes.js";
import { pace } from "./pace.js";

let tools = null;
let loading = null;
const plain = new Set();

/** Loads the libraries, once. What was plain until then is drawn. Resolves also where they do not come: answers stay plain. */
export const libraries = () => (loading ??= load());

async function load() {
  try {
    const [markdown, purify] = await Promise.all([import("../vendor/markdown-it.js"), import("../vendor/dompurify.js")]);
    // a page may forbid the policy by which cleaned HTML becomes nodes: then this throws
    clean(purify.default, "<p>a</p>", String);
    tools = { purify: purify.default, ...parser(markdown.default) };
  } catch {
    return;
  }
  plain.forEach(pace);
  plain.clear();
}

/** `{element, show(text, {live}), text}`; `t` gives words. */
export function answer(t) {
  const made = element("div", "markdown");
  made.dir = "auto";
  made.addEventListener("click", (event) => event.target.classList?.contains("copy") && copy(event.target, t));
  const job = { element: made, isLive: false, due: 0, draw };
  const drawing = drawn(made, t);
  let text = "";

  function draw(deadline) {
    made.dataset.raw = text;
    if (!tools) {
      plain.add(job);
      drawing.plain(text);
      return true;
    }
    try {
      return drawing.draw(text, job.isLive, deadline);
    } catch {
      drawing.plain(text);
      return true;
    }
  }

  return {
    element: made,
    show(next, { live = false } = {}) {
      if (next === text && live === job.isLive) return;
      text = next;
      job.isLive = live;
      if (!live) made.dataset.raw = text;
      pace(job);
    },
    get text() {
      return text;
    },
  };
}

const normal = (text) => (/[\r\0]/.test(text) ? text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd") : text);

/** What stands in `parent`: blocks, of which the first `done` are final as long as the text begins with `prefix`. */
function drawn(parent, t) {
  let blocks = [];
  let prefix = "";
  let done = 0;
  let refs = Object.create(null);
  let lateRefs = Object.create(null);
  let planned = null;

  function draw(source, live, deadline) {
    const text = normal(source);
    if (planned !== text + live) plan(text, live);
    for (const block of blocks) {
      if (block.isDrawn) continue;
      paint(block);
      if (performance.now() > deadline) return false;
    }
    return true;
  }

  function plan(text, live) {
    planned = text + live;
    if (parent.classList.contains("plain")) empty();
    if (!text.startsWith(prefix)) [prefix, done, refs] = ["", 0, Object.create(null)];
    const rest = live ? settled(text.slice(prefix.length)) : text.slice(prefix.length);
    const all = Object.create(refs);
    const found = tools.split(rest, all);
    const dirty = changed(lateRefs, all);
    lateRefs = all;
    for (const block of blocks) if (block.isDrawn && dirty.some((label) => block.labels.has(label))) block.isDrawn = false;
    const last = found.at(-1);
    if (live && last?.isOpen && !last.isHidden && !mend(last)) found.pop();
    const shown = found.filter((block) => !block.isHidden);
    shown.forEach((block, i) => {
      const old = blocks[done + i];
      const isMended = live && block === last;
      if (old?.source === block.source && old.isMended === isMended) return;
      blocks[done + i] = { source: block.source, tokens: block.tokens, isMended, node: old?.node, labels: new Set(), isDrawn: false };
    });
    for (const block of blocks.splice(done + shown.length)) block.node?.remove();
    advance(rest, found, all);
  }

  /** Moves the border of what is final up to the last block, or further up where lines to come could still change what is there. */
  function advance(rest, found, all) {
    let at = found.length - 1;
    if (found[at - 1]?.isHidden) at -= 1;
    const complete = rest.split("\n").length - 1;
    // a table's head is one by the line below it
    if (at < 1 || found[at].from + 1 >= complete) return;
    const passed = found.slice(0, at);
    for (const label of Object.keys(all)) refs[label] = all[label];
    prefix += rest.slice(0, found[at].at);
    done += passed.filter((block) => !block.isHidden).length;
  }

  function paint(block) {
    block.isDrawn = true;
    const node = make(block);
    if (block.node) block.node = patch(block.node, node);
    else parent.append((block.node = node));
  }

  function make(block) {
    try {
      const tokens = block.tokens ?? tools.split(block.source, Object.create(null))[0].tokens;
      block.tokens = null;
      block.labels.clear();
      const html = tools.html({ tokens }, watched(lateRefs, block.labels), t);
      return html === null ? source(block.source) : clean(tools.purify, html, t);
    } catch {
      return source(block.source);
    }
  }

  function empty() {
    parent.classList.remove("plain");
    parent.replaceChildren();
    [blocks, prefix, done, refs, lateRefs, planned] = [[], "", 0, Object.create(null), Object.create(null), null];
  }

  function plain(text) {
    if (!parent.classList.contains("plain")) {
      empty();
      parent.classList.add("plain");
      parent.append("");
    }
    const node = parent.firstChild;
    if (text.startsWith(node.data)) node.appendData(text.slice(node.data.length));
    else node.data = text;
  }

  return { draw, plain };
}

/** Labels that mean something else than before. */
const changed = (before, after) =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((label) => before[label]?.href !== after[label]?.href);

/** `refs`, which tells `labels` what was looked up. */
const watched = (refs, labels) =>
  new Proxy(refs, {
    get(_, label) {
      labels.add(label);
      return refs[label];
    },
  });

/** A block that cannot be drawn, as it was written. */
const source = (text) => element("p", "plain", text);

async function copy(button, t) {
  const code = button.closest(".code").querySelector("code").textContent;
  let said = "copied";
  try {
    await navigator.clipboard.writeText(code);
  } catch {
    if (!copyBySelection(button, code)) said = "copyFailed";
  }
  button.textContent = t(said);
  setTimeout(() => (button.textContent = t("copy")), 2000);
}

/** For pages without the clipboard's API, which needs TLS. */
function copyBySelection(button, code) {
  const field = element("textarea");
  field.value = code;
  button.after(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  button.focus();
  return isCopied;
}
