// The widget's cards, its timeline of tools and its words, each by itself in a real browser, under the strictest policy that a page can have.

import assert from "node:assert/strict";
import { after, afterEach, before, beforeEach, describe, test } from "node:test";
import { chromium } from "playwright-core";
import { startHost, STRICT } from "./host.mjs";
import { CHROMIUM, DEADLINE_MS, until } from "./support.mjs";

const NOW = Date.parse("2026-12-01T12:00:00Z");
const MINUTE_MS = 60_000;
const iso = (ms) => new Date(ms).toISOString();

const asked = {
  kind: "approval", key: "apr_1", seq: 4, at: iso(NOW), approval_id: "apr_1", tool_call_id: "call_1", tool: "demo_booking",
  expires_at: iso(NOW + 60 * MINUTE_MS), state: "pending",
};
const mine = { ...asked, args: '{"item":"rowing boat"}', digest: "d", reason: "it has effects", decisions: ["deny", "allow_once", "allow_always"] };
const questions = [
  { id: "q1", text: "Which boat?", options: [{ label: "Rowing boat", description: "two seats" }, { label: "Pedal boat" }] },
  { id: "q2", text: "What else?", options: [{ label: "Oars" }, { label: "Vest" }], multiple: true, free_text: true },
  { id: "q3", text: "Whose name?", free_text: true },
];
const form = {
  kind: "question", key: "qst_1", seq: 4, at: iso(NOW), question_id: "qst_1", tool_call_id: "call_1", questions,
  expires_at: iso(NOW + 60 * MINUTE_MS), state: "pending",
};
const tool = (key, more) => ({ kind: "tool", key, seq: 3, at: iso(NOW), tool_call_id: key, tool: "demo_lookup", state: "ok", ...more });

let host;
let browser;
let page;
let complaints;

before(async () => {
  host = await startHost({ pages: { "/": "<main></main>" }, upstream: () => "http://127.0.0.1:9", policy: `${STRICT}; img-src data:` });
  browser = await chromium.launch(CHROMIUM);
});
after(async () => {
  await browser?.close();
  await host?.stop();
});
beforeEach(async () => {
  const context = await browser.newContext();
  context.setDefaultTimeout(DEADLINE_MS);
  page = await context.newPage();
  complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.clock.install({ time: NOW });
  await page.goto(host.url);
  await page.evaluate(prepare);
});
afterEach(async () => {
  assert.deepEqual(complaints, []);
  await page.context().close();
});

/** In the page: `put(item, {lang})` shows it in a shadow tree as the widget does, and `calls` has what was decided; `next` says how that goes. */
async function prepare() {
  const [{ approvalCard }, { questionCard }, { toolGroup }, { words }, { tokens }, { cards }] = await Promise.all(
    ["cards", "questions", "tools", "strings", "style/tokens", "style/cards"].map((name) => import(`/widget/${name}.js`)),
  );
  const root = document.querySelector("main").attachShadow({ mode: "open" });
  root.adoptedStyleSheets = [tokens, cards].map((text) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(text);
    return sheet;
  });
  const state = (window.state = { calls: [], left: 0, next: () => true });
  const act = (what) => {
    state.calls.push(what);
    return state.next();
  };
  const leave = () => (state.left += 1);
  window.put = (item, lang = "en") => {
    const t = words(lang);
    if (item.kind === "approval") state.card = approvalCard(item, { t, decide: act, leave });
    else if (item.kind === "question") state.card = questionCard(item, { t, answer: act, leave });
    else state.card = toolGroup(t, { artifact: act });
    if (Array.isArray(item)) state.card.update(item);
    root.append(state.card.element);
  };
}

const put = (item, lang) => page.evaluate(([what, how]) => window.put(what, how), [item, lang]);
const update = (item) => page.evaluate((what) => window.state.card.update(what), item);
const calls = () => page.evaluate(() => window.state.calls);
const card = () => page.locator(".card");

