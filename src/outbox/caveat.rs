//! What a reader must know of an answer that came too early: nobody watched the turn, so the message itself says it.

use std::borrow::Cow;

use crate::domain::event::turn::{Done, DoneReason};
use crate::session::repair::unsaid;

/// The answer, with a last line where the turn was cut short. The ledger keeps the model's own words, which the model reads again.
pub(super) fn with_caveat(done: &Done) -> Cow<'_, str> {
    match caveat(done.reason).filter(|_| done.answer != unsaid(done.reason, false)) {
        Some(caveat) => Cow::Owned(format!("{}\n\n{caveat}", done.answer)),
        None => Cow::Borrowed(&done.answer),
    }
}

fn caveat(reason: DoneReason) -> Option<&'static str> {
    match reason {
        DoneReason::Budget => Some("I ran out of time, so this may be incomplete."),
        DoneReason::MaxSteps => Some("I ran out of steps, so this may be incomplete."),
        DoneReason::MaxTokens => Some("My answer was cut off here."),
        DoneReason::Completed | DoneReason::Blocked | DoneReason::Aborted | DoneReason::Error | DoneReason::Interrupted => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(reason: DoneReason, answer: &str) -> Done {
        Done {
            reason,
            cause: None,
            code: None,
            detail: None,
            answer: answer.to_owned(),
            message_ids: Vec::new(),
            tool_calls: Vec::new(),
            steps: 1,
            total_time_ms: 0,
            usage: crate::domain::Usage::default(),
            tokens_per_second: None,
        }
    }

    #[test]
    fn only_words_of_the_model_that_came_too_early_get_a_last_line() {
        for reason in [DoneReason::Budget, DoneReason::MaxSteps, DoneReason::MaxTokens] {
            let told = done(reason, "What I know.");
            assert!(with_caveat(&told).starts_with("What I know.\n\n"), "{reason:?}");
            let sorry = done(reason, unsaid(reason, false));
            assert_eq!(with_caveat(&sorry), sorry.answer, "it says so itself");
        }
        assert_eq!(with_caveat(&done(DoneReason::Completed, "All of it.")), "All of it.");
    }
}
