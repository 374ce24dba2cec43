// The text/event-stream format, by the rules of the WHATWG HTML standard (9.2.6), however the bytes are cut.

const FIELD = /^(event|data|id|retry)(?:: ?|$)(.*)$/s;

/** The frames of a body. One that the end cuts is none. `heard` is called for whatever comes, comments too. */
export async function* frames(body, heard = () => {}) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let frame = {};
  let afterCR = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      heard();
      let text = decoder.decode(value, { stream: true });
      // the second half of a line end whose first half ended a line already
      if (afterCR && text[0] === "\n") text = text.slice(1);
      else if (!text) continue;
      afterCR = text.endsWith("\r");
      const lines = (rest + text).split(/\r\n|\r|\n/);
      rest = lines.pop();
      for (const line of lines) {
        if (line) add(frame, line);
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

function add(frame, line) {
  const [, name, value] = line.match(FIELD) ?? [];
  if (name === "data" && frame.data !== undefined) frame.data += `\n${value}`;
  else if (name && !(name === "id" && value.includes("\0")) && !(name === "retry" && /\D|^$/.test(value))) frame[name] = value;
}
