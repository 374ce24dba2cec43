// <portico-chat> in each of its states, light and dark, wide and narrow: axe finds nothing serious, and a picture is kept to be looked at
// (.cache/e2e/widget-*.png).

import { after, before, describe, test } from "node:test";
import { WIDGET, axe, gated, openPage, picture, startBrowser, startShop, stopBrowser } from "./widget-support.mjs";

const ANSWER = `Three boats are *free*:

| Boat | Price |
|:--|--:|
| Rowing boat | 12 |
| Pedal boat | 15 |

\`\`\`js
rent("rowing boat", { hours: 2 });
\`\`\`

- one [link](https://a.example/)
- 狐狸 שלום

> Bring a hat.`;
const QUESTIONS = [
  { text: "Which boat?", options: [{ label: "Rowing boat", description: "seats four" }, { label: "Pedal boat" }] },
  { text: "What else?", options: [{ label: "Oars" }, { label: "Vest" }], multiple: true, free_text: true },
];

let demo;
let shop;
let gate;

before(async () => {
  await startBrowser();
  const pages = {
    "/launcher": `<h1>A shop</h1>${WIDGET}<portico-chat mode="launcher" open></portico-chat>`,
    "/gone": `<h1>A shop</h1>${WIDGET}<portico-chat session="ses_none"></portico-chat>`,
  };
  const ask = { index: 0, id: "call_1", type: "function", function: { name: "ask_user", arguments: JSON.stringify({ questions: QUESTIONS }) } };
  const reply = ({ content }) => {
    if (content === "Please ask me.") return { content: null, tool_calls: [ask] };
    return content === "Tell me slowly." ? gate : { content: ANSWER };
  };
  demo = await startShop({ pages });
  shop = await startShop({ reply, config: "[channels.web]\nallow_ask_user = true\n", pages });
});
after(async () => {
  await stopBrowser();
  await shop?.stop();
  await demo?.stop();
});

/** Each begins on a fresh page and ends in the state that is looked at. */
const STATES = {
  async empty(open) {
    const tab = await open(shop, "/shop");
    await tab.chat.evaluate((one) => (one.suggestions = ["Which boats are free?", "What does it cost?"]));
    await tab.button("What does it cost?").waitFor();
    return tab;
  },
  async answer(open) {
    const tab = await open(shop, "/launcher");
    await tab.say("Which boats are free?");
    await tab.chat.getByRole("cell", { name: "15" }).waitFor();
    await tab.turnEnds();
    return tab;
  },
  async streaming(open) {
    gate = gated();
    const tab = await open(shop, "/shop");
    await tab.say("Tell me slowly.");
    gate.more(ANSWER.slice(0, 40));
    await tab.answers.waitFor();
    await tab.say("And what of tomorrow?");
    await tab.chat.locator(".queued").waitFor();
    return tab;
  },
  async question(open) {
    const tab = await open(shop, "/launcher");
    await tab.say("Please ask me.");
    await tab.chat.getByRole("group", { name: "Questions for you" }).waitFor();
    return tab;
  },
  async approval(open) {
    const tab = await open(demo, "/launcher");
    await tab.say("look up a rowing boat");
    await tab.chat.locator(".tools").waitFor();
    await tab.turnEnds();
    await tab.chat.locator(".tools summary").first().click();
    await tab.say("book a table for two");
    await tab.chat.getByRole("group", { name: "Allow demo_booking?" }).waitFor();
    return tab;
  },
  async settled(open) {
    const tab = await STATES.approval(open);
    await tab.button("Deny").click();
    await tab.chat.getByText("demo_booking denied").waitFor();
    await tab.turnEnds();
    return tab;
  },
  async offline(open) {
    const tab = await open(shop, "/shop");
    await tab.say("Which boats are free?");
    await tab.answers.waitFor();
    await tab.turnEnds();
    await tab.page.context().setOffline(true);
    await tab.say("And tomorrow?");
    await tab.chat.locator('[data-state="waiting"]').getByText("Is sent").waitFor();
    await tab.chat.getByText("Offline. What you write is sent once you are back.").waitFor();
    return tab;
  },
  async refused(open) {
    const tab = await open(shop, "/shop");
    const forbidden = { status: 403, contentType: "application/problem+json", body: '{"code": "forbidden", "title": "Forbidden"}' };
    await tab.page.route("**/messages", (route) => route.fulfill(forbidden));
    await tab.say("Which boats are free?");
    await tab.button("Try again").waitFor();
    return tab;
  },
  async gone(open) {
    const tab = await open(shop, "/gone");
    await tab.chat.getByRole("alert").getByText("does not exist").waitFor();
    return tab;
  },
};

const LOOKS = {
  light: { colorScheme: "light" },
  "dark-phone": { colorScheme: "dark", viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true },
};

for (const [look, options] of Object.entries(LOOKS)) {
  describe(look, () => {
    for (const [state, reach] of Object.entries(STATES)) {
      test(state, async () => {
        const tab = await reach(async (of, path) => {
          const opened = await openPage(`${of.url}${path}`, options);
          if (options.colorScheme === "dark") await opened.chat.evaluate((one) => (one.theme = "dark"));
          return opened;
        });
        // what comes in with a movement is looked at when it is there
        await tab.chat.evaluate((one) => {
          const ends = one.shadowRoot.getAnimations().filter(({ effect }) => effect.getTiming().iterations !== Infinity);
          return Promise.allSettled(ends.map(({ finished }) => finished));
        });
        await picture(tab.page, `${state}-${look}`);
        await axe(tab.page);
        gate?.end();
        await tab.finish(/net::ERR_|404|403/);
      });
    }
  });
}
