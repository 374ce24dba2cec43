//! Random documents that know what is in them.

use proptest::prelude::*;

/// A document, and what must come of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub(super) markdown: String,
    /// In the order of a reader.
    pub(super) words: Vec<String>,
    pub(super) urls: Vec<String>,
    /// Of all fences, without their last line end.
    pub(super) code: Vec<String>,
}

const WORDS: [&str; 16] = [
    "alpha",
    "beta,",
    "gamma.",
    "snake_case",
    "__init__",
    "2*3",
    "naïve",
    "日本語の文。",
    "👨‍👩‍👧‍👦",
    "e\u{301}e\u{301}",
    "🇩🇪🇫🇷",
    "~5",
    "don't",
    "(see)",
    "*",
    "supercalifragilistic",
];
const CODE: [&str; 8] =
    ["fn a() {", "    *b* _c_", "", "}", "let x = \"日本\"; // ok", "\t~d~", "a & <b>", "0123456789012345678901234567890123456789"];

fn word() -> impl Strategy<Value = Document> {
    prop::sample::select(&WORDS[..]).prop_map(|word| {
        let markdown = word.chars().flat_map(|char| "*_~`".contains(char).then_some('\\').into_iter().chain([char])).collect();
        Document { markdown, words: vec![word.to_owned()], ..Document::default() }
    })
}

fn url() -> impl Strategy<Value = Document> {
    "https://example\\.com/[a-z]{1,9}_[a-z]{0,9}/[a-z]{1,4}\\?[a-z]=[a-z_]{1,5}x".prop_map(|url| Document {
        markdown: url.clone(),
        words: vec![url.clone()],
        urls: vec![url],
        ..Document::default()
    })
}

fn around(before: &'static str, after: &'static str) -> impl Fn(Document) -> Document {
    move |inner| Document { markdown: format!("{before}{}{after}", inner.markdown), ..inner }
}

fn joined(documents: Vec<Document>, between: &str) -> Document {
    let mut all = Document::default();
    for (nth, one) in documents.into_iter().enumerate() {
        all.markdown.push_str(if nth > 0 { between } else { "" });
        all.markdown.push_str(&one.markdown);
        all.words.extend(one.words);
        all.urls.extend(one.urls);
        all.code.extend(one.code);
    }
    all
}

/// Words with what stands around them, on one line.
fn span() -> impl Strategy<Value = Document> {
    let words = || prop::collection::vec(word(), 1..6).prop_map(|all| joined(all, " "));
    let code = prop::sample::select(vec!["x_y", "a * b", "*c*", "日 本"]).prop_map(|code| Document {
        markdown: format!("`{code}`"),
        words: vec![code.to_owned()],
        ..Document::default()
    });
    let link = (words(), url()).prop_map(|(text, url)| Document {
        markdown: format!("[{}]({})", text.markdown, url.markdown),
        words: [text.words, url.words].concat(),
        urls: url.urls,
        ..Document::default()
    });
    prop_oneof![
        4 => words(),
        1 => words().prop_map(around("**", "**")),
        1 => words().prop_map(around("_", "_")),
        1 => words().prop_map(around("***", "***")),
        1 => words().prop_map(around("~~", "~~")),
        1 => (words(), words(), words()).prop_map(|(a, b, c)| joined(vec![around("**", "")(a), around("_", "_")(b), around("", "**")(c)], " ")),
        1 => code,
        1 => link,
        1 => url(),
        1 => url().prop_map(around("<", ">")),
    ]
}

fn line() -> impl Strategy<Value = Document> {
    prop::collection::vec(span(), 1..6).prop_map(|all| around("x ", "")(joined(all, " ")))
}

fn table() -> impl Strategy<Value = Document> {
    (1..5_usize, 1..4_usize).prop_flat_map(|(columns, rows)| {
        prop::collection::vec(word(), columns * (rows + 1)).prop_map(move |cells| of_cells(&cells, columns))
    })
}

