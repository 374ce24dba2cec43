/**
 * Portico's chat widget: importing it defines `<portico-chat>`.
 *
 * Attributes, properties, events, parts and colours are described in docs/WIDGET.md; values of a session are those of `client.d.ts`.
 */

import type { Connection, Outgoing, View } from "./client.js";

/**
 * The element. What is set before the script has loaded counts from then on; methods are there only then
 * (`customElements.whenDefined("portico-chat")`).
 */
export interface PorticoChat extends HTMLElement {
  /**
   * `inline`, the default, is as wide as its box; `launcher` is a button at the corner of the page, with a panel. It is an attribute, as all
   * down to `theme`; where an attribute is not set, the property tells the default.
   */
  mode: "inline" | "launcher";
  /** With `launcher`: whether the panel is open. */
  open: boolean;
  /** The URL of the gateway; the default is where the script came from. */
  get base(): string;
  set base(url: string | URL);
  /** Which agent a new session gets; empty is the gateway's default. */
  agent: string;
  /** The id of a session that exists, in place of the visitor's own. */
  session: string;
  /** The default is `chat`. */
  view: "chat" | "owner";
  /** How many of the newest records to begin with, 0 for all; the default is 400. It reads as a string. */
  get history(): string;
  set history(records: string | number);
  /** Your own id of who is signed in. */
  visitor: string;
  /** The attribute `storage-key`: elements with the same one share a conversation; the default is the page's path. */
  storageKey: string;
  heading: string;
  placeholder: string;
  greeting: string;
  /** The default follows the page's `color-scheme`. */
  theme: "light" | "dark";

  /** Asked before each request for the bearer to send; `refused` is true where the last one was answered 401. */
  credential: ((ask: { refused: boolean }) => string | null | undefined | Promise<string | null | undefined>) | undefined;
  /** What an empty conversation offers to begin with. */
  get suggestions(): string[];
  set suggestions(texts: Iterable<string> | null | undefined);
  /** Words in place of the widget's own, by the keys of `widget/strings.js`. */
  strings: Record<string, string> | undefined;

  /** Undefined until the first message has made the session. */
  readonly sessionId: string | undefined;
  /** Messages that nobody has looked at. */
  readonly unread: number;
  /** What is shown; its members are undefined as long as the element is on no page. */
  readonly snapshot: { view?: View; connection?: Connection; outbox?: readonly Outgoing[] };

  /** Opens the panel and puts the focus into it. */
  show(): void;
  hide(): void;
  /** Puts the focus where one writes. */
  focus(): void;
  /** As if the visitor had written it; nothing where the text is blank. */
  send(text: string): void;
  /** Stops the answer that runs. */
  stop(): Promise<void>;
  /** Begins another conversation. */
  newConversation(): void;

  addEventListener<K extends keyof PorticoChatEventMap>(
    type: K,
    listener: (this: PorticoChat, event: PorticoChatEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<K extends keyof PorticoChatEventMap>(
    type: K,
    listener: (this: PorticoChat, event: PorticoChatEventMap[K]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | EventListenerOptions): void;
}

/** The element's own events; they bubble, so that `document` hears them too. */
export interface PorticoEvents {
  /** Another conversation is shown than before; `id` is null until its first message. */
  "portico-session": CustomEvent<{ id: string | null }>;
  "portico-message": CustomEvent<{ message_id: string; role: "user" | "assistant" | "human"; text: string }>;
  /** The record `done`: a turn is over. */
  "portico-done": CustomEvent<{ turn: number; reason: string; [member: string]: unknown }>;
  /** The record `approval_requested` or `tool_approval`. */
  "portico-approval": CustomEvent<{ type: "approval_requested" | "tool_approval"; approval_id: string; [member: string]: unknown }>;
  "portico-unread": CustomEvent<{ count: number }>;
  "portico-toggle": CustomEvent<{ open: boolean }>;
  /** `message` is for the visitor, `detail` is what the gateway says, for who runs the page; `status` is 0 without an answer. */
  "portico-problem": CustomEvent<{ code: string; message: string; status: number; detail: string }>;
}

export interface PorticoChatEventMap extends HTMLElementEventMap, PorticoEvents {}

declare global {
  interface HTMLElementTagNameMap {
    "portico-chat": PorticoChat;
  }
  interface DocumentEventMap extends PorticoEvents {}
}
