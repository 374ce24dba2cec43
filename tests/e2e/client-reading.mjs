// How the client reads: when it comes back, where it goes on, and when it gives up. Network and clock are moved by hand.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { json, makeClient, problem, settled } from "./fakes.mjs";

/** A session that reads, up to its first connection. */
async function reading(options = {}, sessionOptions = {}) {
  const all = makeClient(options);
  const session = all.client.session({ id: "s", ...sessionOptions });
  session.open();
  await settled();
  assert.equal(all.asked[0].path, "/v1/sessions/s");
  await all.asked[0].give(json(200, { id: "s", head: 2, channel: "web" }));
  return { ...all, session };
}

/** Lets time pass until the next request, and tells how long that took. */
async function untilAsked({ clock, asked }) {
  const from = clock.now;
  await settled();
  while (!asked.length) {
    assert.ok(clock.waits.length, "nobody waits for anything");
    await clock.pass(clock.waits[0]);
  }
  return clock.now - from;
}

describe("coming back", () => {
  test("the waits double up to 30 s, and chance takes any part of them", async () => {
    let part = 1;
    const all = await reading({ random: () => part });
    const waits = [];
    for (let i = 0; i < 7; i += 1) {
      await all.asked[0].fail();
      waits.push(await untilAsked(all));
    }
    assert.deepEqual(waits, [2000, 4000, 8000, 16000, 30000, 30000, 30000]);
    part = 0.25;
    await all.asked[0].fail();
    assert.equal(await untilAsked(all), 7500);
    const stream = await all.asked[0].stream();
    stream.hello();
    stream.record(1, "session_created", { channel: "web" });
    stream.end();
    assert.equal(await untilAsked(all), 250, "what brought something was a good connection");
  });

  test("a connection that brings nothing new is no good one, unless it lasts", async () => {
    const all = await reading({ random: () => 1 });
    const waits = [];
    for (const lasts of [0, 0, 6000, 0]) {
      const stream = await all.asked[0].stream();
      stream.hello();
      await all.clock.pass(lasts);
      stream.end();
      waits.push(await untilAsked(all));
    }
    assert.deepEqual(waits, [2000, 4000, 1000, 2000]);
    const stream = await all.asked[0].stream();
    stream.raw("retry: 0\n\n");
    stream.end();
    assert.equal(await untilAsked(all), 4000, "nobody can ask for no wait at all");
  });

  test("it goes on from its last id, which it sends as a header, in its view", async () => {
    const all = await reading({}, { view: "chat" });
    assert.deepEqual([all.asked[0].headers["last-event-id"], all.asked[0].query], [undefined, { view: "chat" }]);
    const stream = await all.asked[0].stream();
    stream.hello({ head: 2, turn: 1 });
    stream.record(1, "session_created", { channel: "web" });
    stream.send("text_delta", { message_id: "m", block: 0, text: "he" }, "2.1");
    stream.raw("id: 2.2\n\n");
    stream.raw('event: text_delta\nid: 2.3\ndata: {"message');
    await settled();
    assert.equal(all.session.view.live.text, "he");
    stream.cut();
    await untilAsked(all);
    assert.equal(all.asked[0].headers["last-event-id"], "2.2");
    assert.equal(all.session.connection.state, "connecting");
    assert.equal(all.session.view.live.text, "he", "what was live stays so");
  });

  test("what the server asks for comes before the random part", async () => {
    const all = await reading();
    const retry = await all.asked[0].stream();
    retry.raw("retry: 3000\n\n");
    retry.end();
    assert.equal(await untilAsked(all), 3000);
    const closing = await all.asked[0].stream();
    closing.hello();
    closing.send("closing", { reason: "draining", retry_after_ms: 1234 });
    closing.end();
    assert.equal(await untilAsked(all), 1234);
    await all.asked[0].give(problem(429, "rate_limited", { "retry-after": "7" }));
    assert.equal(await untilAsked(all), 7000);
    // a date has whole seconds
    const date = new Date(all.clock.now + 9000).toUTCString();
    const wait = Date.parse(date) - all.clock.now;
    await all.asked[0].give(problem(503, "store_unavailable", { "retry-after": date }));
    assert.equal(await untilAsked(all), wait);
    await all.asked[0].give(new Response("<p>Log in</p>", { headers: { "content-type": "text/html" } }));
    assert.equal(await untilAsked(all), 0, "what answered is not the gateway");
  });

  test("after three silent heartbeats a connection is dead", async () => {
    const all = await reading();
    const stream = await all.asked[0].stream();
    stream.hello();
    await all.clock.pass(49_000);
    stream.raw(": still there\n\n");
    await all.clock.pass(49_000);
    assert.equal(stream.isAborted, undefined);
    await all.clock.pass(1_000);
    assert.equal(stream.isAborted, true);
    await untilAsked(all);
    await all.clock.pass(60_000);
    assert.equal(all.asked.length, 1, "an answer that never begins is silence too, and is asked for again");
  });

  test("at once when the network is back, and a silent connection is not waited for", async () => {
    const all = await reading({ random: () => 1 });
    await all.asked[0].fail();
    assert.deepEqual([all.session.connection.state, all.asked.length], ["waiting", 0]);
    await all.wake();
    assert.equal(all.asked.length, 1);
    const stream = await all.asked[0].stream();
    stream.hello();
    await settled();
    await all.wake();
    assert.equal(all.asked.length, 0, "one that was just heard is none to doubt");
    await all.clock.pass(21_000);
    await all.wake();
    assert.deepEqual([stream.isAborted, all.asked.length], [true, 1]);
  });
});

