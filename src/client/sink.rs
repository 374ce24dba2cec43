//! Where the printer's pieces go: what is common to the terminal and to pipes.

use std::borrow::Cow;

use super::printer::{Out, Tone};
use super::wire::Voice;

/// Takes pieces in order.
pub(super) trait Sink {
    /// Goes on where the last text stopped.
    fn text(&mut self, voice: Voice, text: &str);
    /// The text is over; the next begins on a line of its own.
    fn end_line(&mut self);
    /// As [`Sink::end_line`], of text that no longer holds: what was held back of it is dropped.
    fn void(&mut self);
    /// A line of its own. Text that is not over goes on below it.
    fn line(&mut self, tone: Tone, line: &str);
}

pub(super) fn print(sink: &mut dyn Sink, pieces: Vec<Out>) {
    for piece in pieces {
        match piece {
            Out::Text(voice, text) => sink.text(voice, &text),
            Out::Break => sink.end_line(),
            Out::Void => sink.void(),
            Out::Line(tone, line) => sink.line(tone, &line),
        }
    }
}

/// Escape sequences, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    Colours,
    Plain,
}

impl Paint {
    /// For a terminal; the variable `NO_COLOR` turns it off (no-color.org), and so does a terminal that says it has none.
    pub(super) fn for_terminal() -> Self {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        match is_dumb || std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty()) {
            true => Paint::Plain,
            false => Paint::Colours,
        }
    }

    pub(super) fn line<'a>(self, tone: Tone, line: &'a str) -> Cow<'a, str> {
        let code = match tone {
            Tone::Person => "36",
            Tone::Tool | Tone::Note => "2",
            Tone::Good => "32",
            Tone::Bad => "31",
        };
        self.style(code, line)
    }

    /// Painted line by line, so that a line that is drawn apart from its neighbours leaves no colour behind.
    pub(super) fn style<'a>(self, code: &str, text: &'a str) -> Cow<'a, str> {
        if self == Paint::Plain || text.is_empty() || code.is_empty() {
            return Cow::Borrowed(text);
        }
        let paint = |line: &str| if line.is_empty() { String::new() } else { format!("\x1b[{code}m{line}\x1b[0m") };
        Cow::Owned(text.split('\n').map(paint).collect::<Vec<_>>().join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::Paint;

    #[test]
    fn colour_ends_with_its_line() {
        assert_eq!(Paint::Colours.style("2", "a\n\nb"), "\x1b[2ma\x1b[0m\n\n\x1b[2mb\x1b[0m");
        assert_eq!(Paint::Plain.style("2", "a\nb"), "a\nb");
    }
}
