// Stands in for the package `linkify-it` in the bundle of markdown-it, whose tables and rules find addresses without a scheme too. An answer's
// text becomes a link only where it says `http://`, `https://` or `mailto:`. The methods are those that markdown-it calls.

/** Up to white space, quotes, or the punctuation of scripts that write no space behind an address; with bounds, for `match` tries it all over. */
const ADDRESS =
  /(?<![\p{L}\p{N}_])(?:https?:\/\/[\p{L}\p{N}[][^\s<>"`|\\^{}“”„«»\p{Cc}\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff65]{0,2000}|mailto:[\w.+-]{1,64}@[\p{L}\p{N}.-]{1,255})/giu;

const AT_START = new RegExp(ADDRESS.source, "iuy");

export class LinkifyIt {
  test(text) {
    return text.search(ADDRESS) >= 0;
  }

  matchAtStart(text) {
    AT_START.lastIndex = 0;
    const found = AT_START.exec(text);
    return found && link(found);
  }

  match(text) {
    const found = Array.from(text.matchAll(ADDRESS), link);
    return found.length > 0 ? found : null;
  }
}

function link({ 0: whole, index }) {
  const url = withoutEnd(whole);
  return { schema: /^\w+:/.exec(url)[0].toLowerCase(), index, lastIndex: index + url.length, raw: url, text: url, url };
}

/** Without marks that end the sentence, and without a bracket that was opened in front of the address. */
function withoutEnd(url) {
  const text = url.replace(/[.,:;!?'*_~]+$/, "");
  const last = text.at(-1);
  const opening = { ")": "(", "]": "[" }[last];
  const isWhole = !opening || text.split(opening).length >= text.split(last).length;
  return isWhole ? text : withoutEnd(text.slice(0, -1));
}
