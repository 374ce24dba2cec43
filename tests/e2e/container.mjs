// A start as the image makes it, without a container engine: the environment, user, folder and commands that Dockerfile and
// docker-compose.yml name, an empty volume, a clean environment; asked from outside with nothing but the generated key.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import fs from "node:fs/promises";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import { chromium } from "playwright-core";
import { CHROMIUM, DEADLINE_MS, binary, call, events, root, start, startModel, stop, until } from "./support.mjs";

const run = promisify(execFile);

/** What the image's last stage says: its environment, user, folder and commands. */
async function readDockerfile() {
  const text = (await fs.readFile(path.join(root, "Dockerfile"), "utf8")).replaceAll("\\\n", " ");
  const stage = text.slice(text.lastIndexOf("\nFROM "));
  const all = (word) => [...stage.matchAll(new RegExp(`^${word} +(.*)$`, "gm"))].map((match) => match[1]);
  const env = all("ENV").flatMap((line) => line.trim().split(/\s+/)).map((pair) => pair.split("="));
  const user = all("USER").at(-1);
  return {
    env: Object.fromEntries(env),
    uid: Number(stage.match(new RegExp(`useradd .*--uid (\\d+).* ${user}\\b`))[1]),
    folder: all("WORKDIR").at(-1),
    command: JSON.parse(all("CMD").at(-1)),
    health: JSON.parse(all("HEALTHCHECK").at(-1).match(/CMD (.*)$/)[1]),
  };
}

/** The published address, and the variables that are handed on from the shell. */
async function readCompose() {
  const text = await fs.readFile(path.join(root, "docker-compose.yml"), "utf8");
  const list = (name) => text.match(new RegExp(`^ +${name}:\\n((?: +(?:#|- ).*\\n)+)`, "m"))[1].matchAll(/^ +- "?([^"\n]+)"?$/gm);
  return { ports: [...list("ports")].map((m) => m[1]), handedOn: [...list("environment")].map((m) => m[1]), text };
}

/** The variables beside PORTICO__... that the gateway reads: those that the source lists, and the one for the log. */
async function readVariables() {
  const source = await fs.readFile(path.join(root, "src/config/variables.rs"), "utf8");
  const lists = [...source.matchAll(/^pub const [A-Z_]+: \[&str; \d+\] = \[([^\]]+)\];/gm)].map((found) => found[1]);
  const names = lists.flatMap((list) => [...list.matchAll(/"([A-Z_]+)"/g)].map((found) => found[1]));
  assert.ok(names.includes("OPENAI_API_KEY") && names.includes("OPENAI_BASE_URL"));
  return [...names, "RUST_LOG"].toSorted();
}

