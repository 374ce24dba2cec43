use super::*;
use crate::channel::markdown::WHATSAPP;
use crate::channel::markdown::tests::HTML;

mod documents;
mod hostile;
mod properties;

fn cut(markdown: &str, max: usize) -> Vec<String> {
    parts(markdown, &WHATSAPP, max, LengthUnit::Chars)
}

#[test]
fn a_chunk_ends_at_the_best_place_of_its_second_half() {
    let by_paragraph = "one two.\n\nthree four. five\nsix seven eight";
    assert_eq!(cut(by_paragraph, 30), ["one two.\n\nthree four. five", "six seven eight"], "a line");
    assert_eq!(cut("one two three.\n\nfour five\nsix seven eight", 28), ["one two three.", "four five\nsix seven eight"], "a paragraph");
    assert_eq!(cut("one two three. four five six", 24), ["one two three.", "four five six"], "a sentence");
    assert_eq!(cut("one two three four five six", 24), ["one two three four five", "six"], "a word");
    assert_eq!(cut("one. two threefourfive six", 18), ["one. two", "threefourfive six"], "what there is in the first half");
    assert_eq!(cut("abcdefghij klm", 4), ["abcd", "efgh", "ij", "klm"], "a word that is too long");
    assert_eq!(cut("这是第一句话。这是第二句，话很长", 12), ["这是第一句话。", "这是第二句，话很长"], "a sentence without spaces");
    assert_eq!(
        cut("intro intro intro.\n\n# Head\n\ntext of it, more", 32),
        ["intro intro intro.", "*Head*\n\ntext of it, more"],
        "a heading stays with its text"
    );
}

#[test]
fn what_stands_around_a_cut_is_closed_and_opened_again() {
    assert_eq!(cut("**one two _three four_**", 17), ["*one two _three_*", "*_four_*"].map(|all| all.to_owned()));
    assert_eq!(cut("```\none\ntwo\nthree\n```", 16), ["```\none\ntwo\n```", "```\nthree\n```"]);
    assert_eq!(cut("> one two three", 10), ["> one two", "> three"]);
    assert_eq!(cut("`one two` and `three four`", 14), ["`one two` and", "`three four`"], "code is cut last");
    assert_eq!(cut("`one two three`", 10), ["`one two `", "`three`"], "and loses no space");
    let html = |markdown, max| parts(markdown, &HTML, max, LengthUnit::Chars);
    assert_eq!(html("> **one two**", 44), ["<blockquote><b>one two</b></blockquote>"]);
    assert_eq!(html("> **one & two**", 44), ["<blockquote><b>one &amp;</b></blockquote>", "<blockquote><b>two</b></blockquote>"]);
    assert_eq!(html("[one two](https://x.org)", 37), ["<a href=\"https://x.org\">one two</a>"; 1]);
    assert_eq!(
        html("[one two three](https://x.org)", 40),
        ["<a href=\"https://x.org\">one two</a>", "<a href=\"https://x.org\">three</a>"]
    );
}

#[test]
fn a_cut_makes_no_markup_of_text() {
    assert_eq!(cut("one two > three", 8), ["one two", "\u{2060}> three"]);
    assert_eq!(cut("one two - three", 8), ["one two", "\u{2060}- three"]);
    assert_eq!(cut("one two * three", 8), ["one two", "\u{2060}* three"]);
    let cut_within = cut("aaa*bbb*ccc", 9).concat();
    assert_eq!(cut_within, "aaa\u{2060}*\u{2060}bbb\u{2060}*\u{2060}ccc", "each may stand at an edge now");
}

#[test]
fn what_cannot_fit() {
    let family = "👨‍👩‍👧‍👦";
    assert_eq!(parts(family, &WHATSAPP, 11, LengthUnit::Utf16), [family]);
    assert_eq!(parts(&format!("> **{family}**"), &WHATSAPP, 11, LengthUnit::Utf16), [family], "goes without its markup");
    assert_eq!(parts(family, &WHATSAPP, 10, LengthUnit::Utf16).concat(), family, "a grapheme is cut between characters");
    assert_eq!(parts("😀a", &WHATSAPP, 1, LengthUnit::Utf16), ["?", "a"], "a character is not cut");
    assert_eq!(parts("é", &WHATSAPP, 1, LengthUnit::Bytes), ["?"]);
    assert_eq!(parts("a & b", &HTML, 3, LengthUnit::Chars), ["a", "?", "b"]);
    assert_eq!(parts("**a b**", &WHATSAPP, 1, LengthUnit::Chars), ["a", "b"]);
    assert_eq!(parts("```\nab\n```", &WHATSAPP, 1, LengthUnit::Chars), ["a", "b"]);
}

#[test]
fn emoji_are_counted_as_the_channel_counts_them() {
    let emoji = "😀".repeat(5_000);
    let lengths = |unit| parts(&emoji, &WHATSAPP, 3_996, unit).iter().map(|part| part.chars().count()).collect::<Vec<_>>();
    assert_eq!(lengths(LengthUnit::Utf16), [1_998, 1_998, 1_004]);
    assert_eq!(lengths(LengthUnit::Chars), [3_996, 1_004]);
    assert_eq!(lengths(LengthUnit::Bytes), [999, 999, 999, 999, 999, 5]);
    let tail = parts(&format!("{emoji} and more"), &WHATSAPP, 3_996, LengthUnit::Chars);
    assert!(tail[1].ends_with("😀 and more"), "what is left of a long word is not alone");
}

#[test]
fn an_address_stays_whole() {
    let url = format!("https://example.com/{}", "a/".repeat(40));
    assert_eq!(cut(&format!("words before it (see [here]({url}))"), 110)[1], format!("({url}))"));
    assert_eq!(cut(&format!("> **x** {url}"), url.len()), ["> *x*", &url]);
}

#[test]
fn messages_of_nothing_are_left_out() {
    let code = format!("```\na\n{}b\n```", "\n".repeat(100));
    let cut = cut(&code, 20);
    assert!(cut.len() == 2 && cut[0].starts_with("```\na\n") && cut[1].ends_with("\nb\n```"), "{cut:?}");
}
