use proptest::prelude::*;

use super::{Page, fold, width};
use crate::client::printer::Tone;
use crate::client::sink::Paint;
use crate::client::wire::Voice;

fn drawn(columns: usize, pieces: &[&str]) -> String {
    let mut page = Page::new(Paint::Plain, columns);
    let mut out: String = pieces.iter().map(|piece| page.text(Voice::Answer, piece)).collect();
    out.push_str(&page.rest());
    out
}

fn painted(text: &str) -> String {
    let mut page = Page::new(Paint::Colours, 80);
    let out = page.text(Voice::Answer, text) + &page.rest();
    out.replace("\x1b[0m", ">").replace("\x1b[", "<")
}

#[test]
fn a_word_is_never_broken_where_the_row_ends() {
    assert_eq!(drawn(12, &["you are char", "ged or ", "told"]), "you are\ncharged or\ntold");
    assert_eq!(drawn(12, &["twelve chars", " and more"]), "twelve chars\nand more");
    assert_eq!(drawn(12, &["- a\n    indented\n\nend"]), "- a\n    indented\n\nend");
}

#[test]
fn at_most_the_growing_word_is_held_back() {
    let mut page = Page::new(Paint::Plain, 80);
    assert_eq!(page.text(Voice::Answer, "one two th"), "one two");
    assert_eq!(page.text(Voice::Answer, "ree "), " three");
    assert_eq!(page.text(Voice::Answer, "大き"), " 大き");
}

#[test]
fn wide_characters_fill_two_columns_and_break_anywhere() {
    assert_eq!(drawn(6, &["日本語日本"]), "日本語\n日本");
    assert_eq!(drawn(7, &["ab 日本語"]), "ab 日本\n語");
}

#[test]
fn a_word_wider_than_the_row_is_left_to_the_terminal_and_stays_whole() {
    let url = "https://example.org/a/long/path";
    assert_eq!(drawn(10, &["see ", url, " now"]), format!("see\n{url} now"));
}

#[test]
fn a_fenced_block_keeps_its_lines() {
    let code = "```sh\nls   --all    --long\n```\n";
    assert_eq!(drawn(10, &[code]), code);
}

#[test]
fn after_a_line_between_the_text_goes_on_with_its_word() {
    let mut page = Page::new(Paint::Plain, 80);
    assert_eq!(page.text(Voice::Answer, "you are char"), "you are");
    page.part();
    assert_eq!(page.text(Voice::Answer, "ged or "), "… charged or");
}

#[test]
fn marks_are_painted_and_stay_to_be_read() {
    assert_eq!(painted("a **b c** d"), "a <2m**><1mb> <1mc><2m**> d");
    assert_eq!(painted("`x y`."), "<2m`><36mx> <36my><2m`>.");
    assert_eq!(painted("## Head\nplain"), "<1m##> <1mHead>\nplain");
    for plain in ["2 ** 3", "**/*.rs", "2**3", "a # b"] {
        assert!(!painted(plain).contains("<1m"), "{plain:?}: {}", painted(plain));
    }
    assert_eq!(painted("**open\nnext"), "<2m**><1mopen>\nnext");
}

#[test]
fn own_lines_are_broken_under_their_indent_and_lose_one_space_a_break() {
    assert_eq!(fold("  one two  three", 9), "  one two\n   three");
    assert_eq!(fold("short", 80), "short");
    let page = Page::new(Paint::Colours, 8);
    assert_eq!(page.lines(Tone::Bad, "one two three"), "\x1b[31mone two\x1b[0m\n\x1b[31mthree\x1b[0m");
}

#[test]
fn a_table_is_padded_when_it_has_ended_and_only_where_there_are_colours() {
    let table = "| a | b |\n|---|---|\n| long | 1 |\n";
    assert_eq!(painted(&format!("x\n{table}end")), "x\n<1m| a    | b |>\n<2m|------|---|>\n| long | 1 |\nend");
    assert_eq!(drawn(80, &[table]), table);
    let mut page = Page::new(Paint::Colours, 80);
    assert_eq!(page.text(Voice::Answer, table), "");
    page.void();
    assert_eq!(page.rest(), "");
    let mut page = Page::new(Paint::Colours, 10);
    assert_eq!(page.text(Voice::Answer, "| a | b |\nend "), "| a | b |\nend");
}

#[test]
fn a_row_that_goes_on_after_keys_does_not_begin_with_a_space() {
    let mut page = Page::new(Paint::Plain, 80);
    assert_eq!(page.text(Voice::Answer, "one two"), "one");
    page.new_row();
    assert_eq!(page.text(Voice::Answer, " three"), "two");
}

proptest! {
    /// Whatever the pieces are, the words are the same, and no row of whole words is too wide.
    #[test]
    fn wrapping_changes_only_white_space(words in prop::collection::vec("[a-z日]{1,9}", 1..40), cut in 1usize..7, columns in 20usize..40) {
        let text = words.join(" ");
        let chars: Vec<char> = text.chars().collect();
        let pieces: Vec<String> = chars.chunks(cut).map(|c| c.iter().collect()).collect();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let out = drawn(columns, &pieces);
        prop_assert_eq!(&out, &drawn(columns, &[&text]));
        prop_assert_eq!(out.replace([' ', '\n'], ""), text.replace(' ', ""));
        prop_assert!(out.split('\n').all(|row| width(row) <= columns), "{}", out);
    }
}
