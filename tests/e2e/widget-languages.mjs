// <portico-chat> in a language whose words are a file of their own: it waits for them, not for ever, and says of each text which language it is.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { WIDGET, newContext, openPage, startBrowser, startShop, stopBrowser } from "./widget-support.mjs";

const EARLY = `customElements.whenDefined("portico-chat").then(() => document.querySelector("portico-chat").send("Early"));`;

let shop;

before(async () => {
  await startBrowser();
  shop = await startShop({
    reply: () => ({ content: "An answer." }),
    pages: {
      "/zh": `<h1>A shop</h1>${WIDGET}<script type="module" src="/early.js"></script><portico-chat lang="zh-CN"></portico-chat>`,
      "/launcher": `<h1>A shop</h1>${WIDGET}<portico-chat lang="zh-CN" mode="launcher" open></portico-chat>`,
    },
  });
});
after(async () => {
  await stopBrowser();
  await shop?.stop();
});

/** A profile where the words of Chinese wait, or never come. */
async function withWords(answer) {
  const context = await newContext();
  await context.route("**/early.js", (route) => route.fulfill({ contentType: "text/javascript", body: EARLY }));
  await context.route("**/widget/strings/zh.js", answer);
  return context;
}

test("the chat begins when its words are there, with what the page asked of it meanwhile", async () => {
  let letOn;
  const held = new Promise((resolve) => (letOn = resolve));
  const context = await withWords(async (route) => (await held, route.continue()));
  const tab = await openPage(`${shop.url}/zh`, { context });
  await tab.page.waitForFunction(() => customElements.get("portico-chat"));
  assert.equal(await tab.chat.getByRole("button").count(), 0);
  letOn();
  await tab.button("发送").waitFor();
  await tab.answers.waitFor();
  assert.deepEqual(await tab.shown(), [["user", "Early"], ["assistant", "An answer."]]);

  const languages = (selector) => tab.chat.locator(selector).evaluateAll((all) => all.map((one) => one.lang));
  assert.deepEqual(await languages(".frame"), ["zh-CN"], "the widget's words");
  assert.deepEqual(await languages(".message > .plain, .message > .markdown"), ["en", "en"], "what is said is in the page's");
  await tab.finish();
  await context.close();
});

test("without its words it begins in English, and says that it is English", async () => {
  const context = await withWords((route) => route.abort());
  const tab = await openPage(`${shop.url}/launcher`, { context });
  await tab.button("Send").waitFor();
  await tab.button("Close the chat").first().waitFor();
  assert.equal(await tab.chat.locator(".frame").getAttribute("lang"), "en");
  await tab.finish(/ERR_FAILED/);
  await context.close();
});
