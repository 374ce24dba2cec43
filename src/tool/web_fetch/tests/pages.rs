//! HTML: one real kind of page read whole, and pages that mean harm.

use dom_query::Document;
use proptest::prelude::*;

use super::super::article::{Page, read};
use super::super::charset;
use super::super::clean::clean;
use super::super::content::Kind;
use super::super::html::{MAX_DEPTH, MAX_NODES, Unreadable, parse};
use super::*;

fn page(html: &str) -> Result<Page, Unreadable> {
    // as much stack as the threads have that do this work
    let address = Url::parse("https://news.example/2026/boats/").unwrap();
    let html = html.to_owned();
    let reading = std::thread::Builder::new().stack_size(2 * 1024 * 1024).spawn(move || read(&html, &address, &CancellationToken::new()));
    reading.unwrap().join().unwrap()
}

fn markdown(html: &str) -> String {
    page(html).unwrap().markdown
}

#[test]
fn an_article() {
    let page = page(include_str!("article.html")).unwrap();
    let expected = include_str!("article.md");
    let facts = format!("{:?} {:?} {:?}\n\n", page.title.unwrap(), page.byline.unwrap(), page.published.unwrap());
    assert_eq!(format!("{facts}{}\n", page.markdown), expected);
}

#[test]
fn a_page_without_an_article_is_read_whole() {
    let html = "<title> Front\n page </title><nav><a href=/a>One</a> <a href='b?x=1'>Two</a></nav><table><tr><th>Boat<th>Coins<tr><td>Rowing<td>12</table>";
    let page = page(html).unwrap();
    assert_eq!(page.title.as_deref(), Some("Front page"));
    let table = "| Boat | Coins |\n| --- | --- |\n| Rowing | 12 |";
    assert_eq!(page.markdown, format!("[One](https://news.example/a) [Two](https://news.example/2026/boats/b?x=1)\n\n{table}"));
}

#[test]
fn what_is_not_shown_does_not_come_through() {
    let hidden = "<script>bad()</script><style>bad{}</style><!-- bad --><template><p>bad</template><p hidden>bad</p>\
        <div style='Display : NONE'>bad</div><i style=visibility:hidden>bad</i><p aria-hidden=true>bad</p><svg><title>bad</title></svg>\
        <iframe src=x>bad</iframe><textarea>bad</textarea><select><option>bad</select><button>bad</button><img src=bad.png>\
        <noscript>seen</noscript><math><annotation-xml encoding=text/html><script>bad</script></annotation-xml></math>\
        <p style='opacity:0'>bad</p><p style='font-size:0'>bad<b>bad</b><i style='font-size:1px'>small</i></p><dialog>bad</dialog>\
        <dialog open>said</dialog><p style='display:/**/none'>bad</p>\
        <a href='javascript:bad()'>link</a> <a href='data:text/html,bad'>data</a> <a href='#bad'>here</a> <img alt=boat src='data:bad'>";
    let text = markdown(hidden);
    assert!(!text.contains("bad"), "{text}");
    assert!(["seen", "link", "data", "here", "small", "said"].iter().all(|word| text.contains(word)), "{text}");
    // the same within what is taken for an article
    let article = include_str!("article.html").replace("<h2>", &format!("{hidden}<h2>"));
    assert!(!markdown(&article).contains("bad"), "{}", markdown(&article));
}

#[test]
fn the_base_of_a_page_is_heeded() {
    assert_eq!(markdown("<base href='/other/'><a href=x>y</a>"), "[y](https://news.example/other/x)");
    assert_eq!(markdown("<base href='javascript:1'><a href=/x>y</a>"), "y");
}

#[test]
fn nesting_without_end_is_refused_and_overflows_nothing() {
    let patterns = [
        "<div>",
        "<b>",
        "<table><tr><td>",
        "<p><object>",
        "<b><div></b>",
        "<span><div></span>",
        "<ul><li>",
        "<svg><g>",
        "<blockquote><p>text",
        "<a href=x><div>",
        "<font size=1>",
        "<ruby><rt>",
        "<math><mi>",
    ];
    for pattern in patterns {
        assert_eq!(page(&pattern.repeat(1_000_000 / pattern.len())).err(), Some(Unreadable::TooDeep), "{pattern}");
    }
    // elements that a table pushes out before itself hide the depth from who looks at the last child only
    assert_eq!(page(&format!("<table>{}", "<div>".repeat(200_000))).err(), Some(Unreadable::TooDeep));
}

#[test]
fn nesting_up_to_the_limit_is_read() {
    for pattern in
        ["<div>", "<b>", "<table><tr><td>", "<ul><li>", "<blockquote>", "<a href=x><div>", "<pre>", "<ol><li><p>x", "<q><section>"]
    {
        let elements = pattern.matches('<').count() + usize::from(pattern.contains("<tr>"));
        // html, body and the text itself are levels too
        let html = format!("{}deep", pattern.repeat((MAX_DEPTH - 4) / elements));
        assert!(markdown(&html).contains("deep"), "{pattern}");
    }
}

#[test]
fn a_page_of_too_many_elements_is_cut() {
    let cut = |html: &str| parse(html, &Url::parse("https://a.example/").unwrap(), &CancellationToken::new()).unwrap().cut;
    assert!(cut(&"<br>x".repeat(MAX_NODES)));
    assert!(!cut(&"<br>x".repeat(MAX_NODES / 4)));
    // each of these short elements makes two hundred anew
    let formatting: String = (0..200).map(|i| format!("<b class={i}>")).collect();
    assert!(cut(&format!("<div>{formatting}</div>{}", "<div>x</div>".repeat(20_000))));
}

