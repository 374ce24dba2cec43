// What the client does not do, whatever a server or a network does to it: ask without end, wait without end, or go on after it was closed.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Portico } from "../../static/client.js";
import { accepted, conversing, json, makeClient, makeStorage, outbox, posting, posts, problem, reading, settled } from "./fakes.mjs";

/** A timer takes no more: it comes at once then. */
const TIMER_MS = 2 ** 31 - 1;
const MINUTE = 60_000;

describe("no server can ask for another wait than 0 to 5 minutes", () => {
  const asks = [
    ["a wait of years", { "retry-after": "1000000000" }, 5 * MINUTE],
    ["a date in 2100", { "retry-after": "Fri, 01 Jan 2100 00:00:00 GMT" }, 5 * MINUTE],
    ["for ever", { "retry-after": "Infinity" }, 5 * MINUTE],
    ["less than nothing", { "retry-after": "-1000000000" }, 0],
    ["nothing that is a number", { "retry-after": "soon" }, 0],
  ];
  for (const [name, headers, wait] of asks) {
    test(`${name}, reading`, async () => {
      const { asked, clock } = await reading();
      await asked[0].give(problem(503, "busy", headers));
      assert.deepEqual(clock.waits.filter((ms) => ms > 0 || !wait).slice(-1), [wait]);
      await clock.pass(wait);
      assert.equal(asked.length, 1);
    });
    test(`${name}, posting`, async () => {
      const { session, asked, clock } = posting();
      session.send("hello");
      await settled();
      await asked[0].give(problem(429, "busy", headers));
      assert.equal(clock.waits.at(-1), wait);
      await clock.pass(wait);
      assert.equal(asked.length, 1);
    });
  }
  for (const [asked_ms, wait] of [[1e12, 5 * MINUTE], [-1e12, 0], ["soon", 0], [null, 0], [{}, 0]]) {
    test(`closing with ${JSON.stringify(asked_ms)}`, async () => {
      const { asked, clock } = await reading();
      const stream = await asked[0].stream();
      stream.send("closing", { reason: "draining", retry_after_ms: asked_ms });
      stream.end();
      await settled();
      assert.equal(clock.waits.at(-1), wait);
    });
  }
  test("retry, with the random part too; and none that is too short", async () => {
    const { asked, clock } = await reading({ random: () => 1 });
    for (const [retry, wait] of [["9999999999", 5 * MINUTE + 30_000], ["1", 5000], ["9".repeat(400), 5 * MINUTE + 30_000]]) {
      const stream = await asked[0].stream();
      stream.raw(`retry: ${retry}\n\n`);
      stream.end();
      await settled();
      assert.equal(clock.waits.at(-1), wait);
      assert.ok(clock.waits.every((ms) => ms < TIMER_MS));
      await clock.pass(wait);
    }
  });
});

