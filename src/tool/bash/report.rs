//! What the model reads of a command that has ended.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use super::capture::{Capture, KEPT};
use super::run::{End, Outcome};
use crate::domain::event::input::Trust;
use crate::domain::event::tool::codes;
use crate::tool::{ToolFailure, ToolOutput};

/// Bytes of each stream in a failure: an error is shown whole, it has no artifact beside it.
const KEPT_IN_FAILURE: usize = 8 * 1024;

/// An exit code of any value is a result. A command that we ended is a failure that carries what it had printed.
pub(super) fn report(outcome: &Outcome, limit: Duration) -> Result<ToolOutput, ToolFailure> {
    match outcome.end {
        End::Exited => Ok(ToolOutput::new(text(outcome, limit, KEPT), Trust::Untrusted)),
        End::TimedOut => Err(ToolFailure::new(codes::TOOL_TIMEOUT, text(outcome, limit, KEPT_IN_FAILURE))),
        End::Cancelled => Err(ToolFailure::new(codes::TOOL_OUTCOME_UNKNOWN, text(outcome, limit, KEPT_IN_FAILURE))),
    }
}

fn text(outcome: &Outcome, limit: Duration, kept: usize) -> String {
    let mut facts = Vec::new();
    match outcome.end {
        End::Exited => {}
        End::TimedOut => facts.push(format!("Timed out after {limit:?}: it and all that it had started were ended.")),
        End::Cancelled => {
            facts.push("Cancelled while it ran: it and all that it had started were ended. What it did until then stands.".into())
        }
    }
    facts.push(outcome.status.map_or_else(|| "It could not be seen to end.".into(), status));
    if outcome.leftovers {
        facts.push("Processes that it had left in the background were ended.".into());
    }
    let (out, err) = (&outcome.streams.out, &outcome.streams.err);
    format!("{}\n\n{}\n\n{}", facts.join(" "), stream("stdout", out, kept), stream("stderr", err, kept))
}

fn status(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("Exit code {code}."),
        (None, Some(signal)) => format!("Ended by signal {signal}."),
        (None, None) => format!("{status}."),
    }
}

fn stream(name: &str, capture: &Capture, kept: usize) -> String {
    match capture.total() {
        0 => format!("{name}: empty"),
        total => format!("{name} ({total} bytes):\n{}", capture.text(kept).trim_end_matches('\n')),
    }
}
