//! Long inputs that make careless code quadratic: these would take minutes if ours were.

use super::*;

const LONG: usize = 12_000;

fn holds(name: &str, markdown: &str) {
    for (rules, max) in [(&WHATSAPP, 4_000), (&HTML, 50)] {
        let parts = parts(markdown, rules, max, LengthUnit::Utf16);
        assert!(!parts.is_empty(), "{name}");
        assert!(parts.iter().all(|part| part.encode_utf16().count() <= max), "{name} within {max}");
    }
}

#[test]
fn one_thing_again_and_again() {
    let all = [
        "*",
        "**",
        "_",
        "~",
        "~~",
        "`",
        "[",
        "![",
        "](",
        "<",
        "<!--",
        "<div ",
        "<a>",
        ">",
        "> ",
        "- ",
        "1. ",
        "#",
        "\\",
        "&",
        "|",
        "a|",
        "|-",
        "\0",
        "\rx",
        "\u{202E}",
        "\u{200B}x",
        "\u{301}",
        "a\u{301}",
        "🇩",
        "👨\u{200D}",
        " x",
        "\nx",
        "\u{A0}x",
        "*a ",
        "**a*",
        "_a ",
        "*a**b",
        "[a](b) ",
        "![a]",
        "[^1]",
        "`a` ",
        "``` ",
        "\n```\n",
        "\n~~~md\n",
        "https://",
        "https://x ",
        "x*",
        "a*b_",
        "- - ",
        "\n- a\n  ",
        "> - ",
        "|a|b|c|\n",
        "<br>",
        "。",
        "[a]: b\n\n",
        "日",
    ];
    for one in all {
        holds(one, &format!("{}x", one.repeat(LONG / one.len())));
    }
}

#[test]
fn nested_and_long_within() {
    let deep = 2_000;
    holds("quotes", &format!("{}x", "> ".repeat(deep)));
    holds("lists", &(0..300).map(|depth| format!("{}- x\n", "  ".repeat(depth))).collect::<String>());
    holds("emphasis", &format!("{}x{}", "*a **b ".repeat(deep), " c** d*".repeat(deep)));
    holds("links", &format!("{}x{}", "[".repeat(deep), "](y)".repeat(deep)));
    holds("images", &format!("{}x{}", "![".repeat(deep), "](y)".repeat(deep)));
    holds("a line of code", &format!("```\n{}\n```", "x ".repeat(LONG / 2)));
    holds("code within a line", &format!("`{}`", "x ".repeat(LONG / 2)));
    holds("spaces", &format!("a{}b", " ".repeat(LONG)));
    holds("an address", &format!("https://x.org/{}", "a)(".repeat(LONG / 3)));
    holds("a wide table", &format!("|{}\n|{}\n{}", "a|".repeat(1_000), "-|".repeat(1_000), "|b|\n".repeat(1_000)));
    holds("a long name", &format!("|{}|b|c|\n|-|-|-|\n{}", "n".repeat(LONG / 2), "|1|2|3|\n".repeat(5_000)));
    holds("a link again and again", &format!("{}\n\n[a]: {}", "[a] ".repeat(2_000), "b".repeat(3_000)));
}
