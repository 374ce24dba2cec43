// The arguments of a tool call, to the letter: the very text that an approval's digest covers, laid out but not read as numbers or objects.

import { spell } from "../client.js";
import { element } from "./dom.js";

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|\{\}|\[\]|[{}[\],:]/gs;

/** JSON on lines of its own: only white space between its parts is added. */
export function layOut(json) {
  let depth = 0;
  const line = () => `\n${"  ".repeat(depth)}`;
  return json.replace(TOKEN, (token) => {
    if (token === "{" || token === "[") return (depth += 1), token + line();
    if (token === "}" || token === "]") return (depth = Math.max(0, depth - 1)), line() + token;
    if (token === ",") return token + line();
    return token === ":" ? ": " : token;
  });
}

/** Text in a box of its own that scrolls, by keyboard too. */
export function textBox(label, text, className = "") {
  const made = element("pre", `box ${className}`, text);
  made.tabIndex = 0;
  // no landmark: there are many
  made.role = "group";
  made.ariaLabel = label;
  return made;
}

export function argsBox(label, json) {
  const made = textBox(label, spell(layOut(json)), "args");
  made.dir = "ltr";
  return made;
}
