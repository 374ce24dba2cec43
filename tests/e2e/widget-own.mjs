// <portico-chat>: nobody's words are lost, no request goes out under another person's credential, and the page hears what was refused.

import assert from "node:assert/strict";
import { after, afterEach, before, describe, test } from "node:test";
import { call, until } from "./support.mjs";
import { WIDGET, gated, newContext, openPage, startBrowser, startShop, stopBrowser } from "./widget-support.mjs";

let shop;
let gate;
before(async () => {
  await startBrowser();
  shop = await startShop({
    reply: ({ content }) => (content === "Slowly." ? gate : { content: `You said: ${content}` }),
    pages: {
      "/astray": `<h1>One</h1>${WIDGET}<portico-chat base="http://"></portico-chat>`,
      "/up": `<h1>One</h1>${WIDGET}<portico-chat session=".."></portico-chat>`,
      "/dialog": `<h1>One</h1>${WIDGET}<dialog><portico-chat></portico-chat></dialog>`,
      "/two": `<h1>Two</h1>${WIDGET}<portico-chat></portico-chat><portico-chat></portico-chat>`,
      "/plain": `<h1>No chat</h1>`,
    },
  });
});
afterEach(() => gate?.end());
after(async () => {
  await stopBrowser();
  await shop?.stop();
});

const answered = (tab, count) => until(`${count} answers`, async () => (await tab.answers.count()) === count);
const draft = (tab, text) => until(`the draft ${text}`, async () => (await tab.composer.inputValue()) === text);
const refuse = (status, code) => (route) =>
  route.fulfill({ status, contentType: "application/problem+json", body: JSON.stringify({ code, title: "No", detail: `It is ${code}.` }) });
const state = (tab) => tab.chat.evaluate((one) => one.snapshot.connection.state);
const look = (tab, is) =>
  tab.page.evaluate((value) => {
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, is);

test("Stop gives back also what was accepted and has not come by the stream yet", async () => {
  gate = gated();
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("Slowly.");
  gate.more("Well");
  await until("an answer", async () => (await tab.text()) === "Well");
  let letOn;
  const held = new Promise((resolve) => (letOn = resolve));
  await tab.page.route("**/events**", async (route) => (await held, route.continue()));
  shop.host.cut();
  await until("the cut", async () => (await state(tab)) !== "open");
  await tab.say("And a bear?");
  await tab.chat.locator('[data-state="sent"]').waitFor();
  await tab.button("Stop").click();
  gate.end();
  letOn();
  await draft(tab, "And a bear?");
  await tab.turnEnds();
  assert.deepEqual((await tab.shown()).filter(([role]) => role === "user"), [["user", "Slowly."]]);
  await tab.finish(/net::ERR_/);
});

test("New conversation takes along what is not sent, as a draft", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("one");
  await answered(tab, 1);
  await tab.page.route("**/messages", (route) => route.abort());
  await tab.say("two");
  await tab.chat.locator('[data-state="waiting"]').waitFor();
  const id = await tab.sessionId();
  await tab.button("New conversation").click();
  await draft(tab, "two");
  assert.deepEqual(await tab.shown(), []);
  await tab.page.unroute("**/messages");
  // nor does it go to the one before, should that be shown again
  await tab.chat.evaluate((one, session) => (one.session = session), id);
  await answered(tab, 1);
  assert.equal(await tab.chat.locator('[data-kind="outgoing"]').count(), 0);
  await tab.page.route("**/messages", refuse(403, "forbidden"));
  await tab.say("three");
  await tab.chat.locator('[data-state="refused"]').waitFor();
  await tab.button("New conversation").click();
  await draft(tab, "three\ntwo");
  assert.deepEqual(await tab.shown(), []);
  await tab.finish(/net::ERR_|403/);
});

test("a tab with messages on their way follows another into a new conversation once they are sent, and one whose message is refused at once", async () => {
  const context = await newContext();
  const [left, right] = [await openPage(`${shop.url}/shop`, { context }), await openPage(`${shop.url}/shop`, { context })];
  await left.say("one");
  for (const tab of [left, right]) await answered(tab, 1);
  await right.page.route("**/messages", (route) => route.abort());
  await right.say("two");
  await right.chat.locator('[data-state="waiting"]').waitFor();
  await left.button("New conversation").click();
  await left.say("anew");
  await answered(left, 1);
  assert.equal((await right.shown()).at(-1)[1], "two");
  await right.page.unroute("**/messages");
  await right.page.evaluate(() => dispatchEvent(new Event("online")));
  await until("the new one on the right", async () => (await right.sessionId()) === (await left.sessionId()));
  await answered(right, 1);
  assert.deepEqual((await right.shown())[0], ["user", "anew"]);

  await right.page.route("**/messages", refuse(422, "invalid_request"));
  await right.say("bad");
  await right.chat.locator('[data-state="refused"]').waitFor();
  await left.button("New conversation").click();
  await left.say("third");
  await answered(left, 1);
  await until("the third one on the right", async () => (await right.sessionId()) === (await left.sessionId()));
  await draft(right, "bad");
  await left.finish();
  await right.finish(/net::ERR_|422/);
  await context.close();
});

