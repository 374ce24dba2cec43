// Stands in for the package `linkify-it` in the bundle of markdown-it, whose tables and rules find addresses without a scheme too. In an
// answer only what says `http://`, `https://` or `mailto:` becomes a link. The methods are those that markdown-it calls.

/** Up to white space, quotes, or the punctuation of scripts that write no space behind an address. */
const URL_END = String.raw`[^\s<>"\x60|\\^{}“”„«»\p{Cc}\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff65]{0,2000}`;
const MAIL = String.raw`mailto:[\w.+-]{1,64}@[\p{L}\p{N}.-]{1,255}`;
/** With bounds, for it is tried all over a text. */
const ADDRESS = new RegExp(String.raw`(?<![\p{L}\p{N}_])(?:https?:\/\/[\p{L}\p{N}[]${URL_END}|${MAIL})`, "giu");
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

/** Up to a bracket that was opened in front of the address, and without marks that end the sentence. */
function withoutEnd(url) {
  const opened = [];
  for (let i = 0; i < url.length; i += 1) {
    if ("([".includes(url[i])) opened.push({ "(": ")", "[": "]" }[url[i]]);
    else if (")]".includes(url[i]) && opened.pop() !== url[i]) return withoutEnd(url.slice(0, i));
  }
  return url.replace(/[.,:;!?'*_~([]+$/, "");
}
