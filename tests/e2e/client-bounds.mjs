// What the client does not do, whatever a server, a network or a page does to it: ask without end, wait without end, follow elsewhere,
// believe a stranger, or go on after it was closed.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { afterEach, describe, test } from "node:test";
import { Portico } from "../../static/client.js";
import { accepted, conversing, html, json, makeClient, makeStorage, outbox, posting, posts, problem, settled } from "./fakes.mjs";

/** A timer takes no more: it comes at once then. */
const TIMER_MS = 2 ** 31 - 1;
const MINUTE = 60_000;

/** A session that reads, at its first connection. */
async function reading(options = {}) {
  const all = makeClient(options);
  const session = all.client.session({ id: "s" });
  session.open();
  await settled();
  await all.asked[0].give(json(200, { id: "s", head: 2 }));
  return { ...all, session };
}

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

  test("and made again at once it is made", async () => {
    const { client, asked } = makeClient();
    const session = client.session({ create: {} });
    const before = assert.rejects(session.create(), { code: "closed" });
    await settled();
    session.close();
    const made = session.create();
    await before;
    await settled();
    assert.equal(asked.length, 1);
    await asked[0].give(json(201, { id: "s" }));
    assert.equal(await made, "s");
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

describe("a stranger is not believed", () => {
  const calls = [
    (session) => session.decide("p", "allow_once"),
    (session) => session.answer("q", null),
    (session) => session.cancel(),
  ];
  test("a page to log in, another's JSON and nothing at all are no decision", async () => {
    for (const call of calls)
      for (const answer of [html(), json(200, {}), json(200, "approval_id"), json(200, null), new Response(null, { status: 204 })]) {
        const { session, asked } = posting();
        const done = assert.rejects(call(session), { name: "Problem", code: "unreadable" });
        await settled();
        await asked[0].give(answer);
        await done;
      }
  });

  test("an id that can be none is no session", async () => {
    const { client, asked } = makeClient();
    for (const id of ["..", "a/b", "", 7, null]) {
      const done = assert.rejects(client.session({ create: {} }).create(), { name: "Problem", code: "unreadable" });
      await settled();
      await asked[0].give(json(201, { id }));
      await done;
    }
  });

  test("what an acceptance says beside its name changes nothing", async () => {
    const { session, asked, clock } = posting();
    session.send("hello");
    await settled();
    await asked[0].give(json(202, { message_id: "m", seq: 2, state: "waiting", text: "other", key: "k" }));
    await clock.pass(MINUTE);
    assert.deepEqual([asked.length, outbox(session)], [0, [["hello", "sent"]]]);
  });
});

describe("nothing is followed elsewhere", () => {
  let servers = [];
  afterEach(() => servers.splice(0).forEach((server) => (server.closeAllConnections(), server.close())));
  async function serve(answer) {
    const server = http.createServer(answer).listen(0, "127.0.0.1");
    servers.push(server);
    await once(server, "listening");
    return `http://127.0.0.1:${server.address().port}`;
  }

  test("no message goes to where the server sends it, and a Problem says why", async () => {
    let strangers = 0;
    const elsewhere = await serve((request, response) => ((strangers += 1), response.end('{"id":"x","head":1}')));
    for (const status of [301, 302, 303, 307, 308]) {
      const base = await serve((request, response) => response.writeHead(status, { location: elsewhere + request.url }).end());
      const client = new Portico({ base, credential: () => "secret" });
      const session = client.session({ id: "s" });
      const asks = [client.session({ create: {} }).create(), session.cancel(), session.artifact("a"), client.request("GET", "/v1/sessions")];
      for (const { reason } of await Promise.allSettled(asks)) {
        assert.deepEqual([reason?.name, reason?.code], ["Problem", "unreadable"]);
        assert.match(reason.message, /redirect/);
      }
      session.close();
    }
    assert.equal(strangers, 0);
  });

  test("a browser tells only that there was one", async () => {
    const { session, asked } = posting();
    const done = assert.rejects(session.cancel(), { code: "unreadable", message: /redirect/ });
    await settled();
    const { give } = asked[0];
    await give({ ok: false, status: 0, type: "opaqueredirect", headers: new Headers(), json: async () => null });
    await done;
  });
});

describe("no id leads out of its place", () => {
  const ids = ["..", ".", "a/b", "%2e%2e", "a b", "ä", "a?b", "", 7, null, {}];
  test("a session's: closed without a request, and its messages refused", async () => {
    for (const id of ids.filter((one) => one && one !== "")) {
      const { client, asked, clock } = makeClient();
      const session = client.session({ id });
      session.open();
      session.send("hello");
      await clock.pass(MINUTE);
      const { state, reason, problem: why } = session.connection;
      assert.deepEqual([asked.length, state, reason, why?.code], [0, "closed", "refused", "not_found"], String(id));
      assert.deepEqual(outbox(session), [["hello", "refused"]]);
    }
  });

  test("an approval's, a question's, an artifact's", async () => {
    const { session, asked } = posting();
    for (const id of ids)
      for (const ask of [session.decide(id, "deny"), session.answer(id, null), session.artifact(id)])
        await assert.rejects(ask, { name: "Problem", code: "not_found" });
    assert.equal(asked.length, 0);
  });

  test("nor a path", async () => {
    const asked = [];
    const host = { fetch: async (url) => (asked.push(String(url)), json(200, {})) };
    const client = new Portico({ base: "http://gateway/under/", host });
    for (const path of ["../v1/sessions", "//elsewhere/x", "///elsewhere/x", "http://elsewhere/x", "/\\elsewhere/x", "v1/../../x"])
      await assert.rejects(client.request("GET", path), { name: "Problem", code: "not_found" }, path);
    assert.deepEqual(asked, []);
    await client.request("GET", "/v1/sessions?limit=1");
    assert.deepEqual(asked, ["http://gateway/under/v1/sessions?limit=1"]);
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

describe("what a page has put into Object.prototype", () => {
  const names = [];
  const pollute = (values) => {
    for (const [name, value] of Object.entries(values)) {
      names.push(name);
      Object.defineProperty(Object.prototype, name, { value, configurable: true, writable: true, enumerable: false });
    }
  };
  afterEach(() => names.splice(0).forEach((name) => delete Object.prototype[name]));

  test("is no option", async () => {
    const inits = [];
    const fetch = async (url, init) => (inits.push([new URL(url).pathname, init]), json(201, { id: "made", message_id: "m", seq: 2 }));
    pollute({ id: "theirs", mode: "steer", create: { key: "theirs", title: "theirs" }, credential: () => "theirs", view: "admin", seq: 1 });
    const session = new Portico({ base: "http://gateway/", host: { fetch } }).session();
    assert.equal(session.id, undefined);
    assert.equal(session.send("hello").mode, undefined);
    await settled();
    const bodies = inits.map(([path, { body }]) => [path, body]);
    assert.deepEqual(bodies, [
      ["/v1/sessions", "{}"],
      ["/v1/sessions/made/messages", '{"text":"hello"}'],
    ]);
    for (const [, init] of inits) {
      assert.equal(init.mode, undefined, "nor of fetch");
      assert.equal(new Headers(init.headers).get("authorization"), null);
      assert.notEqual(init.headers["idempotency-key"], "theirs");
    }
    session.close();
  });

  test("is nothing that was kept", async () => {
    const storage = makeStorage();
    storage.setItem("portico.outbox.http://gateway/.s", JSON.stringify([{}, { key: "k", text: "mine" }, { key: "only" }]));
    pollute({ key: "theirs", text: "theirs", mode: "steer", why: { message: "theirs" }, message_id: "x", isTaken: true });
    const { session, asked } = posting({ storage });
    assert.deepEqual(session.outbox.length, 1);
    session.open();
    await settled();
    const sent = posts(asked).map(({ headers, body }) => [headers["idempotency-key"], JSON.stringify(body)]);
    assert.deepEqual(sent, [["k", '{"text":"mine"}']]);
    session.close();
  });

  test("is no field of a frame, and no end of a stream", async () => {
    pollute({ data: "{}", final: { reason: "ended" }, event: "reset", floor: 1e12 });
    const { session, asked, clock } = await reading();
    const stream = await asked[0].stream();
    stream.raw("id: 1\n\n");
    stream.record(2, "session_updated", { title: "t" });
    stream.end();
    await settled();
    assert.deepEqual([session.connection.state, session.view.title, clock.waits.at(-1)], ["waiting", "t", 0]);
    session.close();
  });
});

describe("a storage that has somebody else's JSON", () => {
  const strange = [
    ["a", "b"],
    [null, 1, true, [], {}],
    { key: "k", text: "t" },
    "text",
    42,
    null,
    [{ key: 1, text: "t" }, { key: "k", text: 2 }, { key: "k" }, { text: "t" }],
    [{ key: "", text: "t" }, { key: "a\nb", text: "t" }, { key: "ä", text: "t" }, { key: "k".repeat(256), text: "t" }],
    Array.from({ length: 50_000 }, (_, i) => ({ name: `n${i}`, text: "t", key: null })),
    { length: 1e9, 0: { key: "k", text: "t" } },
  ];
  const texts = [...strange.map((one) => JSON.stringify(one)), "[".repeat(100_000), "", "undefined", new Date(), Symbol("s"), Promise.resolve()];
  test("is one without messages, and takes them", async () => {
    for (const text of texts) {
      const storage = { ...makeStorage(), getItem: () => text };
      const { session, asked, clock } = posting({ storage });
      session.open();
      await clock.pass(MINUTE);
      assert.deepEqual([posts(asked).length, session.outbox.length], [0, 0]);
      session.send("mine");
      await settled();
      assert.equal(posts(asked)[0].body.text, "mine");
      await posts(asked)[0].give(accepted("m", 2));
      session.close();
    }
  });

  test("gives no message more than it is", async () => {
    const storage = makeStorage();
    const name = "portico.outbox.http://gateway/.s";
    const odd = { state: "sent", message_id: "x", seq: 1, mode: { a: 1 }, isTaken: true, problem: 1 };
    const kept = [
      { key: "k", text: "one", ...odd },
      { key: "k", text: "again" },
      { key: "r", text: "no", why: { message: "No", status: 403, stack: 1, name: "x" } },
      { key: "w", text: "why", why: "text" },
    ];
    storage.setItem(name, JSON.stringify(kept));
    const { session, asked, clock } = posting({ storage });
    const states = [
      ["again", "waiting"],
      ["no", "refused"],
      ["why", "waiting"],
    ];
    assert.deepEqual([outbox(session), session.outbox[1].problem.name, session.outbox[1].problem.status], [states, "Problem", 403]);
    session.open();
    await settled();
    await posts(asked)[0].give(accepted("m1", 2));
    assert.deepEqual(posts(asked)[0].body, { text: "why" });
    await posts(asked)[0].give(accepted("m2", 3));
    await clock.pass(MINUTE);
    assert.equal(posts(asked).length, 0, "each is posted once");
    session.close();
  });
});
