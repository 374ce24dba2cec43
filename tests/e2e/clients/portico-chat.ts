// A page in strict TypeScript with the widget: what its types allow, and what they do not.

import type { PorticoChat } from "portico-client/widget";

const chat: PorticoChat = document.createElement("portico-chat");
Object.assign(chat, { id: "shop" });
chat.mode = "launcher";
chat.storageKey = "shop";
chat.history = 50;
chat.base = new URL("https://gateway.example/");
chat.credential = async ({ refused }) => (refused ? null : "token");
chat.suggestions = new Set(["Where is my order?"]);
chat.strings = { send: "Go" };
chat.open = true;
chat.send("hello");
document.body.append(chat);
chat.stop().then(() => chat.newConversation());

chat.addEventListener("portico-message", ({ detail: { role, text } }) => console.log(role === "human", text.trim()));
chat.addEventListener("portico-done", ({ detail }) => console.log(detail.reason.length));
chat.addEventListener("click", (event) => event.clientX);
document.addEventListener("portico-problem", ({ detail: { code, message, status, detail } }) => console.log(code, message, status.toFixed(), detail.length));

const { view, connection, outbox } = chat.snapshot;
console.log(view?.items.length, connection?.state, outbox?.[0]?.state, chat.unread.toFixed(), chat.sessionId?.length, chat.heading.length);

// @ts-expect-error: there is no such mode
chat.mode = "dialog";
// @ts-expect-error: an event has what it has
chat.addEventListener("portico-toggle", ({ detail }) => detail.count);
// @ts-expect-error: what is only to be read
chat.unread = 3;