describe("closed, nothing goes on", () => {
  /** As a page does that gives its widget another visitor. */
  function visited(options) {
    const tokens = [];
    let token = "first";
    const credential = (ask) => (tokens.push([token, ask.refused]), token);
    const all = makeClient({ credential, ...options });
    const storage = makeStorage();
    const session = all.client.session({ create: { key: "first" }, storage });
    session.open();
    session.send("mine");
    return { ...all, session, storage, tokens, next: () => (session.close(), (token = "second")) };
  }

  test("while the session is made", async () => {
    const { asked, clock, tokens, next, session, storage } = visited();
    await settled();
    const { give } = asked[0];
    next();
    await give(json(201, { id: "s" }));
    await clock.pass(MINUTE);
    assert.deepEqual([asked.length, tokens.length, session.id, outbox(session)], [0, 1, undefined, [["mine", "waiting"]]]);
    assert.match([...storage.map.values()].join(), /mine/, "it is kept");
  });

  test("where it was to be asked for another credential", async () => {
    for (const hides of [false, true]) {
      const { asked, clock, tokens, next } = visited();
      await settled();
      const { give } = asked[0];
      if (hides) next();
      give(problem(401, "unauthorized"));
      if (!hides) next();
      await clock.pass(MINUTE);
      assert.deepEqual([asked.length, tokens.filter(([token]) => token === "second")], [0, []]);
    }
  });

  test("while the credential is waited for, and where it never comes", async () => {
    let give;
    const { asked, clock, next, session } = visited({ credential: () => new Promise((resolve) => (give = resolve)) });
    await settled();
    next();
    await settled();
    assert.deepEqual(outbox(session), [["mine", "waiting"]]);
    give("late");
    await clock.pass(MINUTE);
    assert.deepEqual([asked.length, clock.waits], [0, []]);
  });

  test("of what else it was asked", async () => {
    const { session, asked, clock } = await conversing();
    const asks = [session.decide("p", "deny"), session.cancel(), session.artifact("a"), session.create()];
    const ends = Promise.allSettled(asks);
    await settled();
    session.close();
    const said = (await ends).map(({ reason }) => reason?.code);
    assert.deepEqual([said, asked.length], [["closed", "closed", "closed", undefined], 0]);
    assert.deepEqual(clock.waits.filter((ms) => ms > 0), []);
  });

  test("and opened again at once it goes on, by the same key", async () => {
    const { session, asked } = posting();
    const { key } = session.send("hello");
    await settled();
    session.close();
    session.open();
    await settled();
    const [post, ...more] = posts(asked);
    assert.deepEqual([post.headers["idempotency-key"], more.length], [key, 0]);
    await post.give(accepted("m", 2));
    assert.deepEqual(outbox(session), [["hello", "sent"]]);
  });

  test("not even what it was asked for in the same moment", async () => {
    const { session, asked, clock } = posting();
    session.send("hello");
    session.close();
    await settled();
    assert.equal(asked.length, 0);
    await clock.pass(MINUTE);
    assert.deepEqual([asked.length, outbox(session)], [0, [["hello", "waiting"]]]);
  });

  test("and made again at once it is made", async () => {
    const { client, asked } = makeClient();
    const session = client.session({ create: {} });
    const before = assert.rejects(session.create(), { code: "closed" });
    await settled();
    session.close();
    const made = session.create();
    await before;
    const again = session.create();
    await settled();
    assert.equal(asked.length, 1, "and once");
    await asked[0].give(json(201, { id: "s" }));
    assert.deepEqual([await made, await again], ["s", "s"]);
  });
});

describe("no answer is waited for without end", () => {
  const calls = {
    decide: ({ session }) => session.decide("p", "deny"),
    answer: ({ session }) => session.answer("q", null),
    cancel: ({ session }) => session.cancel(),
    artifact: ({ session }) => session.artifact("a"),
    request: ({ client }) => client.request("GET", "/v1/sessions"),
  };
  const silent = (status) => new Response(new ReadableStream({}), { status });
  for (const [name, call] of Object.entries(calls)) {
    test(`${name}: neither its beginning, nor its end, nor a refusal's`, async () => {
      for (const begin of [() => {}, ({ give }) => give(silent(200)), ({ give }) => give(silent(500))]) {
        const all = posting();
        const done = assert.rejects(call(all), { name: "Problem", code: "unreachable", status: 0 });
        await settled();
        await begin(all.asked[0]);
        await all.clock.pass(30_000);
        await done;
        assert.deepEqual([all.asked.length, all.clock.waits], [0, []]);
      }
    });
  }

  test("older records", async () => {
    const all = await conversing({ history: 1 }, 3);
    const done = assert.rejects(all.session.earlier(), { name: "Problem", code: "unreachable" });
    await settled();
    await all.clock.pass(30_000);
    await done;
  });

  test("but what is long may take as long as it comes", async () => {
    const { session, asked, clock } = posting();
    const done = session.artifact("a");
    await settled();
    const body = new TransformStream();
    const writer = body.writable.getWriter();
    await asked[0].give(new Response(body.readable, { headers: { "content-type": "text/plain" } }));
    for (let i = 0; i < 5; i += 1) {
      writer.write(new Uint8Array([97 + i]));
      await clock.pass(25_000);
    }
    writer.close();
    const blob = await done;
    assert.deepEqual([await blob.text(), blob.type], ["abcde", "text/plain"]);
    assert.deepEqual(clock.waits, []);
  });

  test("a page's own signal still ends a request", async () => {
    const { client, asked, clock } = makeClient();
    const cut = new AbortController();
    const done = assert.rejects(client.request("GET", "/v1/sessions", { signal: cut.signal }), { code: "unreachable" });
    await settled();
    cut.abort();
    await done;
    assert.deepEqual([asked.length, clock.waits], [0, []]);
    await assert.rejects(client.request("GET", "/v1/sessions", { signal: cut.signal }), { code: "unreachable" });
    assert.equal(asked.length, 0);
  });

  test("a session's place, nor its stream's headers", async () => {
    const { client, asked, clock } = makeClient();
    const session = client.session({ id: "s" });
    session.open();
    await clock.pass(29_999);
    assert.equal(clock.waits[0], 1);
    const [first] = asked;
    await clock.pass(1);
    assert.notEqual(asked[0], first, "asked anew");
    await asked[0].give(json(200, { id: "s", head: 2 }));
    const [events] = asked;
    assert.match(events.path, /events$/);
    await clock.pass(50_000);
    assert.notEqual(asked[0], events);
    session.close();
  });
});

