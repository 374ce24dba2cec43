// End-to-end tests of the shipped binary, with real counterparts: a real small model behind the OpenAI wire, a real terminal (tmux) and a
// real browser (Chromium). `scripts/e2e-setup` installs them; PORTICO_BIN names another binary than the debug build's.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import path from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { CHROMIUM, DEADLINE_MS, binary, cache, call, events, startModel, startPortico, startScript, until } from "./support.mjs";

const run = promisify(execFile);

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
/** What the page was sent, to the byte: it shows an answer's Markdown and keeps the text that it drew beside it. */
const shown = (page) => page.locator(".message").evaluateAll((all) => all.map((one) => [one.dataset.role, one.dataset.raw]));
const letters = (text) => text.replace(/\P{L}/gu, "");
const focused = (page) => page.evaluate(() => document.activeElement.id);
const composerHasFocus = (page) => until("the focus in the composer", async () => (await focused(page)) === "text");

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
      const text = (await answer.count()) ? await answer.last().getAttribute("data-raw") : "";
      return text.length > length ? text : null;
    });

    const first = await longerThan(0);
    assert.equal(await page.getByRole("log").getAttribute("aria-busy"), "true", "text that grows is not read out");
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

    assert.equal(await page.getByRole("log").getAttribute("aria-busy"), "false");

    const texts = await shown(page);
    assert.deepEqual(texts, await transcript(server, page));
    assert.deepEqual(texts.map(([role]) => role), ["user", "assistant"]);
    const seen = await page.locator(".message .body").allTextContents();
    assert.deepEqual(seen.map(letters), texts.map(([, text]) => letters(text)), "what is drawn is that text, but for marks");
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
    await page.locator(".note", { hasText: "You stopped this answer." }).waitFor();
    await turnEnds(page);
    await composerHasFocus(page);
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
    const card = page.getByRole("group", { name: "Allow demo_booking?" });
    await card.waitFor();
    await page.reload();
    await card.waitFor();
    assert.equal(await page.getByRole("log").getAttribute("aria-busy"), "false", "a card that waits is read out");
    await page.screenshot({ path: path.join(cache, "approval.png") });

    await server.crash();
    await page.locator('#connection[data-state="waiting"]').waitFor();
    await say(page, "Is anybody there?");
    await page.getByRole("alert").getByText("cannot be reached").waitFor();
    await server.restart();
    await page.locator('#connection[data-state="open"]').waitFor();
    await page.getByRole("alert").waitFor({ state: "hidden" });
    await card.getByRole("button", { name: "Allow once" }).click();
    const settled = page.locator(".settled");
    await settled.getByText("✓ demo_booking allowed once").waitFor();
    await composerHasFocus(page);
    const tool = page.locator(".tool", { hasText: "demo_booking" });
    await tool.getByText("done").waitFor();
    await turnEnds(page);
    assert.equal(await tool.count(), 1);
    assert.equal(await card.count(), 0);
    assert.equal(await settled.count(), 1);
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

  test("a kept result opens from its line, as text and with the tab's key", async () => {
    const { page, complaints, close } = await openPage(server.link);
    await say(page, "look up everything");
    const kept = page.getByRole("button", { name: / KB kept$/ }).first();
    await kept.waitFor();
    await turnEnds(page);
    const [opened] = await Promise.all([page.context().waitForEvent("page"), kept.click()]);
    await opened.getByText("day 1: rowing boat, free").waitFor();
    assert.deepEqual(complaints, []);
    await close();
  });

  test("suggestions begin a conversation; what is denied or stopped folds; Back returns to it; nothing scrolls sideways", async () => {
    const { page, complaints, close } = await openPage(server.link, { viewport: { width: 320, height: 640 } });
    const fits = async () => {
      const sizes = await page.evaluate(() => [document.documentElement, document.querySelector("main")].map((one) => one.scrollWidth));
      assert.ok(Math.max(...sizes) <= 320, `${sizes} px wide`);
    };
    await composerHasFocus(page);
    await fits();
    await page.getByRole("button", { name: "book a rowing boat for tomorrow" }).click();
    const card = page.getByRole("group", { name: "Allow demo_booking?" });
    await card.waitFor();
    assert.deepEqual(await card.getByRole("button").allTextContents(), ["Allow once", "Allow for this conversation", "Deny"]);
    await card.getByText(/^Waits for \d+ minutes\.$/).waitFor();
    await fits();
    await card.getByRole("button", { name: "Deny" }).click();
    await page.getByText("✗ demo_booking denied").waitFor();
    await composerHasFocus(page);
    await turnEnds(page);
    assert.equal(await page.locator(".tool").count(), 0, "one line says that it was denied");

    await say(page, "book a table");
    await card.waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("✗ demo_booking cancelled").waitFor();
    await page.getByText("You stopped this answer.").waitFor();
    await turnEnds(page);

    await say(page, "show me a table");
    await page.getByRole("cell", { name: "memory" }).waitFor();
    await turnEnds(page);
    await fits();

    await page.locator("main").evaluate((main) => (main.scrollTop = 0));
    const newest = page.getByRole("button", { name: "Newest below" });
    const session = new URL(page.url()).hash.replace("#session=", "");
    await call(`${server.url}/v1/sessions/${session}/messages`, { body: { text: "show me a table" } });
    await newest.click();
    await newest.waitFor({ state: "hidden" });
    await until("the second table", async () => (await page.getByRole("cell", { name: "memory" }).count()) === 2);
    await turnEnds(page);
    await until("the end in view", () => page.locator("main").evaluate((main) => main.scrollHeight - main.scrollTop - main.clientHeight < 2));
    const texts = await shown(page);
    assert.deepEqual(texts, await transcript(server, page));

    await page.getByRole("button", { name: "New conversation" }).click();
    await page.getByRole("button", { name: "look up a rowing boat" }).waitFor();
    await composerHasFocus(page);
    assert.deepEqual(await shown(page), []);
    await page.goBack();
    await until("the conversation before", async () => (await shown(page)).length === texts.length);
    assert.deepEqual(await shown(page), texts);
    assert.deepEqual(complaints, []);
    await close();
  });

  test("a conversation that does not exist is said in one line, with a way on", async () => {
    const { page, close } = await openPage(`${server.link}&session=ses_none`);
    await page.getByRole("alert").getByText("does not exist").waitFor();
    await page.locator("#again").click();
    await composerHasFocus(page);
    await say(page, "hello");
    await page.locator('.message[data-role="assistant"]').waitFor();
    await close();
  });

  test("Markdown becomes elements and nothing else does; what a call hides is spelled", async () => {
    const { page, complaints, close } = await openPage(server.link);
    const drawn = (text) => page.evaluate(async (source) => {
      const { draw } = await import("/markdown.js");
      const [whole, grown] = [document.createElement("div"), document.createElement("div")];
      draw(whole, source);
      for (let end = 1; end <= source.length; end += 1) draw(grown, source.slice(0, end));
      return whole.innerHTML === grown.innerHTML ? whole.innerHTML : `grown: ${grown.innerHTML}`;
    }, text);
    assert.equal(await drawn("a_b_c **b *i*** `<x>`\n2 * 3 * 4"), "<p>a_b_c <strong>b <em>i</em></strong> <code>&lt;x&gt;</code>\n2 * 3 * 4</p>");
    assert.equal(await drawn("1. a\n   - b\n2. c\n\nend"), '<ol start="1"><li>a<ul><li>b</li></ul></li><li>c</li></ol><p>end</p>');
    assert.match(await drawn("```js\n**a**\n\n```\nend"), /^<pre [^>]*><code>\*\*a\*\*\n<\/code><\/pre><p>end<\/p>$/);
    assert.match(await drawn("|a|b|\n|-|-:|\n|1|2|\n\n# h"), /<table>.*<td>1<\/td><td data-side="end">2<\/td>.*<p><strong>h<\/strong><\/p>$/);
    assert.match(await drawn("[x](https://a.example/b)."), /^<p><a href="https:\/\/a\.example\/b" .*rel="noopener noreferrer">x<\/a>\.<\/p>$/);
    for (const text of ["<img src=x onerror=alert(1)>", "[x](javascript:alert(1))", "a ** b", "**open", "| no | table"]) {
      assert.equal(await drawn(text), `<p>${text.replace("<", "&lt;").replace(">", "&gt;")}</p>`);
    }

    const args = '{"a":"\u202ex","a":1e2,"n":12345678901234567890.10,"t":"\u{e0041}"}';
    const shows = await page.evaluate(async (sent) => {
      const { approvalCard, rawMember } = await import("/cards.js");
      const record = `{"tool":"x","reason":"{\\"args\\":1}","other":{"args":2},"args":${sent},"digest":"d"}`;
      const asked = { tool: "to\u200bol", digest: "d", reason: "why\u2066", decisions: [], expires_at: new Date().toISOString() };
      const card = approvalCard(asked, rawMember(record, "args"), () => {});
      return ["h2", "p", "pre"].map((part) => card.querySelector(part).textContent);
    }, args);
    assert.deepEqual(shows.slice(0, 2), ["Allow to\\u200bol?", "why\\u2066"]);
    assert.equal(shows[2].replace(/\s/g, ""), '{"a":"\\u202ex","a":1e2,"n":12345678901234567890.10,"t":"\\u{e0041}"}');
    assert.deepEqual(complaints, []);
    await close();
  });
});

