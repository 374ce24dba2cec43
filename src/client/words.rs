//! Plain words for what the wire says in codes. A code stays where somebody may have to look it up.

use std::borrow::Cow;

use super::visible::{brief, exact};
use super::wire::{Done, Retry, ToolError};

/// The longest text of a tool, in characters, on a line that only informs.
const TEXT_SHOWN: usize = 200;
/// A wait that is worth a word.
const NOTICED_MS: u64 = 1000;

/// Why the model is asked again.
pub(super) fn retry(retry: &Retry) -> String {
    match (retry.code.as_str(), retry.delay_ms) {
        ("restart", _) => "the gateway restarted; answering again".into(),
        ("transport_cut", ms) => format!("the model's answer broke off; asking again{}", soon(ms)),
        ("connect", ms) => format!("the model cannot be reached; asking again{}", soon(ms)),
        ("timeout", ms) => format!("the model took too long; asking again{}", soon(ms)),
        ("empty_response", ms) => format!("the model said nothing; asking again{}", soon(ms)),
        ("overloaded" | "rate_limited", ms) => format!("the model is busy; asking again{}", soon(ms)),
        (code, ms) => format!("the model did not answer as it should ({}); asking again{}", exact(code), soon(ms)),
    }
}

fn soon(ms: u64) -> String {
    if ms < NOTICED_MS { String::new() } else { format!(" in {}", time(ms)) }
}

/// How a wait for a person ended.
pub(super) fn answered(how: &str) -> Cow<'_, str> {
    match how {
        "allow_once" => "allowed once".into(),
        "allow_session" => "allowed for this session".into(),
        "deny" => "denied".into(),
        "expired" | "timeout" => "nobody answered in time".into(),
        "cancelled" => "no longer asked".into(),
        other => exact(other),
    }
}

/// Why a tool failed: its own text, which says more than a code; the code too where it is not the gateway's.
pub(super) fn tool_error(error: &ToolError) -> String {
    let text = brief(&error.error, TEXT_SHOWN);
    let what = match error.code.as_str() {
        "TOOL_FAILED" => "it failed",
        "INVALID_ARGUMENTS" => "the arguments are not what it takes",
        "TOOL_OUTCOME_UNKNOWN" => "stopped, and may have taken effect",
        "TOOL_TIMEOUT" => "it took too long",
        "TOOL_NOT_STARTED" | "ABORTED_BEFORE_DISPATCH" => "it was not started",
        "ABORTED" => "stopped",
        "UNKNOWN_TOOL" => "there is no such tool",
        "TRUNCATED" => "not run, for the answer was cut",
        other => return format!("{}: {text}", exact(other)),
    };
    if text.is_empty() { what.to_owned() } else { text }
}

/// How a turn ended that did not complete.
pub(super) fn ended(done: &Done) -> String {
    let mut text = match done.reason.as_str() {
        "completed" => "done".to_owned(),
        "aborted" => "stopped".to_owned(),
        "max_tokens" => "cut off: the answer reached its greatest length".to_owned(),
        "max_steps" => "stopped: the turn took all the steps it may take".to_owned(),
        "budget" => "stopped: the budget is used up".to_owned(),
        "blocked" => "blocked".to_owned(),
        "error" => "failed".to_owned(),
        "interrupted" => "broken off: the gateway stopped in the middle of it".to_owned(),
        other => exact(other).into_owned(),
    };
    if done.reason == "aborted" {
        return text;
    }
    match (&done.detail, &done.code) {
        (Some(detail), Some(code)) => text.push_str(&format!(": {} ({})", exact(detail), exact(code))),
        (Some(word), None) | (None, Some(word)) => text.push_str(&format!(": {}", exact(word))),
        (None, None) => {}
    }
    text
}

/// The line under a turn; `waited_ms` of its time it waited for a person.
pub(super) fn turn_over(done: &Done, waited_ms: u64) -> String {
    let mut took = time_of_turn(done.total_time_ms.saturating_sub(waited_ms));
    if waited_ms >= NOTICED_MS {
        took.push_str(&format!(", and {} waiting for a person", time_of_turn(waited_ms)));
    }
    match done.reason.as_str() {
        "completed" => format!("— {took}"),
        "aborted" => format!("— {} after {took}", ended(done)),
        _ => format!("— {} · {took}", ended(done)),
    }
}

/// A time that a person reads.
pub(super) fn time(ms: u64) -> String {
    if ms < NOTICED_MS { format!("{ms} ms") } else { time_of_turn(ms) }
}

fn time_of_turn(ms: u64) -> String {
    match ms / 1000 {
        seconds if seconds < 60 => format!("{seconds}.{} s", ms % 1000 / 100),
        seconds => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::{Done, answered, retry, time, tool_error, turn_over};
    use crate::client::wire::{Retry, ToolError};

    fn done(reason: &str, code: Option<&str>, detail: Option<&str>) -> Done {
        let (code, detail) = (code.map(Into::into), detail.map(Into::into));
        Done { reason: reason.into(), code, detail, answer: String::new(), total_time_ms: 13_250 }
    }

    #[test]
    fn a_turns_end_is_one_line() {
        assert_eq!(turn_over(&done("completed", None, None), 0), "— 13.2 s");
        assert_eq!(turn_over(&done("completed", None, None), 10_000), "— 3.2 s, and 10.0 s waiting for a person");
        assert_eq!(turn_over(&done("aborted", None, Some("by ada")), 0), "— stopped after 13.2 s");
        assert_eq!(turn_over(&done("error", Some("provider"), Some("no route")), 0), "— failed: no route (provider) · 13.2 s");
    }

    #[test]
    fn codes_become_words_and_unknown_ones_stay() {
        let again = |code: &str, delay_ms| retry(&Retry { code: code.into(), delay_ms, discarded: true });
        assert_eq!(again("restart", 0), "the gateway restarted; answering again");
        assert_eq!(again("transport_cut", 2500), "the model's answer broke off; asking again in 2.5 s");
        assert_eq!(again("rate_limited", 10), "the model is busy; asking again");
        assert_eq!(again("connect", 1000), "the model cannot be reached; asking again in 1.0 s");
        assert!(again("odd", 10).contains("(odd)"));
        assert_eq!((answered("allow_once"), answered("odd")), ("allowed once".into(), "odd".into()));
        let failed = |code: &str, error: &str| tool_error(&ToolError { tool: "bash".into(), code: code.into(), error: error.into() });
        assert_eq!(failed("TOOL_OUTCOME_UNKNOWN", ""), "stopped, and may have taken effect");
        assert_eq!(failed("TOOL_OUTCOME_UNKNOWN", "stopped while it ran"), "stopped while it ran");
        assert_eq!(failed("ODD", "x"), "ODD: x");
        assert_eq!((time(12).as_str(), time(1250).as_str(), time(61_000).as_str()), ("12 ms", "1.2 s", "1 min 1 s"));
    }
}
