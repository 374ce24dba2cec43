//! Emphasis that nobody meant: where Markdown takes a character for a marker that was a part of a sum, of a range or of an address.

use std::ops::Range;

use super::rules::Edges;

/// Bytes that are looked at for the beginning of an address.
const FAR: usize = 500;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Span {
    Italic,
    Bold,
    Strike,
}

/// The marker, if it should be read as text. `range` is the span's within `source`, its markers included.
pub(super) fn marker(source: &str, range: &Range<usize>, span: Span, edges: Edges) -> Option<&'static str> {
    let text = source.get(range.clone())?;
    let marker = match span {
        Span::Strike if text.starts_with("~~") => "~~",
        // `10~20, 30~40` is two ranges
        Span::Strike => return Some("~"),
        Span::Bold if text.starts_with('_') => "__",
        Span::Bold => "**",
        Span::Italic if text.starts_with('_') => "_",
        Span::Italic => "*",
    };
    let before = source[..range.start].chars().next_back();
    let after = source[range.end..].chars().next();
    let in_sum = edges == Edges::Words && is_in_sum(before, after, span);
    (in_sum || is_in_address(&source[..range.start])).then_some(marker)
}

/// `2*3*4`, `a*b*c`, `2**3**4`. Where emphasis within a word cannot be shown, such a character is more often this; but two of them between
/// letters are not.
fn is_in_sum(before: Option<char>, after: Option<char>, span: Span) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    match span {
        Span::Italic => before.is_ascii_alphanumeric() && after.is_ascii_alphanumeric(),
        Span::Bold => before.is_ascii_digit() && after.is_ascii_digit(),
        Span::Strike => false,
    }
}

fn is_in_address(before: &str) -> bool {
    let near = &before[before.ceil_char_boundary(before.len().saturating_sub(FAR))..];
    let word = near.rfind(|char: char| char.is_whitespace() || "<>\"(".contains(char)).map_or(near, |space| &near[space..]);
    word.contains("://")
}
