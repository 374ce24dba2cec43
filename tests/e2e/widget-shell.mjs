// <portico-chat> as a part of somebody's page: launcher and keyboard, what is read out, attributes and properties, a page that is hidden.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { until } from "./support.mjs";
import { WIDGET, axe, gated, newContext, openPage, picture, startBrowser, startShop, stopBrowser } from "./widget-support.mjs";

const LONG = "The harbour **opens** at nine. ";
let shop;
let next;

before(async () => {
  await startBrowser();
  shop = await startShop({
    reply: () => next ?? { content: LONG },
    pages: {
      "/launcher": `<h1>A shop</h1><p><a href="#top">A link</a></p>${WIDGET}<portico-chat mode="launcher" heading="Harbour boats"></portico-chat>`,
      "/right-to-left": `<div dir="rtl"><h1>A shop</h1>${WIDGET}<portico-chat mode="launcher"></portico-chat></div>`,
      "/zh": `<h1>A shop</h1>${WIDGET}<div lang="zh-CN"><portico-chat></portico-chat></div>`,
      "/bare": `<h1>A shop</h1><portico-chat></portico-chat>`,
    },
  });
});
after(async () => {
  await stopBrowser();
  await shop?.stop();
});

const answered = (tab, count) => until(`${count} answers`, async () => (await tab.answers.count()) === count);
const focused = (tab) => tab.chat.evaluate((one) => one.shadowRoot.activeElement?.className);

describe("the launcher", () => {
  test("is opened, used and closed by the keyboard, and the page around it stays usable", async () => {
    const tab = await openPage(`${shop.url}/launcher`);
    const opener = tab.chat.locator(".launcher");
    await tab.page.getByRole("link").focus();
    await tab.page.keyboard.press("Tab");
    assert.equal(await focused(tab), "launcher");
    assert.equal(await opener.getAttribute("aria-expanded"), "false");
    await axe(tab.page);
    await tab.page.keyboard.press("Enter");
    await tab.chat.getByRole("dialog", { name: "Harbour boats" }).waitFor();
    assert.equal(await opener.getAttribute("aria-expanded"), "true");
    assert.equal(await focused(tab), "input");
    await tab.page.keyboard.type("Hello");
    await tab.page.keyboard.press("Enter");
    await answered(tab, 1);
    await tab.turnEnds();
    await axe(tab.page);
    await tab.page.keyboard.press("Escape");
    await tab.chat.getByRole("dialog").waitFor({ state: "hidden" });
    assert.equal(await focused(tab), "launcher");
    await tab.page.keyboard.press("Shift+Tab");
    assert.equal(await tab.page.evaluate(() => document.activeElement.tagName), "A");
    assert.deepEqual(await tab.events("toggle"), [{ open: true }, { open: false }]);
    await tab.finish();
  });

  test("counts what nobody has seen, also over a reload, until it is opened", async () => {
    const tab = await openPage(`${shop.url}/launcher`);
    await tab.chat.evaluate((one) => one.send("Hello"));
    const badge = tab.chat.locator(".badge");
    await badge.getByText("1", { exact: true }).waitFor();
    await tab.button("Open the chat. New messages: 1").waitFor();
    await tab.page.reload();
    await badge.getByText("1", { exact: true }).waitFor();
    assert.equal(await tab.chat.evaluate((one) => one.unread), 1);
    await tab.button(/^Open the chat/).click();
    await answered(tab, 1);
    assert.equal(await badge.textContent(), "");
    await tab.button("Close the chat").click();
    await tab.page.reload();
    await until("the conversation", () => tab.sessionId());
    await tab.button("Open the chat").click();
    await answered(tab, 1);
    assert.deepEqual((await tab.events("unread")).map(({ count }) => count).filter(Boolean), []);
    await tab.finish();
  });

  test("what one tab has shown is news in none", async () => {
    const context = await newContext();
    const [left, right] = [await openPage(`${shop.url}/launcher`, { context }), await openPage(`${shop.url}/launcher`, { context })];
    await left.chat.evaluate((one) => one.send("Hello"));
    for (const tab of [left, right]) await tab.chat.locator(".badge").getByText("1", { exact: true }).waitFor();
    await left.page.bringToFront();
    await left.button(/^Open the chat/).click();
    await answered(left, 1);
    await until("nothing new on the right", () => right.chat.evaluate((one) => one.unread === 0));
    await left.finish();
    await right.finish();
    await context.close();
  });

  test("fills a phone's screen, and nothing scrolls sideways", async () => {
    const tab = await openPage(`${shop.url}/launcher`, { viewport: { width: 320, height: 640 }, hasTouch: true, isMobile: true });
    await tab.button("Open the chat").tap();
    const panel = tab.chat.getByRole("dialog");
    // it slides in
    await panel.evaluate((one) => Promise.all(one.getAnimations().map(({ finished }) => finished)));
    assert.deepEqual(await panel.boundingBox(), { x: 0, y: 0, width: 320, height: 640 });
    await tab.say("Hello");
    await answered(tab, 1);
    const widths = await tab.chat.evaluate((one) => [document.documentElement, one.shadowRoot.querySelector(".log")].map((of) => of.scrollWidth));
    assert.ok(Math.max(...widths) <= 320, String(widths));
    await axe(tab.page);
    await tab.finish();
  });

  test("stands at the other end of a page that is written from right to left", async () => {
    const tab = await openPage(`${shop.url}/right-to-left`);
    const { x } = await tab.chat.locator(".launcher").boundingBox();
    assert.ok(x < 100, `at ${x}`);
    await tab.finish();
  });
});

