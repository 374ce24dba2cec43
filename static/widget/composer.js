// Where a person writes: a field that grows, Send, and Stop while an answer runs. It is never off: what is written without a network waits.

import { element } from "./dom.js";
import { ICONS, iconButton } from "./icons.js";

/** The body of a message, JSON and all, in bytes: what the gateway takes. */
const MOST_BYTES = 65_536;
/** What stands in the body beside the text, at most. */
const AROUND = 64;

/** `send(text)` and `stop()` do it; `problem(text)` says what keeps a message from being sent, or nothing. */
export function composer(t, { draft, keep, send, stop, problem, placeholder }) {
  const field = element("textarea", "input");
  const sendButton = iconButton(t("send"), ICONS.send, "send");
  const stopButton = iconButton(t("stop"), ICONS.stop, "stop", stop);
  Object.assign(field, { rows: 1, value: draft, ariaLabel: t("message"), enterKeyHint: "send", part: "input" });
  sendButton.type = "submit";
  sendButton.part = "send";
  stopButton.part = "stop";
  stopButton.hidden = true;
  const form = element("form", "composer", field, stopButton, sendButton);
  form.part = "composer";
  form.noValidate = true;

  function grow() {
    // without a text of its own it is the page's direction that counts
    field.dir = field.value ? "auto" : "";
    field.style.blockSize = "auto";
    field.style.blockSize = `${field.scrollHeight}px`;
  }
  function write(text) {
    field.value = text;
    keep(text);
    grow();
  }
  const isTooLong = () => new TextEncoder().encode(JSON.stringify(field.value)).length > MOST_BYTES - AROUND;
  field.oninput = () => {
    keep(field.value);
    grow();
    // counting is only worth it where it may matter
    problem(field.value.length > MOST_BYTES / 8 && isTooLong() ? t("problemBodyTooLarge") : "");
  };
  field.onkeydown = (event) => {
    // the Enter that takes a candidate of an input method ends no message; Safari tells of it by its code only
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    form.requestSubmit();
  };
  form.onsubmit = (event) => {
    event.preventDefault();
    field.focus({ preventScroll: true });
    const text = field.value.trim();
    if (!text || isTooLong()) return;
    write("");
    send(text);
  };

  return {
    element: form,
    field,
    grow,
    focus: () => field.focus({ preventScroll: true }),
    /** Puts a text back in front of the draft. */
    giveBack: (text) => text && write(field.value ? `${text}\n${field.value}` : text),
    look: () => (field.placeholder = placeholder() || t("placeholder")),
    running(is) {
      if (!is && stopButton.getRootNode().activeElement === stopButton) field.focus({ preventScroll: true });
      stopButton.hidden = !is;
    },
  };
}
