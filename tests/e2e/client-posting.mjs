// How the client posts: in order, once, whatever is lost on the way, and never shown twice or not at all.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { accepted, conversing, json, makeClient, outbox, posting, posts, problem, settled } from "./fakes.mjs";

const PATH = "/v1/sessions/s/messages";

describe("on the way", () => {
  test("in order, one at a time", async () => {
    const { session, asked, clock } = posting();
    const [first] = ["one", "two"].map((text) => session.send(text));
    assert.equal(session.outbox, session.outbox, "the same list until it changes");
    assert.deepEqual([first.state, first.text], ["waiting", "one"]);
    session.send("three", { mode: "followup" });
    await settled();
    assert.deepEqual(
      [asked.length, asked[0].path, asked[0].body, asked[0].headers["idempotency-key"]],
      [1, PATH, { text: "one" }, first.key],
    );
    assert.deepEqual(outbox(session), [
      ["one", "sending"],
      ["two", "waiting"],
      ["three", "waiting"],
    ]);
    await asked[0].give(accepted("m1", 2));
    assert.deepEqual([asked.length, asked[0].body], [1, { text: "two" }]);
    await asked[0].give(accepted("m2", 3));
    assert.deepEqual(asked[0].body, { text: "three", mode: "followup" });
    await asked[0].give(accepted("m3", 4));
    assert.deepEqual(outbox(session), [
      ["one", "sent"],
      ["two", "sent"],
      ["three", "sent"],
    ]);
    assert.deepEqual(
      clock.waits.filter((ms) => ms > 0),
      [],
      "nobody waits for an answer any more",
    );
  });

  test("what may pass is waited for, and repeated by the same key", async () => {
    const { session, asked, clock } = posting({}, { random: () => 1 });
    const { key } = session.send("hello");
    await settled();
    const tries = [
      [(post) => post.fail(), 2000],
      [(post) => post.give(problem(408, "timeout")), 4000],
      [(post) => post.give(problem(429, "queue_full", { "retry-after": "60" })), 68_000],
      [(post) => post.give(problem(500, "internal")), 16_000],
      [(post) => post.give(new Response("<p>Log in</p>", { headers: { "content-type": "text/html" } })), 30_000],
      [(post) => post.give(json(200, { hello: "there" })), 30_000],
      [() => clock.pass(30_000), 30_000],
    ];
    for (const [meets, wait] of tries) {
      assert.equal(asked[0].headers["idempotency-key"], key);
      await meets(asked[0]);
      assert.deepEqual([asked.length, outbox(session)], [0, [["hello", "waiting"]]]);
      await clock.pass(wait - 1);
      assert.equal(asked.length, 0);
      await clock.pass(1);
      assert.equal(asked.length, 1);
    }
  });

  test("at once when the network is back", async () => {
    const { session, asked, wake } = posting({}, { random: () => 1 });
    session.send("hello");
    await settled();
    await asked[0].fail();
    await wake();
    assert.equal(asked.length, 1);
    await asked[0].fail();
    session.open();
    await settled();
    await asked[0].give(json(200, { id: "s", head: 1 }));
    (await asked[0].stream()).hello();
    await settled();
    assert.equal(posts(asked).length, 1, "a stream that opens tells so too");
  });

  test("a refusal keeps the message, says why, and holds up nobody", async () => {
    const { session, asked } = posting();
    const { key } = session.send("too long");
    session.send("short");
    await settled();
    await asked[0].give(problem(413, "body_too_large"));
    assert.deepEqual([session.outbox[0].state, session.outbox[0].problem.code, asked[0].body.text], ["refused", "body_too_large", "short"]);
    await asked[0].give(accepted("m", 2));
    session.retry(key);
    await settled();
    assert.deepEqual([asked[0].headers["idempotency-key"], "problem" in session.outbox[0]], [key, false]);
    await asked[0].give(problem(413, "body_too_large"));
    session.discard(key);
    assert.deepEqual(outbox(session), [["short", "sent"]]);
  });

  test("401 is tried once more with a fresh credential", async () => {
    let refusals = 0;
    const { session, asked } = posting({}, { credential: ({ refused }) => (refused && (refusals += 1), `t${refusals}`) });
    session.send("hello");
    await settled();
    await asked[0].give(problem(401, "unauthorized"));
    assert.equal(asked[0].headers.authorization, "Bearer t1");
    await asked[0].give(problem(401, "unauthorized"));
    assert.deepEqual(outbox(session), [["hello", "refused"]]);
  });

  test("a message that waits says why", async () => {
    const { session, asked, clock } = posting();
    session.send("hello");
    await settled();
    await asked[0].give(problem(503, "store_unavailable"));
    const [waiting] = session.outbox;
    assert.deepEqual([waiting.state, waiting.problem.code], ["waiting", "store_unavailable"]);
    await clock.pass(0);
    assert.deepEqual([session.outbox[0].state, "problem" in session.outbox[0]], ["sending", false]);
    await asked[0].give(accepted("m", 2));
    assert.deepEqual([session.outbox[0].state, "problem" in session.outbox[0]], ["sent", false]);
  });

  test("a credential that fails, or is never said, is a problem of its own, and is asked for again", async () => {
    const cause = new Error("the page's own");
    const says = [() => Promise.reject(cause), () => new Promise(() => {}), () => "token"];
    const all = posting({}, { credential: () => says.shift()(), random: () => 1 });
    all.session.send("hello");
    await settled();
    const [{ state, problem: why }] = all.session.outbox;
    assert.deepEqual([all.asked.length, state, why.name, why.status, why.code, why.cause], [0, "waiting", "Problem", 0, "credential", cause]);
    await all.clock.pass(2000 + 29_999);
    assert.equal(all.session.outbox[0].state, "sending");
    await all.clock.pass(1);
    assert.deepEqual([all.session.outbox[0].state, all.session.outbox[0].problem.code], ["waiting", "credential"]);
    await all.clock.pass(4000);
    assert.equal(all.asked[0].headers.authorization, "Bearer token");
    await all.asked[0].give(accepted("m", 2));
    assert.deepEqual(all.clock.waits.filter((ms) => ms > 0), []);
  });

  test("what is no text is the caller's mistake", () => {
    const { session } = posting();
    for (const none of [undefined, null, 7, { text: "hello" }]) assert.throws(() => session.send(none), TypeError);
    assert.deepEqual(session.outbox, []);
  });

  test("what is on its way is not dropped, and closing keeps what waits for the next opening", async () => {
    const { session, asked, clock } = posting();
    const { key } = session.send("one");
    session.send("two");
    await settled();
    session.discard(key);
    assert.equal(session.outbox.length, 2);
    session.close();
    await clock.pass(100_000);
    assert.deepEqual(
      [asked.length, outbox(session)],
      [
        0,
        [
          ["one", "waiting"],
          ["two", "waiting"],
        ],
      ],
    );
    session.retry("no such key");
    session.send("three");
    await settled();
    assert.deepEqual([asked[0].body.text, asked[0].headers["idempotency-key"]], ["one", key]);
  });
});

