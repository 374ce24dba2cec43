// JSON as it was sent: an approval's arguments are shown, and hashed, to the letter.

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/gs;
const UNSEEN = /[\p{Bidi_Control}\p{Default_Ignorable_Code_Point}\u007f-\u009f\u2028\u2029\ufff9-\ufffb]/gu;

/** The text of a member of a JSON object; undefined where there is none. */
export function rawMember(json, name) {
  for (const [key, value] of members(json)) if (key === name) return value;
  return undefined;
}

/** The texts of a JSON array's elements. */
export const rawElements = (json) => [...members(json)].map(([, value]) => value);

/** Key and text of each member of an object, or element of an array (without a key). */
function* members(json) {
  let depth = 0;
  let key;
  let from = 0;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    const closes = token === "}" || token === "]";
    if (depth === 1 && (closes || token === ",")) {
      const value = json.slice(from, index).trim();
      if (value) yield [key, value];
      key = undefined;
      from = index + 1;
    }
    if (closes) depth -= 1;
    else if (token === "{" || token === "[") {
      if (depth === 0) from = index + 1;
      depth += 1;
    } else if (depth === 1 && token === ":") {
      key = JSON.parse(json.slice(from, index));
      from = index + 1;
    }
  }
}

/** Text in which nothing hides. */
export const spell = (text) =>
  text.replace(UNSEEN, (char) => {
    const code = char.codePointAt(0).toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
