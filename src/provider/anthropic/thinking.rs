//! Thinking: what a request asks for, and what of earlier thoughts goes back.

use serde::{Deserialize, Serialize};

use super::messages::Message;
use crate::domain::message::Opaque;
use crate::provider::ModelRequest;
use crate::provider::table::claude::{EFFORTS, Off, Thinking, claude};

/// The least that may be asked for, in tokens.
const LEAST_BUDGET: u64 = 1_024;
/// Tokens for each of [`EFFORTS`], as far as the answer leaves room.
const BUDGETS: [u64; EFFORTS.len()] = [LEAST_BUDGET, 4_096, 10_240, 16_384, 24_576, 32_768];

/// How a request asks to think. Empty leaves it to the model.
#[derive(Default)]
pub(super) struct Asked {
    pub(super) thinking: Option<Config>,
    pub(super) output_config: Option<OutputConfig>,
}

#[derive(Serialize)]
pub(super) struct Config {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    budget_tokens: Option<u64>,
    /// The newer models leave the text out unless they are asked for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<&'static str>,
}

#[derive(Serialize)]
pub(super) struct OutputConfig {
    effort: &'static str,
}

/// What `reasoning_effort` means to this model. Without one, or with one that nobody knows, the model's own custom holds.
pub(super) fn asked(request: &ModelRequest, messages: &[Message<'_>], max_tokens: u64) -> Asked {
    let Some(effort) = request.parameters.reasoning_effort.as_deref() else { return Asked::default() };
    let level = EFFORTS.iter().position(|e| *e == effort);
    match (claude(&request.model).thinking, level) {
        (Thinking::Never, _) => Asked::default(),
        (Thinking::Budget, Some(level)) if may_begin(messages) => Asked { thinking: budget(level, max_tokens), output_config: None },
        (Thinking::Budget, _) => Asked::default(),
        (Thinking::Adaptive { efforts, .. }, Some(level)) => Asked {
            thinking: Some(Config { kind: "adaptive", budget_tokens: None, display: Some("summarized") }),
            output_config: nearest(efforts, level),
        },
        (Thinking::Adaptive { efforts, off }, None) if effort == "none" => match off {
            Off::Omit => Asked::default(),
            Off::Word(kind) => Asked { thinking: Some(Config { kind, budget_tokens: None, display: None }), output_config: None },
            Off::Never => Asked { thinking: None, output_config: nearest(efforts, 0) },
        },
        (Thinking::Adaptive { .. }, None) => Asked::default(),
    }
}

/// A quarter of the answer is left for what is said. `None` where the rest is less than what may be asked for.
fn budget(level: usize, max_tokens: u64) -> Option<Config> {
    let tokens = BUDGETS[level].min(max_tokens - max_tokens / 4);
    (tokens >= LEAST_BUDGET).then_some(Config { kind: "enabled", budget_tokens: Some(tokens), display: None })
}

/// The highest of a model's efforts that is not above this one, else its least.
fn nearest(efforts: &'static [&'static str], level: usize) -> Option<OutputConfig> {
    let fits = efforts.iter().rfind(|effort| EFFORTS[..=level].contains(*effort));
    fits.or(efforts.first()).map(|effort| OutputConfig { effort })
}

/// Within a tool loop that began without thinking, or with another model's, a model with a budget is not asked to think: it refuses a loop
/// whose first answer does not begin with a thought of its own. Only the first: these models think once, and then call and call.
fn may_begin(messages: &[Message<'_>]) -> bool {
    // a user ends the conversation, and each answer in it stands behind a user
    let began = messages.rchunks(2).take_while(|pair| pair.last().is_some_and(Message::has_result)).last();
    began.is_none_or(|pair| pair.first().is_some_and(Message::begins_with_thought))
}

/// What the provider wants back of a thought, as [`Opaque::data`] holds it.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Kept {
    /// Of a thought whose text we have; the text may be empty.
    Signature(String),
    /// A whole thought that only the provider can read.
    Redacted(String),
}

impl Kept {
    /// What goes back to this provider and model; `None` for what another one gave, which it could not read.
    pub(super) fn of(opaque: &Opaque, provider: &str, model: &str) -> Option<Self> {
        let own = opaque.provider == provider && opaque.model == model;
        own.then(|| serde_json::from_str(&opaque.data).ok()).flatten()
    }

    pub(super) fn into_opaque(self, provider: &str, model: &str) -> Opaque {
        // A string in an enum: it cannot fail to serialise.
        let data = serde_json::to_string(&self).unwrap_or_default();
        Opaque { provider: provider.into(), model: model.into(), data }
    }
}