async function freePort() {
  const server = net.createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

describe("as a container", () => {
  let home, image, compose, model, browser, port, url, as, running;
  const data = () => path.join(home, "data");

  /** The arguments that run a command of the image as its user, in its environment and nothing else. */
  const inside = (command) => [...as, "env", "-i", ...Object.entries(image.env).map(([name, value]) => `${name}=${value}`), ...command];
  const boot = async () => {
    const [program, ...args] = inside(image.command);
    running = await start(program, args, { cwd: data() }, /^Page: /);
  };
  const healthy = () => {
    const [program, ...args] = inside(image.health);
    return run(program, args, { cwd: data() }).then(() => true, () => false);
  };
  const key = async () => (await fs.readFile(path.join(data(), "admin.key"), "utf8")).trim();
  const withKey = async () => ({ "content-type": "application/json", authorization: `Bearer ${await key()}` });

  before(async () => {
    [image, compose, model, browser, port] = await Promise.all([readDockerfile(), readCompose(), startModel(), chromium.launch(CHROMIUM), freePort()]);
    url = `http://127.0.0.1:${port}`;
    home = await fs.mkdtemp(path.join(os.tmpdir(), "portico-container-"));
    await fs.chmod(home, 0o755);
    await fs.mkdir(path.join(home, "bin"));
    await fs.copyFile(binary, path.join(home, "bin/portico"));
    await fs.mkdir(data(), { mode: 0o700 });
    // only root can become the image's user; anybody else is not root already
    const { uid } = image;
    const isRoot = process.getuid() === 0;
    if (isRoot) await fs.chown(data(), uid, uid);
    as = isRoot ? ["setpriv", "--reuid", `${uid}`, "--regid", `${uid}`, "--clear-groups"] : [];

    assert.equal(image.folder, image.env.PORTICO__STORE__PATH, "what the volume keeps is what the store writes");
    assert.equal(image.env.PORTICO__SERVER__BIND, "0.0.0.0:8080");
    const shell = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${model.url}/v1` };
    assert.deepEqual(compose.handedOn.toSorted(), await readVariables());
    assert.match(compose.text, /env_file:\n +- path: \.env\n +required: false\n/, "settings in .env are handed on");
    assert.ok(Number(image.env.PORTICO__SERVER__DRAIN_MS) <= 6000, "a plain stop kills after 10 s");
    assert.notEqual(image.env.PORTICO__TOOLS__BASH__CWD, image.folder, "no shell starts beside the keys");
    // what the mount, the port and the image's folders are here
    const here = { PATH: `${home}/bin:/usr/bin:/bin`, PORTICO__STORE__PATH: data(), PORTICO__SERVER__BIND: `0.0.0.0:${port}` };
    image.env = { ...image.env, ...here, ...shell, PORTICO__AGENTS__DEFAULT__MODEL: model.model };
    assert.equal(await healthy(), false, "nothing runs yet");
    await boot();
  });
  after(async () => {
    if (running) await stop(running.child);
    await browser?.close();
    await model?.stop();
    if (home) await fs.rm(home, { recursive: true, force: true });
  });

  test("the port is published to this machine only, and nothing of the host is shared", () => {
    assert.deepEqual(compose.ports, ["127.0.0.1:${PORTICO_PORT:-8080}:8080"]);
    assert.doesNotMatch(compose.text, /network_mode|privileged|docker\.sock/);
  });

  test("the health check goes well, and the key is a private file that no output shows", async () => {
    await until("a healthy container", healthy);
    const stat = await fs.stat(path.join(data(), "admin.key"));
    assert.equal(stat.mode & 0o777, 0o600);
    if (process.getuid() === 0) assert.equal(stat.uid, image.uid);
    const output = running.lines.join("\n");
    assert.match(output, /admin\.key/);
    assert.doesNotMatch(output, /p[kl]_\w/);
    assert.ok(output.includes(`0.0.0.0:${port}`));
  });

  test("401 without the key, 200 with it", async () => {
    for (const headers of [{}, { authorization: "Bearer pk_wrong" }]) {
      const answer = await fetch(`${url}/v1/sessions`, { headers });
      assert.equal(answer.status, 401);
      assert.equal(answer.headers.get("www-authenticate"), "Bearer");
      assert.equal((await answer.json()).code, "unauthorized");
    }
    assert.deepEqual((await call(`${url}/v1/sessions`, { headers: await withKey() })).data, []);
  });

  test("the real small model answers a service that has the key", async () => {
    const { id } = await call(`${url}/v1/sessions`, { body: {}, headers: await withKey() });
    const answer = await fetch(`${url}/v1/sessions/${id}/messages`, {
      method: "POST",
      headers: { ...(await withKey()), accept: "text/event-stream" },
      body: JSON.stringify({ text: "What is the capital of France?" }),
      signal: AbortSignal.timeout(DEADLINE_MS),
    });
    assert.equal(answer.status, 200);
    const seen = [];
    for await (const one of events(answer)) seen.push(one);
    const deltas = seen.filter(({ event }) => event === "text_delta").map(({ data: { text } }) => text);
    const done = seen.at(-1);
    assert.deepEqual([done.event, done.data.reason, done.data.answer], ["done", "completed", deltas.join("")]);
    assert.match(done.data.answer, /Paris/);
  });

  test("the page says what it needs, and works with the key in its address", async () => {
    const page = await (await browser.newContext()).newPage();
    page.setDefaultTimeout(DEADLINE_MS);
    await page.goto(url);
    const alert = page.getByRole("alert");
    await alert.getByText(`open ${url}/#key=KEY`).waitFor();
    await page.goto(`${url}/#key=pk_wrong`);
    await alert.getByText("does not take the key").waitFor();

    const asked = [];
    page.on("request", (request) => asked.push(request.url()));
    await page.goto(`${url}/#key=${await key()}`);
    await alert.waitFor({ state: "hidden" });
    assert.ok(!page.url().includes("pk_"), "the key does not stay in the address");
    await page.getByLabel("Message", { exact: true }).fill("What is the capital of France?");
    await page.getByRole("button", { name: "Send" }).click();
    const answer = page.locator('.message[data-role="assistant"]:not(.live)');
    await answer.waitFor();
    const drawn = answer.locator(".markdown");
    const text = await drawn.getAttribute("data-raw");
    await page.reload();
    await answer.waitFor();
    assert.equal(await drawn.getAttribute("data-raw"), text, "a reload reads the stream again, with the key");
    assert.ok(asked.length > 0 && asked.every((one) => !one.includes("pk_")), "no request names the key in its address");
    await page.context().close();
  });

  test("a stop is graceful, and a start on the same volume has the same key and sessions", async () => {
    const [before, known] = [await key(), (await call(`${url}/v1/sessions`, { headers: await withKey() })).data.map(({ id }) => id)];
    assert.equal(known.length, 2);
    assert.equal(await stop(running.child), 0, running.lines.join("\n"));
    assert.equal(await healthy(), false, "what is stopped is not well");
    await boot();
    await until("a healthy container", healthy);
    assert.equal(await key(), before);
    assert.deepEqual((await call(`${url}/v1/sessions`, { headers: await withKey() })).data.map(({ id }) => id), known);
    assert.doesNotMatch(running.lines.join("\n"), /p[kl]_\w/);
  });
});
