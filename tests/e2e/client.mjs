// The client against the shipped binary, over a network that cuts connections at random bytes, loses answers, and over a server that is
// killed in mid-stream: in the end it shows to the byte what a client shows that was never cut, and the transcript says the same.

import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { after, before, describe, test } from "node:test";
import { Portico } from "../../static/client.js";
import { makeStorage } from "./fakes.mjs";
import { startPortico, startScript, until } from "./support.mjs";

const SEED = Number(process.env.CLIENT_SEED ?? Date.now() % 1_000_000);

/** mulberry32 */
function randomFrom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * Hands bytes on to `url()`. Each connection is cut after `lasts()` bytes of answers; where `losing()` says so of what is asked, the
 * request arrives and its answer does not; while it is down nothing gets through.
 */
async function startProxy(t, { url, lasts = () => Infinity, losing = () => false }) {
  const sockets = new Set();
  let isDown = false;
  const server = net.createServer((near) => {
    if (isDown) return near.destroy();
    const far = net.connect(new URL(url).port, "127.0.0.1");
    let left = lasts();
    let isLost = false;
    const end = () => (near.destroy(), far.destroy(), sockets.delete(end));
    sockets.add(end);
    near.on("data", (bytes) => {
      // without keys of its own the gateway answers to its own address only
      const asked = bytes.toString("latin1").replace(/^(host: 127\.0\.0\.1):\d+/im, `$1:${new URL(url).port}`);
      isLost ||= losing(asked);
      far.write(Buffer.from(asked, "latin1"));
    });
    far.on("data", (bytes) => {
      if (isLost) return end();
      near.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) near.end(end);
    });
    for (const socket of [near, far]) socket.on("error", end).on("close", end);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => sockets.forEach((end) => end());
  t.after(() => (cut(), new Promise((resolve) => server.close(resolve))));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    down: () => ((isDown = true), cut()),
    up: () => (isDown = false),
  };
}

/** Waits of a twentieth, so that a lost connection costs no test time; the rest is as in a page. */
const makeClient = (server, base = server.url) =>
  new Portico({ base, credential: () => server.key, host: { random: () => Math.random() / 20 } });

/** A session that reads, until the test ends. */
function opened(t, client, options = { create: { channel: "web" }, view: "chat" }) {
  const session = client.session(options);
  t.after(() => session.close());
  session.open();
  return session;
}

const idle = (session) =>
  until(
    "the turn's end",
    () => session.view.turn === null && !session.outbox.length && session.view.items.length > 0 && !session.view.items.at(-1).queued,
  );
const messagesOf = ({ items }) => items.filter(({ kind }) => kind === "message");
const saidIn = ({ view }) =>
  messagesOf(view)
    .filter(({ role }) => role === "user")
    .map(({ text }) => text);
/** By id: the transcript is in the order of the ledger, the view in that in which messages were taken up. */
const byId = (messages) => new Map(messages.map(({ message_id, role, text }) => [message_id, [role, text]]));

/** What a client shows that begins now, straight from the gateway. */
async function fresh(server, { id, view }, name) {
  const session = makeClient(server).session({ id, view: name, history: 0 });
  session.open();
  await until("the replay", () => session.view.head >= view.head);
  session.close();
  return session.view;
}

async function transcript(server, session) {
  const { data } = await makeClient(server).request("GET", `/v1/sessions/${session.id}/messages?limit=200`);
  return data;
}

async function sameInTheEnd(server, session, view) {
  await idle(session);
  assert.deepEqual(session.view, await fresh(server, session, view));
  assert.deepEqual(byId(messagesOf(session.view)), byId(await transcript(server, session)));
}

