// Stands in for the package `entities` in the bundle of markdown-it: the named characters that answers use, where that package has all 2,231
// of them in 14 KB of tables. A name that is not here stays as it was written. Numbers (`&#8212;`) are markdown-it's own.

const NAMED = {
  amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0", shy: "\u00ad", ensp: "\u2002", emsp: "\u2003", thinsp: "\u2009",
  ndash: "–", mdash: "—", hellip: "…", bull: "•", middot: "·", laquo: "«", raquo: "»", lsquo: "‘", rsquo: "’", sbquo: "‚", ldquo: "“",
  rdquo: "”", bdquo: "„", copy: "©", reg: "®", trade: "™", deg: "°", sect: "§", para: "¶", euro: "€", pound: "£", yen: "¥", cent: "¢",
  plusmn: "±", times: "×", divide: "÷", minus: "−", ne: "≠", le: "≤", ge: "≥", asymp: "≈", infin: "∞", sum: "∑", prod: "∏", radic: "√",
  larr: "←", uarr: "↑", rarr: "→", darr: "↓", harr: "↔", lArr: "⇐", rArr: "⇒", hArr: "⇔", check: "✓", cross: "✗", frac12: "½", frac14: "¼",
  sup2: "²", sup3: "³", micro: "µ", alpha: "α", beta: "β", gamma: "γ", delta: "δ", lambda: "λ", mu: "μ", pi: "π", sigma: "σ", omega: "ω",
  auml: "ä", ouml: "ö", uuml: "ü", Auml: "Ä", Ouml: "Ö", Uuml: "Ü", szlig: "ß", eacute: "é", egrave: "è", agrave: "à", ccedil: "ç", ntilde: "ñ",
};

export const decodeHTMLStrict = (text) => text.replace(/&(\w+);/g, (whole, name) => (Object.hasOwn(NAMED, name) ? NAMED[name] : whole));
