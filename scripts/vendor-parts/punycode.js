// Stands in for the package `punycode.js` in the bundle of markdown-it, for the reason that `mdurl.js` beside it has.

export default { toASCII: String, toUnicode: String };