describe("the demo, over a bad network", () => {
  let server;
  before(async () => (server = await startPortico()));
  after(async () => {
    await server?.stop();
    await server?.remove();
  });

  for (const view of ["chat", "owner"]) {
    test(`${view}: cut at random bytes`, async (t) => {
      t.diagnostic(`CLIENT_SEED=${SEED}`);
      const random = randomFrom(SEED);
      let count = 0;
      const proxy = await startProxy(t, { url: server.url, lasts: () => ((count += 1), 150 + Math.floor(random() ** 3 * 6000)) });
      const session = opened(t, makeClient(server, proxy.url), { create: { channel: "web" }, view });
      const said = ["show me a table", "look up a rowing boat", "book a rowing boat for tomorrow", "show me a table, again"];
      for (const text of said) session.send(text);
      const approval = await until("the approval", () =>
        session.view.items.find(({ kind, state }) => kind === "approval" && state === "pending"),
      );
      await until("a decision that gets through", () => session.decide(approval.approval_id, "allow_once").then(() => true));
      await sameInTheEnd(server, session, view);
      assert.deepEqual(saidIn(session), said);
      assert.ok(count > 10, `it was cut ${count} times`);
    });
  }

  test("a server that is killed in mid-stream, twice", async (t) => {
    const session = opened(t, makeClient(server));
    const notices = [];
    session.onEvent(({ type }) => type === "turn_continued" && notices.push(session.view.items.at(-1).notice));
    session.send("show me a table");
    for (const words of [5, 12]) {
      await until("some words", () => session.view.live?.text.split(" ").length > words);
      await server.crash();
      await until("the cut", () => session.connection.state !== "open");
      await server.restart();
    }
    await sameInTheEnd(server, session, "chat");
    assert.deepEqual(notices, ["restart", "restart"]);
    assert.equal(session.view.items.filter(({ kind }) => kind === "notice").length, 0, "a restart that went well is no news any more");
  });

  test("answers that are lost: each message is there once, in order", async (t) => {
    const lost = new Map();
    const losing = (request) => {
      const [key] = request.match(/idempotency-key: \S+/i) ?? [];
      if (!key) return false;
      lost.set(key, (lost.get(key) ?? 0) + 1);
      return lost.get(key) <= 2;
    };
    const proxy = await startProxy(t, { url: server.url, losing });
    const session = opened(t, makeClient(server, proxy.url));
    const said = ["one", "two", "two", "three"];
    const shown = [];
    session.subscribe(() =>
      shown.push([...session.view.items, ...session.outbox].filter(({ text }) => text === "one" || text === "three").length),
    );
    for (const text of said) session.send(text, { mode: "followup" });
    await sameInTheEnd(server, session, "chat");
    assert.deepEqual(saidIn(session), said);
    assert.deepEqual([...lost.values()], [3, 3, 3, 3, 3], "the session and each message were asked for three times");
    assert.deepEqual(new Set(shown), new Set([2]), "and shown once at any time");
  });

  test("written offline, and posted after a reload", async (t) => {
    const storage = makeStorage();
    const create = { channel: "web", key: "offline" };
    const proxy = await startProxy(t, { url: server.url });
    proxy.down();
    const before = opened(t, makeClient(server, proxy.url), { create, storage, view: "chat" });
    const said = ["first", "second"];
    for (const text of said) before.send(text);
    await until("a failure", () => before.outbox[0].state === "waiting" && before.outbox[0].isTried);
    before.close();
    proxy.up();
    const session = opened(t, makeClient(server, proxy.url), { create, storage, view: "chat" });
    assert.deepEqual(
      session.outbox.map(({ text }) => text),
      said,
    );
    await sameInTheEnd(server, session, "chat");
    assert.deepEqual(saidIn(session), said);
    assert.equal(storage.map.size, 0);
  });

  test("two tabs share a session by its key, and what one does the other shows", async (t) => {
    const create = { channel: "web", key: "two tabs" };
    const tabs = [0, 1].map(() => opened(t, makeClient(server), { create, view: "chat" }));
    assert.deepEqual(await tabs[0].create(), await tabs[1].create());
    tabs[0].send("book a rowing boat");
    const approval = await until("the approval", () => tabs[1].view.items.find(({ kind }) => kind === "approval"));
    assert.match(approval.digest, /^[0-9a-f]{64}$/);
    await tabs[1].decide(approval.approval_id, "deny", "not today");
    await tabs[1].decide(approval.approval_id, "deny", "not today");
    await assert.rejects(tabs[0].decide(approval.approval_id, "allow_once"), { name: "Problem", status: 409, code: "already_decided" });
    await until(
      "the decision",
      () => tabs[0].view.items.find(({ key, state }) => key === approval.key && state === "settled")?.decision === "deny",
    );
    await idle(tabs[0]);
    await sameInTheEnd(server, tabs[1], "chat");
    assert.deepEqual(tabs[0].view, tabs[1].view);
    assert.equal(tabs[0].view.items.filter(({ kind }) => kind === "tool").length, 0, "the approval says what became of the call");
  });

  test("a long session begins with its end, in mid-turn too, and is paged back", async (t) => {
    const session = opened(t, makeClient(server), { create: { channel: "web" }, view: "owner" });
    for (const text of ["look up a boat", "show me a table"]) session.send(text, { mode: "followup" });
    await idle(session);
    session.send("book a rowing boat");
    await until("the approval", () => session.view.items.find(({ kind }) => kind === "approval"));
    const short = opened(t, makeClient(server), { id: session.id, view: "owner", history: 3 });
    await until("its end", () => short.view.head === session.view.head && short.view.items.some(({ kind }) => kind === "approval"));
    assert.ok(short.view.items.length < session.view.items.length);
    assert.deepEqual([short.hasEarlier, short.view.turn, short.view.channel], [true, session.view.turn, "web"]);
    let pages = 0;
    while (await short.earlier()) pages += 1;
    assert.ok(pages > 3);
    assert.deepEqual([short.hasEarlier, await short.earlier()], [false, false]);
    const { mode: _, ...whole } = session.view;
    const { mode: __, ...paged } = short.view;
    assert.deepEqual(paged, whole);
    await short.cancel();
    await idle(session);
    await until("the end", () => short.view.head === session.view.head);
    assert.deepEqual(short.view, session.view);
  });

  test("stop keeps what was visible; a deleted session and one that never was end the reading", async (t) => {
    const client = makeClient(server);
    const session = opened(t, client);
    session.send("show me a table");
    await until("some words", () => session.view.live?.text.length > 20);
    await session.cancel();
    await sameInTheEnd(server, session, "chat");
    const [, answer, end] = session.view.items;
    assert.deepEqual([answer.interrupted, end.notice, end.reason, end.cause], [true, "end", "aborted", "user"]);
    await client.request("DELETE", `/v1/sessions/${session.id}`);
    await until("the end", () => session.connection.state === "closed");
    assert.deepEqual(session.connection, { state: "closed", reason: "deleted" });
    session.send("hello?");
    await until("the refusal", () => session.outbox[0].state === "refused");
    assert.equal(session.outbox[0].problem.code, "not_found");
    session.open();
    await until("the refusal", () => session.connection.problem?.status === 404);
  });
});

