// Stands in for the package `entities` in the bundle of markdown-it: the named characters that answers use, where that package has all
// 2,231 of them in 14 KB of tables. A name that is not here stays as it was written. Numbers (`&#8212;`) are markdown-it's own.

const NAMED = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", ndash: "–", mdash: "—", hellip: "…", bull: "•", middot: "·", laquo: "«",
  raquo: "»", lsquo: "‘", rsquo: "’", ldquo: "“", rdquo: "”", copy: "©", reg: "®", trade: "™", deg: "°", sect: "§", euro: "€", pound: "£",
  yen: "¥", plusmn: "±", times: "×", divide: "÷", ne: "≠", le: "≤", ge: "≥", larr: "←", uarr: "↑", rarr: "→", darr: "↓",
};

export const decodeHTMLStrict = (text) => text.replace(/&(\w+);/g, (whole, name) => (Object.hasOwn(NAMED, name) ? NAMED[name] : whole));
