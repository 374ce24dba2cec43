// <portico-chat> on a shop's page with a strict policy: an answer while it streams, whatever happens to the page, the network and the server.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { until } from "./support.mjs";
import { WIDGET, gated, openPage, sameAsTranscript, startBrowser, startShop, stopBrowser, transcript } from "./widget-support.mjs";

before(startBrowser);
after(stopBrowser);

const STORY = ["Once there was a **fox**,\n\n", "| a | b |\n|---|---|\n| 1 | 2 |\n\n", "```js\nlet x = '<b>';\n", "```\n\nThe end: 狐狸. "];

describe("while an answer streams", () => {
  let shop;
  let gate;
  /** Each request's answer; a restart asks again. */
  let answers;

  before(async () => (shop = await startShop({ reply: () => answers.shift() ?? { content: "Fine." } })));
  after(() => shop?.stop());
  beforeEach(() => (answers = [(gate = gated())]));
  afterEach(() => gate.end());

  const longerThan = (tab, length) =>
    until(`more than ${length} characters`, async () => {
      const text = await tab.text();
      return text.length > length ? text : null;
    });

  async function begun() {
    const tab = await openPage(`${shop.url}/shop`);
    await tab.say("Tell me a story.");
    gate.more(STORY[0]);
    assert.equal(await longerThan(tab, 0), STORY[0]);
    return tab;
  }
  async function ends(tab, from = 1) {
    for (const piece of STORY.slice(from)) gate.more(piece);
    gate.end();
    await tab.turnEnds();
    assert.deepEqual((await tab.shown()).at(-1), ["assistant", STORY.join("")]);
    await sameAsTranscript(shop, tab);
  }

  test("text grows, in one node, and its end is the transcript", async () => {
    const tab = await begun();
    await tab.answers.last().evaluate((one) => (one.isTheSame = true));
    gate.more(STORY[1]);
    assert.equal(await longerThan(tab, STORY[0].length), STORY[0] + STORY[1]);
    await tab.chat.getByRole("cell", { name: "2" }).waitFor();
    await ends(tab, 2);
    assert.ok(await tab.answers.last().evaluate((one) => one.isTheSame), "an answer keeps its node from its first letter to its last");
    const told = (await tab.events("message")).map(({ message_id, role, text }) => [message_id.slice(0, 4), role, text]);
    assert.deepEqual(told, [["msg_", "user", "Tell me a story."], ["msg_", "assistant", STORY.join("")]]);
    assert.deepEqual((await tab.events("done")).map(({ reason }) => reason), ["completed"]);
    await tab.finish();
  });

  test("a reload in the middle shows what was there and goes on", async () => {
    const tab = await begun();
    await tab.page.reload();
    assert.equal(await longerThan(tab, 0), STORY[0]);
    await ends(tab);
    assert.deepEqual((await tab.events("message")).map(({ role }) => role), ["assistant"], "what is replayed is not new");
    await tab.finish();
  });

  test("a cut in the middle costs nothing", async () => {
    const tab = await begun();
    await tab.answers.last().evaluate((one) => (one.isTheSame = true));
    shop.host.cut();
    gate.more(STORY[1]);
    await longerThan(tab, STORY[0].length);
    await ends(tab, 2);
    assert.ok(await tab.answers.last().evaluate((one) => one.isTheSame), "it is resumed, not begun again");
    await tab.finish(/net::ERR_/);
  });

  test("a network that is gone for a while is told of in words, and the answer is whole", async () => {
    const tab = await begun();
    shop.host.down();
    await tab.chat.getByText("Reconnecting…", { exact: true }).first().waitFor();
    gate.more(STORY[1]);
    shop.host.up();
    await longerThan(tab, STORY[0].length);
    await ends(tab, 2);
    assert.equal(await tab.chat.locator(".head .state").textContent(), "");
    await tab.finish(/net::ERR_/);
  });

  test("a server that is killed and comes back says so, and the answer is whole", async () => {
    const tab = await begun();
    const again = gated();
    answers.push(again);
    await shop.server.crash();
    await tab.chat.getByText("Reconnecting…", { exact: true }).first().waitFor();
    await shop.server.restart();
    gate.end();
    gate = again;
    await tab.chat.locator(".notice").getByText("Starting again after a restart.").waitFor();
    await ends(tab, 0);
    await tab.finish(/net::ERR_/);
  });

  test("Stop keeps what was seen; what waited comes back into the field", async () => {
    const tab = await begun();
    await tab.say("And a bear?");
    await tab.chat.locator(".message.queued").waitFor();
    await tab.button("Stop").click();
    await tab.chat.locator(".notice").getByText("You stopped this answer.").waitFor();
    await tab.turnEnds();
    await until("the text in the field", async () => (await tab.composer.inputValue()) === "And a bear?");
    assert.ok(await tab.composer.evaluate((one) => one.getRootNode().activeElement === one), "the focus is in the composer");
    assert.deepEqual(await tab.shown(), [["user", "Tell me a story."], ["assistant", STORY[0]]]);
    await tab.page.keyboard.press("Enter");
    await until("the next answer", async () => (await tab.shown()).at(-1)[1] === "Fine.");
    await tab.turnEnds();
    await sameAsTranscript(shop, tab);
    await tab.finish();
  });

  test("a message that is sent while it runs waits below the answer, and is taken up", async () => {
    const tab = await begun();
    await tab.say("Make it short.");
    const queued = tab.chat.locator(".message.queued");
    await queued.getByText("Waits for its turn").waitFor();
    gate.more(STORY[1]);
    await longerThan(tab, STORY[0].length);
    assert.deepEqual((await tab.shown()).map(([role]) => role), ["user", "assistant", "user"]);
    gate.end();
    await queued.waitFor({ state: "detached" });
    await until("the second answer", async () => (await tab.answers.count()) === 2);
    await tab.turnEnds();
    assert.deepEqual((await tab.shown()).map(([role]) => role), ["user", "assistant", "user", "assistant"]);
    const told = await transcript(shop.server, await tab.sessionId());
    assert.deepEqual((await tab.shown()).toSorted(), told.toSorted());
    await tab.finish();
  });
});

