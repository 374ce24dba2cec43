// The reading loop: one connection at a time, opened again from where it was cut, until there is nothing to come or nobody to read.

import { isPassing } from "./api.js";
import { frames } from "./frames.js";
import { backoff, sleeper } from "./host.js";

/** The server is heard every 15 s; after three silent times the connection is dead, whatever the browser thinks of it. */
const SILENT_MS = 50_000;
/** One heartbeat and some: longer than that is suspicious where the network has just changed. */
const SUSPECT_MS = 20_000;
/** A connection that lasted so long was a good one, in ms. */
const GOOD_MS = 5_000;

/**
 * Reads until `stop()`. `connect(signal)` resolves to an answer whose body is a stream, or throws; `take(event)` has each event;
 * `tell(connection)` is told where it stands.
 */
export function follow({ host, connect, take, tell }) {
  const { sleep, wake } = sleeper(host);
  let isStopped = false;
  let cut = new AbortController();
  let heardAt = 0;
  let isOpen = false;
  let failures = 0;
  let base;

  async function run() {
    while (!isStopped) {
      tell({ state: "connecting" });
      const { final, floor } = await once();
      isOpen = false;
      cut.abort();
      if (isStopped) return;
      if (final) return tell({ state: "closed", ...final });
      tell({ state: "waiting" });
      await sleep(backoff(host, failures, { base, floor }));
    }
  }

  /** One connection, from its beginning to its end. */
  async function once() {
    cut = new AbortController();
    const { signal } = cut;
    const startedAt = host.now();
    const end = { floor: 0 };
    let silence;
    let isGood = false;
    const heard = () => {
      heardAt = host.now();
      host.clearTimeout(silence);
      silence = host.setTimeout(() => cut.abort(), SILENT_MS);
    };
    heard();
    try {
      const answer = await connect(signal);
      if (answer.status === 204) return { final: { reason: "ended" } };
      if (!/^text\/event-stream/.test(answer.headers.get("content-type"))) return end;
      for await (const frame of frames(answer.body, heard)) {
        if (isStopped) return end;
        if (!isOpen) tell({ state: "open" });
        isOpen = true;
        isGood ||= frame.id !== undefined;
        if (frame.retry) end.floor = base = Number(frame.retry);
        const event = eventOf(frame);
        take(event);
        if (event.type === "closing") closing(event.data, end);
      }
    } catch (problem) {
      if (problem.status && !isPassing(problem)) return { final: { reason: "refused", problem } };
      end.floor = problem.retry_after_ms ?? 0;
    } finally {
      host.clearTimeout(silence);
      failures = isGood || host.now() - startedAt >= GOOD_MS ? 0 : failures + 1;
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
    /** The network may be back: try now, and doubt a connection that has been silent. */
    wake() {
      failures = 0;
      if (isOpen && host.now() - heardAt > SUSPECT_MS) cut.abort();
      wake();
    },
  };
}

function closing({ reason, retry_after_ms = 0 }, end) {
  end.floor = retry_after_ms;
  if (reason === "deleted") end.final = { reason };
}

function eventOf({ event = "", data, id }) {
  try {
    return { type: data === undefined ? "" : event, id, data: data && JSON.parse(data), raw: data };
  } catch {
    // nothing that this client knows: its place is kept all the same
    return { type: "", id };
  }
}
