//! Lines cut into pieces that are seldom cut further: words, addresses, code up to its next space.

use unicode_segmentation::UnicodeSegmentation;

use crate::channel::markdown::Rendered;
use crate::channel::markdown::line::{Gap, Kind, Line, Marks, Place, Run};

use super::marks;

/// How well a chunk ends before a piece, the best last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Break {
    /// It belongs to what stands before it.
    Never,
    /// At a space of code.
    InCode,
    Word,
    Sentence,
    Line,
    Block,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    /// An index of the document's lines.
    pub(super) line: usize,
    /// The space before it begins here, in bytes of the line's text.
    pub(super) space: usize,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) before: Break,
    pub(super) kind: Kind,
    pub(super) marks: Marks,
    /// It is a part of one: what stands beside it in the line need not be there in the message.
    pub(super) is_cut: bool,
}

/// Closers that may stand between a sentence's end and the space.
const CLOSERS: [char; 8] = [')', ']', '"', '\'', '”', '’', '»', '*'];
const SENTENCE_ENDS: [char; 8] = ['.', '!', '?', '…', '。', '！', '？', '؟'];
/// After these a line may end without a space.
const WIDE_ENDS: [(&str, Break); 6] = [
    ("。", Break::Sentence),
    ("！", Break::Sentence),
    ("？", Break::Sentence),
    ("，", Break::Word),
    ("、", Break::Word),
    ("；", Break::Word),
];

pub(super) fn pieces(rendered: &Rendered) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (nth, line) in rendered.lines.iter().enumerate() {
        let first = pieces.len();
        let before = match nth.checked_sub(1).and_then(|nth| rendered.lines.get(nth)) {
            Some(last) => between(last, line),
            None => Break::Never,
        };
        of_line(&mut pieces, nth, line, before);
        marks::settle(&mut pieces[first..], line, &rendered.rules);
    }
    pieces
}

fn between(last: &Line, line: &Line) -> Break {
    match (last.place, line.gap) {
        (Place::Heading, _) => Break::Word,
        (Place::Fence(_) | Place::Bare(_), _) if last.place == line.place => Break::Sentence,
        (_, Gap::Blank) => Break::Block,
        (_, Gap::Line) => Break::Line,
    }
}

fn of_line(pieces: &mut Vec<Piece>, nth: usize, line: &Line, before: Break) {
    let mut walk = Walk { pieces, line, nth, done: 0, before };
    // an empty line of code is a piece as well
    if line.flow.runs.is_empty() {
        walk.push(0, 0, Run { end: 0, kind: Kind::Code, marks: Marks::default() });
    }
    let mut start = 0;
    for run in &line.flow.runs {
        match run.kind {
            Kind::Words | Kind::Literal => walk.words(start, *run),
            Kind::Code => walk.code(start, *run),
        }
        start = run.end;
    }
}

struct Walk<'a> {
    pieces: &'a mut Vec<Piece>,
    line: &'a Line,
    nth: usize,
    /// Up to here all is in a piece.
    done: usize,
    /// Before the next piece, if nothing better stands there.
    before: Break,
}

impl Walk<'_> {
    fn words(&mut self, start: usize, run: Run) {
        let mut from = start;
        for (at, grapheme) in self.line.flow.text[start..run.end].grapheme_indices(true) {
            let (at, end) = (start + at, start + at + grapheme.len());
            if grapheme.chars().all(char::is_whitespace) {
                self.push(from, at, run);
                from = end;
            } else if let Some((_, after)) = WIDE_ENDS.iter().find(|(wide, _)| run.kind == Kind::Words && *wide == grapheme) {
                self.push(from, end, run);
                self.before = *after;
                from = end;
            }
        }
        self.push(from, run.end, run);
    }

    fn code(&mut self, start: usize, run: Run) {
        let mut from = start;
        for piece in self.line.flow.text[start..run.end].split_inclusive(' ') {
            self.push(from, from + piece.len(), run);
            self.before = Break::InCode;
            from += piece.len();
        }
        self.before = Break::Never;
    }

    /// Nothing, if it is empty and not all of the line.
    fn push(&mut self, start: usize, end: usize, run: Run) {
        if start == end && !self.line.flow.text.is_empty() {
            return;
        }
        let before = if self.done == start { self.before } else { self.before.max(self.after_space()) };
        let piece = Piece { line: self.nth, space: self.done, start, end, before, kind: run.kind, marks: run.marks, is_cut: false };
        self.pieces.push(piece);
        self.before = Break::Never;
        self.done = end;
    }

    fn after_space(&self) -> Break {
        let ends = self.line.flow.text[..self.done].trim_end_matches(CLOSERS).ends_with(SENTENCE_ENDS);
        if ends { Break::Sentence } else { Break::Word }
    }
}
