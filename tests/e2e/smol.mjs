// Serves a real small model (SmolLM2 135M, by llama.cpp) on the OpenAI chat wire, on a free port of the loopback.
//
// Prints one line of JSON on stdout, {"port", "model"}, when it is ready. It knows no tools, and answers one request after the other.
// `POST /gate {"allow": n}` lets n more chunks of streamed answers out and holds back the rest, `{"allow": "all"}` lets everything out:
// so a test can act in the middle of an answer without guessing a time.

import http from "node:http";
import { fileURLToPath } from "node:url";
import { getLlama, LlamaChatSession, LlamaLogLevel } from "node-llama-cpp";

const MODEL = "smollm2";
const MAX_TOKENS = 256;
const modelPath = process.env.SMOL_MODEL ?? fileURLToPath(new URL("../../.cache/e2e/model.gguf", import.meta.url));

const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1, logLevel: LlamaLogLevel.error, progressLogs: false });
const model = await llama.loadModel({ modelPath });
const context = await model.createContext({ contextSize: 4096 });
const sequence = context.getSequence();

/** How many more chunks may go out, and who waits for one. */
const gate = { left: Infinity, waiting: [] };
/** The tail of the queue of answers: one context serves one prompt at a time. */
let tail = Promise.resolve();

const textOf = (content) => (Array.isArray(content) ? content.map((part) => part.text ?? "").join("") : (content ?? ""));

/** Wire messages as a chat history, and the last one as the prompt. */
function split(messages) {
  const last = messages.at(-1);
  const history = messages.slice(0, -1).map(({ role, content }) => {
    if (role === "system" || role === "developer") return { type: "system", text: textOf(content) };
    if (role === "assistant") return { type: "model", response: [textOf(content)] };
    return { type: "user", text: textOf(content) };
  });
  return { history, prompt: textOf(last?.content) };
}

/** Answers one request, alone; resolves to the text, the finish reason and the usage. */
function answer({ messages, max_tokens, max_completion_tokens }, onText, signal) {
  const asked = max_completion_tokens ?? max_tokens ?? Infinity;
  const mine = tail.then(async () => {
    const { history, prompt } = split(messages);
    const before = sequence.tokenMeter.getState();
    const chat = new LlamaChatSession({ contextSequence: sequence, systemPrompt: "" });
    try {
      chat.setChatHistory(history);
      const { responseText, stopReason } = await chat.promptWithMeta(prompt, {
        maxTokens: Math.min(asked, MAX_TOKENS),
        temperature: 0,
        repeatPenalty: { penalty: 1.2, lastTokens: 128 },
        signal,
        stopOnAbortSignal: true,
        onTextChunk: onText,
      });
      const used = sequence.tokenMeter.diff(before);
      return {
        text: responseText,
        // "length" means the caller's limit; where this server's own limit ends the answer, that is its stop
        finish: stopReason === "maxTokens" && asked <= MAX_TOKENS ? "length" : "stop",
        usage: {
          prompt_tokens: used.usedInputTokens,
          completion_tokens: used.usedOutputTokens,
          total_tokens: used.usedInputTokens + used.usedOutputTokens,
        },
      };
    } finally {
      chat.dispose({ disposeSequence: false });
    }
  });
  tail = mine.catch(() => {});
  return mine;
}

/** The answer as chat completion chunks. Stops generating when the client goes away. */
async function stream(request, response) {
  const head = { id: `chatcmpl-${Date.now()}`, object: "chat.completion.chunk", created: Math.floor(Date.now() / 1000), model: MODEL };
  const send = (data) => response.destroyed || response.write(`data: ${typeof data === "string" ? data : JSON.stringify({ ...head, ...data })}\n\n`);
  const choice = (delta, finish_reason = null) => ({ choices: [{ index: 0, delta, finish_reason }] });
  const gone = new AbortController();
  response.on("close", () => gone.abort());

  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  send(choice({ role: "assistant", content: "" }));
  // Chunks go out in order behind one promise, so that the gate holds back all that follow it while the model runs on.
  let wire = Promise.resolve();
  const result = await answer(
    request,
    (text) => {
      if (text) wire = wire.then(leave).then(() => void send(choice({ content: text })));
    },
    gone.signal,
  );
  await wire;
  send(choice({}, result.finish));
  if (request.stream_options?.include_usage) send({ choices: [], usage: result.usage });
  send("[DONE]");
  response.end();
}

async function complete(request, response) {
  const { text, finish, usage } = await answer(request);
  const message = { role: "assistant", content: text };
  json(response, 200, {
    id: `chatcmpl-${Date.now()}`,
    object: "chat.completion",
    created: Math.floor(Date.now() / 1000),
    model: MODEL,
    choices: [{ index: 0, message, finish_reason: finish }],
    usage,
  });
}

function json(response, status, body) {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Resolves when the gate lets one chunk out. */
async function leave() {
  if (gate.left === 0) await new Promise((resolve) => gate.waiting.push(resolve));
  else gate.left -= 1;
}

function setGate(allow) {
  gate.left = allow === "all" ? Infinity : allow;
  while (gate.left > 0 && gate.waiting.length > 0) {
    gate.left -= 1;
    gate.waiting.shift()();
  }
}

async function bodyOf(request) {
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  return JSON.parse(text);
}

const server = http.createServer(async (request, response) => {
  const route = `${request.method} ${request.url}`;
  try {
    if (route === "GET /v1/models") return json(response, 200, { object: "list", data: [{ id: MODEL, object: "model", owned_by: "local" }] });
    if (route === "POST /gate") {
      setGate((await bodyOf(request)).allow);
      return json(response, 200, {});
    }
    if (route === "POST /v1/chat/completions") {
      const body = await bodyOf(request);
      return await (body.stream ? stream(body, response) : complete(body, response));
    }
    json(response, 404, { error: { message: `no route ${route}`, type: "invalid_request_error", code: "not_found" } });
  } catch (error) {
    if (response.headersSent) return response.destroy();
    json(response, 500, { error: { message: String(error), type: "server_error", code: "internal" } });
  }
});

server.listen(0, "127.0.0.1", () => console.log(JSON.stringify({ port: server.address().port, model: MODEL })));
