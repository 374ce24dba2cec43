//! A document's characters as a channel takes them: escaped, or guarded where they would mean something.

use crate::channel::markdown::line::{Kind, Line, Marks};
use crate::channel::markdown::rules::{Guard, Rules};

use super::pieces::Piece;

/// Writes the piece, behind what the message has so far.
pub(super) fn write(message: &mut String, rules: &Rules, line: &Line, piece: &Piece) {
    let all = &line.flow.text;
    let text = &all[piece.start..piece.end];
    let Some(guard) = rules.guard.filter(|_| piece.kind == Kind::Words) else {
        return text.chars().for_each(|char| escape(message, rules, char));
    };
    let starts_line = message.is_empty() || message.ends_with('\n');
    if starts_line && guard.line_starts.iter().any(|start| all[piece.start..].starts_with(start)) {
        message.push(guard.with);
    }
    let mut last = all[..piece.start].chars().next_back();
    for (at, char) in text.char_indices() {
        let (start, end) = (piece.start + at, piece.start + at + char.len_utf8());
        let next = all[end..].chars().next();
        // beside an end of the piece stands a marker, or nothing once it is cut
        let is_inside = start > piece.start && end < piece.end && !piece.is_cut;
        let is_in_word = is_inside && is_word(last) && is_word(next);
        let is_alone = piece.marks == Marks::default() && is_space(last) && is_space(next);
        if guard.markers.contains(&char) && !is_in_word && !is_alone {
            guarded(message, guard, char);
        } else {
            escape(message, rules, char);
        }
        last = Some(char);
    }
}

fn is_space(char: Option<char>) -> bool {
    char.is_none_or(char::is_whitespace)
}

fn is_word(char: Option<char>) -> bool {
    char.is_some_and(char::is_alphanumeric)
}

fn guarded(message: &mut String, guard: Guard, marker: char) {
    if !message.ends_with(guard.with) {
        message.push(guard.with);
    }
    message.push(marker);
    message.push(guard.with);
}

pub(super) fn escape(message: &mut String, rules: &Rules, char: char) {
    match rules.escapes.iter().find(|(escaped, _)| *escaped == char) {
        Some((_, instead)) => message.push_str(instead),
        None => message.push(char),
    }
}