describe("with the demo model", () => {
  let shop;
  const pages = { "/launcher": `<h1>A shop</h1>${WIDGET}<portico-chat mode="launcher" open></portico-chat>` };
  before(async () => (shop = await startShop({ pages })));
  after(() => shop?.stop());

  test("an approval is clicked; the tool runs once; the focus goes to the composer", async () => {
    const tab = await openPage(`${shop.url}/shop`);
    await tab.say("book a table for two");
    const card = tab.chat.getByRole("group", { name: "Allow demo_booking?" });
    await card.getByRole("button", { name: "Allow once" }).focus();
    await tab.page.keyboard.press("Enter");
    await tab.chat.getByText("demo_booking allowed once").waitFor();
    await tab.chat.locator(".tools").getByText("Used demo_booking").waitFor();
    await tab.turnEnds();
    assert.ok(await tab.composer.evaluate((one) => one.getRootNode().activeElement === one));
    await sameAsTranscript(shop, tab);
    await until("the end in view", () => tab.chat.getByRole("log").evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight < 4));
    assert.deepEqual((await tab.events("approval")).map(({ type, decision }) => [type, decision]), [
      ["approval_requested", undefined],
      ["tool_approval", "allow_once"],
    ]);
    await tab.finish();
  });

  test("a card that was decided elsewhere says so and folds", async () => {
    const tab = await openPage(`${shop.url}/shop`);
    await tab.say("book a table for two");
    const card = tab.chat.getByRole("group", { name: "Allow demo_booking?" });
    await card.waitFor();
    await tab.chat.evaluate((one) => {
      const { approval_id } = one.snapshot.view.items.find(({ kind }) => kind === "approval");
      return fetch(`/v1/sessions/${one.sessionId}/approvals/${approval_id}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ decision: "deny" }),
      });
    });
    await tab.chat.getByText("demo_booking denied").waitFor();
    await card.waitFor({ state: "detached" });
    await tab.turnEnds();
    await sameAsTranscript(shop, tab);
    await tab.finish();
  });

  test("what a permission is asked for is shown as it is, in its place, whatever the page's own CSS does", async () => {
    const tab = await openPage(`${shop.url}/launcher`);
    await tab.page.evaluate(() => {
      const sheet = new CSSStyleSheet();
      sheet.replaceSync(`
        * { all: unset; }
        body { text-transform: uppercase; white-space: nowrap; letter-spacing: 1em; word-spacing: 1em; text-indent: 5em; text-align: end;
          font: italic small-caps 900 3px/1 cursive; -webkit-text-security: disc; text-shadow: 0 0 9px; word-break: break-all; cursor: none; }`);
      document.adoptedStyleSheets = [sheet];
    });
    await tab.say("book a table for two");
    await tab.chat.getByRole("group", { name: "Allow demo_booking?" }).waitFor();
    const names = ["textTransform", "letterSpacing", "wordSpacing", "textIndent", "textAlign", "fontStyle", "fontVariant", "fontWeight",
      "webkitTextSecurity", "textShadow", "wordBreak", "fontSize"];
    const [pre, plain] = await tab.chat.evaluate((one, all) => {
      const of = (node) => all.map((name) => getComputedStyle(node)[name]);
      return [of(one.shadowRoot.querySelector(".card pre")), of(one.shadowRoot.querySelector('.message[data-role="user"] .plain'))];
    }, names);
    const rest = ["none", "normal", "0px", "0px", "start", "normal", "normal", "400", "none", "none", "normal"];
    assert.deepEqual(pre.slice(0, -1), rest);
    assert.deepEqual(plain, [...rest, "15px"]);
    assert.ok(await tab.chat.locator(".card pre").evaluate((one) => one.innerText === one.textContent));
    const { x, y, width, height } = await tab.chat.locator(".launcher").boundingBox();
    assert.deepEqual([Math.round(x + width), Math.round(y + height)], [880, 740], "at the end of the window");
    await tab.finish();
  });
});