#[test]
fn a_stopped_reading_ends() {
    let address = Url::parse("https://news.example/").unwrap();
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(read("<p>x", &address, &stop), Err(Unreadable::Stopped));
    let page = Document::from("<p>x".repeat(2_000));
    assert_eq!(clean(&page, &address, &stop), Err(Unreadable::Stopped));
}

#[test]
fn a_small_page_does_not_become_a_large_one() {
    let lines = "a\n".repeat(400_000);
    for open in ["<blockquote>", "<ul><li>", "<ol><li>", "<blockquote><ul><li>"] {
        let text = markdown(&format!("{}<pre>{lines}", open.repeat(80)));
        assert!(text.len() <= 4 * MAX_CHARS, "{open}: {}", text.len());
    }
    // each short link would be as long as the base
    let base = format!("<base href='http://x/{}/'>{}", "b".repeat(1_900), "<a href=x>y</a> ".repeat(20_000));
    let page = parse(&base, &Url::parse("http://x/").unwrap(), &CancellationToken::new()).unwrap();
    let links: usize = page.document.root().descendants_it().filter_map(|node| node.attr("href")).map(|href| href.len()).sum();
    assert!(links < 5 * 1024 * 1024, "{links}");
    // a formatting element that is left open is made anew in each paragraph, with all that it has
    let attributes: String = (0..900).map(|i| format!(" a{i}=x")).collect();
    let again = format!("<b{attributes} class={}>{}", "k".repeat(4_000), "<p>x</p>".repeat(20_000));
    let page = parse(&again, &Url::parse("http://x/").unwrap(), &CancellationToken::new()).unwrap();
    assert!(page.document.root().descendants_it().all(|node| node.attrs().is_empty()));
    // columns are as wide as what is in them
    let wide = format!("<table><tr><td>{}<td>x</tr>{}</table>", "w".repeat(10_000), "<tr><td>a<td>b</tr>".repeat(10_000));
    assert!(markdown(&wide).len() < wide.len());
}

#[test]
fn a_tag_with_attributes_without_end_is_refused() {
    let many = |count: usize| (0..count).map(|i| format!(" a{i:x}")).collect::<String>();
    let too_many = many(20_000);
    for html in [
        format!("<p{too_many}>x"),
        format!("<p{too_many}"),
        format!("x</p{too_many}>"),
        format!("x &am<p{too_many}>"),
        format!("<p a=\"<p a='{}\"{too_many}>", "x".repeat(9_000)),
        format!("<p a < b{}>", too_many.replace(" a", "<c a")),
        format!("<p {}>", too_many.replace(" a", "a=''")),
        format!("<p {}>", too_many.replace(' ', "/")),
        format!("<svg><script><p{too_many}>"),
        format!("<!-- <p a=' --><p{too_many}>"),
    ] {
        assert_eq!(page(&html).err(), Some(Unreadable::TooManyAttributes), "{html:.60}");
    }
    let words = "a b=c ".repeat(20_000);
    for page in [
        format!("<p{}>shown", many(500)),
        format!("<!-- <p {words} --> shown"),
        format!("<script>if (a <b {words})</script>shown"),
        format!("<title><p {words}</title>shown"),
        format!("<img src='data:{words}' data-x=\"{words}\" alt=x>shown"),
        format!("a <b{}>shown", " ".repeat(20_000)),
        format!("shown <3 {words}"),
    ] {
        assert!(markdown(&page).contains("shown"), "{page:.60}");
    }
}

/// Pieces that parsers have trouble with.
fn hostile() -> impl Strategy<Value = String> {
    let words = [
        "<table>",
        "<tr>",
        "</table>",
        "<td>",
        "<p>",
        "</p>",
        "<b>",
        "</b>",
        "<a href=x>",
        "</a>",
        "<svg>",
        "<math>",
        "<mi>",
        "</svg>",
        "<select>",
        "<option>",
        "<template>",
        "</template>",
        "<body>",
        "</body>",
        "<html>",
        "<head>",
        "<frameset>",
        "<pre>\n",
        "</pre>",
        "<code>",
        "```",
        "<ul>",
        "<ol start=99999999999>",
        "<li>",
        "<!--",
        "-->",
        "<![CDATA[",
        "]]>",
        "<?x",
        "&#0;",
        "&#x110000;",
        "\0",
        "<script>",
        "</script>",
        "<img alt='a](b' src=x>",
        "<noscript>",
        "<br>",
        "| a |",
        "text, more, text ",
        "<title>",
        "<meta charset=x>",
        "<base href=//>",
        "<td colspan=4294967295 rowspan=-1>",
        "<h1>",
        "<hr>",
        "<plaintext>",
        "<font>",
        "日本",
        "<div class='article content'>",
        "<math display=block>",
        "<annotation-xml encoding=text/html>",
        "<caption>",
        "<thead>",
        "<tbody>",
        "<col>",
        "<span class='math math-inline'>",
        "<input>",
        "<ruby><rt>",
    ];
    prop::collection::vec(prop::sample::select(words.to_vec()), 0..60).prop_map(|words| words.concat())
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_crash_it(bytes in prop::collection::vec(any::<u8>(), 0..2_000), declared in prop::option::of("[a-z0-9-]{0,12}")) {
        let text = charset::decode(&bytes, declared.as_deref(), Kind::Html);
        let _ = page(&text);
    }

    #[test]
    fn arbitrary_markup_never_crashes_it(html in hostile()) {
        let _ = page(&html);
    }
}
