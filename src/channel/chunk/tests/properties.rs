//! What holds for every document: [`documents`](super::documents) that know what is in them, and noise.

use proptest::prelude::*;

use super::documents::{document, noise};
use super::*;
use crate::channel::markdown::is_blank;

fn units() -> impl Strategy<Value = LengthUnit> {
    prop::sample::select(vec![LengthUnit::Chars, LengthUnit::Utf16, LengthUnit::Bytes])
}

fn length(text: &str, unit: LengthUnit) -> usize {
    match unit {
        LengthUnit::Chars => text.chars().count(),
        LengthUnit::Utf16 => text.encode_utf16().count(),
        LengthUnit::Bytes => text.len(),
    }
}

/// What a reader reads: without what the channel or a cut adds, and without what has no shape.
fn read(text: &str) -> String {
    text.chars().filter(|char| !is_blank(char.encode_utf8(&mut [0; 4])) && !"*_~`>".contains(*char)).collect()
}

/// The text between fences, and the rest.
fn fenced(parts: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut code, mut rest) = (Vec::new(), Vec::new());
    for (nth, text) in parts.iter().flat_map(|part| part.split("```").enumerate()) {
        if nth % 2 == 0 {
            rest.push(text.to_owned());
        } else {
            let inner = text.strip_prefix('\n').and_then(|text| text.strip_suffix('\n')).unwrap_or(text);
            code.push(inner.to_owned());
        }
    }
    (code, rest)
}

/// Reads a line as WhatsApp does; the markers that it leaves open.
fn left_open(line: &str) -> Vec<char> {
    let mut open = Vec::new();
    let without_code = line.split('`').step_by(2).collect::<Vec<_>>().join("`");
    for word in without_code.split(' ') {
        let chars: Vec<_> = word.split("https://").next().unwrap_or_default().chars().collect();
        let stands_alone = chars == ['*'] || chars == ['\u{2060}', '*'];
        for (at, char) in chars.iter().enumerate().filter(|(_, char)| "*_~".contains(**char)) {
            let (last, next) = (at.checked_sub(1).map(|last| chars[last]), chars.get(at + 1).copied());
            let guarded = last == Some('\u{2060}') && next == Some('\u{2060}');
            let within = [last, next].iter().all(|char| char.is_some_and(char::is_alphanumeric));
            if guarded || within || stands_alone {
                continue;
            }
            if open.last() == Some(char) {
                open.pop();
            } else {
                open.push(*char);
            }
        }
    }
    open
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_text_becomes_parts_that_can_be_sent(text in noise(), max in 1..60_usize, unit in units(), html in any::<bool>()) {
        let rules = if html { &HTML } else { &WHATSAPP };
        let parts = parts(&text, rules, max, unit);
        prop_assert_eq!(parts.is_empty(), is_blank(&text.replace('\0', "\u{FFFD}")), "none for nothing, and only then");
        for part in &parts {
            prop_assert!(length(part, unit) <= max, "{part:?}");
            prop_assert!(!is_blank(part));
        }
        prop_assert_eq!(super::parts(&text, rules, max, unit), parts);
    }

    #[test]
    fn words_are_all_there_in_their_order(document in document(), max in 4..200_usize, unit in units()) {
        let parts = parts(&document.markdown, &WHATSAPP, max, unit);
        let all = read(&parts.concat());
        let mut from = 0;
        for word in &document.words {
            let word = read(word);
            let at = all[from..].find(&word);
            prop_assert!(at.is_some(), "{word:?} after {from} of {all:?}");
            from += at.unwrap_or_default() + word.len();
        }
    }

    #[test]
    fn code_is_unchanged(document in document(), max in 20..200_usize, unit in units()) {
        let (code, _) = fenced(&parts(&document.markdown, &WHATSAPP, 0, unit));
        prop_assert_eq!(&code, &document.code, "whole");
        let (code, _) = fenced(&parts(&document.markdown, &WHATSAPP, max, unit));
        prop_assert_eq!(code.concat().replace('\n', ""), document.code.concat().replace('\n', ""), "cut");
    }

    #[test]
    fn each_part_closes_what_it_opens(document in document(), max in 60..200_usize, unit in units()) {
        let parts = parts(&document.markdown, &WHATSAPP, max, unit);
        for part in &parts {
            prop_assert!(part.matches("```").count().is_multiple_of(2), "{part}");
        }
        for line in fenced(&parts).1.iter().flat_map(|text| text.lines()) {
            prop_assert!(line.matches('`').count().is_multiple_of(2), "{line}");
            prop_assert_eq!(left_open(line), Vec::<char>::new(), "{}", line);
        }
    }

    #[test]
    fn tags_nest_in_each_part(document in document(), max in 90..300_usize) {
        for part in parts(&document.markdown, &HTML, max, LengthUnit::Chars) {
            let mut open = Vec::new();
            for tag in part.split('<').skip(1).map(|rest| rest.split(['>', ' ']).next().unwrap_or_default()) {
                match tag.strip_prefix('/') {
                    Some(name) => prop_assert_eq!(open.pop(), Some(name), "{}", &part),
                    None => open.push(tag),
                }
            }
            prop_assert!(open.is_empty(), "{open:?} in {part}");
            prop_assert!(part.split('&').skip(1).all(|rest| ["amp;", "lt;", "gt;", "quot;"].iter().any(|name| rest.starts_with(name))), "{part}");
        }
    }

    #[test]
    fn no_grapheme_and_no_address_is_cut(document in document(), max in 60..200_usize, unit in units()) {
        let graphemes = |parts: &[String]| -> Vec<String> {
            parts.iter().flat_map(|part| part.graphemes(true).map(read)).filter(|all| !all.is_empty()).collect()
        };
        let cut = parts(&document.markdown, &WHATSAPP, max, unit);
        prop_assert_eq!(graphemes(&cut), graphemes(&parts(&document.markdown, &WHATSAPP, 0, unit)));
        for url in document.urls {
            prop_assert!(cut.iter().any(|part| part.contains(&url)), "{url}");
        }
    }
}
