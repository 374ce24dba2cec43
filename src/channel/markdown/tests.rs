use super::rules::{Code, Edges, Level, Link, Pair, Quote};
use super::*;
use crate::channel::chunk::parts;
use crate::domain::profile::LengthUnit;

/// A channel of another kind: tags that act anywhere, links around their text, and characters that are escaped.
pub(in crate::channel) const HTML: Rules = Rules {
    bold: Pair { open: "<b>", close: "</b>" },
    italic: Pair { open: "<i>", close: "</i>" },
    strike: Pair { open: "<s>", close: "</s>" },
    code: &[Code { pair: Pair { open: "<code>", close: "</code>" }, free_of: "" }],
    fence: Code { pair: Pair { open: "<pre>", close: "</pre>" }, free_of: "" },
    quote: Quote { pair: Pair { open: "<blockquote>", close: "</blockquote>" }, line: "" },
    levels: &[Level { bullet: "• ", indent: "", hang: "  " }],
    after_number: ") ",
    task_done: "[x] ",
    task_open: "[ ] ",
    link: Link::Around { open: "<a href=\"", between: "\">", close: "</a>", most: 60, after: Pair { open: " (", close: ")" } },
    empty_cell: "-",
    edges: Edges::Anywhere,
    escapes: &[('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;")],
    guard: None,
};

fn whole(markdown: &str, rules: &Rules) -> String {
    let parts = parts(markdown, rules, 0, LengthUnit::Chars);
    assert!(parts.len() <= 1, "without a limit there is one part: {parts:?}");
    parts.concat()
}

/// The word joiner as `¦`, which no example has.
fn whatsapp(markdown: &str) -> String {
    whole(markdown, &WHATSAPP).replace('\u{2060}', "¦")
}

fn all(examples: &[(&str, &str)], written: impl Fn(&str) -> String) {
    let wrong: Vec<_> =
        examples.iter().map(|(markdown, want)| (markdown, written(markdown), want)).filter(|(_, got, want)| got != *want).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn emphasis() {
    let examples = [
        ("**b** __b__", "*b b*"),
        ("**b** and __b__", "*b* and *b*"),
        ("*i* _i_ x", "_i i_ x"),
        ("~~s~~", "~s~"),
        ("***launch now***", "*_launch now_*"),
        ("**_x_** a __*x*__", "*_x_* a *_x_*"),
        ("*a **b** c*", "_a *b* c_"),
        ("***a** b*", "*_a_* _b_"),
        ("**a\nb**", "*a*\n*b*"),
        ("**Note:** text, **more**!", "*Note:* text, *more*!"),
        ("(**a**)", "(*a*)"),
        // a marker within a word would be shown
        ("un**bel**ievable", "unbelievable"),
        ("重**点**内容", "重点内容"),
        // space moves out of the markers
        ("**&nbsp;a&nbsp;** b", "*a*\u{A0} b"),
        ("**a** **b**", "*a b*"),
        ("**`code` and words**", "`code` *and words*"),
        ("**https://example.com/a_b**", "https://example.com/a_b"),
    ];
    all(&examples, whatsapp);
}

#[test]
fn literal_markers() {
    let examples = [
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("snake_case_name file_names.rs", "snake_case_name file_names.rs"),
        ("2*3*4 a*b*c 2**3**4 10~20, 30~40", "2*3*4 a*b*c 2¦*¦*¦3¦*¦*¦4 10~20, 30~40"),
        (r"\*not bold\*", "¦*¦not bold¦*¦"),
        (r"\_\_init\_\_", "¦_¦_¦init¦_¦_¦"),
        ("~5 km~", "¦~¦5 km¦~¦"),
        (r"a \` b", "a ` b"),
        (r"\`x\`", "¦`¦x¦`¦"),
        ("62070503***63047BB3", "62070503¦*¦*¦*¦63047BB3"),
        (r"**a\*b c\* d**", "*a*b c¦*¦ d*"),
        (r"\> no quote", "¦> no quote"),
        (r"\- no item", "¦- no item"),
        (r"\* no item", "¦* no item"),
        (r"\# \[x\] \\ 1\. a", r"# [x] \ 1. a"),
        ("https://x.org/_a_*b*?c=~d ok", "https://x.org/_a_*b*?c=~d ok"),
        ("a < b && c > d &amp; &lt;b&gt;", "a < b && c > d & <b>"),
    ];
    all(&examples, whatsapp);
}

#[test]
fn blocks() {
    let examples = [
        ("# H\ntext", "*H*\n\ntext"),
        ("## A **b** _c_ `d`\n", "*A b _c_* `d`"),
        ("Title\n=====\nx", "*Title*\n\nx"),
        ("a\n\n---\n\nb", "a\n\nb"),
        ("a\nb  \nc\\\nd", "a\nb\nc\nd"),
        ("> a\n> b\n>\n> > c\n\nd", "> a\n> b\n\n> c\n\nd"),
        ("```rust\nfn a() {}\n\n  *b*\n```", "```\nfn a() {}\n\n  *b*\n```"),
        ("```markdown\n**a**\n\n- b\n```\nc", "*a*\n\n- b\n\nc"),
        ("~~~~md\n```md\n# x\n```\n~~~~", "*x*"),
        ("a\n\n    code\n", "a\n\n```\ncode\n```"),
        ("> ```\n> x\n> ```\n> y", "```\nx\n```\n\n> y"),
        // no fence can hold it
        ("~~~\na\n```\nb\n~~~", "a\n```\nb"),
        ("`a` ``b`c`` ```` `d ````", "`a` ```b`c``` `d"),
    ];
    all(&examples, whatsapp);
}

#[test]
fn lists() {
    let examples = [
        ("- a\n- b\n\nc", "- a\n- b\n\nc"),
        ("* a\n\n* b", "- a\n- b"),
        ("- a\n  - b\n    - c\n- d", "- a\n  ◦ b\n  ◦ c\n- d"),
        ("3. a\n4. b\n   1. c", "3. a\n4. b\n  1. c"),
        ("- [x] done\n- [ ] open", "- ☑ done\n- ☐ open"),
        ("> - a\n>   b\n>\n> c", "> - a\n>   b\n\n> c"),
        ("- a\n\n  more\n\n  > q\n- b", "- a\n  more\n> q\n- b"),
        ("1. Run:\n   ```sh\n   ls\n   ```\n2. Look", "1. Run:\n```\nls\n```\n2. Look"),
        ("1. ```\n   ls\n   ```", "1.\n```\nls\n```"),
        ("-\n- a", "- a"),
        ("- **A**: b", "- *A*: b"),
    ];
    all(&examples, whatsapp);
}

#[test]
fn links_and_images() {
    let examples = [
        ("[t](https://x.org/a)", "t (https://x.org/a)"),
        ("[https://x.org](https://x.org) <https://y.org>", "https://x.org https://y.org"),
        ("[x.org](https://x.org/)", "x.org"),
        ("[](https://x.org)", "https://x.org"),
        ("<a_b@x.org> [w](mailto:a@x.org) [a@x.org](mailto:a@x.org)", "a_b@x.org w (mailto:a@x.org) a@x.org"),
        ("<ftp://x.org/_a> b", "ftp://x.org/_a b"),
        ("[t]() [t](#part)", "t t (#part)"),
        ("**[t](https://x.org) b**", "*t* (https://x.org) *b*"),
        ("![a cat](https://x.org/c.png)", "a cat: https://x.org/c.png"),
        ("![](https://x.org/c.png)", "https://x.org/c.png"),
        ("[![ok](https://x.org/b.svg)](https://x.org)", "ok: https://x.org/b.svg (https://x.org)"),
        ("[a][1] [b][2]\n\n[1]: https://x.org 'title'", "a (https://x.org) [b][2]"),
        // an address that no link names
        ("a\n\n[1]: https://x.org\n[2]: https://y.org\n", "a\n\n1: https://x.org\n2: https://y.org"),
        ("see (https://en.wikipedia.org/wiki/A_(b)_c).", "see (https://en.wikipedia.org/wiki/A_(b)_c)."),
        ("a[^n] b[^2]\n\n[^n]: The note.\n", "a[n] b[^2]\n\n[n] The note."),
    ];
    all(&examples, whatsapp);
}

#[test]
fn tables() {
    let examples = [
        ("|a|b|\n|-|-|\n|1|2|\n|3|**4**|\n\nc", "*a: b*\n1: 2\n3: *4*\n\nc"),
        ("|a|\n|-|\n|1|\n|2|", "*a*\n1\n2"),
        (
            "|Name|Price|Stock|\n|-|-|-|\n|Tea|3 \\| 4|`x|\n|Jam|5||",
            "*Name:* Tea\n*Price:* 3 | 4\n*Stock:* ¦`¦x\n\n*Name:* Jam\n*Price:* 5",
        ),
        ("|**A**|b:|c|\n|-|-|-|\n|1|2||", "*A:* 1\n*b:* 2\n*c:* –"),
        ("|a|b|c|\n|-|-|-|", "*a: b: c*"),
        ("|a|b|c|\n|-|-|-|\n|x<br>y|[t](https://x.org)|`d`|", "*a:* x y\n*b:* t (https://x.org)\n*c:* `d`"),
    ];
    all(&examples, whatsapp);
    let name = "n".repeat(300);
    let long = whatsapp(&format!("|{name}|b|c|\n|-|-|-|\n|1|2|3|\n|4|5|6|"));
    assert!(long.starts_with(&format!("*{name}:* 1\n")) && long.contains(&format!("\n\n*{}…:* 4\n", "n".repeat(40))), "{long}");
}

#[test]
fn html() {
    let examples = [
        ("a <b>c</b><br>d <!-- e --> f", "a c\nd  f"),
        ("<div>\n<p>a &amp; b</p>\n<!-- c\n-->d</div>\n\ne", "a & b\nd\n\ne"),
        ("<details><summary>s</summary>\n\n**t**\n\n</details>", "s\n\n*t*"),
        ("use <your-key> here", "use <your-key> here"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b"),
        ("<div>\n<!-- never closed\nwords", "<!-- never closed\nwords"),
        ("<div>1 < 2 <b</div>", "1 < 2 <b"),
    ];
    all(&examples, |markdown| whatsapp(markdown).replace("a  b", "a b"));
}

#[test]
fn where_links_and_images_of_html_lead_stays() {
    let (link, image) = ("here (https://x.example/pay?a=1&b=2)", "a chart: https://x.example/i.png");
    let examples = [
        ("Pay <a href=\"https://x.example/pay?a=1&amp;b=2\">here</a> today", &*format!("Pay {link} today")),
        (
            "<p>Pay <A class=x data-href='#' HREF='https://x.example/pay?a=1&b=2' target=_blank>here</A> today</p>",
            &format!("Pay {link} today"),
        ),
        ("<a href=https://x.org>**t**</a>", "*t* (https://x.org)"),
        ("<a href=\"https://x.org\">https://x.org</a>, <a href=\"https://x.org\"></a>", "https://x.org, https://x.org"),
        ("See <img src=\"https://x.example/i.png\" alt=\"a chart\"/>", &format!("See {image}")),
        ("<div><img alt='a chart' src='https://x.example/i.png'></div>", image),
        ("<img alt=\"a chart\" src=\"data:image/png;base64,AAAA\">", "a chart"),
        ("<a name=\"x\">t</a> <a href>u</a> <img>", "t u"),
        // what does not end, or ends twice, or crosses
        ("<a href=\"https://x.org\">t\n\nu</a> v", "t (https://x.org)\n\nu v"),
        ("- <a href=\"https://x.org\">t\n- u", "- t (https://x.org)\n- u"),
        ("[t <a href=\"https://y.org\">u](https://x.org)</a>", "t u (https://y.org) (https://x.org)"),
        ("<a href=\"https://y.org\">u [t](https://x.org)</a>", "u t (https://x.org) (https://y.org)"),
    ];
    all(&examples, whatsapp);
}

#[test]
fn what_would_be_empty_is_the_source() {
    for source in ["<!-- only a comment -->", "---", "***", "#", "- ", "```\n\n```", "&nbsp;", "[](<>)", "| | |\n|-|-|"] {
        assert_eq!(whole(source, &WHATSAPP), source.trim(), "{source:?}");
    }
    for blank in ["", " \n\t\r\n", "\u{200B}\u{FEFF}", "\u{1}\u{7}", "\u{2060}\n\n\u{AD}"] {
        assert_eq!(parts(blank, &WHATSAPP, 100, LengthUnit::Utf16), [""; 0], "{blank:?}");
    }
}

#[test]
fn rules_are_data() {
    let examples = [
        ("**b** *i* ~~s~~ un**bel**ievable", "<b>b</b> <i>i</i> <s>s</s> un<b>bel</b>ievable"),
        ("a < b & \"c\" `x<y` 2 * 3 _", "a &lt; b &amp; &quot;c&quot; <code>x&lt;y</code> 2 * 3 _"),
        ("> a\n> **b**\n\n```rust\nx && y\n```", "<blockquote>a\n<b>b</b></blockquote>\n\n<pre>x &amp;&amp; y</pre>"),
        ("[t **b**](https://x.org/?a&b)", "<a href=\"https://x.org/?a&amp;b\">t <b>b</b></a>"),
        (
            "[`c`](https://x.org) <https://y.org> ![a](https://z.org)",
            "<a href=\"https://x.org\"><code>c</code></a> <a href=\"https://y.org\">https://y.org</a> a: https://z.org",
        ),
        ("1. a\n   - [x] b", "1) a\n• [x] b"),
        ("**https://x.org**", "<b>https://x.org</b>"),
    ];
    all(&examples, |markdown| whole(markdown, &HTML));
    let far = format!("https://x.org/{}", "a".repeat(60));
    assert_eq!(whole(&format!("[t]({far})"), &HTML), format!("t ({far})"), "a long address is not written in each message");
}
