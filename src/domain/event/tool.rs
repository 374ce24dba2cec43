//! Tool calls and their results. Every call has exactly one result, in the model's order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::input::Trust;
use super::turn::CallStatus;
use crate::domain::record::Head;
use crate::domain::state::{FoldError, SessionState};
use crate::domain::{Args, Artifact, ArtifactId, ToolCallId};

super::family! {
    /// What happens to a tool call.
    Tool {
        "tool_start" => ToolStart,
        "tool_end" => ToolEnd,
        "tool_error" => ToolError,
        "tool_denied" => ToolDenied,
        "tool_limit" => ToolLimit,
    }
}

/// The body is about to start; durable before it does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolStart {
    pub tool_call_id: ToolCallId,
    pub tool: String,
    pub args: Args,
}

/// The body returned a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolEnd {
    pub tool_call_id: ToolCallId,
    pub tool: String,
    /// What the model sees: all of it, or its beginning and a line that says where the rest is.
    pub content: String,
    /// Its first 2,000 characters.
    pub preview: String,
    /// The whole result's size in bytes, whatever of it is shown or kept.
    pub bytes: u64,
    /// What it is kept as, where the model does not see all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<ArtifactId>,
    /// How long the body ran; 0 where a person or a client gave the result.
    pub duration_ms: u64,
    /// How far the content may be trusted.
    pub trust: Trust,
    /// The pages that it was read from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<Source>,
}

/// A page that an answer may rest on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// As the page calls itself, in one line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Where it was found: behind all redirects.
    pub url: String,
}

/// The call has no result; its code and error are for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolError {
    pub tool_call_id: ToolCallId,
    pub tool: String,
    /// A stable word: [`codes`], or the tool's own.
    pub code: String,
    pub error: String,
}

/// Nobody permitted the call, or nobody answered it; the reason is for the model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolDenied {
    pub tool_call_id: ToolCallId,
    pub tool: String,
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The model uses a tool a lot; advisory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ToolLimit {
    pub tool: String,
    pub warning: String,
    pub blocked: bool,
}

/// The codes of `tool_error` that the gateway itself gives.
pub mod codes {
    /// The arguments are not a JSON object, or not what the tool takes.
    pub const INVALID_ARGUMENTS: &str = "INVALID_ARGUMENTS";
    /// No such tool on this channel.
    pub const UNKNOWN_TOOL: &str = "UNKNOWN_TOOL";
    /// The body did not end within its time and was stopped.
    pub const TOOL_TIMEOUT: &str = "TOOL_TIMEOUT";
    /// The body crashed.
    pub const TOOL_FAILED: &str = "TOOL_FAILED";
    /// Cancelled while it ran; the tool is safe to run again.
    pub const ABORTED: &str = "ABORTED";
    /// Cancelled before it started.
    pub const ABORTED_BEFORE_DISPATCH: &str = "ABORTED_BEFORE_DISPATCH";
    /// It had started and nobody knows what it did.
    pub const TOOL_OUTCOME_UNKNOWN: &str = "TOOL_OUTCOME_UNKNOWN";
    /// It had not started.
    pub const TOOL_NOT_STARTED: &str = "TOOL_NOT_STARTED";
    /// The answer was cut at the output limit: nothing of it is run.
    pub const TRUNCATED: &str = "TRUNCATED";

    /// All of them.
    pub const ALL: [&str; 9] = [
        INVALID_ARGUMENTS,
        UNKNOWN_TOOL,
        TOOL_TIMEOUT,
        TOOL_FAILED,
        ABORTED,
        ABORTED_BEFORE_DISPATCH,
        TOOL_OUTCOME_UNKNOWN,
        TOOL_NOT_STARTED,
        TRUNCATED,
    ];
}

impl ToolError {
    /// What the model reads.
    pub fn content(&self) -> String {
        format!("Error {}: {}", self.code, self.error)
    }

    /// The tool said what went wrong, and may have quoted others; nothing vouches for it. Of the gateway's own words none are theirs.
    fn has_words_of_its_own(&self) -> bool {
        !codes::ALL.contains(&self.code.as_str())
    }

    fn status(&self) -> CallStatus {
        match self.code.as_str() {
            codes::ABORTED | codes::ABORTED_BEFORE_DISPATCH => CallStatus::Aborted,
            codes::TOOL_OUTCOME_UNKNOWN => CallStatus::Unknown,
            _ => CallStatus::Error,
        }
    }
}

impl ToolDenied {
    /// What the model reads.
    pub fn content(&self) -> String {
        format!("The call was not run. {}", self.reason)
    }
}

impl Tool {
    /// It is its call's one result.
    pub fn is_result(&self) -> bool {
        matches!(self, Tool::ToolEnd(_) | Tool::ToolError(_) | Tool::ToolDenied(_))
    }

    pub(super) fn apply(&self, state: &mut SessionState, head: &Head) -> Result<(), FoldError> {
        match self {
            Tool::ToolStart(e) => {
                let call = state.open_call(head, &e.tool_call_id)?;
                (call.started, call.started_at) = (true, head.at);
            }
            Tool::ToolEnd(e) => {
                state.result(head, &e.tool_call_id, CallStatus::Ok, Some(e.duration_ms), &e.content)?;
                state.open_turn(head)?.cite(&e.sources);
                // what is read on in is of a result that was marked when it came
                if e.trust == Trust::Untrusted && e.tool != Artifact::READER {
                    state.surface.taint.tools.insert(e.tool.clone());
                }
            }
            Tool::ToolError(e) => {
                state.result(head, &e.tool_call_id, e.status(), None, &e.content())?;
                if e.has_words_of_its_own() {
                    state.surface.taint.tools.insert(e.tool.clone());
                }
            }
            Tool::ToolDenied(e) => state.result(head, &e.tool_call_id, CallStatus::Denied, None, &e.content())?,
            Tool::ToolLimit(_) => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(code: &str) -> ToolError {
        ToolError { tool_call_id: "c".into(), tool: "t".into(), code: code.into(), error: String::new() }
    }

    #[test]
    fn a_tools_own_error_may_quote_others_and_the_gateways_does_not() {
        assert!(error("HTTP_STATUS").has_words_of_its_own());
        assert!(codes::ALL.iter().all(|code| !error(code).has_words_of_its_own()));
    }
}
