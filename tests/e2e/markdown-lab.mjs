// What `markdown.mjs` does in the page: functions that name nothing outside of themselves, for only their text gets there.

/** In the page: what the tests below call there, as members of `lab`. */
export async function prepare(allowed) {
  const [{ answer, libraries }, { words }, { markdown }, { tokens }] = await Promise.all(
    ["markdown", "strings", "style/markdown", "style/tokens"].map((name) => import(`/widget/${name}.js`)),
  );
  const sheet = new CSSStyleSheet();
  sheet.replaceSync((tokens + markdown).replaceAll(":host", ":root"));
  document.adoptedStyleSheets = [sheet];
  const lab = (globalThis.lab = { libraries, frames: [], longest: 0 });
  const note = ({ duration }) => (lab.longest = Math.max(lab.longest, duration));
  new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type: "longtask" });
  /** An answer on the page. */
  lab.add = () => {
    const made = answer(words("en"));
    document.querySelector("main").append(made.element);
    return made;
  };
  /** From here on frames come when `flush` says so, until nothing waits for one, and a minute passes between them. */
  lab.hold = () => {
    const now = performance.now.bind(performance);
    let passed = 0;
    performance.now = () => now() + passed;
    window.requestAnimationFrame = (turn) => lab.frames.push(turn);
    lab.flush = () => {
      for (; lab.frames.length > 0; passed += 60_000) {
        const start = now();
        for (const turn of lab.frames.splice(0)) turn(performance.now());
        lab.longest = Math.max(lab.longest, now() - start);
      }
    };
  };
  /** Elements and attributes that no answer may have. */
  lab.strange = (element) =>
    [...element.querySelectorAll("*")].flatMap((one) => {
      const name = one.localName;
      const fits = (value) => (pattern) => new RegExp(`^(?:${pattern})$`).test(value);
      const isWrong = (attribute) => !allowed.attributes[attribute.name]?.some(fits(attribute.value));
      const isKnown = allowed.elements.includes(name) && one.namespaceURI.endsWith("xhtml");
      return [...(isKnown ? [] : [name]), ...[...one.attributes].filter(isWrong).map((wrong) => `${name} ${wrong.name}=${wrong.value}`)];
    });
  /** Letters and digits that are the answer's own. */
  lab.letters = (element) => {
    const copy = element.cloneNode(true);
    copy.querySelectorAll(".bar").forEach((bar) => bar.remove());
    return copy.textContent.replaceAll("Image: ", "").replaceAll("Image", "").replace(/[^\p{L}\p{N}]/gu, "");
  };
  /** Draws `text` as it grows up to each of `cuts`, and at once. What is wrong with that; null for nothing. */
  lab.problem = (text, cuts) => {
    document.querySelector("main").replaceChildren();
    const [grown, whole] = [lab.add(), lab.add()];
    const seen = [];
    for (const cut of cuts) {
      grown.show(text.slice(0, cut), { live: true });
      lab.flush();
      const strange = lab.strange(grown.element);
      if (strange.length > 0) return { cut, strange };
      seen.push([cut, lab.letters(grown.element)]);
    }
    for (const one of [grown, whole]) one.show(text);
    lab.flush();
    if (grown.element.innerHTML !== whole.element.innerHTML) return { grown: grown.element.innerHTML, whole: whole.element.innerHTML };
    const strange = lab.strange(whole.element);
    if (strange.length > 0) return { strange };
    const letters = lab.letters(whole.element);
    const early = seen.find(([, some]) => !letters.startsWith(some));
    return early ? { cut: text.slice(0, early[0]), shows: early[1], of: letters } : null;
  };
}

/** In the page: draws `all` as it grows, and tells how long that takes and what is wrong with it. */
export function drawBomb(all) {
  const one = lab.add();
  const start = Date.now();
  lab.longest = 0;
  for (const part of [0.5, 0.9, 1]) {
    one.show(all.slice(0, all.length * part), { live: part < 1 });
    lab.flush();
  }
  const ms = Date.now() - start;
  const said = new Set(all.replace(/^\[.*\]: .*$/gm, "").match(/\p{L}+/gu));
  const shown = [one.element.textContent.replace(/\s/g, ""), ...Array.from(one.element.querySelectorAll("a"), (a) => a.href)].join(" ");
  const isWhole = [...said].every((word) => shown.includes(word));
  const strange = lab.strange(one.element);
  one.element.remove();
  return { ms, longest: lab.longest, isWhole, strange };
}
