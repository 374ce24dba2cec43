//! Text as it stands on a terminal: safe to draw, broken between words, and painted. Pure: it is given text and returns what to write.
//!
//! Streaming text comes in pieces that end anywhere. The word that is still growing is held back, so that it is never broken where the row
//! ends; everything before it is returned at once. Where a line of the client's own comes between, the text goes on below it.
//!
//! Of Markdown, headings, **bold** and `code` are painted. No character is taken away for it: what is drawn can be copied as it was
//! written, and a mark that nothing closes does no harm beyond its line. A table alone is held back until it ends, and padded.

use unicode_width::UnicodeWidthChar;

use super::printer::Tone;
use super::sink::Paint;
use super::table::aligned;
use super::visible::prose;
use super::wire::Voice;

/// Where text goes on that a line of the client's own came into.
const GOES_ON: &str = "… ";
const FENCE: &str = "```";

#[derive(Debug)]
pub(super) struct Page {
    pub(super) paint: Paint,
    /// Of the terminal.
    pub(super) columns: usize,
    /// Where the text stands in its row.
    column: usize,
    /// Not drawn yet: the space before the growing word, and the word.
    space: String,
    word: String,
    /// A table that has not ended, as it was written.
    table: String,
    /// The word's beginning is drawn already, for it is wider than a row.
    is_glued: bool,
    /// The text was parted from its beginning.
    goes_on: bool,
    voice: Voice,
    marks: Marks,
}

/// What Markdown says about the place where the text stands.
#[derive(Debug, Default)]
struct Marks {
    /// Something of the line is drawn.
    begun: bool,
    /// Within a fenced block.
    fenced: bool,
    heading: bool,
    bold: bool,
    code: bool,
}

impl Page {
    pub(super) fn new(paint: Paint, columns: usize) -> Self {
        Self {
            paint,
            columns,
            column: 0,
            space: String::new(),
            word: String::new(),
            table: String::new(),
            is_glued: false,
            goes_on: false,
            voice: Voice::Answer,
            marks: Marks::default(),
        }
    }

    /// Text of a model, which goes on where the last one stopped. Returns what can be drawn by now.
    pub(super) fn text(&mut self, voice: Voice, text: &str) -> String {
        let mut out = String::new();
        self.voice = voice;
        for c in prose(text).chars() {
            if self.goes_into_table(c) {
                self.table.push(c);
            } else {
                self.draw_table(&mut out);
                self.draw(c, &mut out);
            }
        }
        out
    }

    fn draw(&mut self, c: char, out: &mut String) {
        match c {
            '\n' => {
                self.draw_word(out);
                self.space.clear();
                self.new_line();
                out.push('\n');
            }
            ' ' | '\t' => {
                self.draw_word(out);
                self.space.push(c);
            }
            _ => self.grow_word(c, out),
        }
    }

    /// Lines that begin with a bar, where they may be padded at all.
    fn goes_into_table(&self, c: char) -> bool {
        let at_line_start = !self.marks.begun && self.word.is_empty() && self.space.is_empty();
        match self.table.is_empty() {
            true => c == '|' && at_line_start && !self.marks.fenced && self.voice == Voice::Answer && self.paint == Paint::Colours,
            false => c == '|' || !self.table.ends_with('\n'),
        }
    }

    fn draw_table(&mut self, out: &mut String) {
        let table = std::mem::take(&mut self.table);
        if table.is_empty() {
            return;
        }
        let Some(rows) = aligned(&table, self.columns) else {
            return table.chars().for_each(|c| self.draw(c, out));
        };
        if std::mem::take(&mut self.goes_on) {
            out.push_str(GOES_ON);
            out.push('\n');
        }
        for (i, row) in rows.iter().enumerate() {
            out.push_str(&self.paint.style(["1", "2"].get(i).unwrap_or(&""), row));
            out.push('\n');
        }
    }

    /// The text is over: what was held back of it. The caller ends the line.
    pub(super) fn rest(&mut self) -> String {
        let mut out = String::new();
        self.draw_table(&mut out);
        self.draw_word(&mut out);
        self.void();
        out
    }

    /// The text is over, and what was held back of it is not wanted.
    pub(super) fn void(&mut self) {
        for held in [&mut self.space, &mut self.word, &mut self.table] {
            held.clear();
        }
        self.goes_on = false;
        self.new_row();
        self.marks = Marks::default();
    }

    /// A line of the client's own comes between. What is held back stays so, and is drawn below it.
    pub(super) fn part(&mut self) {
        self.goes_on |= self.voice == Voice::Answer && self.marks.begun;
        self.new_row();
    }

    /// The cursor stands at the start of a row, whatever was drawn.
    pub(super) fn new_row(&mut self) {
        self.column = 0;
        self.is_glued = false;
    }

    /// Whole lines of the client's own.
    pub(super) fn lines(&self, tone: Tone, text: &str) -> String {
        let folded: Vec<String> = text.split('\n').map(|line| fold(line, self.columns)).collect();
        self.paint.line(tone, &folded.join("\n")).into_owned()
    }

