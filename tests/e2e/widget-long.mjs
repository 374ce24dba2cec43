// <portico-chat> with a long conversation: smooth, its end in view unless the person went up, older messages in front without a jump; and what
// a page with it loads.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { call, until } from "./support.mjs";
import { WIDGET, gated, openPage, startBrowser, startShop, stopBrowser } from "./widget-support.mjs";

const TURNS = 150;
const ANSWER = `Here is **what** you asked for, with a [link](https://a.example/) and \`code\`:

| Boat | Price | Free |
|:-----|------:|:----:|
| Rowing boat | 12 | yes |
| Pedal boat | 15 | no |

1. First, go to the pier.
2. Then say *hello*.

\`\`\`js
const boat = await rent("rowing boat", { hours: 2 });
\`\`\`
`;
const PIECE = "Words that come and come, **some** bold. ";

let shop;
let id;
let next;

before(async () => {
  await startBrowser();
  shop = await startShop({
    reply: () => next ?? { content: ANSWER },
    pages: { "/all": `<h1>All</h1>${WIDGET}<portico-chat id="chat" history="0"></portico-chat>`, "/zh": `${WIDGET}<portico-chat lang="zh"></portico-chat>` },
  });
  ({ id } = await call(`${shop.server.url}/v1/sessions`, { body: { channel: "web" } }));
  for (let turn = 0; turn < TURNS; turn += 1) {
    await call(`${shop.server.url}/v1/sessions/${id}/messages`, {
      body: { text: `Question ${turn}` },
      headers: { "content-type": "application/json", prefer: "wait=60" },
    });
  }
});
after(async () => {
  await stopBrowser();
  await shop?.stop();
});

const show = (tab) => tab.chat.evaluate((one, session) => (one.session = session), id);
const log = (tab) => tab.chat.getByRole("log");
const fromEnd = (tab) => log(tab).evaluate((one) => Math.round(one.scrollHeight - one.scrollTop - one.clientHeight));
const atEnd = (tab) => until("the end in view", async () => (await fromEnd(tab)) < 4);

/**
 * The median of five: what else a machine does meanwhile says nothing of the widget, and neither does its best moment. The aim is 100 ms on an
 * idle machine, and the figures are printed; what fails here is a task of another order, whatever the machine.
 */
async function smooth(what, once) {
  const most = [];
  for (let turn = 0; turn < 5; turn += 1) most.push(await once());
  console.log(`# ${what}: the longest tasks took ${most.join(", ")} ms`);
  const median = most.toSorted((a, b) => a - b)[2];
  assert.ok(median < 300, `a task of ${median} ms`);
}

test("300 messages are drawn without a task of 100 ms, the newest first, and so is one that streams below them", async () => {
  const tab = await openPage(`${shop.url}/all`);
  const longest = async () => {
    const { longest } = await tab.page.evaluate(() => ({ ...seen }));
    await tab.page.evaluate(() => (seen.longest = 0));
    return longest;
  };
  await smooth("300 messages", async () => {
    await tab.page.reload();
    await show(tab);
    await until("all messages", async () => (await tab.chat.locator(".message").count()) >= 2 * TURNS);
    await until("all of it drawn", () => tab.answers.first().locator("td").first().count());
    await atEnd(tab);
    return longest();
  });
  assert.deepEqual((await tab.shown()).slice(-2), [["user", `Question ${TURNS - 1}`], ["assistant", ANSWER]]);

  await smooth("streaming below them", async () => {
    next = gated();
    await tab.say("More");
    for (let piece = 0; piece < 200; piece += 1) {
      next.more(PIECE);
      await new Promise(setImmediate);
    }
    await until("its text", async () => (await tab.text()).length === 200 * PIECE.length);
    await atEnd(tab);
    next.end();
    await tab.turnEnds();
    return longest();
  });
  next = undefined;
  await tab.finish();
});

test("who went up stays there while text comes, is told how much is below, and comes back by a button", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await show(tab);
  await tab.chat.getByText(`Question ${TURNS - 1}`).waitFor();
  await atEnd(tab);
  await log(tab).hover();
  await tab.page.mouse.wheel(0, -60);
  await until("a little way up", async () => (await fromEnd(tab)) > 20);
  const top = await log(tab).evaluate((one) => one.scrollTop);
  await call(`${shop.server.url}/v1/sessions/${id}/messages`, { body: { text: "Below" } });
  const newest = tab.button(/^Newest below \(/);
  await newest.waitFor();
  await until("the answer too", async () => (await newest.getAttribute("aria-label")).endsWith("(2)"));
  assert.equal(await log(tab).evaluate((one) => one.scrollTop), top);
  await newest.click();
  await atEnd(tab);
  await newest.waitFor({ state: "hidden" });
  await tab.finish();
});

test("older messages come by themselves at the top, and what is seen stays where it is", async () => {
  const tab = await openPage(`${shop.url}/shop`);
  await show(tab);
  await tab.chat.getByText(`Question ${TURNS - 1}`).waitFor();
  // what it begins with is drawn whole
  await tab.button("Show earlier messages").waitFor();
  const first = async () => (await tab.shown())[0][1];
  const before = await first();
  assert.notEqual(before, "Question 0");
  const place = () => tab.chat.locator(`.message [data-raw="${before}"], .message[data-raw="${before}"]`).evaluate((one) => Math.round(one.getBoundingClientRect().top));
  let letOn;
  const held = new Promise((resolve) => (letOn = resolve));
  await tab.page.route("**/records?**", async (route) => (await held, route.continue()));
  await log(tab).evaluate((one) => (one.scrollTop = 0));
  let at;
  await until("a place that stays", async () => at === (at = await place()));
  letOn();
  await until("an older one", async () => (await first()) !== before);
  await tab.button("Show earlier messages").waitFor();
  await until("all of it drawn", () => tab.answers.first().locator("td").first().count());
  // between a change and the frame that shows it, it may be anywhere
  await until(`the message at ${at}`, async () => {
    const now = await place();
    if (Math.abs(now - at) > 2) throw new Error(`it is at ${now}`);
    return true;
  });
  await until("the first one of all", async () => {
    await log(tab).evaluate((one) => (one.scrollTop = 0));
    return (await first()) === "Question 0";
  });
  await tab.button("Show earlier messages").waitFor({ state: "hidden" });
  assert.deepEqual(new Set((await tab.shown()).map(([, text]) => text).filter((text) => text.startsWith("Question"))).size, TURNS);
  await tab.finish();
});

for (const [path, language] of [["/shop", "English"], ["/zh", "Chinese"]]) {
  test(`a page with the widget in ${language} loads less than 60,000 bytes`, async () => {
    const tab = await openPage("about:blank");
    const bodies = [];
    tab.page.on("response", (response) => {
      if (/\.(js|css)$/.test(new URL(response.url()).pathname)) bodies.push(response.body().then((body) => [response.url(), body]));
    });
    await tab.page.goto(`${shop.url}${path}`);
    await show(tab);
    await tab.answers.last().locator("td").first().waitFor();
    const sizes = (await Promise.all(bodies)).map(([url, body]) => [gzipSync(body, { level: 9 }).length, new URL(url).pathname]);
    for (const [size, file] of sizes.toSorted(([a], [b]) => b - a)) console.log(`# ${String(size).padStart(6)} ${file}`);
    const sum = sizes.reduce((all, [size]) => all + size, 0);
    console.log(`# ${String(sum).padStart(6)} bytes in all, gzip -9`);
    assert.equal(sizes.length, language === "English" ? 3 : 4);
    assert.ok(sum < 60_000, `${sum} bytes`);
    await tab.finish();
  });
}
