//! How much of a step's results the model sees.
//!
//! Each result has its cap, and all of a step have one together. What each may have is decided in the model's order and from lengths alone,
//! so that a ledger is a function of what happened, also where a restart came between two results. Lengths are in characters, and nothing
//! is cut within one.

use crate::domain::ArtifactId;

/// The most of one result.
pub(super) const RESULT_CAP: usize = 50_000;
/// The most of all results of a step.
pub(super) const STEP_CAP: usize = 200_000;
/// What readers see of a result, and the model of one that is over a cap.
pub(super) const PREVIEW: usize = 2_000;
/// The most of an error, which no artifact keeps: a little more than what bash has to say of a command that failed, 8 KiB of each stream.
pub(super) const ERROR_CAP: usize = 20_000;
/// What every result may have, whatever those before it took: the line that says where the rest is.
pub(super) const LEAST: usize = 400;

/// What a step's results may still take.
#[derive(Debug)]
pub(super) struct Room {
    left: usize,
    /// Results that have not taken theirs.
    to_come: usize,
}

impl Room {
    /// For so many results of a step that has shown `shown` already.
    pub(super) fn new(shown: usize, to_come: usize) -> Self {
        Self { left: STEP_CAP.saturating_sub(shown), to_come }
    }

    /// What the next result may have: what is left, less what those after it get in any case.
    pub(super) fn next(&self, cap: usize) -> usize {
        let for_others = self.to_come.saturating_sub(1).saturating_mul(LEAST);
        self.left.saturating_sub(for_others).max(LEAST).min(cap)
    }

    /// The next result has so much.
    pub(super) fn taken(&mut self, length: usize) {
        self.left = self.left.saturating_sub(length);
        self.to_come = self.to_come.saturating_sub(1);
    }
}

pub(super) fn length(text: &str) -> usize {
    text.chars().count()
}

/// Its first characters, at most so many.
pub(super) fn first(text: &str, length: usize) -> &str {
    text.char_indices().nth(length).map_or(text, |(end, _)| &text[..end])
}

/// The text within `room`: cut where it is longer, and said so.
pub(super) fn cut(text: String, room: usize) -> String {
    let whole = length(&text);
    if whole <= room {
        return text;
    }
    // with the longest number that can stand there
    let line = |left: usize| format!("\n[cut here: {left} more characters than there was room for in this step]");
    let kept = room.saturating_sub(length(&line(whole)));
    format!("{}{}", first(&text, kept), line(whole - kept))
}

/// A result that is over a cap.
#[derive(Clone, Copy, Debug)]
pub(super) struct Over<'a> {
    pub(super) id: &'a ArtifactId,
    pub(super) text: &'a str,
    /// How much of it the artifact has.
    pub(super) kept: usize,
    /// The tool that reads artifacts, where this turn has it.
    pub(super) reader: Option<&'static str>,
}

impl Over<'_> {
    /// What the model sees of it within `room`: its beginning, and a line that says where the rest is.
    pub(super) fn content(&self, room: usize) -> String {
        let whole = length(self.text);
        // the line and the line feed in front of it
        let beyond = length(&self.line(whole, PREVIEW)) + 1;
        let beginning = first(self.text, PREVIEW.min(room.saturating_sub(beyond)));
        format!("{beginning}\n{}", self.line(whole, length(beginning)))
    }

    fn line(&self, whole: usize, shown: usize) -> String {
        let Self { id, kept, .. } = self;
        let of_it = if *kept == whole { "What the tool gave is".to_owned() } else { format!("The first {kept} are") };
        let how = match self.reader {
            Some(tool) => format!("{tool} reads on: {{\"artifact_id\":\"{id}\",\"offset\":{shown}}}"),
            None => "no tool here reads it".to_owned(),
        };
        format!("[These are the first {shown} of the {whole} characters of this result. {of_it} kept as the artifact {id}; {how}]")
    }
}

#[cfg(test)]
mod tests;