describe("an approval", () => {
  test("says what is asked to the letter, with every character spelled that would hide", async () => {
    const args = '{"a":"\u202ex","a":1e2,"n":12345678901234567890.10,"t":"\u{e0041}"}';
    await put({ ...mine, tool: "to\u200bol", reason: "why\u2066", args });
    assert.equal(await card().getByRole("heading").textContent(), "Allow to\\u200bol?");
    await card().getByText("why\\u2066").waitFor();
    const shown = await card().getByRole("group", { name: "Arguments" }).textContent();
    assert.equal(shown.replace(/\s/g, ""), '{"a":"\\u202ex","a":1e2,"n":12345678901234567890.10,"t":"\\u{e0041}"}');
  });

  test("offers what the server offers, in its order; only one of them stands out", async () => {
    await put(mine);
    const labels = ["Deny", "Allow once", "Always allow, in all conversations"];
    assert.deepEqual(await card().getByRole("button").allTextContents(), labels);
    assert.deepEqual(await card().locator(".primary").allTextContents(), ["Allow once"]);
    await page.getByRole("group", { name: "Allow demo_booking?" }).getByText("Expires in 60 minutes.").waitFor();
  });

  test("that somebody else decides is told, without what it is", async () => {
    await put(asked);
    await page.getByRole("group", { name: "demo_booking asks for a permission that somebody else decides." }).waitFor();
    assert.equal(await page.getByRole("button").count(), 0);
    await update({ ...asked, state: "settled", decision: "deny" });
    await page.getByText("✗ demo_booking denied").waitFor();
  });

  test("is decided once, however often it is clicked, and folds to a line with the arguments behind", async () => {
    await page.evaluate(() => (window.state.next = () => new Promise(() => {})));
    await put(mine);
    await card().getByRole("button", { name: "Allow once" }).dblclick();
    await card().getByRole("button", { name: "Deny" }).click({ force: true });
    assert.deepEqual(await calls(), ["allow_once"]);
    await update({ ...mine, state: "settled", decision: "allow_once", note: "for you" });
    await page.getByText("✓ demo_booking allowed once: for you").click();
    await page.getByText('"rowing boat"').waitFor();
    assert.equal(await page.locator(".card").count(), 0);
    assert.equal(await page.evaluate(() => window.state.left), 1, "the focus that was in the card goes where the widget takes it");
  });

  test("that failed says why and can be tried again", async () => {
    await put(mine);
    await page.evaluate(() => (window.state.next = () => Promise.reject(Object.assign(new Error("no"), { code: "unreachable" }))));
    await card().getByRole("button", { name: "Deny" }).click();
    await card().getByRole("alert").getByText("The server cannot be reached.").waitFor();
    await page.evaluate(() => (window.state.next = () => Promise.reject(Object.assign(new Error("Say why."), { code: "odd" }))));
    await card().getByRole("button", { name: "Deny" }).click();
    await card().getByRole("alert").getByText("That did not work: Say why.").waitFor();
    await page.evaluate(() => (window.state.next = () => false));
    await page.keyboard.press("Enter");
    await card().getByRole("alert").getByText("Please try again.").waitFor();
    assert.deepEqual(await calls(), ["deny", "deny", "deny"]);
  });

  test("whose time runs out says so and takes its buttons away", async () => {
    await put(mine);
    await page.clock.runFor(59 * MINUTE_MS);
    await card().getByText("Expires in 1 minute.").waitFor();
    await card().getByRole("button", { name: "Deny" }).focus();
    await page.clock.runFor(MINUTE_MS);
    await card().getByText("Expired: nobody answered in time.").waitFor();
    assert.equal(await page.getByRole("button").count(), 0);
    assert.equal(await page.evaluate(() => window.state.left), 1);
  });

  test("can be decided where this machine's clock is wrong", async () => {
    await put({ ...mine, at: iso(NOW - 300 * MINUTE_MS), expires_at: iso(NOW - 240 * MINUTE_MS) });
    assert.equal(await card().getByRole("button").count(), 3, "its time was over before it was there");
    await page.evaluate(() => document.querySelector("main").shadowRoot.replaceChildren());
    await put({ ...mine, at: iso(NOW + 300 * MINUTE_MS), expires_at: iso(NOW + 360 * MINUTE_MS) });
    await card().getByText("Expires in 60 minutes.").waitFor();
  });

  test("with long arguments keeps its buttons in sight", async () => {
    await page.setViewportSize({ width: 320, height: 500 });
    await put({ ...mine, args: JSON.stringify({ list: Array.from({ length: 300 }, (_, at) => `${"x".repeat(80)}${at}`) }) });
    const box = await card().getByRole("group", { name: "Arguments" }).boundingBox();
    assert.ok(box.height < 300, `${box.height} px`);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 320);
    assert.equal(await card().getByRole("group", { name: "Arguments" }).getAttribute("tabindex"), "0", "not every browser lets one scroll it otherwise");
    await card().getByRole("group", { name: "Arguments" }).focus();
    await page.keyboard.press("End");
    await until("the end of the arguments", () => card().getByRole("group").evaluate((one) => one.scrollTop > 0));
  });

  test("keeps what a person has half done when it is told again", async () => {
    await put(mine);
    await card().getByRole("button", { name: "Deny" }).focus();
    await update({ ...mine, seq: 5 });
    assert.equal(await page.evaluate(() => document.querySelector("main").shadowRoot.activeElement?.textContent), "Deny");
  });
});

