/**
 * Portico's client: a session as a value that grows, over Server-Sent Events read with `fetch`.
 *
 * Fields that come from the wire keep the wire's names (`message_id`, `duration_ms`); the wire itself is described in `/openapi.json`.
 */

/** What a reader may see of a session; a credential has a widest one, and asking for a narrower one is always allowed. */
export type ViewName = "chat" | "owner" | "admin";

export interface PorticoOptions {
  /** Where the gateway is; the default is where this file came from. */
  base?: string | URL;
  /**
   * Asked before each request for the bearer token to send; nothing sends none. `refused` is true where the last one was answered 401: one
   * more try is made with what comes then. Where it throws, or says nothing for 30 s, that is a `Problem` with the code `credential`, and
   * reading and posting ask again as after a cut.
   */
  credential?: (ask: { refused: boolean }) => string | null | undefined | Promise<string | null | undefined>;
  /** Replaces parts of what the client stands on; tests bring a network, a clock and chance of their own. */
  host?: Partial<Host>;
}

export interface Host {
  fetch: typeof fetch;
  setTimeout(act: () => void, ms: number): unknown;
  clearTimeout(timer: any): void;
  /** In ms, as `Date.now`. */
  now(): number;
  /** Lets the page have its turn; asked where there is much to take in. */
  breathe(): Promise<void>;
  /** From 0 up to 1. */
  random(): number;
  /** Calls `wake` when the network is back and when the page is looked at again; gives what ends that. */
  watch(wake: () => void): () => void;
}

/** A refusal or an answer that is none; `message` is a sentence for a person. */
export class Problem extends Error {
  /** The HTTP status; 0 where there was no answer, or none that says it. */
  readonly status: number;
  /**
   * The stable code of the problem document; `unreachable` where the server could not be reached, `credential` where the page's own callback
   * failed (both keep the `cause`), `unreadable` where something answered that is not the gateway (a redirect, which is not followed, too),
   * `closed` where `close` came before the answer, `unknown` where a refusal has no code. An id that can be none is `not_found` without a
   * request.
   */
  readonly code: string;
  /** How long to wait before another try, where the server says so. */
  readonly retry_after_ms?: number;
}

export class Portico {
  constructor(options?: PorticoOptions);
  readonly base: URL;
  /** A session that exists, or one that its first message makes. Nothing is sent before `open`, `send`, or `create`. */
  session(options?: SessionOptions): Session;
  /** A call of the HTTP API; resolves to the JSON of a 2xx answer (null where it has none). Throws `Problem`, after 30 s too. */
  request(method: string, path: string, options?: { body?: unknown; headers?: Record<string, string>; signal?: AbortSignal }): Promise<any>;
}

export interface SessionOptions {
  /** The id of a session that exists. One that was made without a `key` goes on after a reload by the `session.id` that you kept. */
  id?: string;
  /** How the first message makes one. With a `key` (1 to 255 printable ASCII) all who use the same key share the session that it makes. */
  create?: { channel?: string; agent?: string; title?: string; metadata?: object; key?: string };
  view?: ViewName;
  /** How many of the newest records to begin with; 0 is all of them. Default 400. */
  history?: number;
  /** Keeps unsent messages over a reload, under keys that begin with `portico.`; the default keeps them in memory only. */
  storage?: Pick<Storage, "getItem" | "setItem" | "removeItem">;
}

export type Connection =
  /** Not asked to read, or not made yet. */
  | { state: "idle" }
  | { state: "connecting" }
  | { state: "open" }
  /** Cut, or by the `problem` not open yet; another try follows by itself. */
  | { state: "waiting"; problem?: Problem }
  /** `pause` was called, which a hidden page does to leave the browser's few connections to others. */
  | { state: "paused" }
  /** No other try would be answered otherwise. `deleted` and `ended` are no problems. */
  | { state: "closed"; reason: "deleted" | "ended" | "refused"; problem?: Problem };

