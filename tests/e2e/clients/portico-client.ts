// A consumer of the client in strict TypeScript: each part of the contract is used as its types say.

import {
  type Item,
  Portico,
  Problem,
  type Session,
  type StreamEvent,
  type View,
  emptyView,
  frames,
  rawMember,
  reduce,
  spell,
} from "portico-client";

const gateway = new Portico({
  base: "http://127.0.0.1:1",
  credential: async ({ refused }) => (refused ? null : "key"),
  host: { random: () => 0 },
});
const session: Session = gateway.session({ create: { channel: "web", key: "visitor" }, view: "chat", history: 0 });

function words(item: Item): string {
  switch (item.kind) {
    case "message":
      return `${item.role}: ${item.text}`;
    case "tool":
      return `${item.tool} ${item.state} ${item.duration_ms?.toFixed() ?? ""}`;
    case "approval":
      return `${item.tool}? ${item.decision ?? item.decisions?.join() ?? ""}`;
    case "question":
      return item.questions.map(({ text }) => text).join();
    case "notice":
      return `${item.notice} ${item.reason ?? ""}`;
  }
}

export async function everything(): Promise<View> {
  const end: () => void = session.subscribe(({ view, outbox, connection }) => {
    const problem = connection.state === "closed" ? connection.problem?.message : outbox[0]?.problem?.code;
    console.log(view.items.map(words), view.live?.blocks[0]?.text, problem);
  });
  session.onEvent((event: StreamEvent, { live }) => console.log(event.type, live));
  const { key } = session.send("hello", { mode: "steer" });
  session.retry(key);
  session.discard(key);
  await session.decide("p", "allow_once", "why");
  await session.answer("q", [{ id: "1", selected: [], text: "so" }]);
  await session.cancel({ keep_queue: true }).catch((error: unknown) => {
    if (error instanceof Problem) console.log(error.status, error.code, error.retry_after_ms);
  });
  const more: boolean = session.hasEarlier && (await session.earlier());
  const text: string = await (await session.artifact("a")).text();
  for await (const { event, data } of frames(new Response(text).body!)) console.log(more, event, data, rawMember("{}", "a"), spell("b"));
  end();
  return session.view;
}

const view = reduce(emptyView, { type: "message_queued", id: "1", data: { seq: 1, at: "now", message_id: "m", text: "hello" } });
console.log(view.items.map(words).join());
