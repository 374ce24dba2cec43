// The client's fold, frames and JSON texts, without a gateway: wherever a reader is cut, and however it begins again, it shows what one
// shows that was never cut, and that is the truth.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { emptyView, reduce } from "../../static/client.js";
import { keep, pastFrom, prepend } from "../../static/client/past.js";
import { Reader, Server, truth } from "./ledger.mjs";

const RUNS = Number(process.env.CLIENT_RUNS ?? 1500);
fc.configureGlobal({ numRuns: RUNS, includeErrorInReport: true });

/** Frozen to the bottom: a fold that writes into what it was given throws. */
function frozen(value) {
  if (value && typeof value === "object" && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(frozen);
  }
  return value;
}

/** Chance as a list of numbers, so that what fails can be made small; when they are used up, `draw.isDone`. */
function chance(numbers) {
  let at = 0;
  const draw = (n) => {
    if (at >= numbers.length) draw.isDone = true;
    return (numbers[at++ % numbers.length] + Math.floor(at / numbers.length)) % n;
  };
  return draw;
}

const numbers = fc.array(fc.nat(9999), { minLength: 10, maxLength: 600 });

class Client {
  constructor(server, view, draw) {
    Object.assign(this, { server, name: view, draw, view: emptyView, reader: null, past: pastFrom(0) });
  }

  fold(event) {
    keep(this.past, this.view, event);
    this.view = frozen(reduce(this.view, frozen(event)));
  }

  connect(from, resumed) {
    this.reader = new Reader(this.server, { view: this.name, draw: this.draw, from });
    this.fold({ type: "join", data: { resumed } });
  }

  /** Reads up to `most` events. */
  read(most = Infinity) {
    if (!this.reader) this.connect(this.view.last_id, true);
    for (let event; most > 0 && (event = this.reader.next()); most -= 1) this.fold(event);
    return this;
  }

  /** Something that may happen to a client: it reads a little, is cut, or begins again from an older place. */
  live() {
    const x = this.draw(10);
    if (x < 2) this.reader = null;
    else if (x < 3 && this.view.head >= this.past.since)
      this.connect(this.past.since + this.draw(this.view.head - this.past.since + 1), false);
    else this.read(this.draw(6));
  }
}

/** Without what differs by design: a place may name deltas that another reader was never sent, and the phase is told in passing. */
const comparable = ({ last_id: _, mode: __, ...view }) => view;
const same = (a, b) => assert.deepEqual(comparable(a.view), comparable(b.view));
const messagesOf = ({ items }) => items.filter(({ kind }) => kind === "message");

describe("the fold", () => {
  for (const name of ["chat", "owner"]) {
    test(`${name}: a client that is cut anywhere shows what an uncut one does, and that is the truth`, () => {
      fc.assert(
        fc.property(numbers, (list) => {
          const draw = chance(list);
          const server = new Server(draw);
          const uncut = new Client(server, name, () => 1);
          const clients = [new Client(server, name, draw), new Client(server, name, draw)];
          while (!draw.isDone) {
            server.step();
            uncut.read();
            clients.forEach((client) => client.live());
          }
          const fresh = new Client(server, name, draw).read();
          const { messages, queued, live, turn = null } = truth(server, name);
          assert.deepEqual(
            messagesOf(uncut.view).map(({ message_id, text }) => [message_id, text]),
            messages,
          );
          assert.deepEqual(
            messagesOf(uncut.view)
              .filter((item) => item.queued)
              .map(({ key }) => key),
            queued,
          );
          assert.equal(uncut.view.live?.text ?? "", live);
          assert.equal(uncut.view.turn, turn);
          assert.equal(new Set(uncut.view.items.map(({ key }) => key)).size, uncut.view.items.length);
          for (const client of [...clients, fresh]) same(client.read(), uncut);
        }),
      );
    });
  }

  test("a client that begins anywhere and pages back shows what one shows that began there", () => {
    fc.assert(
      fc.property(numbers, (list) => {
        const draw = chance(list);
        const server = new Server(draw);
        for (let i = 0; i < 20; i += 1) server.step();
        const client = new Client(server, "owner", draw);
        client.past = pastFrom(1 + draw(server.head - 1));
        client.view = { ...emptyView, last_id: String(client.past.since), ...named(server) };
        while (!draw.isDone) {
          server.step();
          client.live();
        }
        client.read();
        const records = readRecords(server);
        while (client.past.since) {
          const from = draw(client.past.since);
          const page = records.filter(({ data }) => data.seq > from && data.seq <= client.past.since);
          const before = client.view;
          Object.assign(client, prepend({ ...client, page, since: from }));
          frozen(client.view);
          assert.equal(client.view.live, before.live);
          const known = new Map(before.items.map((item) => [item.key, item]));
          for (const item of client.view.items)
            if (known.has(item.key) && isAlike(item, known.get(item.key))) assert.equal(item, known.get(item.key));
          const began = new Client(server, "owner", () => 1);
          if (from) began.view = { ...emptyView, last_id: String(from), ...named(server) };
          began.read();
          // of what only an older `hello` named, a client that begins now has never heard
          const heard = ({ items }) => items.filter(({ seq, state }) => seq > 0 || state === "pending");
          assert.deepEqual(heard(client.view), heard(began.view));
          assert.deepEqual([client.view.turn, client.view.head], [began.view.turn, began.view.head]);
          for (let i = draw(9); i > 0; i -= 1) server.step();
          client.read();
        }
        same(client, new Client(server, "owner", () => 1).read());
      }),
    );
  });
});

const isAlike = (a, b) => JSON.stringify(a) === JSON.stringify(b);

/** What the session's object tells. */
function named({ records }) {
  const { title } = records.findLast(({ type }) => type === "session_updated") ?? {};
  return { channel: "web", ...(title && { title }) };
}

function readRecords(server) {
  const reader = new Reader(server, { view: "owner", draw: () => 1 });
  const found = [];
  for (let event; (event = reader.next());) if (event.data.seq) found.push(event);
  return found;
}
