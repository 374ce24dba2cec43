// Parts of <portico-chat> by themselves, in a real browser: what follows the end, what lists rows, what is read out, who sits where.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startHost } from "./host.mjs";
import { DEADLINE_MS } from "./support.mjs";
import { openPage, startBrowser, stopBrowser } from "./widget-support.mjs";

let host;
before(async () => {
  await startBrowser();
  host = await startHost({ pages: { "/": "<h1>Parts</h1><portico-chat></portico-chat>" } });
});
after(async () => {
  await stopBrowser();
  await host?.stop();
});

/** What `act` gives in a page of its own. */
async function inPage(act, given) {
  const tab = await openPage(`${host.url}/`);
  const found = await tab.page.evaluate(act, given);
  await tab.finish();
  return found;
}

test("where a row folds and others grow before the browser tells that it moved, the end stays in view; who goes up by hand leaves it", async () => {
  const found = await inPage(async () => {
    const { keepEnd } = await import("/widget/scroll.js");
    const [box, content, list, card, more] = ["div", "div", "ol", "li", "li"].map((tag) => document.createElement(tag));
    list.append(card, more);
    content.append(list);
    box.append(content);
    document.body.append(box);
    Object.assign(box.style, { height: "200px", overflowY: "auto", overflowAnchor: "none" });
    const size = (one, px) => (one.style.height = `${px}px`);
    // what follows is done between two frames, as all that comes from hands and networks is
    const frames = async () => {
      for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
      await new Promise((resolve) => setTimeout(resolve));
    };
    const fromEnd = () => Math.round(box.scrollHeight - box.scrollTop - box.clientHeight);
    [card, more].forEach((one) => size(one, 400));
    const scroll = keepEnd(box, content, list, () => {});
    scroll.toEnd();
    await frames();
    // a press in the row is no going up
    card.dispatchEvent(new PointerEvent("pointerdown", { bubbles: true }));
    card.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
    size(card, 20);
    // the browser looks, and cuts what is too far down
    box.scrollTop;
    size(more, 900);
    // which it tells when it likes
    box.dispatchEvent(new Event("scroll"));
    await frames();
    const folded = [scroll.following, fromEnd()];
    box.scrollTop -= 50;
    await frames();
    size(more, 1000);
    await frames();
    const still = [scroll.following, fromEnd()];
    scroll.toEnd();
    await frames();
    // while text comes
    box.dispatchEvent(new WheelEvent("wheel", { deltaY: -60 }));
    box.scrollTop -= 60;
    size(more, 1100);
    await frames();
    return [folded, still, [scroll.following, fromEnd()]];
  });
  assert.deepEqual(found, [[true, 0], [false, 150], [false, 160]]);
});

test("a message that waited over midnight takes no day with it, and each row has a key of its own", async () => {
  const found = await inPage(async () => {
    const [{ conversation }, { words }] = [await import("/widget/list.js"), await import("/widget/strings.js")];
    const list = conversation(words("en"), {}, () => {});
    const item = (key, at, more) => ({ kind: "message", key, message_id: key, role: "user", text: key, seq: 1, at, queued: false, ...more });
    // the page's own time zone
    const at = (day, hour) => new Date(2026, 5, day, hour).toISOString();
    const items = [item("a", at(1, 22)), item("b", at(2, 1)), item("late", at(1, 23)), item("c", at(2, 2)), item("d", at(3, 2))];
    list.draw({ view: { items: [...items, item("q", at(4, 1), { queued: true })], live: null }, outbox: [] });
    while (!list.whole) await new Promise((resolve) => setTimeout(resolve));
    return [...list.element.children].map((one) => (one.dataset.kind === "day" ? "day" : one.dataset.key));
  });
  assert.deepEqual(found, ["a", "day", "b", "late", "c", "day", "d", "q"]);
});

test("one more piece of an answer touches the answer alone, however long the conversation is", async () => {
  const found = await inPage(async () => {
    const [{ conversation }, { words }] = [await import("/widget/list.js"), await import("/widget/strings.js")];
    const list = conversation(words("en"), {}, () => {});
    const at = new Date().toISOString();
    const item = (_, i) => ({ kind: "message", key: `m${i}`, message_id: `m${i}`, role: "user", text: "x", seq: i, at, queued: false });
    let reads = 0;
    const items = new Proxy(Array.from({ length: 50 }, item), { get: (all, name) => ((reads += 1), all[name]) });
    const outbox = [];
    const draw = (text) => list.draw({ view: { items, live: { message_id: "live", text } }, outbox });
    draw("a");
    while (!list.whole) await new Promise((resolve) => setTimeout(resolve));
    const before = reads;
    const moved = [];
    new MutationObserver((records) => moved.push(...records)).observe(list.element, { childList: true });
    const { get } = Object.getOwnPropertyDescriptor(Node.prototype, "nextSibling");
    Object.defineProperty(Node.prototype, "nextSibling", { configurable: true, get() { return (reads += 1), get.call(this); } });
    draw("ab");
    draw("abc");
    Object.defineProperty(Node.prototype, "nextSibling", { configurable: true, get });
    const touched = reads - before;
    await new Promise((resolve) => setTimeout(resolve));
    await new Promise(requestAnimationFrame);
    await new Promise(requestAnimationFrame);
    const row = list.element.lastChild;
    return [before > 0, touched, moved.length, row.dataset.key, row.dataset.raw, row.textContent.includes("abc")];
  });
  assert.deepEqual(found, [true, 0, 0, "live", undefined, true]);
});

test("what is read out of a long answer is its beginning, whatever is in it", { timeout: DEADLINE_MS }, async () => {
  const found = await inPage(async () => {
    const [{ announcer }, { words }] = [await import("/widget/announce.js"), await import("/widget/strings.js")];
    const said = (type, data) => {
      const { region, heard } = announcer(words("en"));
      heard(type, data);
      return region.textContent;
    };
    const answer = (text) => said("message", { content: [{ type: "text", text }] });
    const hard = [" ".repeat(400_000), "[".repeat(400_000), "[a](".repeat(100_000), "```".repeat(100_000)].map((text) => answer(`Hello ${text}.`).slice(0, 17));
    const asked = said("question_asked", { questions: [{ text: "Which? ".repeat(10_000) }] }).length;
    return [hard, asked < 1000, answer("| a | b |\n|---|--:|\n| **1** | [two](https://a.example/) |"), said("approval_requested", { tool: "a\u202eb" })];
  });
  const table = "New answer: a b 1 two";
  assert.deepEqual(found, [Array(4).fill("New answer: Hello"), true, table, "Allow a\\u202eb?"]);
});

test("a seat is kept, and is free once it is left", async () => {
  const found = await inPage(async () => {
    const { seat } = await import("/widget/seat.js");
    const [one, other, third] = [seat(), seat(), seat()];
    const taken = [one.take(["a"]), other.take(["a"])];
    one.leave();
    return [...taken, other.take(["a"]), third.take(["a"]), other.take(["b"])];
  });
  assert.deepEqual(found, ['["a"]', '["a",1]', '["a",1]', '["a"]', '["b"]']);
});
