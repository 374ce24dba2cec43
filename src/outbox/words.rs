//! What is said where a turn ended without words of its own: nobody is left with silence.

use crate::domain::event::turn::{Done, DoneReason};

/// The turn's answer, or a sentence about why there is none.
pub(super) fn of_end(done: &Done) -> &str {
    if !done.answer.trim().is_empty() {
        return &done.answer;
    }
    match done.reason {
        DoneReason::Completed | DoneReason::MaxTokens | DoneReason::MaxSteps => "I have nothing to add.",
        DoneReason::Budget => "I ran out of time before I had an answer. Please ask again, perhaps for less at once.",
        DoneReason::Blocked => "I cannot answer that.",
        DoneReason::Aborted => "That was stopped before I had an answer.",
        DoneReason::Error => "Something went wrong, and I have no answer. Please try again in a moment.",
        DoneReason::Interrupted => "I was interrupted before I had an answer. Please ask again.",
    }
}