describe("a hidden tab", () => {
  test("that left its connection takes none where another tab begins a conversation, until it is looked at", async () => {
    const context = await newContext();
    const [left, right] = [await openPage(`${shop.url}/shop`, { context }), await openPage(`${shop.url}/shop`, { context })];
    await left.say("one");
    for (const tab of [left, right]) await answered(tab, 1);
    await right.turnEnds();
    await until("a connection", async () => (await state(right)) === "open");
    await right.page.clock.install();
    await look(right, "hidden");
    await right.page.clock.runFor(21_000);
    assert.equal(await state(right), "paused");
    await left.button("New conversation").click();
    await left.say("two");
    await answered(left, 1);
    await until("the new one on the right", async () => (await right.sessionId()) === (await left.sessionId()));
    await right.page.clock.runFor(1_000);
    assert.equal(await state(right), "paused");
    await look(right, "visible");
    await until("what was said", async () => {
      await right.page.clock.runFor(100);
      return (await right.shown())[0]?.[1] === "two";
    });
    await left.finish();
    await right.finish();
    await context.close();
  });

  test("reads an answer to its end, and tells the page of it", async () => {
    gate = gated();
    const tab = await openPage(`${shop.url}/shop`);
    await tab.say("Slowly.");
    gate.more("Well");
    await until("an answer", async () => (await tab.text()) === "Well");
    await tab.page.clock.install();
    await look(tab, "hidden");
    await tab.page.clock.runFor(60_000);
    assert.equal(await state(tab), "open");
    gate.end();
    await until("the end", async () => {
      await tab.page.clock.runFor(10);
      return (await tab.events("done")).length;
    });
    assert.deepEqual((await tab.events("unread")).at(-1), { count: 1 });
    await tab.page.clock.runFor(10_000);
    assert.equal(await state(tab), "open");
    await tab.page.clock.runFor(11_000);
    assert.equal(await state(tab), "paused");
    await tab.finish();
  });
});

test("what one visitor has begun is never sent with what the next one's page gives as credential", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  const posts = [];
  tab.page.on("request", (request) => request.method() === "POST" && posts.push([request.headers().authorization, request.postData() ?? ""]));
  await tab.chat.evaluate((one) => {
    one.visitor = "anna";
    one.credential = () => "anna";
  });
  await tab.say("one");
  await answered(tab, 1);
  await tab.turnEnds();
  // her token is asked for when she leaves, and what comes then is his
  await tab.chat.evaluate((one) => {
    one.credential = () => new Promise((resolve) => (globalThis.give = resolve));
  });
  await tab.say("hers");
  await tab.page.waitForFunction(() => globalThis.give);
  await tab.chat.evaluate(async (one) => {
    const late = globalThis.give;
    one.credential = () => "bert";
    one.visitor = "bert";
    late("bert");
  });
  await until("nothing of hers", async () => (await tab.shown()).length === 0);
  await tab.say("his");
  await answered(tab, 1);
  assert.deepEqual(posts.filter(([, body]) => body.includes('"hers"')), []);
  assert.ok(posts.some(([by, body]) => by === "Bearer bert" && body.includes('"his"')));
  // it waits for her
  await tab.chat.evaluate((one) => {
    one.visitor = "anna";
    one.credential = () => "anna";
  });
  await answered(tab, 2);
  assert.deepEqual(posts.filter(([, body]) => body.includes('"hers"')).map(([by]) => by), ["Bearer anna"]);
  await tab.finish();
});

test("a message that is refused is told to the page once, with the gateway's own words; one that is wrong in itself is not tried again", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.page.route("**/messages", refuse(422, "invalid_request"));
  await tab.say("bad");
  const message = tab.chat.locator('[data-state="refused"]');
  await message.getByRole("button", { name: "Discard" }).waitFor();
  assert.equal(await message.getByRole("button", { name: "Try again" }).count(), 0);
  await tab.chat.evaluate((one) => (one.lang = "en"));
  await message.getByRole("button", { name: "Discard" }).click();
  await draft(tab, "bad");
  await message.waitFor({ state: "detached" });
  const [problem, ...others] = await tab.events("problem");
  assert.deepEqual(others, []);
  const said = "That did not work.";
  assert.deepEqual(problem, { code: "invalid_request", message: said, status: 422, detail: "It is invalid_request." });
  await tab.finish(/422/);
});

test("what stands in a dialog that is closed is not seen", async () => {
  const tab = await openPage(`${shop.url}/dialog`);
  const unread = () => tab.chat.evaluate((one) => one.unread);
  await tab.chat.evaluate((one) => one.send("one"));
  await until("one that is not seen", async () => (await unread()) === 1);
  await tab.page.evaluate(() => document.querySelector("dialog").showModal());
  await until("nothing that is not seen", async () => (await unread()) === 0);
  await tab.finish();
});

test("a router that puts the next element there before it takes the old one away shows the same conversation", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("one");
  await answered(tab, 1);
  const id = await tab.sessionId();
  await tab.page.evaluate(() => {
    const old = document.querySelector("portico-chat");
    document.body.append(document.createElement("portico-chat"));
    old.remove();
  });
  await answered(tab, 1);
  assert.equal(await tab.sessionId(), id);
  await tab.finish();
});

