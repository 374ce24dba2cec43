//! One message as it is written: it opens and closes what stands around the text, guards and escapes, and measures.

use crate::channel::markdown::Rendered;
use crate::channel::markdown::is_blank;
use crate::channel::markdown::line::{Gap, Line, Nth, Place};
use crate::channel::markdown::rules::{Link, Pair};
use crate::domain::profile::LengthUnit;

use super::marks::{self, Mark};
use super::pieces::Piece;
use super::words;

/// Bytes that one unit of length has at most.
pub(super) const MOST_BYTES: usize = 4;

/// Whether what stands around the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dress {
    Full,
    Bare,
}

#[derive(Debug)]
pub(super) struct Pen<'a> {
    rendered: &'a Rendered,
    max: usize,
    unit: LengthUnit,
    dress: Dress,
    text: String,
    state: State<'a>,
}

/// All of a pen but its text, so that it can go back.
#[derive(Clone, Copy, Debug)]
pub(super) struct State<'a> {
    /// Bytes of the text, and units.
    len: usize,
    used: usize,
    line: Option<&'a Line>,
    quote: Option<Nth>,
    fence: Option<Nth>,
    open: [Option<Mark>; marks::MOST],
    shows: bool,
}

impl<'a> Pen<'a> {
    pub(super) fn new(rendered: &'a Rendered, max: usize, unit: LengthUnit, dress: Dress) -> Self {
        let state = State { len: 0, used: 0, line: None, quote: None, fence: None, open: [None; marks::MOST], shows: false };
        Self { rendered, max, unit, dress, text: String::new(), state }
    }