describe("the session itself", () => {
  test("is made by the first message, by its key, as often as that takes", async () => {
    const all = makeClient();
    const session = all.client.session({ create: { channel: "web", title: "Shop", key: "visitor" } });
    session.open();
    await settled();
    assert.deepEqual([all.asked.length, session.connection.state, session.id], [0, "idle", undefined]);
    session.send("hello");
    await settled();
    await all.asked[0].fail();
    await all.clock.pass(0);
    const { path, body, headers } = all.asked[0];
    assert.deepEqual([path, body, headers["idempotency-key"]], ["/v1/sessions", { channel: "web", title: "Shop" }, "visitor"]);
    await all.asked[0].give(json(201, { id: "s", head: 1 }));
    assert.deepEqual([session.id, all.asked.map((one) => one.path).sort()], ["s", ["/v1/sessions/s", PATH]]);
    assert.equal(session.connection.state, "connecting");
  });

  test("is made once, however many ask for it", async () => {
    const all = makeClient();
    const session = all.client.session({ create: {} });
    const made = Promise.all([session.create(), session.create()]);
    await settled();
    assert.equal(all.asked.length, 1);
    await all.asked[0].give(json(201, { id: "s" }));
    assert.deepEqual(await made, ["s", "s"]);
    assert.equal(await session.create(), "s");
    await assert.rejects(all.client.session().cancel(), { name: "Problem", code: "not_found" });
  });
});

