//! What a channel writes where Markdown has bold, a quote, a link. All of it is data, so a new channel is a value and no code.

/// A channel's markup. Texts go out as they stand here; what a document says is escaped and guarded first.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    pub bold: Pair,
    pub italic: Pair,
    pub strike: Pair,
    /// For code within a line, the first that the code leaves whole; where none does, the code stands bare.
    pub code: &'static [Code],
    /// For blocks of code, without their language. Where the code would end it too early, the code stands bare.
    pub fence: Code,
    pub quote: Quote,
    /// What stands before items, the outermost list first; deeper ones are written as the last.
    pub levels: &'static [Level],
    /// Between an item's number and its text.
    pub after_number: &'static str,
    pub task_done: &'static str,
    pub task_open: &'static str,
    pub link: Link,
    /// What stands for a table's cell that has no text and is the first of its column.
    pub empty_cell: &'static str,
    pub edges: Edges,
    /// What is written for characters that the channel reads as markup, in code too.
    pub escapes: &'static [(char, &'static str)],
    /// For channels whose markers cannot be escaped.
    pub guard: Option<Guard>,
}

#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub open: &'static str,
    pub close: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Code {
    pub pair: Pair,
    /// What the code must not have in it, nor its first character at an end. Empty: anything goes.
    pub free_of: &'static str,
}

/// Quotes within quotes are one: no messenger shows more.
#[derive(Clone, Copy, Debug)]
pub struct Quote {
    pub pair: Pair,
    /// Before each of its lines.
    pub line: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub struct Level {
    pub bullet: &'static str,
    /// Before a number.
    pub indent: &'static str,
    /// Before the further lines of an item.
    pub hang: &'static str,
}

#[derive(Clone, Copy, Debug)]
pub enum Link {
    /// `text (address)`: these two stand around the address.
    After(Pair),
    /// The text is the link: `open`, the address, `between`, the text, `close`. An address of more than `most` bytes stands after its text
    /// all the same, for `open` is written again in each message that has a part of the text.
    Around { open: &'static str, between: &'static str, close: &'static str, most: usize, after: Pair },
}

/// Where markers mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edges {
    /// Only where a word begins or ends. Emphasis of a part of a word is left out, and so is that of addresses, which would swallow the marker.
    Words,
    Anywhere,
}

/// Keeps a literal marker from meaning something.
#[derive(Clone, Copy, Debug)]
pub struct Guard {
    pub markers: &'static [char],
    /// What would make a line a quote or an item.
    pub line_starts: &'static [&'static str],
    /// Stands on both sides of a marker, and before what would begin a line.
    pub with: char,
}

impl Code {
    pub(super) fn holds(&self, code: &str) -> bool {
        let Some(first) = self.free_of.chars().next() else { return true };
        !code.contains(self.free_of) && !code.starts_with(first) && !code.ends_with(first)
    }
}
