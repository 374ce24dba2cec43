// What a browser keeps of a conversation: the key that makes its session and the session's id, for all tabs; the draft, for one.
//
// Nothing is written before there is something to write in.

/** A browser's storage; where there is none, or it is full, what is set lasts as long as the page. */
function safely(name) {
  const own = new Map();
  const attempt = (what) => {
    try {
      return what(globalThis[name]);
    } catch {
      return undefined;
    }
  };
  return {
    getItem: (key) => own.get(key) ?? attempt((real) => real.getItem(key)) ?? null,
    setItem(key, value) {
      own.delete(key);
      if (!attempt((real) => (real.setItem(key, value), true))) own.set(key, value);
    },
    removeItem(key) {
      own.delete(key);
      attempt((real) => real.removeItem(key));
    },
  };
}

/**
 * `place` says whose conversation it is and where, `session` which one instead of theirs. Another tab has begun or found another one:
 * `follow()`; it has seen more: `saw()`.
 */
export function remember(place, session, { follow, saw }, signal) {
  const local = safely("localStorage");
  const tab = safely("sessionStorage");
  const name = `portico.chat:${place}`;
  const ofDraft = `${name}.draft ${session}`;
  const ofSeen = `${name}.seen ${session}`;
  let kept = read();

  function read() {
    // nothing but what is written there: a page may have added to what all objects have
    try {
      return { __proto__: null, ...JSON.parse(local.getItem(name)) };
    } catch {
      return { __proto__: null };
    }
  }
  function write(value) {
    kept = { __proto__: null, ...value };
    local.setItem(name, JSON.stringify(value));
  }
  addEventListener(
    "storage",
    (event) => {
      if (event.key === ofSeen) saw();
      if (event.key !== name && event.key !== null) return;
      const before = kept;
      kept = read();
      if (before.key !== kept.key || before.id !== kept.id) follow();
    },
    { signal },
  );

  return {
    local,
    /** Undefined until `claim`. */
    get key() {
      return kept.key && `${kept.key}.${kept.nth}`;
    },
    get id() {
      return kept.id;
    },
    /** The key that all tabs of this place make their session by. */
    claim() {
      kept = read();
      if (!kept.key) write({ key: crypto.getRandomValues(new Uint32Array(4)).join("-"), nth: 1 });
    },
    /** The session that `key` made. */
    made(id, key) {
      kept = read();
      if (this.key === key && kept.id !== id) write({ ...kept, id });
    },
    /** The next conversation; two tabs that leave the same one meet in the same next. */
    renew(left) {
      kept = read();
      if (kept.key && (!left || kept.id === left)) write({ key: kept.key, nth: kept.nth + 1 });
    },
    /** The seq up to which a session's messages were seen; undefined where none was. */
    seen(id) {
      const [of, seq] = (local.getItem(ofSeen) ?? "").split(" ");
      return of === id ? Number(seq) : undefined;
    },
    see: (id, seq) => local.setItem(ofSeen, `${id} ${seq}`),
    get draft() {
      return tab.getItem(ofDraft) ?? "";
    },
    set draft(text) {
      if (text) tab.setItem(ofDraft, text);
      else tab.removeItem(ofDraft);
    },
  };
}
