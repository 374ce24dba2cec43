// What a screen reader is told, in one polite region: that an answer began, the answer once it is whole, what waits for the person, and the
// connection. The conversation itself is no live region, or every word of a stream would be read.

import { spell } from "../client.js";
import { element } from "./dom.js";

/** An answer is read to this many characters; the whole of it is in the conversation. */
const MOST = 600;
/** A cut that is mended sooner is not worth a word, in ms. */
const PATIENCE_MS = 3_000;

export function announcer(t) {
  const region = element("div", "unseen status");
  region.role = "status";
  region.ariaAtomic = "false";
  let cut;
  let isCut = false;

  function say(text) {
    region.append(element("p", "", text));
    // the last ones stay until they are read
    while (region.childElementCount > 3) region.firstChild.remove();
  }
  const on = {
    turn_start: () => say(t("answering")),
    message({ content }) {
      const text = heardOf(content.map((block) => (block.type === "text" ? block.text : "")).join("\n"));
      if (text) say(t("newAnswer", { text }));
    },
    approval_requested: ({ tool }) => say(t("allow", { tool: spell(tool) })),
    question_asked: ({ questions }) => say(`${t("question")}: ${heardOf(questions.map(({ text }) => text).join(" "))}`),
  };
  return {
    region,
    heard: (type, data) => on[type]?.(data),
    /** The state of the connection. */
    connection(state) {
      if (state === "waiting") cut ??= setTimeout(() => say(t(((isCut = true), "reconnecting"))), PATIENCE_MS);
      if (state !== "open") return;
      clearTimeout(cut);
      cut = undefined;
      if (isCut) say(t("connected"));
      isCut = false;
    },
    end: () => clearTimeout(cut),
  };
}

/** The beginning of a text as it sounds. What is cut off is not looked at: that takes time with the square of its length. */
function heardOf(text) {
  const sounds = plain(text.slice(0, 4 * MOST));
  return text.length > 4 * MOST || sounds.length > MOST ? `${sounds.slice(0, MOST)}…` : sounds;
}

/** Markdown without its marks, links by their words. */
function plain(text) {
  const worded = text.replace(/!?\[([^[\]]{0,300})\]\([^()]{0,1000}\)/g, "$1");
  return worded.replace(/^[-:| ]+$|```\w*|[*_`#|>~]/gm, "").replace(/\s+/g, " ").trim();
}