describe("giving up", () => {
  for (const status of [404, 403, 400]) {
    test(`${status} is final, and what it said is told`, async () => {
      const all = await reading();
      await all.asked[0].give(problem(status, "gone"));
      const { connection } = all.session;
      assert.deepEqual(
        [connection.state, connection.reason, connection.problem.status, connection.problem.message],
        ["closed", "refused", status, "no: gone"],
      );
      await all.clock.pass(100_000);
      assert.equal(all.asked.length, 0);
      all.session.open();
      await settled();
      assert.equal(all.asked.length, 1, "opened again, it tries again");
    });
  }

  test("401 asks for another credential once, and is final then", async () => {
    const asks = [];
    const credential = async (ask) => (asks.push(ask.refused), `token ${asks.length}`);
    const all = await reading({ credential });
    await all.asked[0].give(problem(401, "unauthorized"));
    assert.deepEqual([all.asked[0].headers.authorization, asks], ["Bearer token 3", [false, false, true]]);
    const stream = await all.asked[0].stream();
    stream.hello();
    stream.end();
    await untilAsked(all);
    await all.asked[0].give(problem(401, "unauthorized"));
    await all.asked[0].give(problem(401, "unauthorized"));
    assert.equal(all.session.connection.problem.status, 401);
  });

  test("a connection that waits says why; a credential that fails is asked for again", async () => {
    const cause = new Error("the page's own");
    const says = [
      () => "token",
      () => {
        throw cause;
      },
      () => new Promise(() => {}),
      () => "token",
    ];
    const all = await reading({ credential: () => says.shift()(), random: () => 1 });
    const waiting = () => [all.session.connection.state, all.session.connection.problem?.code];
    assert.deepEqual([...waiting(), all.session.connection.problem.cause], ["waiting", "credential", cause]);
    await all.clock.pass(2000);
    assert.deepEqual(waiting(), ["connecting", undefined]);
    await all.clock.pass(30_000);
    assert.deepEqual(waiting(), ["waiting", "credential"]);
    await all.clock.pass(8000);
    const stream = await all.asked[0].stream();
    stream.hello();
    stream.cut();
    await settled();
    assert.deepEqual(all.session.connection, { state: "waiting" }, "a cut is no problem");
  });

  test("nothing waits for a credential when nobody reads any more", async () => {
    const all = makeClient({ credential: () => new Promise(() => {}) });
    const session = all.client.session({ id: "s" });
    session.open();
    await settled();
    session.close();
    await settled();
    assert.deepEqual(all.clock.waits.filter((ms) => ms > 0), []);
    const asking = assert.rejects(session.cancel(), { name: "Problem", code: "credential", status: 0 });
    await all.clock.pass(30_000);
    await asking;
  });

  test("204, and a deletion, end it without a problem", async () => {
    const ended = await reading();
    await ended.asked[0].give(new Response(null, { status: 204 }));
    assert.deepEqual(ended.session.connection, { state: "closed", reason: "ended" });
    const deleted = await reading();
    const stream = await deleted.asked[0].stream();
    stream.send("closing", { reason: "deleted" });
    stream.end();
    await settled();
    assert.deepEqual(deleted.session.connection, { state: "closed", reason: "deleted" });
  });

  test("pause and close let go of the connection, and open takes it up again where it was", async () => {
    const all = await reading();
    const stream = await all.asked[0].stream();
    stream.record(1, "session_created", { channel: "web" });
    await settled();
    all.session.pause();
    await settled();
    assert.deepEqual([all.session.connection.state, stream.isAborted], ["paused", true]);
    await all.clock.pass(100_000);
    assert.equal(all.asked.length, 0);
    all.session.open();
    await settled();
    assert.equal(all.asked[0].headers["last-event-id"], "1");
    all.session.open();
    await settled();
    assert.deepEqual([all.asked.length, all.isWatching()], [1, true], "opened twice it still reads once");
    all.session.close();
    await settled();
    assert.deepEqual([all.session.connection.state, all.asked.length, all.isWatching()], ["idle", 0, false]);
    assert.deepEqual(
      all.clock.waits.filter((ms) => ms > 0),
      [],
      "nothing is left that would keep a process alive",
    );
  });

  test("a pause of what is not made yet ends too", async () => {
    const session = makeClient().client.session();
    session.open();
    session.pause();
    assert.deepEqual(session.connection, { state: "paused" });
    session.open();
    assert.deepEqual(session.connection, { state: "idle" });
  });

  test("what came with the last event that was wanted is not folded, and comes again", async () => {
    const all = await reading();
    const end = all.session.onEvent(({ type }) => type === "session_created" && all.session.close());
    const stream = await all.asked[0].stream();
    stream.raw(
      `event: session_created\nid: 1\ndata: {"seq":1,"channel":"web"}\n\nevent: session_updated\nid: 2\ndata: {"seq":2,"title":"t"}\n\n`,
    );
    await settled();
    assert.equal(all.session.view.last_id, "1");
    end();
    all.session.open();
    await settled();
    assert.equal(all.asked[0].headers["last-event-id"], "1");
  });

  test("a head that cannot be read yet is asked for again", async () => {
    const all = makeClient();
    const session = all.client.session({ id: "s" });
    session.open();
    await settled();
    await all.asked[0].fail();
    await untilAsked(all);
    await all.asked[0].give(json(200, { id: "s", head: 900, channel: "web", title: "Old" }));
    assert.deepEqual([all.asked[0].path, all.asked[0].headers["last-event-id"]], ["/v1/sessions/s/events", "500"]);
    assert.deepEqual([session.hasEarlier, session.view.title, session.view.channel], [true, "Old", "web"]);
  });
});

