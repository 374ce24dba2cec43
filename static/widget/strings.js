// Every word that the widget says, in English, and the numbers and times in it. A further language is a file in `strings/`.
//
// A key is flat; `{name}` in a text is a value. Words that the wire chooses have a key of a stem and the wire's word (`end` + `max_tokens` is
// `endMaxTokens`), and `stem + "Other"` for words that are not known yet.

const en = {
  // the panel
  heading: "Chat",
  open: "Open the chat",
  close: "Close the chat",
  unread: "New messages: {count}",
  newConversation: "New conversation",
  conversation: "Conversation",
  earlier: "Show earlier messages",
  newest: "Newest below",
  message: "Message",
  placeholder: "Write a message",
  send: "Send",
  stop: "Stop",
  greeting: "Hello! How can we help?",
  // who speaks; read out in front of a message
  user: "You",
  assistant: "Assistant",
  human: "A person",
  says: "{who}:",
  newAnswer: "New answer: {text}",
  // messages
  queued: "Waits for its turn",
  interrupted: "Cut off",
  reasoning: "Reasoning",
  sending: "Sending…",
  waiting: "Is sent as soon as there is a connection",
  sent: "Sent",
  refused: "Not sent",
  tryAgain: "Try again",
  discard: "Discard",
  copy: "Copy",
  copied: "Copied",
  copyFailed: "Could not copy",
  code: "Code",
  table: "Table",
  image: "Image: {text}",
  imageLink: "Image",
  // what the agent does now
  modeRequesting: "Reading…",
  modeThinking: "Thinking…",
  modeResponding: "Writing…",
  modeToolInput: "Preparing a tool…",
  modeToolUse: "Using a tool…",
  modeOther: "Working…",
  answering: "An answer is being written.",
  // the connection
  connecting: "Connecting…",
  connected: "Connected",
  reconnecting: "Reconnecting…",
  offline: "Offline. What you write is sent once you are back.",
  closed: "Closed",
  closedDeleted: "This conversation was deleted.",
  closedEnded: "This conversation has ended.",
  closedMissing: "This conversation does not exist any more.",
  closedRefused: "You have no access to this conversation.",
  problemQueueFull: "Many messages wait already. Try again in a moment.",
  problemRateLimited: "That was a lot at once. Try again in a moment.",
  problemBodyTooLarge: "This message is too long.",
  problemStoreUnavailable: "The server cannot store anything right now. Try again in a moment.",
  problemForbidden: "You may not do this.",
  problemUnauthorized: "This chat may not be used from here. If you were signed in, sign in again.",
  problemNotFound: "That does not exist any more.",
  problemUnreachable: "The server cannot be reached.",
  problemInternal: "The server failed. Try again in a moment.",
  problemExpired: "Its time is over; the assistant was told.",
  problemAlreadyDecided: "Somebody else has answered already.",
  problemDigestMismatch: "What is asked has changed. Load the page again before you decide.",
  problemInvalidBase: "The chat on this page is set up wrongly: its server's address is none.",
  problemOther: "That did not work.",
  // notices
  endAborted: "This answer was stopped.",
  endAbortedUser: "You stopped this answer.",
  endBlocked: "This answer was blocked.",
  endBudget: "This answer ended because its budget is used up.",
  endError: "This answer failed.",
  endErrorDetail: "This answer failed: {detail}",
  endInterrupted: "This answer was interrupted.",
  endMaxSteps: "This answer ended after as many steps as it may take.",
  endMaxTokens: "This answer ended at the length that it may have.",
  endOther: "This answer ended: {reason}.",
  retry: "The model did not finish ({code}); trying again.",
  restart: "Starting again after a restart.",
  handoff: "A person has taken over.",
  handoffEnd: "The assistant answers again.",
  compacted: "The assistant keeps a summary of what is above.",
  // tools
  toolRunning: "Using {tool}…",
  toolRunningMany: "Using tools: {count}…",
  toolDone: "Used {tool}",
  toolDoneMany: "Tools used: {count}",
  toolOne: "{tool}: {state}",
  toolStateRunning: "running",
  toolStateOk: "done",
  toolStateError: "failed",
  toolStateDenied: "not allowed",
  toolStateAborted: "stopped",
  toolStateUnknown: "no result known",
  toolFailedMany: "not done: {count}",
  toolResult: "Result",
  toolResultBegin: "Result, its beginning",
  toolError: "Error",
  toolKept: "Open the whole result ({size})",
  // approvals
  allow: "Allow {tool}?",
  decideAllowOnce: "Allow once",
  decideAllowSession: "Allow for this conversation",
  decideAllowAlways: "Always allow, in all conversations",
  decideDeny: "Deny",
  decideOther: "{name}",
  elsewhere: "{tool} asks for a permission that somebody else decides.",
  args: "Arguments",
  outcomeAllowOnce: "{tool} allowed once",
  outcomeAllowSession: "{tool} allowed for this conversation",
  outcomeAllowAlways: "{tool} always allowed",
  outcomeDeny: "{tool} denied",
  outcomeExpired: "{tool} not allowed: nobody decided in time",
  outcomeCancelled: "{tool} cancelled",
  outcomeUnavailable: "{tool} not allowed: nobody could be asked",
  outcomeOther: "{tool}: {name}",
  withNote: "{what}: {note}",
  cardFailed: "That did not work. Please try again.",
  expires: "Expires {when}.",
  expired: "Expired: nobody answered in time.",
  // questions
  question: "A question for you",
  questions: "Questions for you",
  answer: "Answer",
  skip: "Skip",
  ownWords: "In your own words",
  ownWordsTo: "In your own words: {question}",
  noAnswer: "no answer",
  questionDeclined: "Question skipped",
  questionExpired: "Question expired",
  questionCancelled: "Question cancelled",
  questionOther: "Question closed",
  listJoin: ", ",
};