    /// In such scripts a line may break between any two characters.
    fn grow_word(&mut self, c: char, out: &mut String) {
        if is_wide(c) {
            self.draw_word(out);
        }
        self.word.push(c);
        if is_wide(c) || width(&self.word) >= self.columns {
            self.draw_word(out);
            self.is_glued = !is_wide(c);
        }
    }

    fn draw_word(&mut self, out: &mut String) {
        if self.word.is_empty() {
            return;
        }
        if std::mem::take(&mut self.goes_on) {
            out.push_str(GOES_ON);
            self.column = width(GOES_ON);
            self.space.clear();
        }
        let word = std::mem::take(&mut self.word);
        let mut space = std::mem::take(&mut self.space);
        if self.column == 0 && self.marks.begun {
            // within a line, but first in its row
            space.clear();
        }
        let (gap, wide) = (spread(&space, self.column), width(&word));
        let is_glued = std::mem::take(&mut self.is_glued) && space.is_empty();
        let overflows = self.column + gap + wide > self.columns;
        if overflows && self.column > 0 && !is_glued && !self.marks.fenced {
            out.push('\n');
            self.column = 0;
        } else {
            out.push_str(&space);
            self.column += gap;
        }
        // the terminal itself goes on in its next row
        self.column += wide;
        if self.column > self.columns {
            self.column = (self.column - 1) % self.columns.max(1) + 1;
        }
        self.paint_word(&word, out);
    }

    fn paint_word(&mut self, word: &str, out: &mut String) {
        let (paint, voice) = (self.paint, self.voice);
        match voice {
            Voice::Reasoning => out.push_str(&paint.style("2", word)),
            Voice::Answer => self.marks.each_span(word, |style, span| out.push_str(&paint.style(style, span))),
        }
        self.marks.begun = true;
    }

    fn new_line(&mut self) {
        self.new_row();
        self.marks = Marks { fenced: self.marks.fenced, ..Marks::default() };
    }
}

impl Marks {
    /// Gives the word in spans, each with its style.
    fn each_span(&mut self, word: &str, mut draw: impl FnMut(&str, &str)) {
        if !self.begun && word.starts_with(FENCE) {
            self.fenced = !self.fenced;
            return draw("2", word);
        }
        if self.fenced {
            return draw("", word);
        }
        if !self.begun && (1..=6).contains(&word.len()) && word.bytes().all(|b| b == b'#') {
            self.heading = true;
        }
        let mut rest = word;
        let mut before: Option<char> = None;
        while !rest.is_empty() {
            let mark = if rest.starts_with('`') { 1 } else { usize::from(!self.code && rest.starts_with("**")) * 2 };
            let after = rest[mark..].chars().next();
            if mark == 1 || (mark == 2 && self.turns_bold(before, after)) {
                draw("2", &rest[..mark]);
                match mark {
                    1 => self.code = !self.code,
                    _ => self.bold = !self.bold,
                }
                (before, rest) = (None, &rest[mark..]);
                continue;
            }
            let step = if mark == 0 { rest.chars().next().map_or(rest.len(), char::len_utf8) } else { mark };
            let end = rest[step..].find(['`', '*']).map_or(rest.len(), |at| at + step);
            draw(self.style(), &rest[..end]);
            before = rest[..end].chars().next_back();
            rest = &rest[end..];
        }
    }

    /// Two stars open before a letter that no letter stands before, and close after anything.
    fn turns_bold(&self, before: Option<char>, after: Option<char>) -> bool {
        match self.bold {
            true => true,
            false => !before.is_some_and(char::is_alphanumeric) && after.is_some_and(|c| c != '*' && c != '/'),
        }
    }

    fn style(&self) -> &'static str {
        match (self.code, self.bold || self.heading) {
            (true, _) => "36",
            (false, true) => "1",
            (false, false) => "",
        }
    }
}

/// Breaks a line between words. Only the one space of each break is left out; a row below has the line's indent.
fn fold(line: &str, columns: usize) -> String {
    let indent = line.len() - line.trim_start_matches(' ').len();
    let mut out = line[..indent].to_owned();
    let (mut column, mut is_first) = (indent, true);
    for word in line[indent..].split(' ') {
        let wide = width(word);
        if !std::mem::take(&mut is_first) {
            if column + 1 + wide > columns && column > indent {
                out.push('\n');
                out.push_str(&line[..indent]);
                column = indent;
            } else {
                out.push(' ');
                column += 1;
            }
        }
        out.push_str(word);
        column += wide;
    }
    out
}

/// In columns.
pub(super) fn width(text: &str) -> usize {
    text.chars().map(|c| c.width().unwrap_or(0)).sum()
}

/// How far white space reaches from a column; tabs go to the next multiple of eight.
fn spread(space: &str, from: usize) -> usize {
    let to = space.chars().fold(from, |at, c| if c == '\t' { (at / 8 + 1) * 8 } else { at + 1 });
    to - from
}

fn is_wide(c: char) -> bool {
    c.width() == Some(2)
}

#[cfg(test)]
mod tests;