describe("questions", () => {
  test("are a form: one, several, own words; its answers become lines", async () => {
    await put(form);
    const group = page.getByRole("group", { name: "Questions for you" });
    await group.getByLabel("Whose name?").fill("Ada");
    await group.getByRole("button", { name: "Answer" }).click();
    assert.deepEqual(await calls(), [], "what must be chosen is asked for first");
    await group.getByLabel("Whose name?").fill("");
    await group.getByLabel("Pedal boat").check();
    await group.getByRole("button", { name: "Answer" }).click();
    assert.deepEqual(await calls(), [], "and so is what must be written");
    await group.getByLabel("Oars").check();
    await group.getByLabel("Vest").check();
    await group.getByLabel("In your own words: What else?").fill(" a hat ");
    await group.getByLabel("Whose name?").fill("Ada");
    await group.getByRole("button", { name: "Answer" }).click();
    const answers = [
      { id: "q1", selected: ["Pedal boat"] },
      { id: "q2", selected: ["Oars", "Vest"], text: "a hat" },
      { id: "q3", selected: [], text: "Ada" },
    ];
    assert.deepEqual(await calls(), [answers]);
    await update({ ...form, state: "settled", answers: [answers[0], answers[1]] });
    for (const line of ["✓ Which boat? Pedal boat", "✓ What else? Oars, Vest, a hat", "✓ Whose name? no answer"]) await page.getByText(line).waitFor();
    assert.equal(await card().count(), 0);
  });

  test("can be skipped, and a failure keeps what was filled in", async () => {
    await put({ ...form, questions: [questions[2]] });
    const group = page.getByRole("group", { name: "A question for you" });
    await group.getByLabel("Whose name?").fill("Ada");
    await page.evaluate(() => (window.state.next = () => Promise.reject(Object.assign(new Error(""), { code: "expired" }))));
    await group.getByRole("button", { name: "Answer" }).click();
    await group.getByRole("alert").getByText("Its time is over").waitFor();
    assert.equal(await group.getByLabel("Whose name?").inputValue(), "Ada");
    await group.getByRole("button", { name: "Skip" }).click();
    assert.equal((await calls()).at(-1), null);
    await update({ ...form, state: "settled", outcome: "declined" });
    await page.getByText("✗ Question skipped").waitFor();
  });
});

describe("the timeline of tools", () => {
  const line = () => page.locator("summary").first();

  test("tells what runs, then what was done; in the view `chat` names and times", async () => {
    await put([tool("1", { state: "running" })]);
    assert.equal(await line().textContent(), "Using demo_lookup… ");
    await page.clock.runFor(3000);
    assert.equal(await line().textContent(), "Using demo_lookup… 3s");
    await update([tool("1", { duration_ms: 3400 })]);
    assert.equal(await line().textContent(), "Used demo_lookup 3.4s");
    const second = tool("2", { at: iso(NOW + 1000), duration_ms: 3400, tool: "web_fetch", state: "error", code: "TOOL_TIMEOUT" });
    await update([tool("1", { duration_ms: 3400 }), second]);
    assert.equal(await line().textContent(), "Tools used: 2 not done: 1 4.4s", "what ran side by side counts once");
    assert.equal(await page.getByRole("listitem").first().isVisible(), false);
    await line().click();
    assert.deepEqual(await page.getByRole("listitem").allTextContents(), ["demo_lookup done 3.4s", "web_fetch failed TOOL_TIMEOUT 3.4s"]);
    assert.equal(await page.locator("details").count(), 1, "there is nothing behind a call");
  });

  test("one that failed is not said to be used", async () => {
    await put([tool("1", { state: "denied" })]);
    assert.equal(await line().textContent(), "demo_lookup: not allowed ");
  });

  test("shows arguments, result and error to whom they are sent, and keeps open what was opened", async () => {
    const call = tool("1", { state: "running", args: '{"query":"a\u200bb"}' });
    await put([call]);
    await line().click();
    await page.getByRole("group", { name: "Arguments" }).getByText("a\\u200bb").waitFor();
    await page.locator(".step summary").focus();
    await update([{ ...call, state: "ok", duration_ms: 20, preview: "<b>day 1</b>", bytes: 94_000, artifact_id: "art_1" }]);
    await page.getByRole("group", { name: "Result, its beginning" }).getByText("<b>day 1</b>").waitFor();
    assert.equal(await page.evaluate(() => document.querySelector("main").shadowRoot.activeElement?.tagName), "SUMMARY");
    await page.getByRole("button", { name: "Open the whole result (94 kB)" }).click();
    assert.deepEqual(await calls(), ["art_1"]);
    await page.evaluate(() => (window.state.next = () => Promise.reject(Object.assign(new Error(""), { code: "not_found" }))));
    await page.getByRole("button", { name: "Open the whole result (94 kB)" }).click();
    await page.getByRole("alert").getByText("That does not exist any more.").waitFor();
    await update([{ ...call, state: "error", code: "TOOL_FAILED", error: "no boats" }]);
    await page.getByRole("group", { name: "Error" }).getByText("no boats").waitFor();
  });

  test("a call that did not change is not touched", async () => {
    await page.evaluate((items) => {
      window.put(items);
      const node = document.querySelector("main").shadowRoot.querySelector("li");
      window.state.card.update([items[0], { ...items[0], key: "2" }]);
      window.state.same = node === document.querySelector("main").shadowRoot.querySelector("li");
    }, [tool("1")]);
    assert.equal(await page.evaluate(() => window.state.same), true);
  });
});