    pub(super) fn state(&self) -> State<'a> {
        self.state
    }

    /// Units, without what is still to be closed.
    pub(super) fn used(&self) -> usize {
        self.state.used
    }

    pub(super) fn shows_something(&self) -> bool {
        self.state.shows
    }

    pub(super) fn back_to(&mut self, state: State<'a>) {
        self.text.truncate(state.len);
        self.state = state;
    }

    pub(super) fn finish(mut self) -> String {
        self.close_all();
        self.text
    }

    /// Writes it, or nothing where it does not fit.
    pub(super) fn put(&mut self, piece: &Piece) -> bool {
        // what cannot fit is not even read, so that a long one costs nothing
        if (piece.end - piece.start) / MOST_BYTES > self.max {
            return false;
        }
        let before = self.state;
        let (line, rules) = (&self.rendered.lines[piece.line], &self.rendered.rules);
        self.approach(piece, line);
        self.dress_up(piece);
        let text = &line.flow.text[piece.start..piece.end];
        words::write(&mut self.text, rules, line, piece);
        self.state.shows |= !is_blank(text);
        self.measure();
        let fits = self.state.used + self.to_close() <= self.max;
        if !fits {
            self.back_to(before);
        }
        fits
    }

    /// Writes a character that has no room as it should be, into a message of its own: there no marker acts, but what must be escaped is `?`.
    pub(super) fn put_instead(&mut self, char: char) {
        let is_free = self.rendered.rules.escapes.iter().all(|(escaped, _)| *escaped != char);
        let bytes = &mut [0; MOST_BYTES];
        let text = char.encode_utf8(bytes);
        self.text.push_str(if is_free && self.length(text) <= self.max { text } else { "?" });
        self.state.shows |= !is_blank(text);
        self.measure();
    }

    /// The units that stand around such a piece in a message of its own; of a pen that has written nothing.
    pub(super) fn dress_of(&mut self, piece: &Piece) -> usize {
        let before = self.state;
        self.approach(piece, &self.rendered.lines[piece.line]);
        self.dress_up(piece);
        self.measure();
        let dress = self.state.used + self.to_close();
        self.back_to(before);
        dress
    }

    /// Up to the piece: the line's end, what stands around blocks, the space.
    fn approach(&mut self, piece: &Piece, line: &'a Line) {
        let kept = self.kept(piece);
        if self.state.line.is_some_and(|last| std::ptr::eq(last, line)) {
            self.close_marks(kept);
            if !piece.is_cut {
                self.text.push_str(&line.flow.text[piece.space..piece.start]);
            }
            return;
        }
        self.close_marks(0);
        let fence = match line.place {
            Place::Fence(nth) => Some(nth),
            Place::Text | Place::Heading | Place::Bare(_) => None,
        };
        let same_quote = self.state.quote == line.quote;
        if self.state.fence != fence {
            self.close_fence();
        }
        if !same_quote {
            self.close_quote();
        }
        if self.state.line.is_some() {
            self.text.push_str(if line.gap == Gap::Blank { "\n\n" } else { "\n" });
        }
        self.state.line = Some(line);
        if self.dress == Dress::Bare {
            return;
        }
        let rules = &self.rendered.rules;
        if !same_quote && line.quote.is_some() {
            self.text.push_str(rules.quote.pair.open);
            self.state.quote = line.quote;
        }
        if self.state.fence != fence {
            self.text.push_str(rules.fence.pair.open);
            self.state.fence = fence;
        }
        if line.quote.is_some() {
            self.text.push_str(rules.quote.line);
        }
        if piece.start == 0 {
            self.text.push_str(&line.lead);
        }
    }

    /// Opens the piece's marks.
    fn dress_up(&mut self, piece: &Piece) {
        if self.dress == Dress::Bare {
            return;
        }
        for mark in marks::in_order(piece.marks) {
            let Some(free) = self.state.open.iter().position(|open| open.is_none() || *open == Some(mark)) else { return };
            if self.state.open[free].is_none() {
                self.open(mark);
                self.state.open[free] = Some(mark);
            }
        }
    }

    fn open(&mut self, mark: Mark) {
        let Mark::Link(nth) = mark else { return self.text.push_str(self.pair(mark).open) };
        let rules = &self.rendered.rules;
        let Link::Around { open, between, .. } = rules.link else { return };
        let address = usize::try_from(nth).ok().and_then(|nth| self.rendered.links.get(nth)).map_or("", String::as_str);
        self.text.push_str(open);
        address.chars().for_each(|char| words::escape(&mut self.text, rules, char));
        self.text.push_str(between);
    }

    fn pair(&self, mark: Mark) -> Pair {
        let rules = &self.rendered.rules;
        match mark {
            Mark::Bold => rules.bold,
            Mark::Italic => rules.italic,
            Mark::Strike => rules.strike,
            Mark::Code(span) => rules.code.get(span.pair).map_or(Pair { open: "", close: "" }, |code| code.pair),
            Mark::Link(_) => match rules.link {
                Link::Around { open, close, .. } => Pair { open, close },
                Link::After(_) => Pair { open: "", close: "" },
            },
        }
    }

    /// How many of the open marks go on in the piece.
    fn kept(&self, piece: &Piece) -> usize {
        self.state.open.iter().take_while(|open| open.is_some_and(|open| marks::in_order(piece.marks).any(|mark| mark == open))).count()
    }

    fn close_all(&mut self) {
        self.close_marks(0);
        self.close_fence();
        self.close_quote();
    }

    fn close_marks(&mut self, kept: usize) {
        for nth in (kept..marks::MOST).rev() {
            if let Some(mark) = self.state.open[nth].take() {
                self.text.push_str(self.pair(mark).close);
            }
        }
    }

    fn close_fence(&mut self) {
        if self.state.fence.take().is_some() {
            self.text.push_str(self.rendered.rules.fence.pair.close);
        }
    }

    fn close_quote(&mut self) {
        if self.state.quote.take().is_some() {
            self.text.push_str(self.rendered.rules.quote.pair.close);
        }
    }

    /// The units that closing all takes.
    fn to_close(&self) -> usize {
        let rules = &self.rendered.rules;
        let marks: usize = self.state.open.iter().flatten().map(|mark| self.length(self.pair(*mark).close)).sum();
        let fence = self.state.fence.map_or(0, |_| self.length(rules.fence.pair.close));
        let quote = self.state.quote.map_or(0, |_| self.length(rules.quote.pair.close));
        marks + fence + quote
    }

    /// Takes account of what was written since the last time.
    fn measure(&mut self) {
        self.state.used += self.length(&self.text[self.state.len..]);
        self.state.len = self.text.len();
    }

    fn length(&self, text: &str) -> usize {
        match self.unit {
            LengthUnit::Chars => text.chars().count(),
            LengthUnit::Utf16 => text.encode_utf16().count(),
            LengthUnit::Bytes => text.len(),
        }
    }
}