describe("a message stands in one place", () => {
  /** What a page shows of `text` at each of its drawings. */
  function watch({ session, clock }, text) {
    const counts = [];
    const count = () => [...session.view.items, ...session.outbox].filter((one) => one.text === text).length;
    session.subscribe(() => counts.push(count()));
    return async () => (await clock.pass(0), counts.push(count()), counts);
  }

  test("where its record comes before its 202", async () => {
    const all = await conversing();
    const seen = watch(all, "hello");
    all.session.send("hello");
    await all.clock.pass(0);
    all.stream.record(2, "message_queued", { message_id: "m", text: "hello" });
    await all.clock.pass(0);
    assert.deepEqual(outbox(all.session), []);
    await posts(all.asked)[0].give(accepted("m", 2));
    assert.deepEqual(new Set(await seen()), new Set([1]));
    assert.deepEqual(outbox(all.session), []);
  });

  test("where its 202 comes before its record", async () => {
    const all = await conversing();
    const seen = watch(all, "hello");
    all.session.send("hello");
    await all.clock.pass(0);
    await posts(all.asked)[0].give(accepted("m", 2));
    await all.clock.pass(0);
    assert.deepEqual([outbox(all.session), all.session.outbox[0].message_id], [[["hello", "sent"]], "m"]);
    all.stream.record(2, "message_queued", { message_id: "m", text: "hello" });
    assert.deepEqual(new Set(await seen()), new Set([1]));
  });

  test("where its 202 is lost, and its record is older than a repeat", async () => {
    const all = await conversing();
    const seen = watch(all, "hello");
    all.session.send("hello");
    await all.clock.pass(0);
    await posts(all.asked)[0].fail();
    all.stream.record(2, "message_queued", { message_id: "m", text: "hello" });
    await all.clock.pass(0);
    await posts(all.asked)[0].give(accepted("m", 2));
    assert.deepEqual(new Set(await seen()), new Set([1]));
  });

  test("where somebody else has just said the same, each is there in the end", async () => {
    const all = await conversing();
    all.session.send("yes");
    all.session.send("yes");
    await settled();
    all.stream.record(2, "message_queued", { message_id: "theirs", text: "yes" });
    await settled();
    assert.deepEqual(outbox(all.session), [["yes", "waiting"]], "the oldest that may have arrived is taken to be it");
    await posts(all.asked)[0].give(accepted("mine", 3));
    assert.deepEqual(outbox(all.session), [
      ["yes", "sent"],
      ["yes", "sending"],
    ]);
    all.stream.record(3, "message_queued", { message_id: "mine", text: "yes" });
    await settled();
    assert.deepEqual(outbox(all.session), [["yes", "sending"]]);
    all.session.send("no");
    all.stream.record(4, "message_queued", { message_id: "theirs too", text: "no" });
    await settled();
    assert.deepEqual(
      outbox(all.session),
      [
        ["yes", "sending"],
        ["no", "waiting"],
      ],
      "what was not posted cannot have arrived",
    );
  });

  test("where it says what was said before", async () => {
    const all = await conversing({}, 3);
    all.stream.record(2, "message_queued", { message_id: "old", text: "yes" });
    await settled();
    all.session.send("yes");
    await settled();
    all.session.close();
    all.session.open();
    await settled();
    const again = await all.asked.find(({ path }) => path.endsWith("/events")).stream();
    again.record(2, "message_queued", { message_id: "old", text: "yes" });
    await settled();
    assert.deepEqual(outbox(all.session), [["yes", "sending"]]);
  });

  test("where it says what was said before, and is sent before anything was heard", async () => {
    const all = posting();
    all.session.open();
    all.session.send("yes");
    await settled();
    const get = () => all.asked.find(({ method }) => method === "GET");
    await get().give(json(200, { id: "s", head: 2 }));
    const stream = await get().stream();
    stream.hello({ head: 2 });
    stream.record(2, "message_queued", { message_id: "old", text: "yes" });
    await settled();
    assert.deepEqual(outbox(all.session), [["yes", "sending"]]);
    stream.record(3, "message_queued", { message_id: "mine", text: "yes" });
    await settled();
    assert.deepEqual(outbox(all.session), []);
  });

  test("where its 202 is lost with the connection, and its record is in the next replay", async () => {
    const all = await conversing();
    all.session.send("hello");
    await settled();
    await posts(all.asked)[0].fail();
    all.stream.cut();
    await all.clock.pass(0);
    const again = await all.asked.find(({ method }) => method === "GET").stream();
    again.hello({ head: 2 });
    again.record(2, "message_queued", { message_id: "m", text: "hello" });
    await settled();
    assert.deepEqual(outbox(all.session), []);
  });

  test("where it says what is still to come of the replay", async () => {
    const all = await conversing({}, 2);
    all.session.send("yes");
    await settled();
    all.stream.record(2, "message_queued", { message_id: "old", text: "yes" });
    await settled();
    assert.deepEqual(outbox(all.session), [["yes", "sending"]]);
  });

  test("where it was taken back, or stands in front of what is loaded", async () => {
    const all = await conversing();
    all.session.send("hello");
    await settled();
    all.stream.record(2, "message_queued", { message_id: "m", text: "hello" });
    all.stream.record(3, "message_removed", { message_id: "m", reason: "cancelled" });
    await posts(all.asked)[0].give(accepted("m", 2));
    assert.deepEqual([all.session.outbox, all.session.view.items], [[], []]);
  });
});

