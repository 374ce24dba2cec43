//! What stands within a line: words and what they are set in, code, links.

use std::ops::Range;

use super::Reader;
use crate::channel::markdown::html::Part;
use crate::channel::markdown::line::{CodeSpan, Kind, Marks, Nth};
use crate::channel::markdown::literal::{self, Span};
use crate::channel::markdown::rules::{Link, Pair};

#[derive(Debug)]
pub(super) struct OpenLink {
    address: String,
    /// Where its text begins.
    from: (usize, usize),
    shows: Shows,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Shows {
    /// `text (address)`
    After(Pair),
    /// The text is it.
    Around(Nth),
    /// `alt: address`
    Image,
}

impl Reader {
    pub(super) fn words(&mut self, text: &str) {
        let marks = self.marks();
        self.page.text(text, Kind::Words, marks);
    }

    fn marks(&self) -> Marks {
        Marks { bold: self.bold > 0, italic: self.italic > 0, strike: self.strike > 0, code: None, link: self.around() }
    }

    pub(super) fn parts<'a>(&mut self, parts: impl IntoIterator<Item = Part<'a>>) {
        for part in parts {
            match part {
                Part::Text(text) => self.words(&text),
                Part::Space => self.words(" "),
                Part::Line => self.page.line_break(),
                Part::Link(address) => {
                    self.link(&address);
                    self.html_links.push(self.links.len());
                }
                Part::LinkEnd if self.html_links.last() == Some(&self.links.len()) => self.close(),
                Part::LinkEnd => {}
                Part::Image { alt, address } => {
                    self.open(&address, Shows::Image);
                    self.words(&alt);
                    self.close();
                }
            }
        }
    }

    pub(super) fn span(&mut self, source: &str, range: &Range<usize>, span: Span) {
        let marker = literal::marker(source, range, span, self.page.rules.edges);
        match marker {
            Some(marker) => self.words(marker),
            None => *self.depth(span) += 1,
        }
        self.literal.push(marker);
    }

    pub(super) fn span_end(&mut self, span: Span) {
        match self.literal.pop().flatten() {
            Some(marker) => self.words(marker),
            None => *self.depth(span) -= 1,
        }
    }

    fn depth(&mut self, span: Span) -> &mut usize {
        match span {
            Span::Italic => &mut self.italic,
            Span::Bold => &mut self.bold,
            Span::Strike => &mut self.strike,
        }
    }

    pub(super) fn code(&mut self, code: &str) {
        let pair = self.page.rules.code.iter().position(|one| one.holds(code));
        let nth = self.page.number();
        let marks = Marks { code: pair.map(|pair| CodeSpan { pair, nth }), link: self.around(), ..Marks::default() };
        self.page.text(code, Kind::Code, marks);
    }

    fn around(&self) -> Option<Nth> {
        self.links.iter().rev().find_map(|link| match link.shows {
            Shows::Around(nth) => Some(nth),
            Shows::After(_) | Shows::Image => None,
        })
    }

    pub(super) fn link(&mut self, address: &str) {
        let shows = match self.page.rules.link {
            Link::After(pair) => Shows::After(pair),
            Link::Around { most, after, .. } if address.is_empty() || address.len() > most => Shows::After(after),
            Link::Around { .. } => Shows::Around(self.page.link(address)),
        };
        self.open(address, shows);
    }

    pub(super) fn open(&mut self, address: &str, shows: Shows) {
        self.addresses.insert(address.to_owned());
        self.links.push(OpenLink { address: address.to_owned(), from: self.page.mark(), shows });
    }

    /// Ends the links of HTML that nothing ended before what they stand in does.
    pub(super) fn close_html(&mut self) {
        while self.html_links.last() == Some(&self.links.len()) {
            self.close();
        }
    }

    pub(super) fn close(&mut self) {
        self.html_links.pop_if(|depth| *depth == self.links.len());
        let Some(link) = self.links.last() else { return };
        let (address, from, shows) = (link.address.clone(), link.from, link.shows);
        let text = self.page.since(from).trim();
        let bare = Marks { link: self.around(), ..Marks::default() };
        if text.is_empty() {
            self.page.text(&address, Kind::Literal, bare);
        } else if is_same(text, &address) {
            self.page.make_literal(from, bare);
        } else if !address.is_empty() {
            let (before, after) = match shows {
                Shows::After(pair) => (pair.open, pair.close),
                Shows::Image => (": ", ""),
                Shows::Around(_) => {
                    self.links.pop();
                    return;
                }
            };
            self.page.text(before, Kind::Words, Marks::default());
            self.page.text(&address, Kind::Literal, Marks::default());
            self.page.text(after, Kind::Words, Marks::default());
        }
        self.links.pop();
    }
}

/// The text says the address already.
fn is_same(text: &str, address: &str) -> bool {
    let bare = |all: &str| {
        let one = ["https://", "http://", "mailto:", "tel:"].iter().find_map(|scheme| all.strip_prefix(scheme)).unwrap_or(all).to_owned();
        one.strip_suffix('/').map(str::to_owned).unwrap_or(one)
    };
    bare(text) == bare(address)
}
