//! The agent: a turn as a stream of what it does.
//!
//! [`run`] knows no HTTP, no store and no channel. It never changes the session's state: it yields events, and whoever polls it appends
//! them before it polls again, so the ledger has the order in which the agent acted. What it needs of the session it asks through one
//! port ([`TurnPort`]). Read in this order: [`port`], [`mod@run`] (the turn), [`attempt`] (one answer of the model, [`files`] for what it
//! shows of them), [`dispatch`] (the tools);
//! [`rebuild`] makes requests again from a ledger.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::domain::digest::sha256;
use crate::domain::event::model::Parameters;
use crate::domain::event::turn::{AbortCause, DoneReason};
use crate::domain::state::OpenStep;
use crate::domain::toolset::Toolset;
use crate::domain::{AgentEvent, Clock, DigestId, IdSource, LiveEvent, Timestamp, Usage};
use crate::provider::Provider;
use crate::tool::{Artifacts, Toolbox};

pub mod attempt;
pub mod dispatch;
mod files;
pub mod port;
pub mod rebuild;
pub mod run;

pub use port::{Attachments, StepInput, TurnPort};
pub use run::run;

/// Everything a turn is made of: values, and one port.
#[derive(Clone, Debug)]
pub struct Turn {
    pub model: ModelChoice,
    /// The system prompt, stored once per digest.
    pub system: Blob,
    /// The tools' names, descriptions and schemas; `None` where the channel has none.
    pub tools: Option<Blob>,
    pub toolset: Arc<Toolset>,
    pub toolbox: Arc<Toolbox>,
    pub limits: Limits,
    pub begin: Begin,
    pub started_at: Timestamp,
    /// How long of it the turn could not run: it waited for a person, or no process was there.
    pub idle: Duration,
    pub cancel: CancellationToken,
    pub port: Arc<dyn TurnPort>,
    /// What the session keeps of long results, for the tool that reads them.
    pub artifacts: Arc<dyn Artifacts>,
    /// What it keeps of the files that came with its messages.
    pub attachments: Arc<dyn Attachments>,
    pub tasks: TaskTracker,
    pub ids: Arc<dyn IdSource>,
    pub clock: Arc<dyn Clock>,
}

/// The model that answers.
#[derive(Clone, Debug)]
pub struct ModelChoice {
    pub provider: Arc<dyn Provider>,
    /// As the provider names it.
    pub model: String,
    pub parameters: Parameters,
}

/// A text that the ledger refers to by its digest.
#[derive(Clone, Debug)]
pub struct Blob {
    pub digest: DigestId,
    pub text: Arc<str>,
}

/// What a turn may cost.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Steps with tools; then one last answer without.
    pub max_steps: u32,
    /// Time of the turn from its first start, less what it was idle.
    pub deadline: Duration,
    /// How long a cancel waits for tool bodies that have started.
    pub abort_grace: Duration,
    /// Requests of one step.
    pub attempts: u32,
    /// Tool bodies that run at once.
    pub pool: usize,
}

/// Where the turn begins.
#[derive(Clone, Debug)]
pub enum Begin {
    /// At its first step.
    Fresh(StepInput),
    /// In an open step, after a restart.
    Within { step: OpenStep, input: StepInput, said: Said },
    /// After `steps` whole steps, the last of which `answered` if it asked for no tools.
    Between { steps: u32, answered: bool, said: Said },
}

/// What the turn's answers came to so far.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The newest answer's text: what is known when nothing more can be asked.
    pub text: String,
    /// One answer was cut at the output limit.
    pub truncated: bool,
}

/// What a turn yields.
#[derive(Clone, Debug)]
pub enum Output {
    /// For the ledger.
    Record(AgentEvent),
    /// For readers, now.
    Live(LiveEvent),
    /// The turn's last word; nothing follows. Whoever appends it completes it to `done` from the ledger's own counts.
    End(End),
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    pub reason: DoneReason,
    pub cause: Option<AbortCause>,
    pub code: Option<String>,
    pub detail: Option<String>,
    pub answer: String,
    /// Of the turn's last attempt, where no record of its own tells it.
    pub usage: Usage,
}

impl End {
    pub fn new(reason: DoneReason, answer: impl Into<String>) -> Self {
        Self { reason, cause: None, code: None, detail: None, answer: answer.into(), usage: Usage::default() }
    }

    /// An error, with a sentence that its sender reads: nobody is left with silence.
    pub fn error(code: &str, detail: impl Into<String>) -> Self {
        let answer = match code {
            "auth" | "billing" | "bad_request" | "model_not_found" => "Sorry, I cannot answer: the model is not set up correctly.",
            "context_overflow" => "Sorry, this conversation has grown too long for the model.",
            "rate_limited" | "overloaded" => "Sorry, the model is too busy right now; please try again in a moment.",
            _ => "Sorry, something went wrong while I was answering; please try again.",
        };
        Self { code: Some(code.into()), detail: Some(detail.into()), ..Self::new(DoneReason::Error, answer) }
    }
}

impl Blob {
    pub fn new(text: String) -> Self {
        Self { digest: sha256(&text).into(), text: text.into() }
    }
}

#[cfg(test)]
pub(crate) mod tests;
