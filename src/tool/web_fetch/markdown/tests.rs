use std::iter::repeat_n;

use dom_query::Document;
use proptest::prelude::*;

use super::*;

fn written(html: &str, limit: usize) -> Markdown {
    let document = Document::from(html);
    markdown(document.body().unwrap(), limit, &CancellationToken::new()).unwrap()
}

fn text(html: &str) -> String {
    written(html, 100_000).text
}

#[test]
fn blocks() {
    for (html, expected) in [
        ("<h1>A <i>b</i></h1><p>c<p>d", "# A *b*\n\nc\n\nd"),
        ("<div>a<div>b</div></div>c<br>d<br><br>e", "a\n\nb\n\nc\nd\n\ne"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<h2></h2>a<p> </p><blockquote></blockquote><ul><li></ul>b", "a\n\nb"),
        ("a<blockquote>b<p>c<blockquote>d</blockquote></blockquote>e", "a\n\n> b\n>\n> c\n>\n> > d\n\ne"),
        ("<dl><dt>a<dd>b<dt>c</dl>", "a\nb\nc"),
        ("<b><h1>a</h1>b<p>c</b>", "# **a**\n\n**b**\n\n**c**"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn lists() {
    for (html, expected) in [
        ("x<ul><li>a<li>b</ul>y", "x\n\n- a\n- b\n\ny"),
        ("<ol start=9><li>a<p>b</p><li>c<ul><li>d<li>e</ul>f</ol>", "9. a\n\n   b\n\n10. c\n    - d\n    - e\n    f"),
        ("<ul><li><p>a</p><li><p>b</p></ul>", "- a\n\n- b"),
        ("<ul><li><ul><li>a</ul></ul>", "- - a"),
        ("<ol start=99999999999999><li>a</ol>", "1. a"),
        ("<ul><li><pre>a\n\nb</pre></ul>", "- ```\n  a\n  \n  b\n  ```"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn within_a_line() {
    for (html, expected) in [
        ("a <b> b </b>c <i><b>d</b></i><b></b><b><b>e</b></b>", "a **b** c ***d*****e**"),
        ("<a href=http://x/>a <b>b</b> </a>c", "[a **b**](http://x/) c"),
        ("<a href=http://x/><h2>a</h2><p>b</p></a><a href=http://x/></a>", "[a b](http://x/)"),
        ("<a>a</a><a href='http://x/(1)'><img alt='b]' src=http://y/></a>", "a[![b\\]](http://y/)](http://x/%281%29)"),
        ("<code>a  `b`</code> <code></code><kbd>c*</kbd>", "`` a `b` `` `c*`"),
        ("1. a *b* c_d &lt;e> [f] `", "1\\. a \\*b\\* c\\_d \\<e> \\[f\\] \\`"),
        ("# a<p>#b<p>- c<p>-d<p>+ e<p>> f<p>---", "\\# a\n\n#b\n\n\\- c\n\n-d\n\n\\+ e\n\n\\> f\n\n\\---"),
        ("a\u{1b}[31m\u{7}b", "a\\[31mb"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn code_blocks() {
    for (html, expected) in [
        ("<pre>a\n  b*\n</pre>c", "```\na\n  b*\n```\n\nc"),
        ("<pre><code class='x language-c++'>a<br>b</code></pre>", "```c++\na\nb\n```"),
        ("<pre class='language-`x'>```</pre>", "````\n```\n````"),
        ("<blockquote><pre>a\n\nb</pre></blockquote>", "> ```\n> a\n> \n> b\n> ```"),
        ("<b>a<pre>b</pre></b>", "**a**\n\n```\nb\n```"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn tables() {
    for (html, expected) in [
        ("x<table><caption>t<tr><th>a<th>b<tr><td>c|d<td></table>y", "x\n\nt\n\n| a | b |\n| --- | --- |\n| c\\|d | |\n\ny"),
        ("<table><tr><td><p>a<p>b<td><b>c</b></table>", "| a b | **c** |\n| --- | --- |"),
        ("<b><table><tr><td>a<td>b</table></b>", "| **a** | **b** |\n| --- | --- |"),
        ("<table><tr><td>a<tr><td>b</table>", "a\nb"),
        ("<table><tr><td>a<td><table><tr><td>b<td>c</table></table>", "a\n\n| b | c |\n| --- | --- |"),
        ("<table><tr><td>a<td><ul><li>b</ul></table>", "a\n\n- b"),
    ] {
        assert_eq!(text(html), expected, "{html}");
    }
}

#[test]
fn marks_before_each_line_are_few() {
    let deep = |open: &str, levels: usize| text(&format!("{}<pre>{}", open.repeat(levels), "a\n".repeat(100)));
    for open in ["<blockquote>", "<ul><li>", "<ol><li>"] {
        assert_eq!(deep(open, 16), deep(open, 120), "{open}");
        assert!(deep(open, 15).len() < deep(open, 16).len(), "{open}");
    }
    assert_eq!(text(&format!("{}a{}b", "<blockquote>".repeat(40), "</blockquote>".repeat(40))), format!("{}a\n\nb", "> ".repeat(16)));
}

#[test]
fn a_stop_ends_it() {
    let document = Document::from("<br>x".repeat(LOOK_EVERY));
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(markdown(document.body().unwrap(), 1_000_000, &stop), Err(Unreadable::Stopped));
}

/// Nestings of what stands before lines, around words, and in cells.
fn nesting() -> impl Strategy<Value = String> {
    let opens = [
        "<blockquote>",
        "<ul><li>",
        "<ol start=4294967295><li>",
        "<b>",
        "<i>",
        "<a href=http://x/yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy>",
        "<h3>",
        "<table><tr><td>a<td>",
        "<p>",
        "<pre>",
        "<code>",
        "</ul>",
        "</blockquote>",
        "</table>",
        "</a>",
        "<br>",
        "<hr>",
        "<img alt=b src=http://x/>",
        "a\nb *\n\n",
        "\u{1}é`日",
    ];
    let part = (prop::sample::select(opens.to_vec()), 1..20_usize);
    prop::collection::vec(part, 0..12).prop_map(|parts| parts.into_iter().flat_map(|(open, times)| repeat_n(open, times)).collect())
}

proptest! {
    #[test]
    fn no_page_becomes_more_than_the_limit(html in nesting(), limit in 0..2_000_usize) {
        let bounded = written(&html, limit);
        prop_assert!(bounded.text.len() <= limit);
        let whole = written(&html, usize::MAX);
        prop_assert!(!whole.cut);
        prop_assert_eq!(bounded.cut, whole.text.len() > limit, "it is cut where it does not fit, and only there");
        prop_assert!(whole.text.starts_with(&bounded.text));
    }
}