test("the second of two stays what it is where the first one goes or shows a session of the page's choice", async () => {
  const tab = await openPage(`${shop.url}/two`);
  const [one, other] = [0, 1].map((at) => tab.page.locator("portico-chat").nth(at));
  for (const chat of [one, other]) {
    await chat.evaluate((it) => it.send("hello"));
    await chat.locator('.message[data-role="assistant"]').waitFor();
  }
  const id = await other.evaluate((it) => it.sessionId);
  await tab.page.evaluate(() => document.querySelector("portico-chat").remove());
  await tab.chat.evaluate((it) => (it.lang = "zh"));
  await tab.button("发送").waitFor();
  await until("its session", async () => (await tab.sessionId()) === id);
  assert.deepEqual(await tab.events("session").then((all) => all.filter((it) => it.id === id).length), 1);
  await tab.finish();
});

test("after a reset what comes again is no news, and what comes then is", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  const at = new Date().toISOString();
  const frame = (event, data, id) => `event: ${event}\n${id ? `id: ${id}\n` : ""}data: ${JSON.stringify(data)}\n\n`;
  const message = (seq) =>
    frame("message", { type: "message", seq, at, turn: 1, step: 1, message_id: `msg_${seq}`, content: [{ type: "text", text: `text ${seq}` }] }, seq);
  const hello = (head) => frame("hello", { session_id: "ses_x", head, approvals: [], questions: [], client_calls: [] });
  const reset = frame("reset", { reason: "ahead", from_seq: 1 });
  const bodies = [hello(50) + message(50), hello(2) + reset + message(1) + message(2) + message(3)];
  await tab.page.route("**/v1/sessions/ses_x?**", (route) => route.fulfill({ json: { id: "ses_x", head: 50 } }));
  await tab.page.route("**/v1/sessions/ses_x/events?**", (route) => {
    const body = bodies.shift();
    return body ? route.fulfill({ contentType: "text/event-stream", body }) : undefined;
  });
  await tab.chat.evaluate((one) => (one.session = "ses_x"));
  await tab.chat.getByText("text 3", { exact: true }).waitFor();
  assert.deepEqual((await tab.events("message")).map(({ text }) => text), ["text 3"]);
  await tab.finish();
});

test("a base that is no address, and a session that is a path, are said and ask nothing", async () => {
  const tab = await openPage(`${shop.url}/astray`);
  await tab.chat.getByRole("alert").getByText("set up wrongly").waitFor();
  assert.deepEqual((await tab.events("problem")).map(({ code, status }) => [code, status]), [["invalid_base", 0]]);
  await tab.chat.evaluate((one) => one.removeAttribute("base"));
  await tab.say("hello");
  await answered(tab, 1);
  const asked = [];
  tab.page.on("request", (request) => asked.push(request.url()));
  await tab.page.goto(`${shop.url}/up`);
  await tab.chat.getByRole("alert").getByText("does not exist").waitFor();
  assert.deepEqual(asked.filter((url) => url.includes("/v1/")), []);
  await tab.chat.locator(".foot").getByRole("button", { name: "New conversation" }).click();
  await tab.say("hello");
  await answered(tab, 1);
  await tab.finish();
});

test("a page that adds to all objects, what is sent and is no text, what properties say where the page says nothing, and a conversation told once", async () => {
  const tab = await openPage(`${shop.url}/plain`);
  await tab.page.evaluate(async () => {
    Object.prototype.id = "polluted";
    Object.prototype.key = "polluted";
    await import("/widget.js");
    document.body.append(document.createElement("portico-chat"));
  });
  await tab.chat.evaluate((one) => (one.send(5), one.send(undefined)));
  await answered(tab, 1);
  assert.deepEqual((await tab.shown())[0], ["user", "5"]);
  assert.match(await tab.sessionId(), /^ses_/);
  const told = await tab.chat.evaluate((one) => [one.base, one.theme, one.history, one.storageKey, one.mode, one.view]);
  assert.deepEqual(told, [`${shop.url}/`, "light", "400", "/plain", "inline", "chat"]);
  const before = await tab.events("session");
  await tab.chat.evaluate((one) => Object.assign(one, { lang: "zh", strings: { send: "Go" } }));
  await tab.button("Go").waitFor();
  await answered(tab, 1);
  assert.deepEqual(await tab.events("session"), before);
  await tab.finish();
});

test("moved by moveBefore it goes on as it is: its draft, its focus, its connection", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("one");
  await answered(tab, 1);
  await tab.turnEnds();
  await tab.composer.fill("half");
  await tab.answers.evaluate((one) => (one.isTheSame = true));
  await tab.page.evaluate(() => document.body.moveBefore(document.querySelector("portico-chat"), document.body.firstChild));
  assert.ok(await tab.answers.evaluate((one) => one.isTheSame));
  assert.ok(await tab.composer.evaluate((one) => one.getRootNode().activeElement === one));
  await tab.page.keyboard.press("Enter");
  await answered(tab, 2);
  await tab.finish();
});
