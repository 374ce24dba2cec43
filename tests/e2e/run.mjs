// End-to-end tests of the shipped binary, with real counterparts: a real small model behind the OpenAI wire and a real terminal (tmux); the
// real browser is in page.mjs. `scripts/e2e-setup` installs them; PORTICO_BIN names another binary than the debug build's.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { DEADLINE_MS, binary, call, events, startModel, startPortico, until } from "./support.mjs";

const run = promisify(execFile);

const letters = (text) => text.replace(/\P{L}/gu, "");

describe("with a real small model", () => {
  let model;
  let server;

  before(async () => {
    model = await startModel();
    server = await startPortico(
      `[agents.default]\nmodel = "${model.model}"\n\n[providers.openai]\nbase_url = "${model.url}/v1"\napi_key = "none"\nwire = "openai_chat"\n`,
    );
  });
  after(async () => {
    await server?.stop();
    await server?.remove();
    await model?.stop();
  });

  test("one POST streams the answer: deltas, then one completed done with the joined text", async () => {
    const { id } = await call(`${server.url}/v1/sessions`, { body: {} });
    const answer = await fetch(`${server.url}/v1/sessions/${id}/messages`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ text: "What is the capital of France?" }),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    assert.equal(answer.status, 200);
    assert.match(answer.headers.get("content-type"), /^text\/event-stream/);
    const seen = [];
    for await (const one of events(answer)) seen.push(one);
    const deltas = seen.filter(({ event }) => event === "text_delta");
    const done = seen.filter(({ event }) => event === "done");
    assert.ok(deltas.length > 0, "the answer came without a delta");
    assert.equal(done.length, 1);
    assert.equal(seen.at(-1).event, "done");
    assert.equal(done[0].data.reason, "completed");
    assert.equal(done[0].data.answer, deltas.map(({ data }) => data.text).join(""));
  });

  test("portico chat answers in a terminal, and Ctrl-D ends it", async () => {
    const socket = `portico-e2e-${process.pid}`;
    const tmux = async (...args) => (await run("tmux", ["-L", socket, "-f", "/dev/null", ...args])).stdout;
    const chat = ["-e", `PORTICO_KEY=${server.key}`, binary, "chat", "--url", server.url];
    await tmux("new-session", "-d", "-s", "chat", "-x", "100", "-y", "50", ...chat);
    try {
      await until("a prompt", async () => (await tmux("capture-pane", "-p", "-t", "chat")).trim());
      await tmux("send-keys", "-t", "chat", "-l", "What is the capital of France?");
      await tmux("send-keys", "-t", "chat", "Enter");
      const spoken = await until("the transcript of a cli session", async () => {
        const { data } = await call(`${server.url}/v1/sessions?channel=cli`);
        if (data.length === 0) return null;
        const messages = await call(`${server.url}/v1/sessions/${data[0].id}/messages`);
        return messages.data.find(({ role }) => role === "assistant");
      });
      const wanted = letters(spoken.text).slice(-60);
      assert.notEqual(wanted, "");
      await until("the answer on the terminal", async () => {
        const pane = await tmux("capture-pane", "-p", "-t", "chat");
        if (!letters(pane).includes(wanted)) throw new Error(`it shows:\n${pane.trimEnd()}`);
        return true;
      });
      await tmux("send-keys", "-t", "chat", "C-d");
      await until("the end of the chat", () => tmux("has-session", "-t", "chat").then(() => false, () => true));
    } finally {
      // it is gone already where all went well
      await tmux("kill-server").catch(() => {});
    }
  });

  test("SIGTERM ends the server with 0", async () => {
    assert.equal(await server.stop(), 0, server.output());
  });
});
