// The shipped binary against a third party's mock of the providers (@copilotkit/aimock), on both wires: text, a tool loop with thinking,
// latency, rate limits, streams that are cut, and chaos. The mock is strict: a request that matches no fixture, or that leaves out what
// Anthropic wants back of a thought, is refused.

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { DEADLINE_MS, call, events, root, start, startPortico, stop } from "./support.mjs";

const WIRES = [
  { wire: "anthropic", model: "claude-sonnet-4-5" },
  { wire: "openai_chat", model: "o4-mini" },
];
const ANSWER = 'Grüß Gott 🙂, the boats "Aare" and "Limmat" are free.\n\n| boat | price |\n|---|---|\n| Aare | 20 € |\n';
/** Turns at once in chaos. */
const CHAOTIC = 12;

/** What the mock answers. A fixture that counts its matches is one wire's, since the count is of all requests. */
const fixtures = WIRES.flatMap(({ wire, model }) => {
  const on = (userMessage, response, match = {}, more = {}) => ({ match: { model, userMessage, ...match }, response, ...more });
  const look = { toolCalls: [{ id: `call_${wire}`, name: "bash", arguments: { command: "echo six times seven is $((6*7))" } }] };
  const thought = { reasoning: "A command will know — 命令.", reasoningSignature: "EqQBCgIYAhIM/+abc==", redactedThinking: ["EmwKAhgBEgy3/+=="] };
  return [
    on("plain", { content: ANSWER, usage: { input_tokens: 12, output_tokens: 34, prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 } }),
    on("slow", { content: ANSWER }, {}, { latency: 40, chunkSize: 16 }),
    on("look", { content: "It is 42.", ...thought }, { toolResultContains: "six times seven is 42" }),
    on("look", { content: "Let me see.", ...look, ...thought }, { hasToolResult: false }),
    on("limit", { error: { message: "slow down", type: "rate_limit_error" }, status: 429, retryAfter: 1 }, { sequenceIndex: 0 }),
    on("limit", { content: ANSWER }),
    on("cut once", { content: ANSWER }, { sequenceIndex: 0 }, { truncateAfterChunks: 5, latency: 10 }),
    on("cut once", { content: ANSWER }),
    on("cut always", { content: ANSWER }, {}, { truncateAfterChunks: 5, latency: 10 }),
    on("chaos", { content: ANSWER }),
  ];
});

let mock;
let server;
let folder;

before(async () => {
  folder = await fs.mkdtemp(path.join(os.tmpdir(), "portico-aimock-"));
  const file = path.join(folder, "fixtures.json");
  await fs.writeFile(file, JSON.stringify({ fixtures }));
  const cli = path.join(root, "tests/e2e/node_modules/@copilotkit/aimock/dist/cli.js");
  const args = [cli, "--port", "0", "--fixtures", file, "--chunk-size", "7", "--strict", "--validate-on-load"];
  mock = await start(process.execPath, args, { cwd: folder }, /listening on (http:\S+)/);
  mock.url = mock.match[1];
  const providers = `[providers.openai]\nbase_url = "${mock.url}/v1"\napi_key = "none"\n[providers.anthropic]\nbase_url = "${mock.url}"\napi_key = "none"\n`;
  server = await startPortico(`[agents.default]\nmodel = "o4-mini"\nreasoning_effort = "low"\n[tools.bash]\npolicy = "allow"\n${providers}`);
});

after(async () => {
  await server?.stop();
  await server?.remove();
  if (mock) await stop(mock.child);
  if (folder) await fs.rm(folder, { recursive: true, force: true });
});

const headers = () => ({ "content-type": "application/json", authorization: `Bearer ${server.key}` });
const session = async () => (await call(`${server.url}/v1/sessions`, { body: { channel: "cli" }, headers: headers() })).id;

/** Failures of the mock from here on, each with its rate. */
const chaos = (rates) => call(`${mock.url}/__aimock/chaos`, { body: rates });
const calm = () => call(`${mock.url}/__aimock/chaos`, { method: "DELETE" });

/** Posts a message and gives all events of its turn, live ones included. */
async function turn(id, model, text) {
  const answer = await fetch(`${server.url}/v1/sessions/${id}/messages`, {
    method: "POST",
    headers: { ...headers(), accept: "text/event-stream" },
    body: JSON.stringify({ text, model }),
    signal: AbortSignal.timeout(DEADLINE_MS),
  });
  assert.equal(answer.status, 200);
  const seen = [];
  for await (const one of events(answer)) seen.push(one);
  return seen;
}

