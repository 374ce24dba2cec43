// The client's parts that need no gateway, case by case: what single events do to a view, frames under every cut, JSON as it was sent.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { emptyView, frames, rawMember, reduce, spell } from "../../static/client.js";
import { rawElements } from "../../static/client/json.js";
import { fold as foldInto, shown } from "../../static/client/reduce.js";
import { keep, pastFrom, prepend } from "../../static/client/past.js";

fc.configureGlobal({ includeErrorInReport: true });

/** The view of these records, numbered from 1; `[type, data]` each, `seq: 0` for events that are none. */
function fold(...events) {
  let seq = 0;
  return events.reduce((view, [type, { seq: own, ...data }]) => {
    if (own === 0) return reduce(view, { type, data, raw: JSON.stringify(data) });
    seq += 1;
    const record = { seq, at: `at ${seq}`, type, ...data };
    return reduce(view, { type, id: String(seq), data: record, raw: JSON.stringify(record) });
  }, emptyView);
}

const OF = { turn: 1, step: 1 };
const CALL = { ...OF, tool_call_id: "c", tool: "look" };
const START = ["turn_start", { turn: 1, message_ids: [] }];
const says = (text, more) => ["message", { ...OF, message_id: `m ${text}`, content: [{ type: "text", text }], ...more }];
const ends = (reason, more) => ["done", { turn: 1, reason, answer: "", tool_calls: [], ...more }];
const APPROVAL = {
  approval_id: "p",
  tool_call_id: "c",
  tool: "look",
  args: { a: 1 },
  digest: "d",
  reason: "ask",
  decisions: ["deny"],
  expires_at: "later",
};
const approves = (decision) => [
  ["approval_requested", { ...OF, ...APPROVAL }],
  ["tool_approval", { ...OF, approval_id: "p", tool_call_id: "c", decision }],
];
const told = ({ items }) => items.map(({ kind, state, notice, text }) => [kind, state ?? notice ?? text]);