describe("deciding", () => {
  test("sends the digest of what was shown; answers and cancels as the contract says", async () => {
    const { session, asked, stream } = await conversing();
    stream.record(2, "approval_requested", {
      approval_id: "p",
      tool_call_id: "c",
      tool: "t",
      args: {},
      digest: "d",
      decisions: [],
      expires_at: "x",
    });
    await settled();
    const calls = [
      [() => session.decide("p", "deny", "why"), "approvals/p", { decision: "deny", note: "why", digest: "d" }, { approval_id: "p" }],
      [
        () => session.answer("q", [{ id: "1", selected: [] }]),
        "questions/q",
        { answers: [{ id: "1", selected: [] }] },
        { question_id: "q" },
      ],
      [() => session.answer("q", null), "questions/q", { declined: true }, { question_id: "q" }],
      [() => session.cancel(), "cancel", {}, { removed: [] }],
      [() => session.cancel({ keep_queue: true }), "cancel", { keep_queue: true }, { removed: [] }],
    ];
    for (const [act, path, body, answer] of calls) {
      const done = act();
      await settled();
      assert.deepEqual([asked[0].path, asked[0].body], [`/v1/sessions/s/${path}`, body]);
      await asked[0].give(json(200, answer));
      assert.equal(await done, undefined);
    }
    const refused = assert.rejects(session.decide("p", "deny"), {
      name: "Problem",
      status: 409,
      code: "already_decided",
      message: "no: already_decided",
    });
    await settled();
    await asked[0].give(problem(409, "already_decided"));
    await refused;
  });
});