describe("words", () => {
  test("every language has every key, with the same values in it", async () => {
    const { languages } = await import("../../static/widget/strings.js");
    const values = (text) => [...text.matchAll(/\{\w+\}/g)].map(([name]) => name).toSorted();
    for (const [name, language] of Object.entries(languages)) {
      assert.deepEqual(Object.keys(language), Object.keys(languages.en), name);
      for (const [key, text] of Object.entries(language)) assert.deepEqual(values(text), values(languages.en[key]), `${name}: ${key}`);
    }
  });

  test("every word of the wire has its own", async () => {
    const { words } = await import("../../static/widget/strings.js");
    const { readFile } = await import("node:fs/promises");
    const t = words("zh");
    const spec = JSON.parse(await readFile(new URL("../../docs/openapi.json", import.meta.url)));
    const { oneOf } = Object.values(spec.components.schemas).find(({ description }) => description === "Why a turn is over.");
    const reasons = oneOf.map((reason) => reason.const).filter((reason) => reason !== "completed");
    assert.equal(reasons.length, 7);
    const wire = {
      end: reasons,
      mode: ["requesting", "thinking", "responding", "tool-input", "tool-use"],
      decide: ["allow_once", "allow_session", "allow_always", "deny"],
      outcome: ["allow_once", "allow_session", "allow_always", "deny", "expired", "cancelled", "unavailable"],
      question: ["declined", "expired", "cancelled"],
      toolState: ["running", "ok", "error", "denied", "aborted", "unknown"],
    };
    for (const [stem, names] of Object.entries(wire)) for (const name of names) assert.notEqual(t.keyOf(stem, name), `${stem}Other`, name);
    assert.equal(t.of("end", "hologram", { reason: "hologram" }), "回复已结束：hologram。");
  });

  test("numbers and times follow the language; a page's own words come first; an unknown language is English", async () => {
    const { words } = await import("../../static/widget/strings.js");
    const [en, zh, fr] = [words("en-GB"), words("zh-CN"), words("fr", { send: "Envoyer" })];
    assert.deepEqual([en.duration(340), en.duration(2400), en.duration(75_300)], ["340ms", "2.4s", "1m 15s"]);
    assert.deepEqual([zh.duration(75_300), zh.relative(58 * MINUTE_MS), zh("unread", { count: 1234 })], ["1分钟15秒", "58分钟后", "1,234 条新消息"]);
    assert.deepEqual([fr("send"), fr("stop"), fr.lang, fr.relative(5 * MINUTE_MS)], ["Envoyer", "Stop", "fr", "dans 5 minutes"]);
    assert.deepEqual([words("tlh-!")("send"), words("xx").lang, words(undefined).lang], ["Send", "en", "en"]);
    assert.equal(words("en", { heading: "{heading} <b>" })("heading"), " <b>");
  });

  test("cards speak the language", async () => {
    await put(mine, "zh");
    await page.getByRole("group", { name: "允许使用 demo_booking 吗？" }).getByText("将在60分钟后过期。").waitFor();
    assert.deepEqual(await card().getByRole("button").allTextContents(), ["拒绝", "允许一次", "始终允许（所有对话）"]);
  });
});
