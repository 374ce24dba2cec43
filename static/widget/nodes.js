// HTML of a block as nodes of the page: cleaned, with what makes code and tables usable, and put where an older drawing of it stands.

import { button, element } from "./dom.js";

const CLEAN = {
  ALLOWED_TAGS: "p br strong em s code pre blockquote ul ol li h4 hr table thead tbody tr th td a".split(" "),
  ALLOWED_ATTR: ["href", "target", "rel", "title", "dir", "start", "data-host", "data-lang", "data-side"],
  // not addresses, so the expression below is not for them
  ADD_URI_SAFE_ATTR: ["target", "rel", "dir", "start", "data-host", "data-lang", "data-side"],
  ALLOWED_URI_REGEXP: /^(?:https?|mailto):/i,
  ALLOW_ARIA_ATTR: false,
  ALLOW_DATA_ATTR: false,
  RETURN_DOM_FRAGMENT: true,
};

/** The block as one element. */
export function clean(purify, html, t) {
  const made = purify.sanitize(html, CLEAN);
  for (const pre of made.querySelectorAll("pre")) dress(pre, t);
  for (const table of made.querySelectorAll("table")) {
    const box = scrolling(element("div", "table"), t("table"));
    table.replaceWith(box);
    box.append(table);
  }
  return made.childElementCount === 1 ? made.firstElementChild : element("div", "", made);
}

/** Code gets a bar with its language and a button, by whose class `markdown.js` knows it. */
function dress(pre, t) {
  const { lang } = pre.dataset;
  delete pre.dataset.lang;
  pre.dir = "ltr";
  const box = element("div", "code", element("div", "bar", element("span", "", lang || t("code")), button(t("copy"), "copy")));
  pre.replaceWith(box);
  box.append(scrolling(pre, lang ? `${t("code")}: ${lang}` : t("code")));
}

/** Reached by the keyboard, to be scrolled by it. */
function scrolling(box, label) {
  box.tabIndex = 0;
  box.role = "region";
  box.ariaLabel = label;
  return box;
}

/** Makes `old` equal to `made`, keeping what is equal: selection, focus and scroll position stay. Gives the node that stands there now. */
export function patch(old, made) {
  if (old.nodeName !== made.nodeName) {
    old.replaceWith(made);
    return made;
  }
  if (old.nodeType === Node.TEXT_NODE) {
    if (made.data.startsWith(old.data)) old.appendData(made.data.slice(old.data.length));
    else old.data = made.data;
    return old;
  }
  for (const { name } of [...old.attributes]) if (!made.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of made.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  while (old.childNodes.length > made.childNodes.length) old.lastChild.remove();
  let standing = old.firstChild;
  for (const child of [...made.childNodes]) {
    if (standing) standing = patch(standing, child).nextSibling;
    else old.append(child);
  }
  return old;
}
