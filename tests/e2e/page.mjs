// The page at "/" of the shipped binary in a real browser: conversations over reloads, crashes, Back and Stop; approvals and questions; what it
// says where it may not. What the widget does on other pages is in the files named after it.

import assert from "node:assert/strict";
import path from "node:path";
import { after, afterEach, before, describe, test } from "node:test";
import { agentOn, cache, call, endWithModel, startPortico, startScript, startWithModel, until } from "./support.mjs";
import { axe, openPage, sameAsTranscript, startBrowser, stopBrowser, transcript } from "./widget-support.mjs";

before(startBrowser);
after(stopBrowser);

/** The browser itself reports connections that are cut. */
const CUT = /net::ERR_/;
const letters = (text) => text.replace(/\P{L}/gu, "");
const composerHasFocus = ({ chat }) => until("the focus in the composer", () => chat.evaluate((one) => one.shadowRoot.activeElement?.ariaLabel === "Message"));
const sessionOf = (page) => new URLSearchParams(new URL(page.url()).hash.slice(1)).get("session");

describe("with a real small model", () => {
  let model;
  let server;

  before(async () => ({ model, server } = await startWithModel()));
  after(() => endWithModel({ model, server }));
  // what one test holds back must not hold up the next
  afterEach(() => model.release());

  test("a page that is reloaded in mid-stream ends with the transcript, byte for byte", async () => {
    await model.hold(4);
    const tab = await openPage(server.link);
    const { page, answers } = tab;
    await tab.say("Tell me a story about a fox.");
    const longerThan = (length) => until(`more than ${length} characters`, async () => {
      const text = await tab.text();
      return text.length > length ? text : null;
    });

    const first = await longerThan(0);
    assert.equal(await tab.chat.getByRole("log").getAttribute("aria-live"), "off", "text that grows is not read out");
    await model.hold(4);
    const second = await longerThan(first.length);
    assert.ok(second.startsWith(first), "the text grows at its end");

    await page.reload();
    const again = await longerThan(second.length - 1);
    assert.ok(again.startsWith(second), "the reloaded page shows what was there");
    await model.release();
    const more = await longerThan(again.length);
    assert.ok(more.startsWith(again));
    await tab.turnEnds();

    await sameAsTranscript({ server }, tab);
    const texts = await tab.shown();
    assert.deepEqual(texts.map(([role]) => role), ["user", "assistant"]);
    const seen = await answers.locator(".markdown").allTextContents();
    assert.deepEqual(seen.map(letters), [letters(texts[1][1])], "what is drawn is that text, but for marks");
    await page.screenshot({ path: path.join(cache, "page.png") });

    await page.reload();
    await until("the replayed page", async () => (await answers.count()) === 1);
    await tab.turnEnds();
    assert.deepEqual(await tab.shown(), texts, "a page of records alone is the same");
    await tab.finish();
  });

  test("Stop keeps what was seen, and the session goes on", async () => {
    await model.hold(4);
    const tab = await openPage(server.link);
    await tab.say("Tell me a story about a bear.");
    await tab.chat.locator('.message.live[data-role="assistant"]').waitFor();
    await tab.button("Stop").click();
    await tab.chat.getByText("You stopped this answer.").waitFor();
    await tab.turnEnds();
    await composerHasFocus(tab);
    await sameAsTranscript({ server }, tab);

    await model.release();
    await tab.say("Hello.");
    await until("the second answer", async () => (await tab.answers.count()) === 2);
    await tab.turnEnds();
    await sameAsTranscript({ server }, tab);
    await tab.finish();
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
    const tab = await openPage(server.link, phone);
    const { page, chat } = tab;
    assert.ok(!page.url().includes(server.key), "the key does not stay in the address");
    await tab.say("book a table for two");
    const card = chat.getByRole("group", { name: "Allow demo_booking?" });
    await card.waitFor();
    await chat.getByRole("status").getByText("Allow demo_booking?").waitFor({ state: "attached" });
    await page.reload();
    await card.waitFor();
    await page.screenshot({ path: path.join(cache, "approval.png") });

    await server.crash();
    await chat.getByText("Reconnecting…").first().waitFor();
    await tab.say("Is anybody there?");
    await chat.getByText("Is sent as soon as there is a connection").waitFor();
    await card.getByRole("button", { name: "Allow once" }).click();
    await card.getByRole("alert").getByText("cannot be reached").waitFor();
    await server.restart();
    await until("the message in the session", async () => (await transcript(server, sessionOf(page))).some(([, text]) => text === "Is anybody there?"));
    await card.getByRole("button", { name: "Allow once" }).click();
    const settled = chat.locator(".settled");
    await settled.getByText("✓ demo_booking allowed once").waitFor();
    await composerHasFocus(tab);
    const tools = chat.locator(".tools");
    await tools.getByText("Used demo_booking").waitFor();
    await tab.turnEnds();
    assert.equal(await tools.count(), 1);
    assert.equal(await chat.locator(".card").count(), 0);
    assert.equal(await settled.count(), 1);
    await sameAsTranscript({ server }, tab);
    assert.equal((await tab.shown()).at(-1)[0], "assistant");

    const { data } = await call(`${server.url}/v1/sessions/${sessionOf(page)}/approvals`);
    assert.deepEqual(data.map(({ tool, status, decision }) => [tool, status, decision]), [["demo_booking", "decided", "allow_once"]]);
    await tab.finish(CUT);
  });

  test("a kept result opens from its line, as text and with the tab's key", async () => {
    const tab = await openPage(server.link);
    await tab.say("look up everything");
    await tab.chat.locator(".tools summary").first().click();
    const kept = tab.button(/^Open the whole result \(\d+ kB\)$/).first();
    await kept.waitFor();
    await tab.chat.getByRole("group", { name: "Arguments" }).first().getByText("everything").waitFor();
    await tab.turnEnds();
    const [opened] = await Promise.all([tab.page.context().waitForEvent("page"), kept.click()]);
    await opened.getByText("day 1: rowing boat, free").waitFor();
    await tab.finish();
  });

  test("suggestions begin a conversation; what is denied or stopped folds; Back returns to it; nothing scrolls sideways", async () => {
    const tab = await openPage(server.link, { viewport: { width: 320, height: 640 } });
    const { page, chat } = tab;
    const fits = async () => {
      const log = await chat.getByRole("log").evaluate((one) => one.scrollWidth);
      const sizes = [log, await page.evaluate(() => document.documentElement.scrollWidth)];
      assert.ok(Math.max(...sizes) <= 320, `${sizes} px wide`);
    };
    await composerHasFocus(tab);
    await fits();
    await tab.button("book a rowing boat for tomorrow").click();
    const card = chat.getByRole("group", { name: "Allow demo_booking?" });
    await card.waitFor();
    assert.deepEqual(await card.getByRole("button").allTextContents(), ["Allow once", "Allow for this conversation", "Deny"]);
    await card.getByText(/^Expires in \d+ minutes\.$/).waitFor();
    await fits();
    await card.getByRole("button", { name: "Deny" }).click();
    await chat.getByText("✗ demo_booking denied").waitFor();
    await composerHasFocus(tab);
    await tab.turnEnds();
    assert.equal(await chat.locator(".tools").count(), 0, "one line says that it was denied");

    await tab.say("book a table");
    await card.waitFor();
    await tab.button("Stop").click();
    await chat.getByText("✗ demo_booking cancelled").waitFor();
    await chat.getByText("You stopped this answer.").waitFor();
    await tab.turnEnds();

    await tab.say("show me a table");
    const cells = chat.getByRole("cell", { name: "memory" });
    await cells.waitFor();
    await tab.turnEnds();
    await fits();

    await chat.getByRole("log").evaluate((log) => (log.scrollTop = 0));
    const newest = tab.button("Newest below");
    await call(`${server.url}/v1/sessions/${sessionOf(page)}/messages`, { body: { text: "show me a table" } });
    await newest.click();
    await newest.waitFor({ state: "hidden" });
    await until("the second table", async () => (await cells.count()) === 2);
    await tab.turnEnds();
    await until("the end in view", () => chat.getByRole("log").evaluate((log) => log.scrollHeight - log.scrollTop - log.clientHeight < 2));
    await sameAsTranscript({ server }, tab);
    const texts = await tab.shown();

    const first = page.url();
    await tab.button("New conversation").click();
    await tab.button("look up a rowing boat").waitFor();
    await composerHasFocus(tab);
    assert.deepEqual(await tab.shown(), []);
    assert.equal(sessionOf(page), null);
    await page.goBack();
    await until("the conversation before", async () => (await tab.shown()).length === texts.length);
    assert.deepEqual(await tab.shown(), texts);
    assert.equal(page.url(), first);

    await tab.button("New conversation").click();
    await tab.say("hello");
    await tab.answers.waitFor();
    await tab.turnEnds();
    const second = page.url();
    assert.notEqual(second, first);
    await page.goBack();
    await until("the conversation before", async () => (await tab.shown()).length === texts.length);
    await page.goForward();
    await until("the one that was begun from it", async () => (await tab.shown()).length === 2);
    assert.equal(page.url(), second);
    await page.reload();
    await until("the same after a reload", async () => (await tab.shown()).length === 2);
    await tab.finish();
  });

  test("what is written and not sent is there after a reload", async () => {
    const tab = await openPage(server.link);
    await tab.say("hello");
    await tab.answers.waitFor();
    await tab.turnEnds();
    await tab.composer.fill("half a thou");
    await tab.page.reload();
    await tab.answers.waitFor();
    assert.equal(await tab.composer.inputValue(), "half a thou");
    await tab.finish();
  });

  test("on a wide screen the things to try stand beside the chat, and the lines to embed it can be copied", async () => {
    const tab = await openPage(server.link, { viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"] });
    const { page, chat } = tab;
    await axe(page);
    await page.getByRole("button", { name: "show me a table" }).click();
    await chat.getByRole("cell", { name: "memory" }).waitFor();
    await tab.turnEnds();
    await composerHasFocus(tab);
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    assert.equal(
      await page.evaluate(() => navigator.clipboard.readText()),
      '<script type="module" src="/widget.js"></script>\n<portico-chat mode="launcher"></portico-chat>',
    );
    for (const link of await page.locator("#about a").all()) {
      const answer = await page.request.get(new URL(await link.getAttribute("href"), server.url).href);
      assert.equal(answer.status(), 200, answer.url());
    }
    await page.screenshot({ path: path.join(cache, "page-wide.png") });
    await axe(page);
    await tab.finish();
  });

  test("a terminal's conversation opens by its address", async () => {
    const headers = { "content-type": "application/json", authorization: `Bearer ${server.key}` };
    const { id } = await call(`${server.url}/v1/sessions`, { body: { channel: "cli" }, headers });
    await call(`${server.url}/v1/sessions/${id}/messages`, { body: { text: "hello from a terminal" }, headers });
    const tab = await openPage(`${server.link}&session=${id}`);
    await tab.chat.getByText("hello from a terminal").waitFor();
    await tab.turnEnds();
    await tab.say("and from a page");
    await until("both answers", async () => (await tab.answers.count()) === 2);
    await tab.page.evaluate((key) => (location.hash = `#key=${key}`), server.key);
    await until("the address without the key", () => sessionOf(tab.page) === id);
    assert.equal(await tab.sessionId(), id, "a key alone leaves the conversation where it is");
    await tab.finish();

    const without = await openPage(`${server.url}/#session=${id}`);
    await without.chat.getByText("hello from a terminal").waitFor();
    await without.say("without the key");
    await without.chat.getByText("open the link that the server printed").waitFor();
    await without.finish(/403/);
  });

  test("a conversation that does not exist is said in one line, with a way on", async () => {
    const tab = await openPage(`${server.link}&session=ses_none`);
    await tab.chat.getByRole("alert").getByText("does not exist").waitFor();
    await tab.chat.locator("button.over").click();
    await composerHasFocus(tab);
    assert.equal(sessionOf(tab.page), null);
    await tab.say("hello");
    await tab.answers.waitFor();
    await tab.finish(/404/);
  });
});

describe("with configured keys", () => {
  let server;
  before(async () => (server = await startPortico('[auth]\nadmin_key = true\n')));
  after(async () => {
    await server?.stop();
    await server?.remove();
  });

  test("the page says which key it needs, keeps it to the tab, and takes another", async () => {
    const { page, chat, ...tab } = await openPage(server.url);
    const alert = page.getByRole("alert");
    await alert.getByText(`Open ${server.url}/#key=KEY`).waitFor();
    await page.goto(`${server.url}/#key=pk_wrong`);
    await alert.getByText("does not take the key").waitFor();
    await tab.say("is anybody there?");
    await chat.getByText("Not sent").waitFor();

    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(server.link);
    await alert.waitFor({ state: "hidden" });
    assert.ok(!page.url().includes("key"), "the key does not stay in the address");
    await tab.button("Try again").click();
    await tab.answers.waitFor();
    await tab.turnEnds();
    assert.ok(asked.length > 0 && asked.every((one) => !one.includes(server.key)), "no request names the key in its address");

    const second = await page.context().newPage();
    await second.goto(page.url());
    await second.getByRole("alert").getByText("each tab needs one").waitFor();
    await second.getByRole("alert").getByText("open the link with the key again in this tab").waitFor();
    await second.close();

    await page.evaluate(() => (location.hash = "#key=pk_wrong"));
    await alert.getByText("does not take the key").waitFor();
    await page.reload();
    await alert.getByText("does not take the key").waitFor();
    await page.goto(server.link);
    await tab.answers.waitFor();
    await alert.waitFor({ state: "hidden" });
    await tab.finish(/401/);
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
    server = await startPortico(`[channels.web]\nallow_ask_user = true\n\n${agentOn("script", model.url)}`);
  });
  after(() => endWithModel({ model, server }));

  test("questions are a form; its answers go to the agent and stay as lines; they can be skipped", async () => {
    const tab = await openPage(server.link);
    const { chat, answers } = tab;
    await tab.button("what can you do here?").waitFor();
    await tab.say("a boat");
    const card = chat.getByRole("group", { name: "Questions for you" });
    await card.getByLabel("Pedal boat").check();
    await card.getByLabel("Oars").check();
    await card.getByLabel("Vest").check();
    await card.getByLabel("In your own words").fill("a hat");
    await card.getByRole("button", { name: "Answer" }).click();
    await chat.getByText("✓ Which boat? Pedal boat").waitFor();
    await chat.getByText("✓ What else? Oars, Vest, a hat").waitFor();
    await composerHasFocus(tab);
    await answers.getByText('chose "Pedal boat"').waitFor();
    await tab.turnEnds();

    await tab.say("another");
    await card.getByRole("button", { name: "Skip" }).click();
    await chat.getByText("✗ Question skipped").waitFor();
    await answers.getByText("declined").waitFor();
    await tab.turnEnds();
    assert.equal(await chat.locator(".tools").count(), 0, "the questions say it already");
    await sameAsTranscript({ server }, tab);
    await tab.finish();
  });
});
