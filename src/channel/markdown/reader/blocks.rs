//! Blocks: the gaps between them, quotes, items, fences.

use pulldown_cmark::CodeBlockKind;

use super::Reader;
use crate::channel::markdown::is_blank;
use crate::channel::markdown::line::Gap;
use crate::channel::markdown::rules::Level;

/// Documents within each other: fences that say they are Markdown. What is nested deeper is code.
const MOST_DOCUMENTS: usize = 3;

impl Reader {
    /// Between two blocks; within a list no line is empty.
    pub(super) fn gap(&mut self) {
        self.page.gap(if self.lists.is_empty() { Gap::Blank } else { Gap::Line });
    }

    pub(super) fn quote(&mut self) {
        self.gap();
        self.quotes += 1;
        if self.quotes == 1 {
            self.page.quote(true);
            self.page.hang("");
        }
    }

    pub(super) fn quote_end(&mut self) {
        self.gap();
        self.quotes -= 1;
        if self.quotes == 0 {
            self.page.quote(false);
            self.page.hang(self.level(0).hang);
        }
    }

    /// How items are written of the list that is so many lists further out than the innermost one.
    pub(super) fn level(&self, outer: usize) -> Level {
        let levels = self.page.rules.levels;
        let none = Level { bullet: "", indent: "", hang: "" };
        let Some(depth) = self.lists.len().checked_sub(outer + 1) else { return none };
        levels.get(depth).or(levels.last()).copied().unwrap_or(none)
    }

    pub(super) fn item(&mut self) {
        self.page.gap(Gap::Line);
        let level = self.level(0);
        let lead = match self.lists.last_mut() {
            Some(Some(number)) => {
                let lead = format!("{}{number}{}", level.indent, self.page.rules.after_number);
                *number = number.saturating_add(1);
                lead
            }
            Some(None) | None => level.bullet.to_owned(),
        };
        self.page.item(lead, level.hang);
    }

    pub(super) fn is_markdown(&self, kind: &CodeBlockKind<'_>) -> bool {
        let CodeBlockKind::Fenced(info) = kind else { return false };
        let language = info.split_whitespace().next().unwrap_or_default();
        self.documents < MOST_DOCUMENTS && ["markdown", "md"].iter().any(|name| language.eq_ignore_ascii_case(name))
    }

    pub(super) fn code_block_end(&mut self) {
        let Some(block) = self.code.take() else { return };
        let code = block.text.strip_suffix('\n').unwrap_or(&block.text);
        self.gap();
        if block.is_markdown {
            self.document(code);
        } else if !is_blank(code) {
            self.page.code(code);
        }
        self.gap();
    }
}
