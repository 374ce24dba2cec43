// Whose conversation an element shows where nobody names one: elements of one page that say the same have one each, in their order.

const taken = new Set();

/** An element's own. It keeps what it took until it leaves or is somebody else's. */
export function seat() {
  let of;
  let name;

  function leave() {
    taken.delete(name);
    of = name = undefined;
  }
  return {
    leave,
    take(whose) {
      if (of === JSON.stringify(whose)) return name;
      leave();
      of = JSON.stringify(whose);
      const named = (nth) => (nth ? JSON.stringify([...whose, nth]) : of);
      let nth = 0;
      while (taken.has(named(nth))) nth += 1;
      name = named(nth);
      taken.add(name);
      return name;
    },
  };
}