describe("what events do to a view", () => {
  test("a message that is queued stands last until a turn takes it up, and then where it does so", () => {
    const queued = ["message_queued", { message_id: "u", text: "next" }];
    const before = fold(queued, says("one"));
    assert.deepEqual(told(before), [
      ["message", "one"],
      ["message", "next"],
    ]);
    const after = fold(queued, says("one"), ["queue_drain", { ...OF, message_ids: ["u"] }], says("two"));
    assert.deepEqual(told(after), [
      ["message", "one"],
      ["message", "next"],
      ["message", "two"],
    ]);
    assert.deepEqual([before.items[1].queued, after.items[1].queued, after.items[1].turn], [true, false, 1]);
    assert.deepEqual(fold(queued, ["message_removed", { message_id: "u" }]).items, []);
  });

  test("live text is keyed by block, holes and all, and its text is that of the message", () => {
    const delta = (block, text, type = "text_delta") => [type, { seq: 0, message_id: "m", block, text }];
    const { live } = fold(delta(2, "b"), delta(0, "a"), delta(1, "think", "reasoning_delta"), delta(2, "c"), delta(0, "."));
    assert.equal(live.text, "a.bc");
    assert.deepEqual(
      live.blocks.map(({ kind, text }) => [kind, text]),
      [
        ["text", "a."],
        ["reasoning", "think"],
        ["text", "bc"],
      ],
    );
    const other = fold(delta(0, "a"), ["text_delta", { seq: 0, message_id: "n", block: 0, text: "x" }]);
    assert.equal(other.live.text, "x");
  });

  test("only what an event changes is another object", () => {
    const before = fold(START, ["tool_start", { ...CALL, args: {} }], says("one"));
    const grown = reduce(before, { type: "text_delta", id: "3.1", data: { message_id: "m", block: 0, text: "x" } });
    assert.equal(grown.items, before.items);
    const ended = reduce(grown, { type: "tool_end", id: "4", data: { seq: 4, ...CALL, duration_ms: 1 } });
    assert.equal(ended.live, grown.live);
    assert.equal(ended.items[1], before.items[1]);
    assert.equal(reduce(before, { type: "a type of tomorrow", data: { x: 1 } }), before);
    assert.equal(reduce(before, { type: "toString", data: {} }), before);
    assert.equal(reduce(before, { type: "join", data: { resumed: true } }), before);
    const later = reduce(before, { type: "a type of tomorrow", id: "9", data: { seq: 9 } });
    assert.deepEqual([later.last_id, later.head, later.items === before.items], ["9", 9, true]);
  });

  test("a call's id may be used again in a later step", () => {
    const again = { ...CALL, step: 2 };
    const { items } = fold(["tool_start", CALL], ["tool_end", CALL], ["tool_start", again], ["tool_error", { ...again, code: "ABORTED" }]);
    assert.deepEqual(
      items.map(({ state }) => state),
      ["ok", "aborted"],
    );
    assert.notEqual(items[0].key, items[1].key);
  });

  test("an approval that is not given and a question tell the end of their call themselves", () => {
    const denied = ["tool_denied", { ...CALL, reason: "no" }];
    assert.deepEqual(told(fold(...approves("deny"), denied)), [["approval", "settled"]]);
    assert.deepEqual(told(fold(denied)), [["tool", "denied"]]);
    assert.deepEqual(told(fold(...approves("allow_once"), ["tool_start", CALL], ["tool_end", CALL])), [
      ["approval", "settled"],
      ["tool", "ok"],
    ]);
    const asked = ["question_asked", { ...OF, question_id: "q", tool_call_id: "c", questions: [], expires_at: "later" }];
    const answered = ["question_answered", { ...OF, question_id: "q", tool_call_id: "c", declined: true, reason: "expired" }];
    const view = fold(asked, answered, ["tool_start", CALL], ["tool_end", CALL]);
    assert.deepEqual([told(view), view.items[0].outcome], [[["question", "settled"]], "expired"]);
  });

  test("what hello lists is an item until its record comes, and then the same one in its own place", () => {
    const raw =
      '{"approvals":[{"approval_id":"p","tool_call_id":"c","tool":"look","args":{"a":1.0},"requested_at":"then"}],"questions":[],"turn":4}';
    const hello = { type: "hello", data: JSON.parse(raw), raw };
    const listed = reduce(emptyView, hello);
    assert.deepEqual([listed.turn, listed.items[0].args, listed.items[0].seq, listed.items[0].at], [4, '{"a":1.0}', 0, "then"]);
    const records = [["message", { ...OF, message_id: "m", content: [{ type: "text", text: "hi" }] }], ...approves("deny")];
    const view = records.reduce(
      (before, [type, data], i) => reduce(before, { type, id: `${i + 1}`, data: { seq: i + 1, type, ...data } }),
      listed,
    );
    assert.deepEqual(
      view.items.map(({ key, seq }) => [key, seq]),
      [
        ["m", 1],
        ["p", 2],
      ],
    );
    assert.equal(reduce(view, hello).items, view.items);
    const settled = reduce(listed, {
      type: "tool_approval",
      id: "9",
      data: { seq: 9, ...OF, approval_id: "p", tool_call_id: "c", decision: "deny" },
    });
    assert.deepEqual(told(reduce(settled, { type: "tool_denied", id: "10", data: { seq: 10, ...CALL } })), [["approval", "settled"]]);
    assert.equal(reduce(fold(START), { type: "hello", data: { head: 2 } }).turn, 1, "done is on its way");
  });

  test("what only hello has named stands in front of the pages that are put there, until one of them has its record", () => {
    const named = reduce(emptyView, { type: "hello", data: { approvals: [{ ...APPROVAL, requested_at: "then" }] } });
    const listed = { ...named, last_id: "7", head: 7 };
    const record = (seq, type, data) => ({ type, id: String(seq), data: { seq, type, ...data } });
    const past = pastFrom(7);
    const newest = record(8, "message", says("b")[1]);
    keep(past, listed, newest);
    const once = prepend({ view: reduce(listed, newest), past, page: [record(7, "message", says("a")[1])], since: 6 });
    assert.deepEqual(
      once.view.items.map(({ key }) => key),
      ["p", "m a", "m b"],
    );
    const page = [record(5, "message", says("0")[1]), record(6, "approval_requested", { ...OF, ...APPROVAL })];
    assert.deepEqual(
      prepend({ ...once, page, since: 0 }).view.items.map(({ key }) => key),
      ["m 0", "p", "m a", "m b"],
    );
  });

  /** Some turns that are alike, from the given one on. */
  function turns(count, from = 1) {
    const records = Array.from({ length: count }, (_, i) => {
      const turn = from + i;
      const call = { turn, step: 1, tool_call_id: "c", tool: "look" };
      return [
        ["message_queued", { message_id: `u${turn}`, text: "?" }],
        ["turn_start", { turn, message_ids: [`u${turn}`] }],
        ["tool_start", { ...call, args: {} }],
        ["tool_end", call],
        ["message", { turn, step: 1, message_id: `m${turn}`, content: [{ type: "text", text: "!" }] }],
        ["done", { turn, reason: "completed", tool_calls: [] }],
      ];
    });
    return records.flat().map(([type, data], i) => {
      const seq = (from - 1) * 6 + i + 1;
      return { type, id: String(seq), data: { seq, at: "then", type, ...data } };
    });
  }

  test("what an event looks at does not grow with the view", () => {
    const looksOf = (count) => {
      let looks = 0;
      const { items, ...view } = turns(count).reduce(foldInto, emptyView);
      const watched = items.map((item) => new Proxy(item, { get: (one, name) => ((looks += 1), one[name]) }));
      turns(1, count + 1).reduce(foldInto, { ...view, items: watched });
      return looks;
    };
    assert.equal(looksOf(1000), looksOf(10));
  });

  test("a draft has one list however many events it is made of, and what was shown of it stays", () => {
    const first = turns(1).reduce(foldInto, emptyView);
    const { items } = first;
    const draft = turns(9, 2).reduce(foldInto, first);
    assert.equal(draft.items, items);
    const view = shown(draft);
    assert.deepEqual([shown(view) === view, "own" in view, view.items.length], [true, false, 30]);
    turns(1, 11).reduce(foldInto, view);
    assert.equal(view.items.length, 30);
  });

  test("a view keeps no more records than its first turn has, and paging back leaves all behind them as it is", () => {
    const records = turns(100);
    let all = { past: pastFrom(590), view: { ...emptyView, last_id: "590", head: 590 } };
    const read = (event) => {
      keep(all.past, all.view, event);
      all.view = reduce(all.view, event);
    };
    records.slice(590).forEach(read);
    turns(100, 101).forEach(read);
    while (all.past.since) {
      const since = Math.max(0, all.past.since - 7);
      const before = all.view.items;
      all = prepend({ ...all, page: records.slice(since, all.past.since), since });
      assert.ok(all.past.records.length <= 7, `${all.past.records.length} records at ${since}`);
      for (let i = 5; i < before.length; i += 1) assert.equal(all.view.items.at(i - before.length), before[i]);
    }
    assert.deepEqual(all.view.items, [...records, ...turns(100, 101)].reduce(reduce, emptyView).items);
    assert.deepEqual(all.past.records, []);
  });

  test("what was asked in an older page is settled by what a later turn brought", () => {
    const record = (seq, [type, data]) => ({ type, id: String(seq), data: { seq, type, ...data } });
    const asked = ["question_asked", { ...OF, question_id: "q", tool_call_id: "d", questions: [], expires_at: "later" }];
    const page = [record(1, approves("deny")[0]), record(2, asked)];
    let all = { past: pastFrom(2), view: { ...emptyView, last_id: "2", head: 2 } };
    for (const event of [
      record(3, ends("completed")),
      record(4, approves("deny")[1]),
      record(5, ["question_answered", { ...OF, question_id: "q", declined: true }]),
    ]) {
      keep(all.past, all.view, event);
      all.view = reduce(all.view, event);
    }
    all = prepend({ ...all, page, since: 0 });
    assert.deepEqual(told(all.view), [
      ["approval", "settled"],
      ["question", "settled"],
    ]);
  });

  test("tries are one line, which goes with the answer or with the end", () => {
    const retry = (code) => ["retry", { ...OF, attempt: 1, code, discarded: true }];
    const tries = [
      retry("overloaded"),
      ["message_queued", { message_id: "u", text: "?" }],
      retry("restart"),
      ["turn_continued", { ...OF, cause: "crash" }],
    ];
    const { items } = fold(...tries);
    assert.deepEqual(
      items.map(({ key, notice, code }) => [key, notice, code]),
      [
        ["notice.1", "restart", "restart"],
        ["u", undefined, undefined],
      ],
    );
    assert.deepEqual(told(fold(...tries, says("hi"))), [
      ["message", "hi"],
      ["message", "?"],
    ]);
    assert.deepEqual(told(fold(...tries, ends("error"))), [
      ["notice", "end"],
      ["message", "?"],
    ]);
    assert.deepEqual(told(fold(...tries, says("hello", { author: "human" }))).length, 3);
  });

  test("a turn's end ends its tools, and says what no message brought", () => {
    const open = ["tool_start", CALL];
    const call = { tool_call_id: "c", tool: "look", status: "unknown", duration_ms: 3 };
    assert.deepEqual(
      fold(START, open, ends("completed", { tool_calls: [call] })).items.map(({ state, duration_ms }) => [state, duration_ms]),
      [["unknown", 3]],
    );
    assert.deepEqual(told(fold(open, ends("aborted"))), [
      ["tool", "aborted"],
      ["notice", "end"],
    ]);
    const end = fold(START, ends("max_steps", { answer: "so far", code: "x", detail: "y" })).items[0];
    assert.deepEqual([end.reason, end.text, end.code, end.detail], ["max_steps", "so far", "x", "y"]);
    assert.equal(fold(START, ends("completed", { answer: "so" })).items[0].text, "so");
    assert.deepEqual(told(fold(START, says("so"), ends("completed", { answer: "so" }))), [["message", "so"]]);
    assert.equal("text" in fold(START, says("so"), ends("error", { answer: "so" })).items[1], false);
    const next = [["turn_start", { turn: 2, message_ids: [] }], ends("completed", { turn: 2, answer: "new" })];
    assert.equal(fold(START, says("so"), ends("completed"), ...next).items[1].text, "new");
    assert.deepEqual([fold(START).turn, fold(START, ends("completed")).turn], [1, null]);
  });

  test("a person who took over ends no attempt", () => {
    const delta = ["text_delta", { seq: 0, message_id: "m", block: 0, text: "x" }];
    const view = fold(delta, says("hello", { author: "human" }));
    assert.deepEqual([view.live.text, view.items[0].role], ["x", "human"]);
    assert.equal(fold(delta, says("hello")).live, null);
    assert.equal(fold(delta, ["retry", { discarded: true }]).live, null);
    assert.equal(fold(delta, ["reset", { seq: 0 }]), emptyView);
  });

  test("title, phase, handoff and compaction are kept as they are told", () => {
    const view = fold(
      ["session_created", { channel: "web", title: "a" }],
      ["session_updated", { metadata: {} }],
      ["stream_progress", { seq: 0, mode: "thinking" }],
    );
    assert.deepEqual([view.title, view.channel, view.mode], ["a", "web", "thinking"]);
    assert.equal("title" in fold(["session_created", { title: "a" }], ["session_updated", { title: "" }]), false);
    assert.equal("mode" in reduce(view, { type: "hello", data: {} }), false);
    assert.deepEqual(told(fold(["handoff", {}], ["compaction", { phase: "start" }], ["compaction", { phase: "end" }])), [
      ["notice", "handoff"],
      ["notice", "compacted"],
    ]);
  });
});

