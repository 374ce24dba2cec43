// What the widget's tests share: a shop with a strict policy whose page has the widget, and a browser that keeps what it complains about.

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import { createRequire } from "node:module";
import path from "node:path";
import { chromium } from "playwright-core";
import { startHost } from "./host.mjs";
import { CHROMIUM, DEADLINE_MS, agentOn, cache, call, startPortico, startScript, until } from "./support.mjs";

export const WIDGET = '<script type="module" src="/widget.js"></script>';
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

/** A gateway whose model is `reply` (of `startScript`; none is the demo's), and a shop in front of it. */
export async function startShop({ reply, config = "", pages }) {
  const model = reply && (await startScript(reply));
  const server = await startPortico(`${config}\n${model ? agentOn("script", model.url) : ""}`);
  const host = await startHost({ pages: { "/shop": `<h1>A shop</h1>${WIDGET}<portico-chat></portico-chat>`, ...pages }, upstream: () => server.url });
  return {
    server,
    host,
    url: host.url,
    async stop() {
      await host.stop();
      await server.stop();
      await server.remove();
      await model?.stop();
    },
  };
}

/** A model's answer that the test lets out piece by piece: `more(text)` until `end()`. */
export function gated() {
  const waiting = [];
  let wake = () => {};
  let isOver = false;
  return {
    more(text) {
      waiting.push({ content: text });
      wake();
    },
    end() {
      isOver = true;
      wake();
    },
    async *[Symbol.asyncIterator]() {
      for (;;) {
        while (waiting.length) yield waiting.shift();
        if (isOver) return;
        await new Promise((resolve) => (wake = resolve));
      }
    },
  };
}

let browser;
export const startBrowser = async () => (browser = await chromium.launch(CHROMIUM));
export const stopBrowser = () => browser?.close();
export const newContext = (options = {}) => browser.newContext({ viewport: { width: 900, height: 760 }, ...options });

/** A page in a profile of its own, or in `context`. `finish` looks at what the browser complained about. */
export async function openPage(url, { context, ...options } = {}) {
  const profile = context ?? (await newContext(options));
  profile.setDefaultTimeout(DEADLINE_MS);
  const page = await profile.newPage();
  const complaints = [];
  page.on("console", (message) => message.type() === "error" && complaints.push(`${message.text()} ${message.location().url}`));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.addInitScript(() => {
    globalThis.seen = { violations: [], longest: 0, events: [] };
    document.addEventListener("securitypolicyviolation", (event) => seen.violations.push(`${event.violatedDirective} ${event.blockedURI}`));
    const tasks = new PerformanceObserver((list) => (seen.longest = Math.max(seen.longest, ...list.getEntries().map((one) => one.duration))));
    tasks.observe({ type: "longtask", buffered: true });
    for (const name of ["session", "message", "done", "approval", "unread", "toggle", "problem"]) {
      document.addEventListener(`portico-${name}`, (event) => seen.events.push([name, event.detail]));
    }
  });
  await page.goto(url);
  const chat = page.locator("portico-chat").first();
  const tab = {
    page,
    chat,
    complaints,
    composer: chat.getByLabel("Message", { exact: true }),
    button: (name) => chat.getByRole("button", { name }),
    events: (name) => page.evaluate((wanted) => seen.events.filter(([is]) => is === wanted).map(([, detail]) => detail), name),
    async say(text) {
      await chat.getByLabel("Message", { exact: true }).fill(text);
      await page.keyboard.press("Enter");
    },
    answers: chat.locator('.message[data-role="assistant"]'),
    /** Stop shows while a turn runs; call it after something of the turn was seen. */
    turnEnds: () => chat.getByRole("button", { name: "Stop" }).waitFor({ state: "hidden" }),
    /** What is shown, to the byte. */
    shown: () =>
      chat.locator(".message").evaluateAll((all) => all.map((one) => [one.dataset.role, one.dataset.raw ?? one.querySelector(".markdown").dataset.raw])),
    /** What the newest answer shows, "" where there is none. */
    text: async () => ((await tab.answers.count()) ? ((await tab.answers.last().locator(".markdown").getAttribute("data-raw")) ?? "") : ""),
    sessionId: () => chat.evaluate((one) => one.sessionId),
    /** Nothing was complained of, but what `allowed` tells of: the browser itself reports connections that are cut. */
    async finish(allowed = /(?!)/) {
      assert.deepEqual(await page.evaluate(() => seen.violations), []);
      assert.deepEqual(complaints.filter((text) => !allowed.test(text)), []);
      await (context ? page : profile).close();
    },
  };
  return tab;
}

/** The session as the gateway has it: `[role, text]` of each message. */
export async function transcript(server, id) {
  const { data } = await call(`${server.url}/v1/sessions/${id}/messages?limit=1000`);
  return data.map(({ role, text }) => [role, text]);
}

/** The page shows the gateway's transcript, byte for byte. */
export async function sameAsTranscript({ server }, tab) {
  const id = await tab.sessionId();
  await until("the transcript on the page", async () => {
    assert.deepEqual(await tab.shown(), await transcript(server, id));
    return true;
  });
}

/** What axe finds that is serious or critical. */
export async function axe(page) {
  await page.evaluate(await fs.readFile(AXE, "utf8"));
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const grave = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(grave.map(({ id, nodes }) => [id, nodes.map(({ html, failureSummary }) => `${html} ${failureSummary}`)]), []);
}

export async function picture(page, name) {
  await fs.mkdir(cache, { recursive: true });
  await page.screenshot({ path: path.join(cache, `widget-${name}.png`) });
}
