// What the gateway sends to WhatsApp and believes of it, beside two libraries that others wrote for it: pywa (Python) and whatsapp-api-js.
// The gateway's side are the files of tests/golden/whatsapp, which a Rust test holds to what is really sent, and the signature vectors,
// which another holds to what is really believed.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { before, describe, test } from "node:test";
import { promisify } from "node:util";
import { WhatsAppAPI } from "whatsapp-api-js";
import { ActionButtons, Body, Button, Interactive, Text } from "whatsapp-api-js/messages";
import { cache, root } from "./support.mjs";

const run = promisify(execFile);
const read = (name) => readFile(path.join(root, "tests", name));
const json = async (name) => JSON.parse(await read(name));

let ours;
let vector;

before(async () => {
  ours = await json("golden/whatsapp/sent.json");
  [vector] = await json("samples/whatsapp/signature_vectors.json");
});

describe("pywa", () => {
  let theirs;

  before(async () => {
    const env = { ...process.env, PYTHONPATH: path.join(cache, "python"), PYTHONDONTWRITEBYTECODE: "1" };
    const { stdout } = await run("python3", [path.join(root, "tests/e2e/whatsapp.py"), root], { env });
    theirs = JSON.parse(stdout);
  });

  test("sends the same, field by field", () => {
    assert.deepEqual(Object.keys(theirs.sent).sort(), Object.keys(ours).sort());
    for (const [name, body] of Object.entries(ours)) assert.deepEqual(theirs.sent[name], body, name);
  });

  test("believes the signature that we believe, and no other", () => {
    assert.deepEqual(theirs.signature, { right: true, rewritten: false, other_body: false });
  });

  test("answers the handshake as we do", () => {
    assert.deepEqual(theirs.handshake, { right: ["1158201444", 200], wrong: 403 });
  });
});

describe("whatsapp-api-js", () => {
  const sent = [];
  const token = "EAAsampletoken";

  function api() {
    const fetch = async (_, { body }) => {
      sent.push(JSON.parse(body));
      return Response.json({ messages: [{ id: "wamid.X" }] });
    };
    const settings = { token, appSecret: vector.app_secret, webhookVerifyToken: "sample_verify_token", v: "v26.0", ponyfill: { fetch } };
    return new WhatsAppAPI(settings);
  }

  /** What it sends, with the one field that it leaves out where it has the platform's own default. */
  async function captured(message, quoted) {
    sent.length = 0;
    await api().sendMessage("100000000000001", { phone: "15550100001" }, message, quoted, "dlv_1:1");
    const [body] = sent;
    if (body.text) body.text.preview_url ??= false;
    return body;
  }

  test("sends the same text and buttons", async () => {
    const titles = { allow_once: "Allow once", allow_session: "Allow in this chat", deny: "Deny" };
    const buttons = Object.entries(titles).map(([word, title]) => new Button(`apr_0123:${word}`, title));
    const asked = new Interactive(new ActionButtons(...buttons), new Body("May I run it?"));
    assert.deepEqual(await captured(new Text("Crème brûlée 😊", false)), ours.text);
    assert.deepEqual(await captured(new Text("yes", false), "wamid.ASKED"), ours.text_quoted);
    assert.deepEqual(await captured(asked), ours.buttons);
  });

  test("believes the signature that we believe, and no other", async () => {
    const raw = (await read(`samples/whatsapp/${vector.file}`)).toString();
    assert.equal(await api().verifyRequestSignature(raw, vector.x_hub_signature_256), true);
    assert.equal(await api().verifyRequestSignature(raw, vector.sha256_of_reserialised_python_json), false);
  });

  test("answers the handshake as we do", () => {
    const asked = { "hub.mode": "subscribe", "hub.verify_token": "sample_verify_token", "hub.challenge": "1158201444" };
    assert.equal(api().get(asked), "1158201444");
    assert.throws(() => api().get({ ...asked, "hub.verify_token": "other" }), { httpStatus: 403 });
  });

  test("holds the limits that we hold", () => {
    assert.throws(() => new Text("x".repeat(4_097)));
    assert.throws(() => new Button("a", "t".repeat(21)));
    for (const { reply } of ours.buttons.interactive.action.buttons) new Button(reply.id, reply.title);
  });
});