/** A message that is not known to be in the session yet. */
export interface Outgoing {
  /** Its `Idempotency-Key`: however often it is posted, it is in the session once. */
  readonly key: string;
  readonly text: string;
  readonly mode?: "followup" | "steer";
  /** `waiting` for a network or a server that takes it; `sending`; `sent`: accepted, not seen in the stream yet; `refused`: for good. */
  readonly state: "waiting" | "sending" | "sent" | "refused";
  readonly message_id?: string;
  /** Why it is `refused`, or what the last try met where it is `waiting`. */
  readonly problem?: Problem;
}

export class Session {
  /** Undefined until it is made. */
  readonly id: string | undefined;
  readonly view: View;
  readonly connection: Connection;
  /** Messages on their way, oldest first; those that the stream has brought are in `view`. The same list until it changes. */
  readonly outbox: readonly Outgoing[];
  /** Whether there are records before the first one of `view`. */
  readonly hasEarlier: boolean;
  /** Calls `listener` after each change, at most once a task; gives what ends that. */
  subscribe(listener: (session: Session) => void): () => void;
  /** Calls `listener` with each event of the stream after it was folded, replayed ones too (`live` is false for those). */
  onEvent(listener: (event: StreamEvent, how: { live: boolean }) => void): () => void;
  /** Makes the session where there is none. Resolves to its id. Throws `Problem`. */
  create(): Promise<string>;
  /** Reads the stream, and posts what waits, until `close`. Also ends a `pause`. */
  open(): void;
  /** Stops reading until `open`; what is posted still is. */
  pause(): void;
  /** Ends all that is under way, and asks for no credential any more. A message cut short may have arrived: `open` repeats it by its key. */
  close(): void;
  /** Queues a message and posts it as soon as that is possible, in order. Throws `TypeError` where `text` is no string. */
  send(text: string, options?: { mode?: "followup" | "steer" }): Outgoing;
  /** Posts a refused message again, by the same key. */
  retry(key: string): void;
  /** Drops a message that the server has not accepted; with a `storage` other tabs that found it there do not post it either. */
  discard(key: string): void;
  /** Stops the running turn. Throws `Problem`, as those below; where there is no answer in 30 s too. */
  cancel(options?: { keep_queue?: boolean }): Promise<void>;
  /** Sends the approval's digest along, so that what is decided is what was shown. */
  decide(approval_id: string, decision: string, note?: string): Promise<void>;
  /** `null` declines. */
  answer(question_id: string, answers: Answer[] | null): Promise<void>;
  /** Puts an older page of records in front of the view; resolves to whether there are more. */
  earlier(): Promise<boolean>;
  /** A result that was kept whole. */
  artifact(artifact_id: string): Promise<Blob>;
}

// ---- the fold

/** An event of the stream. `raw` is the text of `data` as sent: an approval's arguments are shown and hashed to the letter. */
export interface StreamEvent {
  readonly type: string;
  readonly id?: string;
  readonly data: any;
  readonly raw?: string;
}

/** Everything that a page shows of a session. A value: `reduce` makes a new one, and what did not change is the same object as before. */
export interface View {
  /**
   * In the order in which they are to be read. A person's message stands where a turn takes it up; until then it is `queued`, and the
   * queued ones stand last. `live` is to be read after all items that are not queued, and before those that are.
   */
  readonly items: readonly Item[];
  /** The answer that is being written. */
  readonly live: Live | null;
  /** The turn that runs. */
  readonly turn: number | null;
  /** The id to resume from. */
  readonly last_id: string;
  /** The agent's phase, as `stream_progress` tells it. */
  readonly mode?: "requesting" | "thinking" | "responding" | "tool-input" | "tool-use";
  readonly title?: string;
  readonly channel?: string;
  /** The seq of the newest record that it has; 0 before the first. */
  readonly head: number;
}

export interface Live {
  readonly message_id: string;
  /** By their index in the final `content`; a hole is a block that is not text. */
  readonly blocks: readonly (LiveBlock | undefined)[];
  /** The text of the text blocks, joined as in a `message` item. */
  readonly text: string;
}
export interface LiveBlock {
  readonly kind: "text" | "reasoning";
  readonly text: string;
}