describe("a scripted model", () => {
  const questions = [{ text: "Which boat?", options: [{ label: "Rowing boat" }, { label: "Pedal boat" }] }];
  const long = "x".repeat(60_000);
  let model;
  let server;

  before(async () => {
    const call = (name, args) => ({
      content: null,
      tool_calls: [{ index: 0, id: "call_1", type: "function", function: { name, arguments: JSON.stringify(args) } }],
    });
    model = await startScript(({ role, content }) => {
      if (role === "tool") return { content: `So: ${content.slice(0, 100)}` };
      return content === "run" ? call("bash", { command: "head -c 60000 /dev/zero | tr '\\0' x" }) : call("ask_user", { questions });
    });
    server = await startPortico(
      `[agents.default]\nmodel = "script"\n\n[tools.bash]\npolicy = "allow"\n\n[channels.web]\nallow_ask_user = true\n\n` +
        `[providers.openai]\nbase_url = "${model.url}/v1"\napi_key = "none"\nwire = "openai_chat"\n`,
    );
  });
  after(async () => {
    await server?.stop();
    await server?.remove();
    await model?.stop();
  });

  test("a question is answered, and declined", async (t) => {
    const session = opened(t, makeClient(server));
    const asked = (n) =>
      until("the question", () => session.view.items.filter(({ kind, state }) => kind === "question" && state === "pending").at(n));
    session.send("a boat");
    const first = await asked(0);
    await session.answer(first.question_id, [{ id: first.questions[0].id, selected: ["Pedal boat"] }]);
    await idle(session);
    session.send("another");
    await session.answer((await asked(0)).question_id, null);
    await sameInTheEnd(server, session, "chat");
    const told = session.view.items
      .filter(({ kind }) => kind === "question")
      .map(({ answers, outcome }) => answers?.[0].selected ?? outcome);
    assert.deepEqual(told, [["Pedal boat"], "declined"]);
    assert.equal(session.view.items.filter(({ kind }) => kind === "tool").length, 0, "the questions say it already");
  });

  test("a result that was kept is read whole", async (t) => {
    const session = opened(t, makeClient(server), { create: { channel: "cli" }, view: "owner" });
    session.send("run");
    await idle(session);
    const tool = session.view.items.find(({ kind }) => kind === "tool");
    assert.deepEqual(
      [tool.state, tool.args, tool.bytes > 50_000],
      ["ok", JSON.stringify({ command: "head -c 60000 /dev/zero | tr '\\0' x" }), true],
    );
    assert.ok((await (await session.artifact(tool.artifact_id)).text()).includes(long));
  });
});