const bytes = (text) => new TextEncoder().encode(text);
const stream = (parts) => new ReadableStream({ start: (c) => (parts.forEach((part) => c.enqueue(part)), c.close()) });
const parsed = (parts) => collect(frames(stream(parts)));
async function collect(all) {
  const found = [];
  for await (const one of all) found.push(one);
  return found;
}

describe("frames", () => {
  const TEXT =
    '\uFEFF: hi\r\nretry: 30\r\n\r\nevent: a\nid: 1\ndata: {"x":"é😀"}\n\n:\n\ndata:one\rdata\rdata:  three\r\rid\n\nid: \0\nretry: x\nnone: 1\n\nevent:b\r\ndata: 漢\r\n\r\ndata: cut\n';
  const FRAMES = [
    { retry: "30" },
    { event: "a", id: "1", data: '{"x":"é😀"}' },
    { data: "one\n\n three" },
    { id: "" },
    { event: "b", data: "漢" },
  ];

  test("every cut into two, and every byte alone, gives the same", async () => {
    const all = bytes(TEXT);
    for (let at = 0; at <= all.length; at += 1) assert.deepEqual(await parsed([all.slice(0, at), all.slice(at)]), FRAMES, `cut at ${at}`);
    assert.deepEqual(await parsed(Array.from(all, (byte) => Uint8Array.of(byte))), FRAMES);
  });

  test("any cuts give the same as none", async () => {
    const piece = fc.constantFrom("data", "id", "event", ":", " ", "\n", "\r", "\r\n", "\n\n", "é", "😀", "x", "\0", "\uFEFF", "retry: 1");
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(60), { maxLength: 6 }), async (pieces, cuts) => {
        const all = bytes(pieces.join(""));
        const at = [0, ...cuts.map((cut) => Math.min(cut, all.length)).sort((a, b) => a - b), all.length];
        assert.deepEqual(await parsed(at.slice(1).map((end, i) => all.slice(at[i], end))), await parsed([all]));
      }),
    );
  });

  test("who stops reading lets go of the body", async () => {
    let isCancelled = false;
    const body = new ReadableStream({ pull: (c) => c.enqueue(bytes("data: 1\n\n")), cancel: () => (isCancelled = true) });
    for await (const frame of frames(body)) if (frame) break;
    assert.equal(isCancelled, true);
  });
});

describe("JSON as it was sent", () => {
  test("a member's text is the one that was sent, whatever is around it", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(3), (object, indent) => {
        const text = JSON.stringify(object, null, indent);
        for (const [key, value] of Object.entries(object))
          assert.equal(JSON.stringify(JSON.parse(rawMember(text, key))), JSON.stringify(value));
        assert.equal(rawMember(text, "no such key, surely"), undefined);
      }),
    );
    assert.equal(
      rawMember('{ "b" : {"args":1}, "args" : { "x" : 1.50e0, "s":"},\\"" } , "c":[]}', "args"),
      '{ "x" : 1.50e0, "s":"},\\"" }',
    );
  });

  test("an array's elements too", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (array) =>
        assert.deepEqual(
          rawElements(JSON.stringify(array)),
          array.map((one) => JSON.stringify(one)),
        ),
      ),
    );
  });

  test("what hides or reorders is spelled", () => {
    assert.equal(spell("a\u202Eb\u200Bc\u{E0001}\u0085é漢"), "a\\u202eb\\u200bc\\u{e0001}\\u0085é漢");
  });
});