describe("with a scripted model", () => {
  let model;
  let server;
  const questions = [
    { text: "Which boat?", options: [{ label: "Rowing boat" }, { label: "Pedal boat" }] },
    { text: "What else?", options: [{ label: "Oars" }, { label: "Vest" }], multiple: true, free_text: true },
  ];

  before(async () => {
    const ask = { index: 0, id: "call_1", type: "function", function: { name: "ask_user", arguments: JSON.stringify({ questions }) } };
    model = await startScript(({ role, content }) => (role === "tool" ? { content: `So: ${content}` } : { content: null, tool_calls: [ask] }));
    const provider = `[providers.openai]\nbase_url = "${model.url}/v1"\napi_key = "none"\nwire = "openai_chat"\n`;
    server = await startPortico(`[agents.default]\nmodel = "script"\n\n[channels.web]\nallow_ask_user = true\n\n${provider}`);
  });
  after(async () => {
    await server?.stop();
    await server?.remove();
    await model?.stop();
  });

  test("questions are a form; its answers go to the agent and stay as lines; they can be skipped", async () => {
    const { page, complaints, close } = await openPage(server.link);
    await say(page, "a boat");
    const card = page.getByRole("group", { name: "Questions for you" });
    await card.getByLabel("Pedal boat").check();
    await card.getByLabel("Oars").check();
    await card.getByLabel("Vest").check();
    await card.getByLabel("In your own words").fill("a hat");
    await card.getByRole("button", { name: "Answer" }).click();
    await page.getByText("✓ Which boat? Pedal boat").waitFor();
    await page.getByText("✓ What else? Oars, Vest, a hat").waitFor();
    await composerHasFocus(page);
    const answer = page.locator('.message[data-role="assistant"]');
    await answer.getByText('chose "Pedal boat"').waitFor();
    await turnEnds(page);

    await say(page, "another");
    await card.getByRole("button", { name: "Skip" }).click();
    await page.getByText("✗ Question skipped").waitFor();
    await answer.getByText("declined").waitFor();
    await turnEnds(page);
    assert.equal(await page.locator(".tool").count(), 0, "the questions say it already");
    assert.deepEqual(await shown(page), await transcript(server, page));
    assert.deepEqual(complaints, []);
    await close();
  });
});
