//! Addresses that stand in the text: every messenger makes links of them, so they go out as they are and are not cut.

use super::line::{Flow, Kind};

const SCHEMES: [&str; 2] = ["https", "http"];
/// Before these an address ends.
const ENDS: [char; 5] = ['<', '>', '"', '`', '|'];
/// At an address's end these belong to the sentence around it.
const TRAILING: [char; 10] = ['.', ',', ';', ':', '!', '?', '\'', '*', '~', '…'];

/// The same text, its addresses as runs of their own.
pub(super) fn marked(flow: Flow) -> Flow {
    if !flow.text.contains("://") {
        return flow;
    }
    let mut marked = Flow::default();
    for (text, run) in flow.parts() {
        if run.kind != Kind::Words {
            marked.push(text, run.kind, run.marks);
            continue;
        }
        let mut done = 0;
        for (at, _) in text.match_indices("://") {
            let Some(from) = start(text, at).filter(|from| *from >= done) else { continue };
            let to = end(text, from, at + 3);
            marked.push(&text[done..from], Kind::Words, run.marks);
            marked.push(&text[from..to], Kind::Literal, run.marks);
            done = to;
        }
        marked.push(&text[done..], Kind::Words, run.marks);
    }
    marked
}

fn start(text: &str, colon: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let from = SCHEMES.iter().find_map(|scheme| {
        let from = colon.checked_sub(scheme.len())?;
        bytes[from..colon].eq_ignore_ascii_case(scheme.as_bytes()).then_some(from)
    })?;
    let in_word = from > 0 && bytes[from - 1].is_ascii_alphanumeric();
    (!in_word).then_some(from)
}

fn end(text: &str, from: usize, least: usize) -> usize {
    let rest = &text[least..];
    let mut url = &text[from..least + rest.find(|char: char| char.is_whitespace() || ENDS.contains(&char)).unwrap_or(rest.len())];
    let mut surplus = url.matches([')', ']']).count() as i64 - url.matches(['(', '[']).count() as i64;
    while let Some(last) = url.chars().next_back() {
        let closes = matches!(last, ')' | ']');
        let is_surplus = closes && surplus > 0;
        if !is_surplus && !TRAILING.contains(&last) {
            break;
        }
        surplus -= i64::from(closes);
        url = &url[..url.len() - last.len_utf8()];
    }
    (from + url.len()).max(least)
}
