//! Markdown as a model writes it, made into what a messaging channel shows.
//!
//! [`render`] goes from the parsed document, never by searching the text, and knows no channel: what bold, quotes, links, lists and literal
//! characters become is data that the channel gives ([`Rules`]). It does not write text yet. A [`Rendered`] is lines, each with what its
//! words are, so that whoever cuts it ([`super::chunk`]) can close and open again what stands around a cut.
//!
//! To read: `rules.rs` and `whatsapp.rs`, then `line.rs`, then how a document becomes lines: `reader.rs` (blocks and spans), `page.rs`
//! (lines), `table.rs`, `html.rs`, `literal.rs`, `url.rs`.
//!
//! Nothing that a person can read is left out, but comments, tags and titles of links. Nothing here recurses with the document, and all of it
//! takes time in proportion to its length.

use std::borrow::Cow;

mod html;
pub(super) mod line;
mod literal;
mod page;
mod reader;
pub mod rules;
mod table;
#[cfg(test)]
pub(super) mod tests;
mod url;
mod whatsapp;

pub use rules::Rules;
pub use whatsapp::WHATSAPP;

use line::Line;
use page::Page;
use reader::Reader;

use crate::domain::visible::is_hidden;

/// A document as lines, for one channel.
#[derive(Debug)]
pub struct Rendered {
    pub(super) lines: Vec<Line>,
    /// The addresses of links that stand around their text.
    pub(super) links: Vec<String>,
    pub(super) rules: Rules,
}

/// Lines of `markdown` as `rules` want them. None, if nothing in it can be seen; the source as it is, if only the result would be empty,
/// as it is of a comment.
pub fn render(markdown: &str, rules: &Rules) -> Rendered {
    let source = readable(markdown);
    if is_blank(&source) {
        return Page::new(*rules).finish();
    }
    let mut reader = Reader::new(Page::new(*rules));
    reader.document(&source);
    let rendered = reader.finish();
    if rendered.lines.iter().any(|line| !is_blank(&line.flow.text)) {
        return rendered;
    }
    let mut page = Page::new(*rules);
    page.as_it_is(&source);
    page.finish()
}

/// One kind of line end, and no NUL: what CommonMark puts in its place.
fn readable(markdown: &str) -> Cow<'_, str> {
    if !markdown.contains(['\r', '\0']) {
        return Cow::Borrowed(markdown);
    }
    Cow::Owned(markdown.replace("\r\n", "\n").replace('\r', "\n").replace('\0', "\u{FFFD}"))
}

/// Nobody sees anything of it: spaces, controls, and characters without a shape.
pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(is_unseen)
}

fn is_unseen(char: char) -> bool {
    char.is_whitespace() || char.is_control() || is_hidden(char)
}
