//! WhatsApp's markup: four markers that act at the edges of words, quotes, lists of one level, and no way to escape any of it.

use super::rules::{Code, Edges, Guard, Level, Link, Pair, Quote, Rules};

const fn both(marker: &'static str) -> Pair {
    Pair { open: marker, close: marker }
}

/// As WhatsApp's help describes its formatting.
///
/// A literal marker at the edge of a word gets a word joiner (U+2060) on both sides. Outside, it takes away the edge that a marker needs to
/// act; inside, it helps against readers that take it for a space, next to which no marker acts. Of the characters without a width it is the
/// one that neither lets a line break nor joins or changes the letters beside it, as U+200B, U+200C and U+200D do.
pub const WHATSAPP: Rules = Rules {
    bold: both("*"),
    italic: both("_"),
    strike: both("~"),
    code: &[Code { pair: both("`"), free_of: "`" }, Code { pair: both("```"), free_of: "``" }],
    fence: Code { pair: Pair { open: "```\n", close: "\n```" }, free_of: "```" },
    quote: Quote { pair: both(""), line: "> " },
    // a list within a list is no list there, so its items have a mark of their own
    levels: &[Level { bullet: "- ", indent: "", hang: "  " }, Level { bullet: "  ◦ ", indent: "  ", hang: "    " }],
    after_number: ". ",
    task_done: "☑ ",
    task_open: "☐ ",
    link: Link::After(Pair { open: " (", close: ")" }),
    empty_cell: "–",
    edges: Edges::Words,
    escapes: &[],
    guard: Some(Guard { markers: &['*', '_', '~', '`'], line_starts: &[">", "- ", "* "], with: '\u{2060}' }),
};