test("what is read out: that an answer began, and the whole of it; not its words one by one", async () => {
  next = gated();
  const tab = await openPage(`${shop.url}/shop`);
  const status = tab.chat.getByRole("status");
  const said = () => status.locator("p").allTextContents();
  assert.equal(await tab.chat.getByRole("log").getAttribute("aria-live"), "off");
  await tab.say("Hello");
  for (let piece = 0; piece < 20; piece += 1) next.more(LONG);
  await until("its text", async () => (await tab.text()).length === 20 * LONG.length);
  assert.deepEqual(await said(), ["An answer is being written."]);
  await axe(tab.page);
  next.end();
  next = undefined;
  await tab.turnEnds();
  await until("the answer", async () => (await said()).at(-1) === `New answer: ${"The harbour opens at nine. ".repeat(20).trim()}`);
  await tab.finish();
});

test("the field: new lines, an input method's Enter, a text that is too long, suggestions", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.chat.evaluate((one) => (one.suggestions = ["When does it open?", "What does it cost?"]));
  await axe(tab.page);
  await picture(tab.page, "empty");
  await tab.button("When does it open?").click();
  await answered(tab, 1);
  assert.deepEqual((await tab.shown())[0], ["user", "When does it open?"]);
  assert.equal(await tab.button("What does it cost?").isVisible(), false);

  const low = (await tab.composer.boundingBox()).height;
  await tab.composer.fill("one");
  await tab.page.keyboard.press("Shift+Enter");
  await tab.page.keyboard.type("two");
  assert.ok((await tab.composer.boundingBox()).height > low, "it grows");
  const isTaken = (init) =>
    tab.composer.evaluate((one, options) => !one.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", cancelable: true, ...options })), init);
  assert.equal(await isTaken({ isComposing: true }), false);
  assert.equal(await isTaken({ keyCode: 229 }), false);
  assert.equal(await tab.composer.inputValue(), "one\ntwo");
  await tab.page.keyboard.press("Enter");
  await answered(tab, 2);
  assert.equal((await tab.composer.boundingBox()).height, low);

  await tab.composer.fill("日".repeat(22_000));
  await tab.chat.getByRole("alert").getByText("This message is too long.").waitFor();
  await tab.page.keyboard.press("Enter");
  assert.equal((await tab.composer.inputValue()).length, 22_000);
  await tab.composer.fill("short");
  await until("no alert", async () => (await tab.chat.locator(".alert").textContent()) === "");
  await tab.finish();
});

test("properties that were set before the script came count; loaded twice it is one; words are replaced", async () => {
  const tab = await openPage(`${shop.url}/bare`);
  await tab.chat.evaluate(async (one) => {
    Object.assign(one, { heading: "Help", strings: { send: "Off it goes" }, suggestions: ["One"], storageKey: "other" });
    await import("/widget.js");
    await import("/widget.js?again");
  });
  await tab.chat.getByRole("heading", { name: "Help" }).waitFor();
  await tab.button("Off it goes").waitFor();
  await tab.button("One").waitFor();
  assert.equal(await tab.chat.getAttribute("storage-key"), "other");
  await tab.chat.evaluate((one) => one.setAttribute("heading", "Other"));
  await tab.chat.getByRole("heading", { name: "Other" }).waitFor();
  assert.deepEqual(await tab.page.evaluate(() => Object.keys(globalThis).filter((name) => /portico|chat/i.test(name))), []);
  await tab.finish();
});

test("speaks the language around it", async () => {
  const tab = await openPage(`${shop.url}/zh`);
  await tab.chat.getByRole("button", { name: "发送" }).waitFor();
  await tab.chat.evaluate((one) => (one.lang = "en"));
  await tab.button("Send").waitFor();
  await tab.finish();
});

test("a page that is hidden for 20 s leaves its connection, and takes it up when it is looked at; so does one that is kept for Back", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("Hello");
  await answered(tab, 1);
  await tab.turnEnds();
  const state = () => tab.chat.evaluate((one) => one.snapshot.connection.state);
  await until("a connection", async () => (await state()) === "open");
  await tab.page.clock.install();
  const show = (value) =>
    tab.page.evaluate((is) => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => is });
      document.dispatchEvent(new Event("visibilitychange"));
    }, value);
  await show("hidden");
  await tab.page.clock.runFor(19_000);
  assert.equal(await state(), "open");
  await tab.page.clock.runFor(2_000);
  assert.equal(await state(), "paused");
  await show("visible");
  await tab.page.clock.runFor(1_000);
  await until("a connection", async () => (await state()) === "open");
  await tab.page.evaluate(() => dispatchEvent(new PageTransitionEvent("pagehide", { persisted: true })));
  assert.equal(await state(), "paused");
  await tab.page.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
  await tab.page.clock.runFor(1_000);
  await until("a connection", async () => (await state()) === "open");
  await tab.finish();
});

test("a refused credential is said; with another one it goes on", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await tab.say("Hello");
  await answered(tab, 1);
  await tab.page.route("**/v1/**", (route) => {
    if (route.request().headers().authorization === "Bearer right") return route.continue();
    const body = JSON.stringify({ type: "about:blank", title: "Unauthorized", status: 401, code: "unauthorized", detail: "No." });
    return route.fulfill({ status: 401, contentType: "application/problem+json", body });
  });
  await tab.page.reload();
  await tab.chat.getByRole("alert").getByText("This chat may not be used from here.").waitFor();
  await tab.chat.evaluate((one) => (one.credential = () => "right"));
  await answered(tab, 1);
  await tab.say("Again");
  await answered(tab, 2);
  assert.deepEqual((await tab.events("problem")).map(({ code }) => code), ["unauthorized"]);
  await tab.finish(/401/);
});
