//! Markdown as it is written: never longer than its limit, whatever stands open around a line.

/// Quotes and items whose marks stand before each line; what is nested deeper is written as deep as these. It bounds what one byte of a page
/// can become, and no list that people write has half of it.
const MAX_LEVELS: usize = 16;

/// What is owed before the next text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Gap {
    #[default]
    None,
    /// A new line.
    Line,
    /// A line of its own that is empty.
    Blank,
}

/// What stands before the lines of a quote or an item.
#[derive(Debug)]
struct Level {
    first: String,
    rest: String,
    begun: bool,
}

/// What stands around words; written once there are words.
#[derive(Debug)]
struct Mark {
    before: &'static str,
    after: &'static str,
    written: bool,
}

#[derive(Debug)]
pub(super) struct Out {
    text: String,
    limit: usize,
    full: bool,
    levels: Vec<Level>,
    /// Levels that are open beyond those that are written.
    deeper: usize,
    marks: Vec<Mark>,
    /// The mark of a heading that has no words yet.
    heading: Option<&'static str>,
    gap: Gap,
    /// Space is owed before the next word of the line.
    space: bool,
    /// Nothing but what stands before the line is on it.
    fresh: bool,
    /// Headings, links and cells that are open, which have no lines within them.
    flat: usize,
}

