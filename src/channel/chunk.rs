//! A rendered document as messages, none longer than the channel takes.
//!
//! A chunk ends where its second half has the best place for it: before a paragraph, a line, a sentence, a word; only what is longer than a
//! whole message is cut within. What stands around a cut (bold, a fence, a quote) is closed there and opened again in the next message.
//!
//! Where things do not fit: a word or an address that is longer than a message is cut between graphemes. A word that fits only without the
//! markup around it goes without it, and so does what must be cut where the markup alone would take half of a message. A grapheme that is
//! longer than a message is cut between its characters, and a character that is, as the channel wants it written, becomes `?`. So every step
//! takes some of the text, whatever the limit.
//!
//! Spaces at a cut are left out, and so are messages in which nobody would see anything. All of it takes time in proportion to the text: what
//! is written and taken back for a better end is less than a message.

use unicode_segmentation::UnicodeSegmentation;

use crate::domain::profile::LengthUnit;

use super::markdown::line::Kind;
use super::markdown::{Rendered, Rules, render};

mod marks;
mod pen;
mod pieces;
#[cfg(test)]
mod tests;
mod words;

use pen::{Dress, Pen};
use pieces::{Break, Piece};

/// What a message in Markdown is on a channel: texts that are sent one after the other. `max` is the longest, in `unit`s; 0 is no limit.
///
/// None for a message without anything to see; any other has at least one.
pub fn parts(markdown: &str, rules: &Rules, max: usize, unit: LengthUnit) -> Vec<String> {
    chunks(&render(markdown, rules), max, unit)
}

/// See [`parts`].
pub fn chunks(rendered: &Rendered, max: usize, unit: LengthUnit) -> Vec<String> {
    let max = if max == 0 { usize::MAX } else { max };
    let mut cutter = Cutter { rendered, max, unit, pieces: pieces::pieces(rendered), next: 0, chunks: Vec::new() };
    while cutter.next < cutter.pieces.len() {
        cutter.chunk();
    }
    cutter.chunks
}

#[derive(Debug)]
struct Cutter<'a> {
    rendered: &'a Rendered,
    max: usize,
    unit: LengthUnit,
    pieces: Vec<Piece>,
    /// The first piece that is in no chunk yet; what of it is, is no longer in it.
    next: usize,
    chunks: Vec<String>,
}

/// Where a chunk may end.
#[derive(Debug)]
struct End<'a> {
    /// It would be the next chunk's first.
    piece: usize,
    pen: pen::State<'a>,
    at: Break,
    in_second_half: bool,
}

impl<'a> Cutter<'a> {
    fn pen(&self, dress: Dress) -> Pen<'a> {
        Pen::new(self.rendered, self.max, self.unit, dress)
    }

    fn chunk(&mut self) {
        let mut pen = self.pen(Dress::Full);
        let mut best: Option<End<'a>> = None;
        let first = self.next;
        while let Some(piece) = self.pieces.get(self.next) {
            if self.next > first && piece.before > Break::Never {
                let end = End { piece: self.next, pen: pen.state(), at: piece.before, in_second_half: pen.used() * 2 >= self.max };
                if best.as_ref().is_none_or(|best| end.is_better_than(best)) {
                    best = Some(end);
                }
            }
            if pen.put(piece) {
                self.next += 1;
            } else if self.next == first {
                return self.part_of_a_piece();
            } else {
                if let Some(end) = best {
                    self.next = end.piece;
                    pen.back_to(end.pen);
                }
                break;
            }
        }
        self.keep(pen);
    }

    /// A chunk of what fits no chunk whole.
    fn part_of_a_piece(&mut self) {
        let Some(whole) = self.pieces.get(self.next).copied() else { return };
        let mut bare = self.pen(Dress::Bare);
        // code that loses its marks would be read as markup
        if whole.kind != Kind::Code && bare.put(&whole) {
            self.next += 1;
            return self.keep(bare);
        }
        let mut pen = self.pen(Dress::Full);
        let mut start = if pen.dress_of(&whole) <= self.max / 2 { self.graphemes(&mut pen, whole) } else { whole.start };
        if start == whole.start {
            pen = self.pen(Dress::Bare);
            start = self.graphemes(&mut pen, whole);
        }
        if start == whole.start {
            start = self.chars(&mut pen, whole);
        }
        if start == whole.end {
            self.next += 1;
        } else {
            self.pieces[self.next] = Piece { start, is_cut: true, ..whole };
        }
        self.keep(pen);
    }

    /// Puts as many as fit; where the next one starts.
    fn graphemes(&self, pen: &mut Pen<'a>, whole: Piece) -> usize {
        let text = &self.rendered.lines[whole.line].flow.text[whole.start..whole.end];
        // a grapheme that goes on to the window's end is longer than a message, and is not looked at to its own end each time
        let window = &text[..text.floor_char_boundary(self.max.saturating_mul(pen::MOST_BYTES).saturating_add(1))];
        let mut start = whole.start;
        for grapheme in window.graphemes(true) {
            let end = start + grapheme.len();
            if !pen.put(&Piece { start, end, is_cut: true, ..whole }) {
                break;
            }
            start = end;
        }
        start
    }

    /// At least one, or what stands for it.
    fn chars(&self, pen: &mut Pen<'a>, whole: Piece) -> usize {
        let text = &self.rendered.lines[whole.line].flow.text[whole.start..whole.end];
        let mut start = whole.start;
        for char in text.chars() {
            let end = start + char.len_utf8();
            if !pen.put(&Piece { start, end, is_cut: true, ..whole }) {
                if start == whole.start {
                    pen.put_instead(char);
                    start = end;
                }
                break;
            }
            start = end;
        }
        start
    }

    fn keep(&mut self, pen: Pen<'a>) {
        if pen.shows_something() {
            self.chunks.push(pen.finish());
        }
    }
}

impl End<'_> {
    fn is_better_than(&self, best: &Self) -> bool {
        match (self.at == Break::InCode, best.at == Break::InCode) {
            // code within a line is cut only where nothing else is there
            (true, false) => false,
            (false, true) => true,
            _ => !best.in_second_half || self.at >= best.at,
        }
    }
}
