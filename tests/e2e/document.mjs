// The example in docs/WIDGET.md of a chat on the client alone, as a page has it that follows the document to the letter.

import assert from "node:assert/strict";
import fs from "node:fs/promises";
import path from "node:path";
import { after, before, test } from "node:test";
import { startHost } from "./host.mjs";
import { root, startPortico, until } from "./support.mjs";
import { newContext, openPage, startBrowser, stopBrowser } from "./widget-support.mjs";

let server;

before(async () => {
  await startBrowser();
  server = await startPortico();
});
after(async () => {
  await stopBrowser();
  await server?.stop();
  await server?.remove();
});

test("the document's example of a client is a whole chat", async (t) => {
  const text = await fs.readFile(path.join(root, "docs/WIDGET.md"), "utf8");
  const example = text.match(/```js\n(import \{ Portico \}.*?)```/s)[1];
  const [, markup] = text.match(/With `(<pre>.*?)` on a page/);
  const pages = { "/own": `${markup}<script type="module" src="/own.js"></script>` };
  const host = await startHost({ pages, upstream: () => server.url });
  t.after(() => host.stop());
  const context = await newContext();
  await context.route("**/own.js", (route) => route.fulfill({ contentType: "text/javascript", body: example }));
  const { page, finish } = await openPage(`${host.url}/own`, { context });
  const say = async (what) => (await page.locator("input").fill(what), page.keyboard.press("Enter"));
  await say(" ");
  await say("book a table for two");
  await page.getByText('demo_booking: {"item":"table for two"').waitFor();
  await page.getByRole("button", { name: "allow_once" }).click();
  const whole = () => until("the whole answer", async () => {
    const shown = await page.locator("pre").textContent();
    return shown.includes("assistant: Booked") && !shown.includes("…") && shown;
  });
  const shown = await whole();
  assert.equal(shown.match(/^user: /gm).length, 1, shown);
  await until("its title", async () => (await page.title()) === "open");
  await page.reload();
  assert.equal(await whole(), shown);

  await page.route("**/messages", (route) => route.fulfill({ status: 409, json: { code: "queue_full", detail: "Too many wait." } }));
  await say("one more");
  await page.getByText("user: one more (Too many wait.)").waitFor();
  await finish(/409/);
  await context.close();
});
