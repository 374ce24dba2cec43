// JSON as it was sent: an approval's arguments are shown, and hashed, to the letter.

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/gs;
const UNSEEN = /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/gu;

export const rawMember = (json, name) => members(json).find(([key]) => key === name)?.[1];

/** The texts of an array's elements. */
export const rawElements = (json) => members(json).map(([, text]) => text);

/** Key and text of each member of an object, or element of an array. */
function members(json) {
  const found = [];
  let depth = 0;
  let key;
  let from;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const isEnd = /[}\]]/.test(token[0]);
    if (depth === 1 && (isEnd || token === ",")) {
      const text = json.slice(from, index).trim();
      if (text) found.push([key, text]);
    }
    if (depth === 1 && token === ":") key = JSON.parse(json.slice(from, index));
    if (isEnd) depth -= 1;
    else if (/[{[]/.test(token[0])) depth += 1;
    if (depth === 1 && token[0] !== '"' && !isEnd) from = index + 1;
  }
  return found;
}

export const spell = (text) =>
  text.replace(UNSEEN, (char) => {
    const code = char.codePointAt(0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
