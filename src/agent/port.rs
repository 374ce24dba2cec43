//! The one port between a turn and its session.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::domain::message::ToolCall;
use crate::domain::pending::{Answer, Question};
use crate::domain::{Artifact, ArtifactId, File, SurfaceMessage, Taint};

/// What a step's requests are made of.
#[derive(Clone, Debug, Default)]
pub struct StepInput {
    /// The surface as it stands: pointers, so that a step copies no text.
    pub surface: Vec<Arc<SurfaceMessage>>,
    /// Whose words on it are not to be trusted.
    pub taint: Taint,
}

impl StepInput {
    /// Characters of the results behind the newest answer: of the step that is open.
    pub fn results_shown(&self) -> usize {
        let results = self.surface.iter().rev().map_while(|message| match &**message {
            SurfaceMessage::ToolResult { content, .. } => Some(content.chars().count()),
            SurfaceMessage::User { .. } | SurfaceMessage::Assistant { .. } => None,
        });
        results.sum()
    }
}

/// What the session keeps of the files that came with its messages. Of no other session.
pub trait Attachments: fmt::Debug + Send + Sync {
    /// Its bytes; `None` where they are not there any more.
    ///
    /// # Errors
    /// Why they cannot be read now.
    fn attachment(&self, file: &File) -> BoxFuture<'static, Result<Option<Bytes>, String>>;
}

/// What a turn asks of its session. Each call sees all that the turn has yielded before it.
///
/// Cancel-safe: a call that is dropped has either happened in the ledger or not, and a restart goes by the ledger.
pub trait TurnPort: fmt::Debug + Send + Sync {
    /// Begins step 2 or later: claims what waits for it. `None` is the turn's end.
    fn begin_step(&self, further: Further) -> BoxFuture<'_, Option<StepInput>>;

    /// Opens all approvals, questions and client calls of a step together and returns when the last is in: one verdict for each proposal.
    /// A cancel resolves what is open.
    fn decide(&self, proposals: Vec<Proposal>) -> BoxFuture<'_, Vec<Verdict>>;

    /// Hands over what is to be kept of the result that is yielded next; the two are one append. A result that is never yielded leaves
    /// nothing.
    fn spill(&self, artifact: Artifact) -> BoxFuture<'_, ArtifactId>;

    /// Returns when all that was yielded is on disk.
    fn durable(&self) -> BoxFuture<'_, ()>;
}

/// When there is a further step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Further {
    /// In any case: the answer before asked for tools, and the model is to see their results.
    Always,
    /// Only if input waits for it: the answer before asked for none.
    IfInput,
}

/// A call that may have to wait for somebody.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub call: ToolCall,
    pub gate: Gate,
}

/// What stands between a call and its body.
#[derive(Clone, Debug, PartialEq)]
pub enum Gate {
    /// Nothing.
    Open,
    /// A person's permission, and what he is told.
    Approval { reason: String },
    /// The call is a question.
    Question(Vec<Question>),
    /// The client runs it.
    Client,
    /// It can no longer run: a wait that is open for it is closed.
    Closed,
}

/// What became of a proposal.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Its body may start.
    Run,
    /// It is not run; the reason is for the model.
    Denied { reason: String, by: Option<String> },
    /// Answers to its questions.
    Answered(Vec<Answer>),
    /// The client's result.
    Content(String),
}
