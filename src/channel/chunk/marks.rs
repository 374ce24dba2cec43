//! Which marks a piece keeps: where markers act only at the edges of words, emphasis that begins or ends within one is left out.

use crate::channel::markdown::line::{CodeSpan, Kind, Line, Marks, Nth};
use crate::channel::markdown::rules::{Edges, Rules};

use super::pieces::Piece;

/// What stands open in a message, each within the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    Link(Nth),
    Bold,
    Italic,
    Strike,
    Code(CodeSpan),
}

/// As many kinds as there are: of each at most one is open.
pub(super) const MOST: usize = 5;

/// The outermost first.
pub(super) fn in_order(marks: Marks) -> impl Iterator<Item = Mark> {
    let Marks { bold, italic, strike, code, link } = marks;
    let all = [
        link.map(Mark::Link),
        bold.then_some(Mark::Bold),
        italic.then_some(Mark::Italic),
        strike.then_some(Mark::Strike),
        code.map(Mark::Code),
    ];
    all.into_iter().flatten()
}

/// `pieces` are those of the line.
pub(super) fn settle(pieces: &mut [Piece], line: &Line, rules: &Rules) {
    if rules.edges == Edges::Anywhere {
        return;
    }
    let literals = rules.guard.map_or(&[][..], |guard| guard.markers);
    for piece in pieces.iter_mut().filter(|piece| piece.kind == Kind::Literal) {
        piece.marks = Marks { code: piece.marks.code, link: piece.marks.link, ..Marks::default() };
    }
    let edges = Edge { line, literals };
    edges.settle(pieces, |marks| &mut marks.bold);
    edges.settle(pieces, |marks| &mut marks.italic);
    edges.settle(pieces, |marks| &mut marks.strike);
}

struct Edge<'a> {
    line: &'a Line,
    literals: &'a [char],
}

impl Edge<'_> {
    /// Takes a mark from each run of pieces that has it and does not begin and end at a word's edge.
    fn settle(&self, pieces: &mut [Piece], mark: impl Fn(&mut Marks) -> &mut bool) {
        let mut from = 0;
        while from < pieces.len() {
            let mut to = from;
            while to < pieces.len() && *mark(&mut pieces[to].marks) {
                to += 1;
            }
            if to == from {
                from += 1;
                continue;
            }
            let before = from.checked_sub(1).map(|before| pieces[before]);
            let after = pieces.get(to).copied();
            let acts = before.is_none_or(|before| self.is_edge(before, pieces[from]))
                && after.is_none_or(|after| self.is_edge(after, pieces[to - 1]));
            if !acts {
                pieces[from..to].iter_mut().for_each(|piece| *mark(&mut piece.marks) = false);
            }
            from = to;
        }
    }

    /// A marker acts between the two, which stand side by side.
    fn is_edge(&self, outside: Piece, inside: Piece) -> bool {
        let text = &self.line.flow.text;
        let char = if outside.start < inside.start {
            text[outside.end..inside.start].chars().next().or(text[..outside.end].chars().next_back())
        } else {
            text[inside.end..outside.start].chars().next().or(text[outside.start..].chars().next())
        };
        // the marker of code is no letter
        outside.marks.code.is_some() || char.is_none_or(|char| !char.is_alphanumeric() && !self.literals.contains(&char))
    }
}
