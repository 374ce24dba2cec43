// What the end-to-end tests share: the servers they start, the stream they read, and waiting with a deadline.

import { spawn } from "node:child_process";
import { once } from "node:events";
import fs from "node:fs/promises";
import http from "node:http";
import os from "node:os";
import path from "node:path";
import readline from "node:readline";
import { setInterval as every } from "node:timers/promises";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const binary = path.resolve(root, process.env.PORTICO_BIN ?? "target/debug/portico");
export const cache = path.join(root, ".cache/e2e");

/** How long anything that the tests wait for may take, in ms: generous, since it is reached only where something is broken. */
export const DEADLINE_MS = Number(process.env.E2E_DEADLINE_MS ?? 60_000);

/** Asks `look` again and again until it gives something; its last failure is the reason where it never does. */
export async function until(what, look) {
  const deadline = Date.now() + DEADLINE_MS;
  let last;
  for await (const _ of every(50)) {
    try {
      const found = await look();
      if (found) return found;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`waited ${DEADLINE_MS} ms for ${what}`, { cause: last });
  }
}

/** Chromium as root, without the background requests that it makes of its own accord. */
export const CHROMIUM = {
  executablePath: "/usr/bin/chromium",
  args: [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
  ],
};

/** Starts a program and resolves to it and the first match of `ready` in a line that it prints. */
export async function start(command, args, options, ready) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"], ...options });
  const lines = [];
  const matched = new Promise((resolve, reject) => {
    const timer = AbortSignal.timeout(DEADLINE_MS);
    timer.onabort = () => reject(new Error(`${command} was not ready in time; it printed:\n${lines.join("\n")}`));
    child.once("error", reject);
    child.once("exit", (code) => reject(new Error(`${command} ended with ${code}; it printed:\n${lines.join("\n")}`)));
    for (const stream of [child.stdout, child.stderr]) {
      readline.createInterface({ input: stream }).on("line", (line) => {
        lines.push(line);
        const match = line.match(ready);
        if (match) resolve(match);
      });
    }
  });
  return { child, lines, match: await matched };
}

/** SIGTERM, and the exit code. */
export async function stop(child) {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
  const ended = once(child, "exit", { signal: AbortSignal.timeout(DEADLINE_MS) });
  child.kill("SIGTERM");
  return (await ended)[0];
}

/** The real small model behind the OpenAI chat wire. */
export async function startModel() {
  const { child, match } = await start(process.execPath, [path.join(root, "tests/e2e/smol.mjs")], {}, /^\{"port":.*\}$/);
  const { port, model } = JSON.parse(match[0]);
  const url = `http://127.0.0.1:${port}`;
  const gate = (allow) => fetch(`${url}/gate`, { method: "POST", body: JSON.stringify({ allow }) });
  return { url, model, hold: (chunks) => gate(chunks), release: () => gate("all"), stop: () => stop(child) };
}

/**
 * A scripted model on the OpenAI chat wire: `reply(lastMessage, messages)` gives the delta of its one chunk, with text or with tool calls; or
 * many of them, as an async iterable that decides when each is sent.
 */
export async function startScript(reply) {
  const server = http.createServer(async (request, response) => {
    let text = "";
    for await (const piece of request.setEncoding("utf8")) text += piece;
    const { messages } = JSON.parse(text);
    const replied = reply(messages.at(-1), messages);
    const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "script" };
    const write = (chunk) => response.write(`data: ${JSON.stringify({ ...head, ...chunk })}\n\n`);
    let finish_reason = "stop";
    response.writeHead(200, { "content-type": "text/event-stream" });
    for await (const delta of replied[Symbol.asyncIterator] ? replied : [replied]) {
      if (response.destroyed) return;
      if (delta.tool_calls) finish_reason = "tool_calls";
      write({ choices: [{ index: 0, delta, finish_reason: null }] });
    }
    write({ choices: [{ index: 0, delta: {}, finish_reason }] });
    write({ choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } });
    response.end("data: [DONE]\n\n");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${server.address().port}`, stop };
}

/** The shipped binary, on a free port and an empty store; `config` is added to its configuration file. */
export async function startPortico(config = "") {
  const folder = await fs.mkdtemp(path.join(os.tmpdir(), "portico-e2e-"));
  const store = path.join(folder, "store");
  // keys and settings that happen to be in the tester's environment must not reach it
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_API_KEY$|_BASE_URL$|^PORTICO_|^RUST_LOG$/.test(name)));
  // the start line: a link to the page, with the local key in its fragment where that is the only one
  const link = /(http:\/\/127\.0\.0\.1:([1-9]\d*))\/#key=(?:pl_\w+|KEY)/;

  const launch = async (port) => {
    const file = path.join(folder, "config.toml");
    await fs.writeFile(file, `[server]\nbind = "127.0.0.1:${port}"\n\n[store]\npath = "${store}"\n\n${config}`);
    return start(binary, ["serve", "--config", file], { cwd: folder, env }, link);
  };
  let running = await launch(0);
  const [page, url, port] = running.match;
  const key = (await fs.readFile(path.join(store, "local.key"), "utf8")).trim();
  return {
    url,
    link: page.replace(/KEY$/, key),
    key,
    output: () => running.lines.join("\n"),
    async crash() {
      const ended = once(running.child, "exit");
      running.child.kill("SIGKILL");
      await ended;
    },
    /** After a crash: the same store, the same port. */
    async restart() {
      running = await launch(port);
    },
    stop: () => stop(running.child),
    remove: () => fs.rm(folder, { recursive: true, force: true }),
  };
}

/** A JSON request; refuses to go on where the answer is no success. */
export async function call(url, { body, ...options } = {}) {
  const answer = await fetch(url, {
    method: body === undefined ? "GET" : "POST",
    body: body === undefined ? undefined : JSON.stringify(body),
    headers: { "content-type": "application/json" },
    signal: AbortSignal.timeout(DEADLINE_MS),
    ...options,
  });
  if (!answer.ok) throw new Error(`${answer.status} from ${url}: ${await answer.text()}`);
  return answer.json();
}

/** The events of a stream, `{event, id, data}`, until the server ends it. */
export async function* events(answer) {
  let text = "";
  for await (const piece of answer.body.pipeThrough(new TextDecoderStream())) {
    text += piece;
    const frames = text.split("\n\n");
    text = frames.pop();
    for (const frame of frames) {
      const fields = frame.split("\n").filter((line) => line && !line.startsWith(":"));
      const field = (name) => fields.find((line) => line.startsWith(`${name}:`))?.slice(name.length + 1).trimStart();
      if (field("data") !== undefined) yield { event: field("event"), id: field("id"), data: JSON.parse(field("data")) };
    }
  }
}
