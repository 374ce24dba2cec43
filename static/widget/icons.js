// The widget's few pictures, drawn as elements: a page's policy may allow no image.

import { button } from "./dom.js";

const SVG = "http://www.w3.org/2000/svg";

export const ICONS = {
  send: "M12 19V5M6 11l6-6 6 6",
  stop: "M8 8h8v8H8z",
  anew: "M12 5v14M5 12h14",
  close: "M6 6l12 12M18 6 6 18",
  down: "M12 5v14M6 13l6 6 6-6",
  chat: "M20 15a2 2 0 0 1-2 2H9l-5 3.5V6a2 2 0 0 1 2-2h12a2 2 0 0 1 2 2z",
  fold: "M6 9l6 6 6-6",
};

export function icon(path) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  svg.append(document.createElementNS(SVG, "path"));
  svg.firstChild.setAttribute("d", path);
  return svg;
}

/** A button that shows a picture and is called by `label`. */
export function iconButton(label, path, className, onclick) {
  const made = button("", className, onclick);
  made.append(icon(path));
  made.ariaLabel = made.title = label;
  return made;
}
