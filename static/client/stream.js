// Reading: the text/event-stream format, and the loop that reads one connection at a time and begins again where it was cut.

import { isPassing, own, Problem } from "./api.js";

/** The server is heard every 15 s: after three silent times a connection is dead, after one it is in doubt where the network changed. */
const DEAD_MS = 50_000;
const DOUBT_MS = 20_000;
/** A connection that brought nothing and yet lasted so long was a good one. */
const GOOD_MS = 5_000;
/** The most that the random part of a wait grows to. */
const MOST_MS = 30_000;
/** The most that a server may ask to wait, and the least that it may ask the random part to begin with. */
const MOST_FLOOR_MS = 300_000;
const BASE_MS = 1000;
/** How long events are taken before the page has its turn. */
const SLICE_MS = 10;

/** By the rules of the WHATWG HTML standard, 9.2.6. `heard` is called for whatever comes, comments too. */
export async function* frames(body, heard = () => {}) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let frame = {};
  let isAfterCR = false;
  try {
    for (let part; !(part = await reader.read()).done;) {
      heard();
      let text = decoder.decode(part.value, { stream: true });
      if (!text) continue;
      // the second half of a line end whose first half has ended the line
      if (isAfterCR && text[0] === "\n") text = text.slice(1);
      isAfterCR = /\r$/.test(text);
      const lines = (rest + text).split(/\r\n|\r|\n/);
      rest = lines.pop();
      for (const line of lines) {
        if (line) field(frame, line);
        else if (Object.keys(frame).length) {
          yield frame;
          frame = {};
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function field(frame, line) {
  const [, name, value] = line.match(/^(event|data|id|retry)(?:: ?|$)(.*)$/s) ?? [];
  const isNone = (name === "id" && value.includes("\0")) || (name === "retry" && !/^\d+$/.test(value));
  if (name && !isNone) frame[name] = name === "data" && Object.hasOwn(frame, name) ? `${frame.data}\n${value}` : value;
}

function eventOf({ event = "", data, id }) {
  try {
    if (data !== undefined) return { type: event, id, data: JSON.parse(data), raw: data };
  } catch {
    // nothing that this client knows: only its place counts
  }
  return { type: "", id };
}

/** How far an id is: the seq of a record, then the number of a live event behind it. */
function place(id = "") {
  const [seq, part = 0] = id.split(".");
  return seq * 1e6 + Number(part);
}

/** Waits that can be cut short; what the server asks for comes before a random part of a time that doubles with each failure. */
export function sleeper(host) {
  let wake = () => {};
  return {
    wake: () => wake(),
    sleep: (failures, asked, base = BASE_MS) =>
      new Promise((resolve) => {
        const floor = Math.min(MOST_FLOOR_MS, Math.max(0, Number(asked)) || 0);
        const timer = host.setTimeout(resolve, floor + host.random() * Math.min(MOST_MS, base * 2 ** failures));
        wake = () => resolve(host.clearTimeout(timer));
      }),
  };
}

/**
 * Reads until `stop()`, or until no other try would be answered otherwise. `connect(signal)` resolves to an answer or throws `Problem`;
 * `take(event)` has each event, also those that only move the place (`type` is empty); `tell(connection)` hears where it stands.
 */
export function follow({ host, connect, take, tell }) {
  const { sleep, wake } = sleeper(host);
  let isStopped = false;
  let isHasty;
  let cut;
  let heardAt;
  let failures = 0;
  let base;
  let furthest = 0;
  let breathedAt = 0;

  async function run() {
    for (;;) {
      isHasty = false;
      tell({ state: "connecting" });
      const { final, floor, problem } = await read();
      if (isStopped) return;
      if (final) return tell({ state: "closed", ...final });
      tell({ state: "waiting", ...(problem && { problem }) });
      if (!isHasty) await sleep(failures, floor, base);
      if (isStopped) return;
    }
  }

  /** One connection; resolves to how it ended. */
  async function read() {
    const end = own();
    const startedAt = host.now();
    let isGood = false;
    let silence;
    cut = new AbortController();
    const { signal } = cut;
    const heard = () => {
      heardAt = host.now();
      host.clearTimeout(silence);
      silence = host.setTimeout(() => cut.abort(), DEAD_MS);
    };
    heard();
    try {
      const answer = await connect(signal);
      if (answer.status === 204) return { final: { reason: "ended" } };
      let isOpen = false;
      for await (const frame of frames(answer.body, heard)) {
        if (host.now() - breathedAt > SLICE_MS) {
          await host.breathe();
          breathedAt = host.now();
        }
        if (signal.aborted) break;
        if (!isOpen) tell({ state: "open" });
        isOpen = true;
        if (Number(frame.retry)) end.floor = base = Math.max(BASE_MS, Number(frame.retry));
        const event = eventOf(own(frame));
        take(event);
        const at = place(event.id);
        // what comes a second time brings nothing, and what cannot be taken does not come to here
        if (at > furthest) {
          furthest = at;
          isGood = true;
        }
        if (event.type === "closing") end.floor = event.data.retry_after_ms;
        if (event.type === "closing" && event.data.reason === "deleted") end.final = { reason: "deleted" };
      }
    } catch (problem) {
      // a cut in mid-stream is none
      if (problem instanceof Problem) end.problem = problem;
      if (problem.status && !isPassing(problem)) end.final = { reason: "refused", problem };
      end.floor = problem.retry_after_ms;
    } finally {
      host.clearTimeout(silence);
      cut.abort();
      failures = isGood || host.now() - startedAt > GOOD_MS ? 0 : failures + 1;
    }
    return end;
  }

  run();
  return {
    stop() {
      isStopped = true;
      cut.abort();
      wake();
    },
    /** Tries now. A connection that has been silent is not waited for. */
    wake() {
      failures = 0;
      if (host.now() - heardAt > DOUBT_MS) {
        isHasty = true;
        cut.abort();
      }
      wake();
    },
  };
}