const of = (seen, type) => seen.filter(({ event }) => event === type).map(({ data }) => data);
/** The one `done` of a turn. */
function done(seen) {
  const all = of(seen, "done");
  assert.equal(all.length, 1, "each turn has one end");
  assert.equal(seen.at(-1).event, "done");
  return all[0];
}

/** An honest end: a whole answer or an error, and words in either case. */
function honest(seen) {
  const end = done(seen);
  assert.ok(end.reason === "error" || (end.reason === "completed" && end.answer === ANSWER), JSON.stringify(end));
  assert.notEqual(end.answer.trim(), "");
  return end;
}

for (const { wire, model } of WIRES) {
  describe(`over the wire ${wire}`, () => {
    test("a plain answer streams, is whole and counted", async () => {
      const seen = await turn(await session(), model, "plain");
      const { reason, answer, usage } = done(seen);
      const deltas = of(seen, "text_delta");
      assert.deepEqual([reason, answer, deltas.map(({ text }) => text).join("")], ["completed", ANSWER, ANSWER]);
      assert.deepEqual([usage.input, usage.output + usage.reasoning], [12, 34]);
    });

    test("a tool loop runs its command; thoughts are shown and go back", async () => {
      const id = await session();
      for (const round of ["look", "look once more"]) {
        const seen = await turn(id, model, round);
        const { reason, answer, tool_calls } = done(seen);
        assert.deepEqual([reason, answer], ["completed", "It is 42."], mock.lines.join("\n"));
        assert.deepEqual(tool_calls.map(({ tool, status }) => [tool, status]), [["bash", "ok"]]);
        const thought = of(seen, "reasoning_delta").map(({ text }) => text).join("");
        assert.equal(thought, "A command will know — 命令.".repeat(2));
        assert.match(of(seen, "tool_end")[0].preview, /six times seven is 42/);
      }
      const ids = (await call(`${server.url}/v1/sessions/${id}/records?limit=200`, { headers: headers() })).data
        .filter(({ type }) => type === "tool_start")
        .map(({ tool_call_id }) => tool_call_id);
      assert.equal(new Set(ids).size, 2, "the mock gives one id twice, and each call has its own");
    });

    test("a slow answer is shown as it comes", async () => {
      const seen = await turn(await session(), model, "slow");
      assert.equal(done(seen).answer, ANSWER);
      assert.ok(of(seen, "text_delta").length > 2, "one delta for all of it");
    });

    test("a rate limit is waited for as long as it asks", async () => {
      const seen = await turn(await session(), model, "limit");
      assert.equal(honest(seen).reason, "completed");
      assert.deepEqual(of(seen, "retry").map(({ code, delay_ms, discarded }) => [code, delay_ms, discarded]), [["rate_limited", 1000, false]]);
    });

    test("a stream that is cut is void and asked again, and is never a success", async () => {
      const id = await session();
      const once = await turn(id, model, "cut once");
      assert.equal(honest(once).reason, "completed");
      assert.deepEqual(of(once, "retry").map(({ code, discarded }) => [code, discarded]), [["transport_cut", true]]);
      const always = await turn(id, model, "cut always");
      assert.deepEqual([honest(always).reason, done(always).code], ["error", "transport_cut"]);
      assert.ok(of(always, "text_delta").length > 0, "something of it was shown");
      assert.equal(honest(await turn(id, model, "plain")).reason, "completed", "a later message works");
    });

    test("what fails every time fails in words, by its own code", async () => {
      const id = await session();
      for (const [rates, code] of [[{ dropRate: 1 }, "server_error"], [{ malformedRate: 1 }, "invalid_response"], [{ disconnectRate: 1 }, "transport_cut"]]) {
        await chaos(rates);
        const seen = await turn(id, model, "chaos");
        assert.deepEqual([honest(seen).reason, done(seen).code, of(seen, "retry").length], ["error", code, 2]);
      }
      await calm();
      assert.equal(honest(await turn(id, model, "plain")).reason, "completed");
    });

    test("in chaos each turn has one honest end, and a later message works", async () => {
      const ids = await Promise.all(Array.from({ length: CHAOTIC }, session));
      await chaos({ dropRate: 0.3, malformedRate: 0.3, disconnectRate: 0.3 });
      (await Promise.all(ids.map((id) => turn(id, model, "chaos")))).forEach(honest);
      await calm();
      for (const seen of await Promise.all(ids.map((id) => turn(id, model, "plain")))) assert.equal(honest(seen).reason, "completed");
    });
  });
}
