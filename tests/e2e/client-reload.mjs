// What the client keeps of unsent messages over a reload, and between tabs.

import assert from "node:assert/strict";
import { test } from "node:test";
import { accepted, conversing, json, makeClient, makeStorage, outbox, posting, posts, problem, settled } from "./fakes.mjs";

test("what was not accepted is posted by the same key, and what was accepted is not kept", async () => {
  const storage = makeStorage();
  const before = posting({ storage });
  const keys = ["one", "two", "three"].map((text) => before.session.send(text).key);
  await settled();
  await before.asked[0].give(accepted("m1", 2));
  assert.equal(before.asked[0].body.text, "two", "in mid-post");
  const { session, asked, clock } = posting({ storage });
  assert.deepEqual(outbox(session), [
    ["two", "waiting"],
    ["three", "waiting"],
  ]);
  assert.equal(asked.length, 0);
  session.open();
  await settled();
  assert.equal(posts(asked)[0].headers["idempotency-key"], keys[1]);
  await posts(asked)[0].give(accepted("m2", 3));
  await posts(asked)[0].give(accepted("m3", 4));
  await clock.pass(0);
  assert.equal(storage.map.size, 0);
});

test("a refused one stays refused, with its reason", async () => {
  const storage = makeStorage();
  const before = posting({ storage });
  before.session.send("no");
  await settled();
  await before.asked[0].give(problem(403, "forbidden"));
  const { session, asked } = posting({ storage });
  session.open();
  await settled();
  assert.deepEqual([posts(asked).length, outbox(session)], [0, [["no", "refused"]]]);
  const { problem: why } = session.outbox[0];
  assert.deepEqual([why.name, why.status, why.code, why.message], ["Problem", 403, "forbidden", "no: forbidden"]);
});

test("before there is a session too, and then under its name", async () => {
  const storage = makeStorage();
  const create = { channel: "web", key: "visitor" };
  const before = makeClient();
  before.client.session({ storage, create }).send("hello");
  await settled();
  const after = makeClient();
  const session = after.client.session({ storage, create });
  assert.deepEqual(outbox(session), [["hello", "waiting"]]);
  session.open();
  await settled();
  await after.asked[0].give(json(201, { id: "s" }));
  assert.deepEqual([...storage.map.keys()], ["portico.outbox.http://gateway/.s"]);
  assert.deepEqual(outbox(after.client.session({ id: "s", storage })), [["hello", "waiting"]]);
});

test("two tabs keep each other's messages", async () => {
  const storage = makeStorage();
  const [a, b] = [posting({ storage }), posting({ storage })];
  a.session.send("from a");
  b.session.send("from b");
  await settled();
  const c = posting({ storage });
  assert.deepEqual(
    outbox(c.session).map(([text]) => text),
    ["from a", "from b"],
  );
  await a.asked[0].give(accepted("m1", 2));
  assert.deepEqual(outbox(posting({ storage }).session), [["from b", "waiting"]]);
  c.session.open();
  await settled();
  assert.equal(posts(c.asked)[0].headers["idempotency-key"], b.session.outbox[0].key, "and where both post one, it is by one key");
  assert.deepEqual(outbox(c.session), [["from b", "sending"]], "what another has posted is the stream's to bring");
});

test("what one tab drops no other posts that has found it, not even in mid-post", async () => {
  const storage = makeStorage();
  const gone = posting({ storage });
  const keys = ["one", "two"].map((text) => gone.session.send(text).key);
  gone.session.close();
  const [a, b] = [posting({ storage }), posting({ storage })];
  a.session.discard(keys[0]);
  b.session.open();
  await settled();
  assert.deepEqual([posts(b.asked).map(({ body }) => body.text), outbox(b.session)], [["two"], [["two", "sending"]]]);
  a.session.discard(keys[1]);
  await posts(b.asked)[0].fail();
  await b.clock.pass(0);
  assert.deepEqual([posts(b.asked), b.session.outbox, storage.map.size], [[], [], 0]);
});

test("nor does one that finds the session only now", async () => {
  const storage = makeStorage();
  const create = { channel: "web", key: "visitor" };
  const gone = makeClient();
  const keys = ["one", "two"].map((text) => gone.client.session({ storage, create }).send(text).key);
  const tabs = [makeClient(), makeClient()].map((all) => ({ ...all, session: all.client.session({ storage, create }) }));
  tabs[0].session.discard(keys[0]);
  for (const { session, asked } of tabs) {
    session.open();
    await settled();
    await posts(asked)[0].give(json(201, { id: "s" }));
  }
  assert.deepEqual(
    tabs.map(({ asked }) => posts(asked).map(({ body, headers }) => [body.text, headers["idempotency-key"]])),
    [[["two", keys[1]]], [["two", keys[1]]]],
  );
});

test("who asks for a message again means it, whatever another tab did", async () => {
  const storage = makeStorage();
  const before = posting({ storage });
  const { key } = before.session.send("no");
  await settled();
  await before.asked[0].give(problem(403, "forbidden"));
  const [a, b] = [posting({ storage }), posting({ storage })];
  a.session.discard(key);
  b.session.retry(key);
  await settled();
  assert.deepEqual(posts(b.asked)[0].body.text, "no");
});

test("an id that was kept, and a storage, are enough after a reload", async () => {
  const storage = makeStorage();
  const before = makeClient();
  const session = before.client.session({ create: { channel: "web" }, storage });
  for (const text of ["one", "two"]) session.send(text);
  await settled();
  await before.asked[0].give(json(201, { id: "s" }));
  await before.asked[0].give(accepted("m1", 2));
  const after = posting({ id: session.id, storage });
  after.session.open();
  await settled();
  assert.deepEqual([outbox(after.session), posts(after.asked)[0].body], [[["two", "sending"]], { text: "two" }]);
});

test("two tabs that said the same, and were closed, said it twice", async () => {
  const storage = makeStorage();
  for (const { session } of [posting({ storage }), posting({ storage })]) session.send("yes");
  await settled();
  const { session, stream } = await conversing({ storage });
  stream.record(2, "message_queued", { message_id: "m2", text: "yes" });
  await settled();
  assert.equal(session.outbox.length, 1);
  stream.record(3, "message_queued", { message_id: "m3", text: "yes" });
  await settled();
  assert.equal(session.outbox.length, 0);
});

test("a storage that fails is none", async () => {
  const fails = () => {
    throw new Error("quota");
  };
  for (const storage of [
    { getItem: fails, setItem: fails, removeItem: fails },
    { ...makeStorage(), getItem: () => "no JSON" },
    { ...makeStorage(), getItem: () => "{}" },
  ]) {
    const { session, asked } = posting({ storage });
    session.send("hello");
    await settled();
    await asked[0].give(accepted("m", 2));
    assert.deepEqual(outbox(session), [["hello", "sent"]]);
  }
  const storage = makeStorage();
  posting({ storage }).session.send("found");
  const { session, asked } = posting({ storage });
  storage.getItem = fails;
  session.open();
  await settled();
  assert.equal(posts(asked)[0].body.text, "found", "what cannot be looked up is not taken to be gone");
});

test("one that waits after a failure waits after a reload too, and says why", async () => {
  const storage = makeStorage();
  const before = posting({ storage });
  before.session.send("hello");
  await settled();
  await before.asked[0].fail();
  before.session.close();
  const { session, asked } = posting({ storage });
  assert.deepEqual([outbox(session), session.outbox[0].problem.code], [[["hello", "waiting"]], "unreachable"]);
  session.open();
  await settled();
  assert.equal(posts(asked)[0].body.text, "hello");
});