fn of_cells(cells: &[Document], columns: usize) -> Document {
    let rows: Vec<_> = cells.chunks(columns).collect();
    let mut lines: Vec<_> = rows.iter().map(|cells| format!("|{}|", joined(cells.to_vec(), "|").markdown)).collect();
    lines.insert(1, format!("|{}", "-|".repeat(columns)));
    let named = rows[1..].iter().flat_map(|cells| rows[0].iter().zip(*cells).flat_map(|(name, cell)| [name, cell]));
    let all: Vec<_> = if columns > 2 { named.collect() } else { cells.iter().collect() };
    Document { markdown: lines.join("\n"), words: all.iter().flat_map(|cell| cell.words.clone()).collect(), ..Document::default() }
}

fn fence() -> impl Strategy<Value = Document> {
    prop::collection::vec(prop::sample::select(&CODE[..]), 1..12).prop_map(|lines| {
        let code = format!("{}\nend", lines.join("\n"));
        Document { markdown: format!("```rust\n{code}\n```"), code: vec![code], ..Document::default() }
    })
}

fn prefixed(document: Document, first: &str, rest: &str) -> Document {
    let lines = document.markdown.split('\n').enumerate().map(|(nth, line)| format!("{}{line}", if nth == 0 { first } else { rest }));
    Document { markdown: lines.collect::<Vec<_>>().join("\n"), ..document }
}

fn block() -> impl Strategy<Value = Document> {
    let leaf = prop_oneof![
        4 => prop::collection::vec(line(), 1..4).prop_map(|all| joined(all, "\n")),
        1 => line().prop_map(around("## ", "")),
        1 => table(),
        1 => fence(),
        1 => line().prop_map(around("***\n\n", "")),
        1 => line().prop_map(around("y <!-- gone --> ", "<br>")),
        1 => line().prop_map(around("```markdown\n", "\n```")),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let inner = prop::collection::vec(inner, 1..3).prop_map(|all| joined(all, "\n\n"));
        prop_oneof![
            inner.clone().prop_map(|all| prefixed(all, "> ", "> ")),
            inner.clone().prop_map(|all| prefixed(all, "- ", "  ")),
            inner.clone().prop_map(|all| prefixed(all, "- [x] ok\n\n  ", "  ")),
            inner.prop_map(|all| prefixed(all, "12. ", "    ")),
        ]
    })
}

pub(super) fn document() -> impl Strategy<Value = Document> {
    prop::collection::vec(block(), 1..5).prop_map(|all| joined(all, "\n\n"))
}

/// Everything that means something, in no order.
pub(super) fn noise() -> impl Strategy<Value = String> {
    let pieces = [
        "*",
        "**",
        "_",
        "~~",
        "`",
        "```",
        "```\n",
        "~~~md\n",
        "\n",
        "\n\n",
        "\n    ",
        "> ",
        "- ",
        "1. ",
        "# ",
        "---\n",
        "|a|b|\n|-|-|\n|",
        "|",
        "[",
        "](",
        ")",
        "![",
        "[^1]",
        "[^1]: ",
        "\n[r]: /u\n",
        "<b>",
        "</b>",
        "<br>",
        "<!--",
        "-->",
        "<div>\n",
        "<x y>",
        "&amp;",
        "\\",
        "https://x.org/",
        "- [ ] ",
        "\0",
        "\r",
        "\r\n",
        "\u{202E}",
        "\u{200B}",
        "\u{2060}",
        "\u{FEFF}",
        " ",
        "\t",
        "\u{A0}",
        "word",
        "é",
        "e\u{301}",
        "\u{301}",
        "😀",
        "👨‍👩‍👧",
        "\u{200D}",
        "🇩",
        "日本。",
        "?",
        "!",
    ];
    let piece = prop_oneof![9 => prop::sample::select(pieces.to_vec()).prop_map(str::to_owned), 1 => any::<String>()];
    prop::collection::vec(piece, 0..40).prop_map(|all| all.concat())
}
