//! Lines of a message before they are written: text as the document has it, and what its parts are.

use unicode_segmentation::UnicodeSegmentation;

/// What stands before a line that is not the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Gap {
    #[default]
    Line,
    /// An empty line.
    Blank,
}

/// Which of the blocks of its kind a line is in.
pub(crate) type Nth = u32;

#[derive(Debug, Default)]
pub(crate) struct Line {
    pub(crate) gap: Gap,
    pub(crate) quote: Option<Nth>,
    pub(crate) place: Place,
    /// Before the text, as the rules have it: an item's bullet, a task's box.
    pub(crate) lead: String,
    pub(crate) flow: Flow,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    #[default]
    Text,
    /// It belongs to the line after it.
    Heading,
    /// Code between a fence's marks.
    Fence(Nth),
    /// Code that no fence holds.
    Bare(Nth),
}

/// Text, and runs that cover it from end to end.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    pub(crate) text: String,
    pub(crate) runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// In bytes of the text.
    pub(crate) end: usize,
    pub(crate) kind: Kind,
    pub(crate) marks: Marks,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Words,
    /// Goes out as it is: an address.
    Literal,
    /// So does this, and its spaces count.
    Code,
}

/// What words are set in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    pub(crate) bold: bool,
    pub(crate) italic: bool,
    pub(crate) strike: bool,
    pub(crate) code: Option<CodeSpan>,
    /// An index of the document's links.
    pub(crate) link: Option<Nth>,
}

/// Two spans side by side are two, so each has its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CodeSpan {
    /// An index of the rules' pairs.
    pub(crate) pair: usize,
    pub(crate) nth: Nth,
}

impl Flow {
    pub(crate) fn push(&mut self, text: &str, kind: Kind, marks: Marks) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        let end = self.text.len();
        match self.runs.last_mut() {
            Some(run) if run.kind == kind && run.marks == marks => run.end = end,
            Some(_) | None => self.runs.push(Run { end, kind, marks }),
        }
    }

    /// All of another flow, its marks changed by `set`.
    pub(crate) fn append(&mut self, other: &Flow, set: impl Fn(Marks) -> Marks) {
        for (text, run) in other.parts() {
            self.push(text, run.kind, set(run.marks));
        }
    }

    /// Each run with its text.
    pub(crate) fn parts(&self) -> impl Iterator<Item = (&str, Run)> {
        let starts = [0].into_iter().chain(self.runs.iter().map(|run| run.end));
        starts.zip(&self.runs).map(|(start, run)| (&self.text[start..run.end], *run))
    }

    /// What was pushed behind so many bytes is taken back.
    pub(crate) fn truncate(&mut self, bytes: usize) {
        self.text.truncate(bytes);
        while self.runs.pop_if(|run| run.end > bytes).is_some() {}
        let end = self.runs.last().map_or(0, |run| run.end);
        if end < bytes {
            self.runs.push(Run { end: bytes, kind: Kind::Words, marks: Marks::default() });
        }
    }

    /// Without space at its ends that is no code, and with no run that ends within what a reader takes for one character.
    pub(crate) fn tidy(self) -> Flow {
        let (from, to) = self.trimmed();
        if self.runs.len() < 2 && to - from == self.text.len() {
            return self;
        }
        let mut tidy = Flow::default();
        let mut start = from;
        let mut ends = self.text[from..to].grapheme_indices(true).map(|(at, grapheme)| from + at + grapheme.len());
        for run in &self.runs {
            let mut end = start;
            while end < run.end.min(to) {
                end = ends.next().unwrap_or(to);
            }
            tidy.push(&self.text[start..end], run.kind, run.marks);
            start = end;
        }
        tidy
    }

    fn trimmed(&self) -> (usize, usize) {
        let mut from = self.text.len() - self.text.trim_start().len();
        let mut to = self.text.trim_end().len();
        let mut start = 0;
        for run in &self.runs {
            if run.kind == Kind::Code {
                from = from.min(start);
                to = to.max(run.end);
            }
            start = run.end;
        }
        (from.min(to), to)
    }
}
