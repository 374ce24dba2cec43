// End-to-end tests of the shipped binary, with real counterparts: a real small model behind the OpenAI wire, a real terminal (tmux) and a
// real browser (Chromium). `scripts/e2e-setup` installs them; PORTICO_BIN names another binary than the debug build's.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { DEADLINE_MS, binary, cache, call, events, startModel, startPortico, until } from "./support.mjs";

const run = promisify(execFile);

/** Chromium as root, without the background requests that it makes of its own accord. */
const CHROMIUM = {
  executablePath: "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

let browser;
before(async () => (browser = await chromium.launch(CHROMIUM)));
after(() => browser?.close());

/** A page in a profile of its own; what its console complains about is collected. */
async function openPage(url, options = {}) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(DEADLINE_MS);
  const page = await context.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(url);
  return { page, complaints, close: () => context.close() };
}

async function say(page, text) {
  await page.getByLabel("Message").fill(text);
  await page.getByRole("button", { name: "Send" }).click();
}

/** The Stop button shows while a turn runs; call it after something of the turn was seen. */
const turnEnds = (page) => page.locator("#stop").waitFor({ state: "hidden" });
const shown = (page) => page.locator(".message").evaluateAll((all) => all.map((one) => [one.dataset.role, one.textContent]));

async function transcript(server, page) {
  const session = new URL(page.url()).hash.replace("#session=", "");
  const { data } = await call(`${server.url}/v1/sessions/${session}/messages`);
  return data.map(({ role, text }) => [role, text]);
}

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
  // what one test holds back must not hold up the next
  afterEach(() => model.release());

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
    const letters = (text) => text.replace(/[^\p{L}\p{N}]/gu, "");
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

  test("a page that is reloaded in mid-stream ends with the transcript, byte for byte", async () => {
    await model.hold(4);
    const { page, complaints, close } = await openPage(server.link);
    await say(page, "Tell me a story about a fox.");
    const answer = page.locator('.message[data-role="assistant"]');
    const longerThan = (length) => until(`more than ${length} characters`, async () => {
      const text = (await answer.count()) ? await answer.last().textContent() : "";
      return text.length > length ? text : null;
    });

    const first = await longerThan(0);
    await model.hold(4);
    const second = await longerThan(first.length);
    assert.ok(second.startsWith(first), "the text grows at its end");

    await page.reload();
    const again = await longerThan(second.length - 1);
    assert.ok(again.startsWith(second), "the reloaded page shows what was there");
    await model.release();
    const more = await longerThan(again.length);
    assert.ok(more.startsWith(again));
    await turnEnds(page);

    const texts = await shown(page);
    assert.deepEqual(texts, await transcript(server, page));
    assert.deepEqual(texts.map(([role]) => role), ["user", "assistant"]);
    await page.screenshot({ path: path.join(cache, "page.png") });

    await page.reload();
    await until("the replayed page", async () => (await answer.count()) === 1);
    await turnEnds(page);
    assert.deepEqual(await shown(page), texts, "a page of records alone is the same");
    assert.deepEqual(complaints, []);
    await close();
  });

  test("Stop keeps what was seen, and the session goes on", async () => {
    await model.hold(4);
    const { page, complaints, close } = await openPage(server.link);
    await say(page, "Tell me a story about a bear.");
    await page.locator('.message.live[data-role="assistant"]').waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.locator(".note", { hasText: "aborted" }).waitFor();
    await turnEnds(page);
    assert.deepEqual(await shown(page), await transcript(server, page));

    await model.release();
    await say(page, "Hello.");
    await until("the second answer", async () => (await page.locator('.message[data-role="assistant"]').count()) === 2);
    await turnEnds(page);
    assert.deepEqual(await shown(page), await transcript(server, page));
    assert.deepEqual(complaints, []);
    await close();
  });

  test("SIGTERM ends the server with 0", async () => {
    assert.equal(await server.stop(), 0, server.output());
  });
});

describe("with the demo model", () => {
  let server;
  before(async () => (server = await startPortico()));
  after(async () => {
    await server?.stop();
    await server?.remove();
  });

  test("an approval outlives a reload and a crash, is given on the page, and the tool runs once", async () => {
    const phone = { viewport: { width: 390, height: 780 }, colorScheme: "dark" };
    const { page, complaints, close } = await openPage(server.link, phone);
    assert.ok(!page.url().includes(server.key), "the key does not stay in the address");
    await say(page, "book a table for two");
    const card = page.locator(".approval");
    await card.getByRole("heading", { name: "May demo_booking run?" }).waitFor();
    await page.reload();
    await card.getByRole("heading", { name: "May demo_booking run?" }).waitFor();
    await page.screenshot({ path: path.join(cache, "approval.png") });

    await server.crash();
    await page.locator('#connection[data-state="waiting"]').waitFor();
    await server.restart();
    await page.locator('#connection[data-state="open"]').waitFor();
    await card.getByRole("button", { name: "Allow once" }).click();
    await card.getByText("Decision: allow once").waitFor();
    const tool = page.locator(".tool", { hasText: "demo_booking" });
    await tool.getByText("done in").waitFor();
    await turnEnds(page);
    assert.equal(await tool.count(), 1);
    assert.equal(await card.count(), 1);
    const texts = await shown(page);
    assert.deepEqual(texts, await transcript(server, page));
    assert.equal(texts.at(-1)[0], "assistant");

    const session = new URL(page.url()).hash.replace("#session=", "");
    const { data } = await call(`${server.url}/v1/sessions/${session}/approvals`);
    assert.deepEqual(data.map(({ tool, status, decision }) => [tool, status, decision]), [["demo_booking", "decided", "allow_once"]]);
    // the browser itself reports the connection that the crash cut
    assert.deepEqual(complaints.filter((text) => !text.includes("net::ERR_")), []);
    await close();
  });
});
