// <portico-chat>, whose conversation it is: kept over a reload, shared by tabs, not by visitors; what is written without a network is sent.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { call, until } from "./support.mjs";
import { WIDGET, newContext, openPage, sameAsTranscript, startBrowser, startShop, stopBrowser, transcript } from "./widget-support.mjs";

let shop;
before(async () => {
  await startBrowser();
  const two = `<h1>Two</h1>${WIDGET}<portico-chat></portico-chat><portico-chat></portico-chat>`;
  const named = `<h1>One</h1>${WIDGET}<portico-chat session="ses_none"></portico-chat>`;
  shop = await startShop({ reply: ({ content }) => ({ content: `You said: ${content}` }), pages: { "/two": two, "/named": named } });
});
after(async () => {
  await stopBrowser();
  await shop?.stop();
});

const answered = (tab, count) => until(`${count} answers`, async () => (await tab.answers.count()) === count);
const sessions = async () => (await call(`${shop.server.url}/v1/sessions?limit=100`)).data.map(({ id }) => id);

test("a conversation and a draft are there after a reload", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("one");
  await answered(tab, 1);
  await tab.composer.fill("half a sen");
  const id = await tab.sessionId();
  await tab.page.reload();
  await answered(tab, 1);
  assert.equal(await tab.sessionId(), id);
  assert.equal(await tab.composer.inputValue(), "half a sen");
  await sameAsTranscript(shop, tab);
  await tab.finish();
});

test("two tabs are one conversation, also where both begin it at once; New conversation in one is one in both", async () => {
  const context = await newContext();
  const [left, right] = [await openPage(`${shop.url}/shop`, { context }), await openPage(`${shop.url}/shop`, { context })];
  const before = (await sessions()).length;
  await left.composer.fill("left");
  await right.composer.fill("right");
  await Promise.all([left, right].map((tab) => tab.composer.press("Enter")));
  for (const tab of [left, right]) {
    await until("both messages", async () => (await tab.shown()).filter(([role]) => role === "user").length === 2);
    await tab.turnEnds();
  }
  assert.equal(await left.sessionId(), await right.sessionId());
  assert.equal((await sessions()).length, before + 1);
  for (const tab of [left, right]) {
    await until("the answers in both", async () => JSON.stringify(await left.shown()) === JSON.stringify(await right.shown()));
    const said = (all) => all.filter(([role]) => role === "user").map(([, text]) => text).toSorted();
    assert.deepEqual(said(await tab.shown()), ["left", "right"]);
  }
  await left.button("New conversation").click();
  await until("an empty right", async () => (await right.shown()).length === 0);
  await right.say("anew");
  await answered(left, 1);
  assert.equal(await left.sessionId(), await right.sessionId());
  await left.finish();
  await right.finish();
  await context.close();
});

test("what is written without a network is marked, waits over a reload of the tab, and is sent once", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("one");
  await answered(tab, 1);
  shop.host.down();
  await tab.say("two");
  await tab.say("three");
  const waiting = tab.chat.locator('.message[data-state="waiting"]');
  await waiting.first().getByText("Is sent as soon as there is a connection").waitFor();
  await tab.say("never");
  await tab.chat.locator('.message[data-raw="never"]').getByRole("button", { name: "Discard" }).click();
  await until("the focus in the field", () => tab.composer.evaluate((one) => one.getRootNode().activeElement === one));
  shop.host.up();
  await answered(tab, 3);
  await tab.turnEnds();
  await sameAsTranscript(shop, tab);
  assert.deepEqual((await tab.shown()).filter(([role]) => role === "user").map(([, text]) => text), ["one", "two", "three"]);
  await tab.finish(/net::ERR_/);
});

test("the first message may be written without a network, and survives a reload", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.page.route("**/v1/**", (route) => route.abort());
  await tab.say("first");
  await tab.chat.locator('.message[data-state="waiting"]').waitFor();
  await tab.page.reload();
  await tab.chat.locator('.message[data-raw="first"]').waitFor();
  await tab.page.unroute("**/v1/**");
  await answered(tab, 1);
  await sameAsTranscript(shop, tab);
  await tab.finish(/net::ERR_/);
});