impl Out {
    /// `limit` is in bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            limit,
            full: false,
            levels: Vec::new(),
            deeper: 0,
            marks: Vec::new(),
            heading: None,
            gap: Gap::None,
            space: false,
            fresh: true,
            flat: 0,
        }
    }

    /// There was more than there is room for.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    pub(super) fn finish(self) -> String {
        self.text
    }

    pub(super) fn is_flat(&self) -> bool {
        self.flat > 0
    }

    /// The innermost level is an item's.
    pub(super) fn is_in_item(&self) -> bool {
        self.levels.last().is_some_and(|level| level.rest.trim().is_empty())
    }

    pub(super) fn gap(&mut self, gap: Gap) {
        if self.is_flat() {
            self.space = true;
            return;
        }
        self.suspend();
        self.gap = self.gap.max(gap);
    }

    /// A line break of the page; two of them are a paragraph's end.
    pub(super) fn line_break(&mut self) {
        let gap = if self.gap == Gap::None { Gap::Line } else { Gap::Blank };
        self.gap(gap);
    }

    /// Everything up to [`Out::leave`] stands behind these.
    pub(super) fn enter(&mut self, first: &str, rest: &str) {
        if self.levels.len() >= MAX_LEVELS {
            self.deeper += 1;
        } else {
            self.levels.push(Level { first: first.into(), rest: rest.into(), begun: false });
        }
    }

    pub(super) fn leave(&mut self) {
        match self.deeper.checked_sub(1) {
            Some(less) => self.deeper = less,
            None => drop(self.levels.pop()),
        }
    }

    /// Whether the mark is new: one within itself says nothing.
    pub(super) fn mark(&mut self, before: &'static str, after: &'static str) -> bool {
        let new = self.marks.iter().all(|mark| mark.before != before);
        if new {
            self.marks.push(Mark { before, after, written: false });
        }
        new
    }

    /// Ends the newest mark. What is behind it, and the mark itself, are written only if there was anything within.
    pub(super) fn unmark(&mut self, behind: &str) {
        if let Some(mark) = self.marks.pop().filter(|mark| mark.written) {
            self.push(mark.after);
            self.push(behind);
        }
    }

    /// What follows is a heading, up to [`Out::end_heading`].
    pub(super) fn heading(&mut self, mark: &'static str) {
        self.heading = Some(mark);
        self.flat += 1;
    }

    pub(super) fn end_heading(&mut self) {
        self.heading = None;
        self.unflatten();
    }

    /// What follows stays on its line.
    pub(super) fn flatten(&mut self) {
        self.flat += 1;
    }

    pub(super) fn unflatten(&mut self) {
        self.flat = self.flat.saturating_sub(1);
    }

    /// Text of the page: its white space is one space, and what Markdown would read as marks is not.
    pub(super) fn words(&mut self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() && !self.full {
            let word = rest.trim_start_matches(is_space);
            self.space |= word.len() < rest.len();
            let (word, after) = word.split_at(word.find(is_space).unwrap_or(word.len()));
            rest = after;
            if !word.is_empty() {
                self.begin();
                self.word(word);
            }
        }
    }

    fn word(&mut self, word: &str) {
        let numbered = word.strip_suffix(['.', ')']).is_some_and(|number| number.bytes().all(|b| b.is_ascii_digit()));
        let structure = |c: char| word.starts_with(c) && word.bytes().all(|b| b == word.as_bytes()[0]);
        if self.fresh && (word.starts_with('>') || word.starts_with("~~~") || ['#', '-', '+', '='].into_iter().any(structure)) {
            self.push("\\");
        }
        let last = word.len() - 1;
        for (at, c) in word.char_indices() {
            let special = matches!(c, '\\' | '*' | '_' | '`' | '[' | ']' | '<') || (c == '|' && self.is_flat());
            if special || (self.fresh && numbered && at == last) {
                self.push("\\");
            }
            if !c.is_control() {
                self.push(c.encode_utf8(&mut [0; 4]));
            }
        }
        self.fresh = false;
    }

    /// As it is, on the line, with all marks before it.
    pub(super) fn raw(&mut self, text: &str) {
        self.begin();
        self.push(text);
        self.fresh = false;
    }

    /// As it is, on the line, without the marks that are open: those of a table's cells come within them.
    pub(super) fn bare(&mut self, text: &str) {
        self.start();
        self.push(text);
        self.fresh = false;
    }

    /// A line of its own, as it is.
    pub(super) fn line(&mut self, text: &str) {
        self.push("\n");
        self.prefix();
        for part in text.split(|c: char| c.is_control() && c != '\t') {
            self.push(part);
        }
    }

    /// Ends the marks that are written; they begin again with the next word.
    pub(super) fn suspend(&mut self) {
        for i in (0..self.marks.len()).rev() {
            if std::mem::take(&mut self.marks[i].written) {
                self.push(self.marks[i].after);
            }
        }
        self.space = false;
    }

    fn begin(&mut self) {
        self.start();
        if let Some(heading) = self.heading.take() {
            self.push(heading);
            self.fresh = false;
        }
        for i in 0..self.marks.len() {
            if !std::mem::replace(&mut self.marks[i].written, true) {
                self.push(self.marks[i].before);
                self.fresh = false;
            }
        }
    }

    /// Pays what is owed before the line goes on.
    fn start(&mut self) {
        let space = std::mem::take(&mut self.space);
        match std::mem::take(&mut self.gap) {
            _ if self.text.is_empty() => self.prefix(),
            Gap::None if space && !self.fresh => self.push(" "),
            Gap::None => {}
            Gap::Line => self.new_line(),
            Gap::Blank => {
                self.push("\n");
                self.empty_prefix();
                self.new_line();
            }
        }
    }

    fn new_line(&mut self) {
        self.push("\n");
        self.prefix();
    }

    fn prefix(&mut self) {
        let mut prefix = String::new();
        for level in &mut self.levels {
            prefix.push_str(if std::mem::replace(&mut level.begun, true) { &level.rest } else { &level.first });
        }
        self.push(&prefix);
        self.fresh = true;
    }

    /// On an empty line only quotes go on, and only those that have begun.
    fn empty_prefix(&mut self) {
        let begun = self.levels.iter().take_while(|level| level.begun).map(|level| level.rest.as_str());
        let prefix: String = begun.collect();
        self.push(prefix.trim_end());
    }

    fn push(&mut self, text: &str) {
        // once something was left out, what is shorter must not stand in its place
        let room = if self.full { 0 } else { self.limit - self.text.len() };
        let fits = &text[..text.floor_char_boundary(room)];
        self.text.push_str(fits);
        self.full |= fits.len() < text.len();
    }
}

/// White space of HTML; a space that must not break is none.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c')
}