interface Base {
  /** Unique in the view and stable. */
  readonly key: string;
  /** The record that made it; 0 where only `hello` has named it so far. */
  readonly seq: number;
  readonly at: string;
  readonly turn?: number;
  readonly step?: number;
}
export type Item = MessageItem | ToolItem | ApprovalItem | QuestionItem | NoticeItem;

export interface MessageItem extends Base {
  readonly kind: "message";
  readonly message_id: string;
  /** `human`: a person who has taken over from the agent. */
  readonly role: "user" | "assistant" | "human";
  readonly text: string;
  readonly reasoning?: string;
  /** A person's message that no turn has taken up yet. */
  readonly queued: boolean;
  /** The record by which a turn took it up. */
  readonly taken_seq?: number;
  readonly interrupted: boolean;
}
export interface ToolItem extends Base {
  readonly kind: "tool";
  readonly tool_call_id: string;
  readonly tool: string;
  readonly state: "running" | "ok" | "error" | "denied" | "aborted" | "unknown";
  /** JSON as sent; absent in the view `chat`. */
  readonly args?: string;
  readonly duration_ms?: number;
  readonly preview?: string;
  readonly bytes?: number;
  readonly artifact_id?: string;
  /** With `error`. */
  readonly code?: string;
  readonly error?: string;
  /** With `denied`. */
  readonly reason?: string;
}
export interface ApprovalItem extends Base {
  readonly kind: "approval";
  readonly approval_id: string;
  readonly tool_call_id: string;
  readonly tool: string;
  readonly expires_at: string;
  readonly state: "pending" | "settled";
  /** JSON as sent. This, `digest`, `reason` and `decisions` are there for who may decide. */
  readonly args?: string;
  readonly digest?: string;
  readonly reason?: string;
  readonly decisions?: readonly string[];
  /** With `settled`: `allow_once`, `allow_session`, `allow_always`, `deny`, `expired`, `cancelled`, `unavailable`. */
  readonly decision?: string;
  readonly note?: string;
}
export interface QuestionItem extends Base {
  readonly kind: "question";
  readonly question_id: string;
  readonly tool_call_id: string;
  readonly questions: readonly Question[];
  readonly expires_at: string;
  readonly state: "pending" | "settled";
  /** With `settled`: answers, or why there are none (`declined`, `expired`, `cancelled`). */
  readonly answers?: readonly Answer[];
  readonly outcome?: string;
}
export interface Question {
  readonly id: string;
  readonly text: string;
  readonly options?: readonly { label: string; description?: string }[];
  readonly multiple?: boolean;
  readonly free_text?: boolean;
}
export interface Answer {
  id: string;
  selected: string[];
  text?: string;
}
/** What a person should be told beside messages. */
export interface NoticeItem extends Base {
  readonly kind: "notice";
  /**
   * A `retry` of the provider or a `restart` (one line however many there are, which goes with the answer or the turn's end), an `end` that
   * is not `completed`, a `handoff`, an older history that was `compacted`.
   */
  readonly notice: "retry" | "restart" | "end" | "handoff" | "compacted";
  readonly reason?: string;
  readonly cause?: string;
  readonly code?: string;
  readonly detail?: string;
  /** With `end`: an answer that no message brought. */
  readonly text?: string;
}

export const emptyView: View;
/**
 * The client's rule: live text is keyed by message and block; `message` replaces it; `retry {discarded}` and `done` drop it. Beside the
 * stream's events it takes `{type: "join", data: {resumed: boolean}}`, which says that a connection begins, and whether with the view's own
 * `last_id`: otherwise live text goes. Unknown events change nothing. Pure.
 */
export function reduce(view: View, event: StreamEvent): View;
/** The text of a member of a JSON object as it was sent; undefined where there is none. */
export function rawMember(json: string, name: string): string | undefined;
/** Text in which nothing hides: characters that are invisible or reorder their neighbours are spelled `\u....`. */
export function spell(text: string): string;
/** The events of a `text/event-stream` body, however its bytes are cut. A frame that the end cuts is none. */
export function frames(body: ReadableStream<Uint8Array>): AsyncGenerator<{ event?: string; data?: string; id?: string; retry?: string }>;