/** Words that are loaded, by the first part of their language's tag. */
export const languages = { en };

/** The further languages: a file for each, so that a page loads only its own. */
const FILES = { zh: () => import("./strings/zh.js") };

/** Who waits longer than that for the words of a language gets English, in ms. */
const PATIENCE_MS = 5000;

/** Loads the words of a language. Resolves in any case; nothing where there is nothing to wait for. */
export function load(lang) {
  const name = nameOf(lang);
  if (languages[name] || !FILES[name]) return undefined;
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS));
  const came = FILES[name]().then(({ words: found }) => (languages[name] = found), () => {});
  return Promise.race([came, late]);
}

const nameOf = (lang) => String(lang).toLowerCase().split("-")[0];

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/**
 * The words of a language (a BCP 47 tag) with those of `overrides` in place of its own: `t(key, values)`. A language that is not loaded is
 * English. Numbers and times follow the tag itself where there are words for it.
 */
export function words(lang, overrides) {
  const known = languages[nameOf(lang)];
  const own = { ...en, ...known, ...overrides };
  const locale = known || overrides ? supported(lang) : "en";
  const number = (value, options) => new Intl.NumberFormat(locale, options).format(value);
  const unit = (value, name, options) => number(value, { style: "unit", unit: name, unitDisplay: "narrow", ...options });
  const shown = (value) => (typeof value === "number" ? number(value) : (value ?? ""));

  /** As `t`, in pieces: values may be nodes. */
  const pieces = (key, values = {}) =>
    (own[key] ?? key).split(/\{(\w+)\}/).map((piece, at) => (at % 2 ? shown(values[piece]) : piece)).filter((piece) => piece !== "");
  const t = (key, values) => pieces(key, values).join("");
  const keyOf = (stem, name) => {
    const key = stem + String(name).replace(/(?:^|[_-])(\w)/g, (_, letter) => letter.toUpperCase());
    return own[key] === undefined ? `${stem}Other` : key;
  };
  return Object.assign(t, {
    /** For the `lang` attribute of what it says. */
    lang: locale,
    pieces,
    keyOf,
    /** The words of a stem for a word of the wire; `{name}` is that word. */
    of: (stem, name, values) => t(keyOf(stem, name), { name, ...values }),
    /** A `Problem` for a person: by its code. What the server says of it is for who runs it: no text of these has it (`{reason}`). */
    problem: ({ code, message }) => t(keyOf("problem", code), { reason: message }),
    number,
    bytes(count) {
      const [value, name] = count < 1e3 ? [count, "byte"] : count < 1e6 ? [count / 1e3, "kilobyte"] : [count / 1e6, "megabyte"];
      return number(value, { style: "unit", unit: name, unitDisplay: "short", maximumFractionDigits: value < 10 ? 1 : 0 });
    },
    duration(ms) {
      if (ms < SECOND_MS) return unit(Math.round(ms), "millisecond");
      if (ms < 10 * SECOND_MS) return unit(ms / SECOND_MS, "second", { maximumFractionDigits: 1 });
      if (ms < MINUTE_MS) return unit(Math.floor(ms / SECOND_MS), "second");
      const [large, small, per] = ms < HOUR_MS ? ["minute", "second", MINUTE_MS] : ["hour", "minute", HOUR_MS];
      const parts = [unit(Math.floor(ms / per), large), unit(Math.floor((ms % per) / (per / 60)), small)];
      return new Intl.ListFormat(locale, { type: "unit", style: "narrow" }).format(parts);
    },
    /** From now until then, in words: "in 5 minutes", "yesterday". */
    relative(ms) {
      const [size, name] = [[DAY_MS, "day"], [HOUR_MS, "hour"], [MINUTE_MS, "minute"]].find(([per]) => Math.abs(ms) > 1.5 * per) ?? [MINUTE_MS, "minute"];
      return new Intl.RelativeTimeFormat(locale, { numeric: "auto" }).format(ms < 0 ? Math.trunc(ms / size) : Math.ceil(ms / size), name);
    },
    day: (date) => new Intl.DateTimeFormat(locale, { dateStyle: "long" }).format(date),
    moment: (date) => new Intl.DateTimeFormat(locale, { dateStyle: "medium", timeStyle: "short" }).format(date),
  });
}

/** The tag where it is one. */
function supported(lang) {
  try {
    return Intl.getCanonicalLocales(lang)[0] ?? "en";
  } catch {
    return "en";
  }
}
