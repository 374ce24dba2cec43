// Streaming Markdown: one answer as an element that grows with its text. Until the libraries are there, and where they cannot be, it is
// plain.

import { element } from "./dom.js";
import { pen as penOf } from "./drawing.js";
import { pace } from "./pace.js";

/** How long after they did not come the libraries are asked for again, at the earliest. */
const AGAIN_MS = 30_000;

let pen = null;
let isForbidden = false;
let loading = null;
/** When they may be asked for again. */
let again = Infinity;
/** Answers that are drawn once the libraries are there. */
const plain = new Set();

/** Loads the libraries, once, and draws what was plain until then. Resolves also where they do not come: then later answers ask again. */
export const libraries = () => (loading ??= load());

async function load() {
  again = Infinity;
  try {
    const made = await Promise.all([import("../vendor/markdown-it.js"), import("../vendor/dompurify.js")]);
    draw(...made.map((module) => module.default));
  } catch {
    loading = null;
    again = performance.now() + AGAIN_MS;
    addEventListener("online", online, { once: true });
    for (const job of plain) if (!job.element.isConnected) plain.delete(job);
  }
}

const online = () => setTimeout(retry, Math.max(0, again - performance.now()));
const retry = () => performance.now() >= again && libraries();

function draw(MarkdownIt, purify) {
  try {
    pen = penOf(MarkdownIt, purify);
    plain.forEach(pace);
  } catch {
    // by the page's policy, which stays
    isForbidden = true;
  }
  plain.clear();
}

/** `{element, show(text, {live}), text}`; `t` gives words. Draws when there is time for it. */
export function answer(t) {
  const made = element("div", "markdown plain");
  made.dir = "auto";
  made.addEventListener("click", ({ target }) => target.classList?.contains("copy") && copy(target, t));
  const job = { element: made, isLive: false, due: 0, draw };
  let text = "";
  let drawing = null;

  function draw(deadline) {
    made.dataset.raw = text;
    try {
      if (pen) return drawn(deadline);
      if (!isForbidden) plain.add(job);
      retry();
    } catch {
      drawing = null;
      made.classList.add("plain");
    }
    grow();
    return true;
  }

  function drawn(deadline) {
    if (!drawing) made.replaceChildren();
    made.classList.remove("plain");
    drawing ??= pen(made, t);
    return drawing.draw(text, job.isLive, deadline);
  }

  function grow() {
    const node = made.firstChild;
    const isPlain = made.childNodes.length === 1 && node.nodeType === Node.TEXT_NODE;
    if (isPlain && text.startsWith(node.data)) node.appendData(text.slice(node.length));
    else made.replaceChildren(text);
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

async function copy(pressed, t) {
  const code = pressed.closest(".code").querySelector("code").textContent;
  const isCopied = await navigator.clipboard?.writeText(code).then(() => true, () => false);
  pressed.textContent = t(isCopied || copyBySelection(pressed, code) ? "copied" : "copyFailed");
  setTimeout(() => (pressed.textContent = t("copy")), 2000);
}

/** For pages without the clipboard's API, which needs TLS. */
function copyBySelection(pressed, code) {
  const field = element("textarea");
  field.value = code;
  pressed.after(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  pressed.focus();
  return isCopied;
}
