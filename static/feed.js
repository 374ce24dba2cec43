// A session's event stream, read with fetch: the browser's own EventSource can send no key. It does what that does: one connection at a
// time, opened again from the last id wherever it was cut.

import { withKey } from "/api.js";

/** The wait before another try, in ms, until the server names its own. */
const RETRY_MS = 2000;
/** The server is heard every 15 s; after three silent times the connection is dead, whatever the browser thinks of it. */
const SILENCE_MS = 50_000;
/** Answers that another try does not change. */
const FINAL = [401, 403, 404];

/**
 * Reads the stream at `url` until `close()` is called. `lastId()` is asked at each connection for where to go on. `event(name, data, id)`
 * has an id where the frame has one; `lost()` tells of a cut, and another try follows; after `refused(answer)` none does.
 */
export function readFeed(url, { lastId, event, lost, refused }) {
  let closed = false;
  let retryMs = RETRY_MS;
  let cut;

  /** Resolves to an answer that is final, or to nothing where it was cut. */
  async function connection() {
    cut = new AbortController();
    const id = lastId();
    const headers = withKey({ accept: "text/event-stream", ...(id && { "last-event-id": id }) });
    let silence = setTimeout(() => cut.abort(), SILENCE_MS);
    try {
      const answer = await fetch(url, { headers, signal: cut.signal });
      if (FINAL.includes(answer.status)) return answer;
      if (answer.status !== 200) return null;
      for await (const frame of frames(answer.body)) {
        if (closed) return null;
        clearTimeout(silence);
        silence = setTimeout(() => cut.abort(), SILENCE_MS);
        if (frame.retry) retryMs = Number(frame.retry);
        if (frame.data !== undefined) tell(frame);
      }
      return null;
    } finally {
      clearTimeout(silence);
    }
  }

  /** What the page fails at is reported, and costs the stream nothing. */
  function tell({ event: name, data, id }) {
    try {
      event(name, data, id);
    } catch (error) {
      reportError(error);
    }
  }

  async function run() {
    while (!closed) {
      const answer = await connection().catch(() => null);
      if (closed) return;
      if (answer) return refused(answer);
      cut.abort();
      lost();
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }

  run();
  return {
    close() {
      closed = true;
      cut.abort();
    },
  };
}

/** The frames of a stream as their fields. A frame that the end of the stream cuts is none. */
async function* frames(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const whole = (text + value).split("\n\n");
    text = whole.pop();
    for (const frame of whole) yield fields(frame);
  }
}

function fields(frame) {
  const found = {};
  for (const line of frame.split("\n")) {
    const [, name, value] = line.match(/^([^:]+):? ?(.*)$/s) ?? [];
    if (name === "data" && found.data !== undefined) found.data += `\n${value}`;
    else if (name) found[name] = value;
  }
  return found;
}
