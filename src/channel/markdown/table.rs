//! Tables as lines: a phone shows no columns.

use unicode_segmentation::UnicodeSegmentation;

use super::line::{Flow, Gap, Kind, Marks};
use super::page::Page;

/// Characters of a column's name where it is repeated; it bounds what a table can become, and no column that people read needs more.
const REPEATED: usize = 40;

#[derive(Debug, Default)]
pub(super) struct Table {
    /// The first one has the columns' names.
    rows: Vec<Vec<Flow>>,
}

impl Table {
    pub(super) fn row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: &Flow) {
        let mut own = Flow::default();
        own.append(cell, |marks| marks);
        self.rows.iter_mut().last().into_iter().for_each(|row| row.push(std::mem::take(&mut own)));
    }

    pub(super) fn write(mut self, page: &mut Page) {
        if self.rows.is_empty() {
            return;
        }
        let mut head = self.rows.remove(0);
        if head.len() <= 2 || self.rows.is_empty() {
            pairs(page, &head, bold);
            for row in &self.rows {
                pairs(page, row, |marks| marks);
            }
            return;
        }
        for (nth, row) in self.rows.iter().enumerate() {
            page.gap(Gap::Blank);
            named(page, &head, row, nth == 0);
            if nth == 0 {
                head = head.into_iter().map(short).collect();
            }
        }
    }
}

fn bold(marks: Marks) -> Marks {
    // code is never set in anything else
    Marks { bold: marks.code.is_none(), ..marks }
}

/// `a: b`
fn pairs(page: &mut Page, cells: &[Flow], set: impl Fn(Marks) -> Marks) {
    page.gap(Gap::Line);
    for (nth, cell) in cells.iter().filter(|cell| !cell.text.is_empty()).enumerate() {
        if nth > 0 {
            let between = if page.ends_with(':') { " " } else { ": " };
            page.text(between, Kind::Words, set(Marks::default()));
        }
        page.append(cell, &set);
    }
    page.gap(Gap::Line);
}

/// A line `*Name:* value` for each cell with text; in the first row for each column, so that no name is lost.
fn named(page: &mut Page, head: &[Flow], row: &[Flow], is_first: bool) {
    for (name, value) in head.iter().zip(row) {
        if value.text.is_empty() && (!is_first || name.text.is_empty()) {
            continue;
        }
        if !name.text.is_empty() {
            page.append(name, bold);
            page.text(if name.text.ends_with(':') { "" } else { ":" }, Kind::Words, bold(Marks::default()));
            page.text(" ", Kind::Words, Marks::default());
        }
        page.append(value, |marks| marks);
        if value.text.is_empty() {
            page.text(page.rules.empty_cell, Kind::Words, Marks::default());
        }
        page.gap(Gap::Line);
    }
}

fn short(name: Flow) -> Flow {
    let Some((end, _)) = name.text.grapheme_indices(true).nth(REPEATED) else { return name };
    let mut short = Flow::default();
    short.push(&name.text[..end], Kind::Words, Marks::default());
    short.push("…", Kind::Words, Marks::default());
    short
}
