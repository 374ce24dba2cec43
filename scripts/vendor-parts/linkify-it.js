// Stands in for the package `linkify-it` in the bundle of markdown-it, which with its tables of characters is a fifth of it: bare addresses
// become links only where they say `http://` or `https://` themselves, and for that one expression will do.

/** Up to white space, quotes, angle brackets, or the punctuation of scripts that write no space behind an address. */
const ADDRESS = /(?<![\p{L}\p{N}])https?:\/\/[^\s<>"`|“”„«»\p{Cc}\u3000-\u303f\uff00-\uff0f\uff1a-\uff20\uff3b-\uff65]+/giu;
const PAIRS = { ")": "(", "]": "[", "}": "{" };

/** Without what belongs to the sentence around it: punctuation at the end, and brackets that were opened before it. */
function trimmed(address) {
  let end = address.length;
  const count = (char) => address.slice(0, end).split(char).length;
  for (; end > 0; end -= 1) {
    const last = address[end - 1];
    const isOpened = PAIRS[last] && count(last) <= count(PAIRS[last]);
    if (isOpened || !/[)\]}.,:;!?'*_~]/.test(last)) break;
  }
  return address.slice(0, end);
}

export class LinkifyIt {
  test = (text) => this.match(text) !== null;

  match(text) {
    const found = [...text.matchAll(ADDRESS)].map(({ 0: address, index }) => {
      const url = trimmed(address);
      return { schema: "http:", index, lastIndex: index + url.length, text: url, url };
    });
    const links = found.filter(({ url }) => /\/\/./.test(url));
    return links.length > 0 ? links : null;
  }

  matchAtStart(text) {
    const first = this.match(text)?.[0];
    return first?.index === 0 ? first : null;
  }
}