describe("older pages", () => {
  const CREATED = '{"seq":1,"at":"then","type":"session_created","channel":"web","title":"Old"}';
  const TOOL = '{"seq":2,"at":"then","turn":1,"step":1,"type":"tool_start","tool_call_id":"c","tool":"t","args":{"n":1.50}}';
  const records = (texts, next) => new Response(`{"data":[${texts}]${next ? `,"next_cursor":"${next}"` : ""}}`);

  /** A view of records 3 and 4 of a session of four. */
  async function begun() {
    const made = makeClient();
    const session = made.client.session({ id: "s", history: 2, view: "owner" });
    session.open();
    await settled();
    await made.asked[0].give(json(200, { id: "s", head: 4, channel: "web", title: "Old" }));
    const stream = await made.asked[0].stream();
    stream.hello({ head: 4, turn: 1 });
    stream.record(3, "tool_end", { turn: 1, step: 1, tool_call_id: "c", tool: "t", duration_ms: 1 });
    stream.record(4, "message", { turn: 1, message_id: "m", content: [{ type: "text", text: "hi" }] });
    stream.send("text_delta", { message_id: "n", block: 0, text: "live" }, "4.1");
    await settled();
    return { ...made, session, stream };
  }

  test("are read page by page, to the letter, and put in front; what is live stays", async () => {
    const { session, asked } = await begun();
    const [before, message] = [session.view, session.view.items[1]];
    assert.equal(session.hasEarlier, true);
    const done = Promise.all([session.earlier(), session.earlier()]);
    await settled();
    assert.deepEqual(
      [asked.length, asked[0].path, asked[0].query],
      [1, "/v1/sessions/s/records", { after: "0", limit: "2", view: "owner" }],
    );
    await asked[0].give(records([CREATED], "1"));
    assert.deepEqual(asked[0].query, { after: "1", limit: "1", view: "owner" });
    await asked[0].give(records([TOOL], "2"));
    assert.deepEqual(await done, [false, false]);
    assert.deepEqual([session.view.items[0].args, session.view.items[0].state, session.hasEarlier], ['{"n":1.50}', "ok", false]);
    assert.equal(session.view.items[1], message);
    assert.deepEqual([session.view.live, session.view.last_id, session.view.turn], [before.live, "4.1", 1]);
    assert.equal(await session.earlier(), false);
  });

  test("that cannot be read leave all as it was", async () => {
    const { session, asked } = await begun();
    const before = session.view;
    for (const answer of [problem(503, "store_unavailable"), new Response("<p>Log in</p>"), json(200, { hello: "there" })]) {
      const done = assert.rejects(session.earlier(), { name: "Problem" });
      await settled();
      await asked[0].give(answer);
      await done;
    }
    assert.deepEqual([session.view, session.hasEarlier], [before, true]);
  });

  test("that come after a reset are none of its view", async () => {
    const { session, asked, stream } = await begun();
    const done = session.earlier();
    await settled();
    stream.send("reset", { reason: "ahead", from_seq: 1 });
    stream.record(1, "session_created", { channel: "web", title: "New" });
    await settled();
    await asked[0].give(records([CREATED, TOOL]));
    assert.equal(await done, false);
    assert.deepEqual([session.view.title, session.view.items], ["New", []]);
  });
});

