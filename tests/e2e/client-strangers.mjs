// Whom the client does not believe: a portal's page, an address elsewhere, an id that is none, what others have put into the page's
// prototypes or its storage.

import assert from "node:assert/strict";
import { once } from "node:events";
import http from "node:http";
import { afterEach, describe, test } from "node:test";
import { Portico } from "../../static/client.js";
import { accepted, html, json, makeClient, makeStorage, outbox, posting, posts, reading, settled } from "./fakes.mjs";

const MINUTE = 60_000;

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
      const made = client.session({ create: {} }).create();
      const asks = [made, session.cancel(), session.artifact("a"), client.request("GET", "/v1/sessions")];
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

  test("is no way to make one, and no answer", async () => {
    pollute({ key: "theirs", removed: [] });
    const made = makeClient();
    made.client.session({ create: {} }).create();
    await settled();
    assert.notEqual(made.asked[0].headers["idempotency-key"], "theirs");
    const { session, asked } = posting();
    const done = assert.rejects(session.cancel(), { code: "unreadable" });
    await settled();
    await asked[0].give(json(200, {}));
    await done;
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
    pollute({ data: "{}", final: { reason: "ended" }, event: "reset", floor: 1e12, id: "9", channel: "theirs" });
    const { session, asked, clock } = await reading();
    const stream = await asked[0].stream();
    stream.raw("id: 1\n\n");
    stream.record(2, "session_created", { title: "t" });
    stream.hello();
    stream.end();
    await settled();
    assert.deepEqual([session.connection.state, session.view.title, clock.waits.at(-1)], ["waiting", "t", 0]);
    assert.deepEqual([session.view.last_id, Object.hasOwn(session.view, "channel")], ["2", false]);
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
  const texts = [...strange.map((one) => JSON.stringify(one)), "[".repeat(100_000), "", "undefined", new Date(), Symbol("s"), {}];
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
      { key: "r", text: "no", state: "refused", why: { message: "No", status: 403, stack: 1, name: "x" } },
      { key: "w", text: "why", why: "text", ...odd },
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
