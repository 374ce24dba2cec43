// <portico-chat>: a conversation with an agent of a Portico gateway, on any page.
//
// What it takes and tells is a web developer's business only: docs/WIDGET.md has the tables of attributes, properties, methods, events,
// parts and custom properties. One life of the element on a page, from connected to disconnected, is a chat (`widget/chat.js`).

import { languageOf, startChat } from "./widget/chat.js";
import { seat } from "./widget/seat.js";
import { load } from "./widget/strings.js";
import { style } from "./widget/style.js";

/** Shown anew where they change; the conversation goes on. */
const LOOKS = ["heading", "placeholder", "greeting"];
/** Where these change, another conversation is shown, or this one in another way: the chat starts again. */
const WHOLE = ["mode", "base", "agent", "session", "view", "storage-key", "visitor", "history", "lang"];
/** Where this file, or the bundle of it, was loaded from: there is the gateway. */
const HOME = new URL(".", import.meta.url);
/** What is in force where the page says nothing. */
const DEFAULTS = {
  mode: () => "inline",
  view: () => "chat",
  history: () => "400",
  base: () => new URL(HOME, document.baseURI).href,
  "storage-key": () => location.pathname,
  theme: schemeOf,
};
const camel = (name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase());

class PorticoChat extends HTMLElement {
  static observedAttributes = ["open", ...LOOKS, ...WHOLE];

  #given = { credential: undefined, strings: undefined, suggestions: [] };
  #seat = seat();
  #chat;
  /** What is done at the end of the task, once for all that changes in one go: the chat starts (again), or tries again. */
  #due;
  /** The words that are on their way, and what the page has asked of the chat that waits for them. */
  #coming;
  #asked = [];

  constructor() {
    super();
    this.attachShadow({ mode: "open" }).adoptedStyleSheets = [style];
  }

  connectedCallback() {
    // what was set before this class was known hides the accessors of the same name
    for (const name of Object.keys(this)) {
      if (!(name in PorticoChat.prototype)) continue;
      const value = this[name];
      delete this[name];
      this[name] = value;
    }
    // a router may put the next one on the page before it takes this one away
    if (!this.#chat) this.#soon("start");
  }

  disconnectedCallback() {
    this.#chat?.end();
    this.#chat = this.#coming = undefined;
    this.#asked = [];
    this.#seat.leave();
  }

  /** Moved by `moveBefore`, which ends nothing. */
  connectedMoveCallback() {}

  attributeChangedCallback(name, before, now) {
    if (before === now || !this.#chat) return;
    if (name === "open") this.#chat.toggled();
    else if (LOOKS.includes(name)) this.#chat.look();
    else this.#soon("start");
  }

  #soon(what) {
    if (what === "start") this.#chat?.leave();
    if (!this.#due) queueMicrotask(() => this.#now());
    if (this.#due !== "start") this.#due = what;
  }

  /** The chat that goes with all that was set so far; none as long as its words are on their way. */
  #now() {
    const due = this.#due;
    this.#due = undefined;
    if (due === "again") this.#chat?.again();
    if (due !== "start" || !this.isConnected) return this.#chat;
    const hadFocus = this.shadowRoot.activeElement;
    this.#chat?.end();
    this.#chat = undefined;
    const coming = (this.#coming = load(languageOf(this)));
    if (coming) coming.then(() => coming === this.#coming && this.#begin(hadFocus));
    else this.#begin(hadFocus);
    return this.#chat;
  }

  #begin(hadFocus) {
    this.#coming = undefined;
    this.#chat = startChat(this, this.#given, HOME, this.#seat);
    if (hadFocus) this.focus();
    for (const act of this.#asked.splice(0)) act(this.#chat);
  }

  #ask(act) {
    const chat = this.#now();
    if (chat) act(chat);
    else if (this.#coming) this.#asked.push(act);
  }

  get open() {
    return this.hasAttribute("open");
  }
  set open(is) {
    this.toggleAttribute("open", Boolean(is));
  }

  /** Asked before each request for the bearer token to send: `({refused}) => token`. */
  get credential() {
    return this.#given.credential;
  }
  set credential(ask) {
    this.#given.credential = ask;
    if (this.#chat) this.#soon("again");
  }

  /** Words in place of the widget's own, by their key in `widget/strings.js`. */
  get strings() {
    return this.#given.strings;
  }
  set strings(words) {
    this.#given.strings = words;
    if (this.#chat) this.#soon("start");
  }

  /** What an empty conversation offers to begin with. */
  get suggestions() {
    return this.#given.suggestions;
  }
  set suggestions(texts) {
    this.#given.suggestions = [...(texts ?? [])];
    this.#chat?.look();
  }

  get sessionId() {
    return this.#chat?.session.id;
  }
  get unread() {
    return this.#chat?.unread ?? 0;
  }
  /** What is shown: `{view, connection, outbox}`, values of client.d.ts. */
  get snapshot() {
    const { view, connection, outbox } = this.#chat?.session ?? {};
    return { view, connection, outbox };
  }

  show() {
    this.open = true;
    this.focus();
  }
  hide() {
    this.open = false;
  }
  send(text) {
    this.#ask((chat) => chat.send(text));
  }
  async stop() {
    await this.#now()?.stop();
  }
  newConversation() {
    this.#ask((chat) => chat.renew());
  }
  focus() {
    this.#ask((chat) => chat.focus());
  }
}

/** As `color-scheme` decides it. */
function schemeOf(host) {
  const { colorScheme } = getComputedStyle(host);
  const mayBeDark = /dark/.test(colorScheme);
  return mayBeDark && (!/light/.test(colorScheme) || matchMedia("(prefers-color-scheme: dark)").matches) ? "dark" : "light";
}

for (const name of [...LOOKS, ...WHOLE, "theme"]) {
  if (name === "lang") continue;
  Object.defineProperty(PorticoChat.prototype, camel(name), {
    get() {
      return this.getAttribute(name) ?? DEFAULTS[name]?.(this) ?? "";
    },
    set(value) {
      if (value === null || value === undefined) this.removeAttribute(name);
      else this.setAttribute(name, value);
    },
  });
}

// a page may load this file twice, from two addresses
if (!customElements.get("portico-chat")) customElements.define("portico-chat", PorticoChat);