test("another visitor sees nothing of it, and the first one finds it again", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  const isVisitor = (name) => tab.chat.evaluate((one, visitor) => (one.visitor = visitor), name);
  await isVisitor("anna");
  await tab.say("mine");
  await answered(tab, 1);
  await isVisitor("bert");
  await until("nothing", async () => (await tab.shown()).length === 0);
  await tab.say("his");
  await answered(tab, 1);
  await isVisitor("anna");
  await until("hers", async () => (await tab.shown())[0]?.[1] === "mine");
  await tab.finish();
});

test("two on a page are two conversations, and the same two after a reload", async () => {
  const tab = await openPage(`${shop.url}/two`);
  const [one, other] = [0, 1].map((at) => tab.page.locator("portico-chat").nth(at));
  for (const [chat, text] of [[one, "a"], [other, "b"]]) {
    await chat.getByLabel("Message", { exact: true }).fill(text);
    await chat.getByRole("button", { name: "Send" }).click();
    await chat.locator(".message").getByText(`You said: ${text}`).waitFor();
  }
  const ids = async () => [await one.evaluate((chat) => chat.sessionId), await other.evaluate((chat) => chat.sessionId)];
  const before = await ids();
  assert.notEqual(before[0], before[1]);
  await tab.page.reload();
  await other.locator(".message").getByText("You said: b").waitFor();
  assert.deepEqual(await ids(), before);
  await tab.finish();
});

test("a stored conversation that is gone is begun anew without a word, and loses no message", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("one");
  await answered(tab, 1);
  const id = await tab.sessionId();
  await tab.page.goto(`${shop.url}/two`);
  await fetch(`${shop.server.url}/v1/sessions/${id}`, { method: "DELETE" });
  await tab.page.goto(`${shop.url}/shop`);
  await tab.chat.getByText("Hello! How can we help?").waitFor();
  await tab.say("two");
  await answered(tab, 1);
  assert.notEqual(await tab.sessionId(), id);
  assert.deepEqual((await tab.shown())[0], ["user", "two"]);
  await sameAsTranscript(shop, tab);
  await tab.finish(/404/);
});

test("one that is deleted while it is looked at says so, with a way on", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("one");
  await answered(tab, 1);
  await fetch(`${shop.server.url}/v1/sessions/${await tab.sessionId()}`, { method: "DELETE" });
  await tab.chat.getByRole("alert").getByText("This conversation was deleted.").waitFor();
  await tab.chat.locator(".foot").getByRole("button", { name: "New conversation" }).click();
  await tab.say("two");
  await answered(tab, 1);
  await sameAsTranscript(shop, tab);
  await tab.finish();
});

test("a session of the page's choice that does not exist is said, with a way on", async () => {
  const tab = await openPage(`${shop.url}/named`);
  await tab.chat.getByRole("alert").getByText("This conversation does not exist").waitFor();
  await tab.chat.locator(".foot").getByRole("button", { name: "New conversation" }).click();
  await tab.say("hello");
  await answered(tab, 1);
  assert.deepEqual((await tab.events("problem")).map(({ code }) => code), ["not_found"]);
  await tab.finish(/404/);
});

test("New conversation under a session of the page's choice is a new one, not the one that was there before", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("mine");
  await answered(tab, 1);
  const { id } = await call(`${shop.server.url}/v1/sessions`, { body: { channel: "web" } });
  await tab.chat.evaluate((one, session) => (one.session = session), id);
  await until("the other", async () => (await tab.sessionId()) === id);
  await tab.say("theirs");
  await answered(tab, 1);
  await tab.button("New conversation").click();
  await until("an empty one", async () => (await tab.shown()).length === 0);
  assert.equal(await tab.chat.evaluate((one) => one.session), "");
  await tab.say("anew");
  await answered(tab, 1);
  assert.deepEqual((await tab.shown())[0], ["user", "anew"]);
  await tab.finish();
});

test("moved on the page it goes on; taken away it reads no more; put back it is there", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("one");
  await answered(tab, 1);
  await tab.chat.evaluate((one) => document.body.prepend(one));
  await answered(tab, 1);
  const readers = async () => Number((await (await fetch(`${shop.server.url}/metrics`)).text()).match(/^portico_readers(?:{.*})? (\d+)/m)?.[1]);
  const open = await readers();
  await tab.page.evaluate(() => (globalThis.away = document.querySelector("portico-chat")).remove());
  await until("one reader less", async () => (await readers()) === open - 1);
  await tab.page.evaluate(() => document.body.append(away));
  await answered(tab, 1);
  assert.deepEqual(await tab.shown(), await transcript(shop.server, await tab.sessionId()));
  await tab.finish();
});