describe("telling", () => {
  test("listeners hear once of all that a task brings; events say whether they are a replay", async () => {
    const all = await reading();
    let count = 0;
    const heard = [];
    const end = all.session.subscribe(() => (count += 1));
    all.session.onEvent(({ type }, { live }) => heard.push([type, live]));
    const stream = await all.asked[0].stream();
    await all.clock.pass(0);
    count = 0;
    stream.hello({ head: 2 });
    for (const seq of [1, 2, 3]) stream.record(seq, "session_updated", { title: `t${seq}` });
    await settled();
    await all.clock.pass(0);
    assert.equal(count, 1);
    assert.deepEqual(heard, [
      ["hello", true],
      ["session_updated", false],
      ["session_updated", false],
      ["session_updated", true],
    ]);
    end();
    stream.record(4, "session_updated", { title: "t4" });
    await all.clock.pass(0);
    assert.equal(count, 1);
  });

  test("reset begins anew", async () => {
    const all = await reading({}, { history: 1 });
    assert.equal(all.session.hasEarlier, true);
    const stream = await all.asked[0].stream();
    stream.hello();
    stream.send("reset", { reason: "ahead", from_seq: 1 });
    stream.record(1, "session_created", { channel: "web", title: "New" });
    await settled();
    assert.deepEqual([all.session.hasEarlier, all.session.view.title, all.session.view.last_id], [false, "New", "1"]);
  });
});
