//! Makes text safe and honest to show on a terminal. Never changes what is sent: only what is drawn.
//!
//! What a model or a tool wrote may hold escape sequences that move the cursor, or characters that draw text in another order than it is
//! read. In an approval such a character would let one command look like another.

use std::borrow::Cow;

pub(super) use crate::domain::visible::exact;
use crate::domain::visible::replace;

/// For prose: line breaks and tabs stay, and so do the direction marks of right-to-left scripts; escape sequences do not.
pub(super) fn prose(text: &str) -> Cow<'_, str> {
    replace(text, |c| c.is_control() && !matches!(c, '\n' | '\t'))
}

/// [`exact`], cut to at most `max` characters for a line that only informs.
pub(super) fn brief(text: &str, max: usize) -> String {
    let shown = exact(text);
    match shown.char_indices().nth(max) {
        Some((at, _)) => format!("{}…", &shown[..at]),
        None => shown.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{brief, exact, prose};

    #[test]
    fn what_would_deceive_the_eye_is_spelled_out() {
        assert_eq!(exact("rm \u{202e}txt\u{2066}\u{200b}\u{1b}[2Jx\n"), r"rm \u{202e}txt\u{2066}\u{200b}\u{1b}[2Jx\u{a}");
        assert_eq!(exact("größe 大きさ"), "größe 大きさ");
    }

    #[test]
    fn prose_keeps_its_lines_and_loses_its_escapes() {
        assert_eq!(prose("a\n\tb\u{1b}]0;t\u{7}\u{9b}c\r"), "a\n\tb\\u{1b}]0;t\\u{7}\\u{9b}c\\u{d}");
        assert_eq!(prose("שלום\u{200f}!"), "שלום\u{200f}!");
    }

    #[test]
    fn a_brief_text_is_cut_between_characters() {
        assert_eq!(brief("äöüß", 3), "äöü…");
        assert_eq!(brief("äöü", 3), "äöü");
    }
}
