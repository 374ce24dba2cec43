// Clients that are made from openapi.json, by the two usual makers, compile and work: openapi-typescript with tsc, and
// openapi-python-client. They make a session, post a message and wait, and read records and approvals.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { DEADLINE_MS, cache, root, startPortico } from "./support.mjs";

const here = path.join(root, "tests/e2e");
const modules = path.join(here, "node_modules");
const work = path.join(cache, "clients");
const document = path.join(work, "openapi.json");

let server;
before(async () => {
  server = await startPortico();
  await fs.rm(work, { recursive: true, force: true });
  await fs.mkdir(work, { recursive: true });
  const served = await fetch(`${server.url}/openapi.json`);
  await fs.writeFile(document, await served.text());
});
after(async () => {
  await server?.stop();
  await server?.remove();
});

async function run(command, args, options = {}) {
  const { stdout, stderr } = await promisify(execFile)(command, args, { cwd: work, timeout: DEADLINE_MS, ...options }).catch((error) => {
    throw new Error(`${command} ${args.join(" ")}:\n${error.stdout}${error.stderr}`, { cause: error });
  });
  return { stdout, told: stdout + stderr };
}

/** What both clients print after the same calls. */
function check({ stdout }) {
  const said = JSON.parse(stdout);
  const { records, ...others } = said;
  const sent = { answers: [{ id: "q1", selected: ["Canoe"] }] };
  assert.deepEqual(others, { metadata: { customer: "7" }, reason: "completed", approvals: 0, refused: "not_found", sent });
  assert.equal(records[0], "session_created");
  assert.ok(records.includes("tool_end"), "the demo looked something up");
  assert.equal(records.at(-1), "done completed");
}

test("openapi-typescript makes types with which a client compiles and works", async () => {
  await fs.copyFile(path.join(here, "clients/client.ts"), path.join(work, "client.ts"));
  await fs.symlink(modules, path.join(work, "node_modules"));
  await run(process.execPath, [path.join(modules, "openapi-typescript/bin/cli.js"), document, "--output", "schema.d.ts"]);
  const options = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck"];
  await run(process.execPath, [path.join(modules, "typescript/bin/tsc"), ...options, "client.ts"]);
  check(await run(process.execPath, ["client.js", server.url, "look up a rowing boat"]));
});

test("openapi-python-client takes the document whole, and its client works", async () => {
  const env = { ...process.env, PYTHONPATH: path.join(cache, "python") };
  // the makers' own formatter would only cost time
  await fs.writeFile(path.join(work, "maker.yml"), "post_hooks: []\n");
  const made = await run(
    "python3",
    ["-m", "openapi_python_client", "generate", "--path", document, "--config", "maker.yml", "--meta", "none", "--output-path", "portico_client"],
    { env },
  );
  // records as lines of JSON are not a content type that it knows: it says so, and leaves that one answer to the caller
  const left = made.told.split("WARNING").slice(1).filter((warning) => !warning.includes("application/x-ndjson"));
  assert.deepEqual(left, []);
  assert.doesNotMatch(made.told, /Unable to|removal/);
  await fs.copyFile(path.join(here, "clients/client.py"), path.join(work, "client.py"));
  check(await run("python3", ["client.py", server.url, "look up a rowing boat"], { env }));
});