describe("a stream", () => {
  test("of many records lets the page have its turn", async () => {
    let now = 0;
    const breaths = [];
    const read = () => session.view.head;
    const host = { breathe: async () => void breaths.push(read()) };
    const all = makeClient();
    const client = new Portico({
      base: "http://gateway/",
      host: {
        ...host,
        fetch: async (url) => (/events/.test(url) ? new Response(`${many(1000)}`) : json(200, { id: "s", head: 1000 })),
        now: () => now,
        setTimeout: (act, ms) => all.clock.set(act, ms),
        clearTimeout: (id) => all.clock.clear(id),
      },
    });
    const session = client.session({ id: "s", history: 0 });
    session.onEvent(() => (now += 1));
    session.open();
    await settled();
    assert.equal(session.view.head, 1000);
    assert.ok(breaths.length >= 80 && breaths.length <= 100, `${breaths.length} breaths`);
    session.close();
  });

  test("that is closed while the page has its turn is read no further", async () => {
    let now = 0;
    let session;
    const all = makeClient();
    const client = new Portico({
      base: "http://gateway/",
      host: {
        fetch: async (url) => (/events/.test(url) ? new Response(many(100)) : json(200, { id: "s", head: 100 })),
        now: () => now,
        breathe: async () => session.close(),
        setTimeout: (act, ms) => all.clock.set(act, ms),
        clearTimeout: (id) => all.clock.clear(id),
      },
    });
    session = client.session({ id: "s", history: 0 });
    session.onEvent(() => (now += 1));
    session.open();
    await settled();
    assert.ok(session.view.head > 0 && session.view.head < 20, `${session.view.head}`);
  });

  /** How long it waits after each of the connections that bring this. */
  async function waitsAfter(times, bring) {
    const { asked, clock } = await reading({ random: () => 1 });
    const waits = [];
    for (let i = 0; i < times; i += 1) {
      const stream = await asked[0].stream();
      bring(stream, i);
      stream.end();
      await settled();
      waits.push(clock.waits.at(-1));
      await clock.pass(waits.at(-1));
    }
    return waits;
  }

  test("that moves nothing forward is asked for less and less", async () => {
    const grows = [2000, 4000, 8000, 16_000, 30_000];
    const refused = (stream) => stream.raw('id: 7\nevent: message\ndata: {"seq":7,"content":null}\n\n');
    assert.deepEqual(await waitsAfter(5, refused), grows, "what cannot be taken");
    const garbage = (stream, i) => stream.raw(`id: x${i}\nevent: message\ndata: {{{\n\n`);
    assert.deepEqual(await waitsAfter(5, garbage), grows, "what names no place");
    const again = (stream) => stream.record(2, "session_updated", { title: "t" });
    assert.deepEqual((await waitsAfter(6, again)).slice(1), grows, "what came before");
  });

  test("that moves forward, be it in the live text, is a good one", async () => {
    const live = (stream, i) => stream.send("text_delta", { message_id: "m", block: 0, text: "x" }, `2.${i + 9}`);
    assert.deepEqual(await waitsAfter(3, live), [1000, 1000, 1000]);
  });
});

const many = (count) =>
  Array.from({ length: count }, (_, i) => `event: session_updated\nid: ${i + 1}\ndata: {"seq":${i + 1},"title":"t"}\n\n`).join("");
