// Elements by hand: text enters the page as text.

/** `children` are nodes, or strings, which stay text. */
export function element(tag, className = "", ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

export function button(label, className, onclick) {
  const made = element("button", className, label);
  made.type = "button";
  made.onclick = onclick;
  return made;
}
