//! What an agent can do. One file a tool.
//!
//! A tool says what it is ([`ToolSpec`]), what it needs of its channel and how its calls may run; it never decides whether it may. Policy,
//! approval and channel are judged before a body starts.
//!
//! Read the [`Tool`] trait first, then [`toolbox`] (the tools of a gateway, and what the operator says about them), a small tool
//! ([`read_artifact`]) and one that goes outside ([`web_fetch`]). That one asks [`net_guard`], which is no tool: the only way to an address that a
//! model, a page or a caller names.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

use crate::domain::event::input::Trust;
use crate::domain::event::tool::Source;
use crate::domain::toolset::{CallKind, Needs, Policy, ToolSpec};
use crate::domain::{Args, Artifact, ArtifactId};

pub mod ask_user;
pub mod bash;
pub mod demo;
pub mod net_guard;
pub mod read_artifact;
#[cfg(test)]
pub(crate) mod tests;
pub mod toolbox;
pub mod web_fetch;
pub mod web_search;

pub use toolbox::Toolbox;

/// A tool. Bodies run as their own task and may overlap.
pub trait Tool: fmt::Debug + Send + Sync + 'static {
    fn spec(&self) -> ToolSpec;

    /// What its calls do, which the next methods go by unless the tool says otherwise.
    fn nature(&self) -> Nature {
        Nature::Acts
    }

    /// What holds where the operator says nothing; `None` is the channel's default.
    fn default_policy(&self) -> Option<Policy> {
        match self.nature() {
            Nature::Reads => Some(Policy::Allow),
            Nature::Acts => None,
        }
    }

    fn needs(&self) -> Needs {
        Needs::Nothing
    }

    /// Why it cannot work in this gateway; `None` where it can. A part of a sentence, for whoever looks for it.
    fn absent(&self) -> Option<&'static str> {
        None
    }

    fn kind(&self) -> CallKind {
        CallKind::Body
    }

    /// It changes something outside: a call whose outcome is unknown is not run again, and deciding on it needs more than reading.
    fn effects(&self) -> bool {
        self.nature() == Nature::Acts
    }

    /// Running the same call twice does no harm.
    fn idempotent(&self) -> bool {
        self.nature() == Nature::Reads
    }

    /// With these arguments it may run beside others. Asked again right before each start.
    fn parallel(&self, _args: &Args) -> bool {
        self.nature() == Nature::Reads
    }

    /// The same result in `room` characters, from a tool that can be asked for the rest of it: what is shown says from where. `None` from
    /// any other tool, whose result is cut and kept whole as an artifact. Asked only of a result that is longer, and a function of it.
    fn within(&self, _content: &str, _room: usize) -> Option<String> {
        None
    }

    /// How long a body may take.
    fn timeout(&self) -> Duration {
        Duration::from_secs(120)
    }

    /// Why these arguments cannot be run, before anybody is asked to approve them.
    ///
    /// # Errors
    /// A sentence for the model.
    fn check(&self, args: &Args) -> Result<(), String> {
        args.object().map(drop)
    }

    /// Runs the body. When `context.cancel` fires it ends what it started and returns soon.
    fn call(&self, context: ToolContext, args: Args) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>>;
}

/// What the calls of a tool do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nature {
    /// They change something outside, one after the other, and nobody knows what a second one does.
    Acts,
    /// They only read: allowed without asking, beside others, and again.
    Reads,
}

/// What a body is given.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub cancel: CancellationToken,
    pub progress: Progress,
    pub artifacts: Arc<dyn Artifacts>,
}

/// Results that the session of the call keeps whole. Of no other session.
pub trait Artifacts: fmt::Debug + Send + Sync {
    /// `None` where the session has none of that id.
    ///
    /// # Errors
    /// Why it cannot be read now.
    fn artifact(&self, id: &ArtifactId) -> BoxFuture<'static, Result<Option<Artifact>, String>>;
}

/// Where a body reports how far it is; only the newest report is kept.
#[derive(Clone)]
pub struct Progress(pub Arc<dyn Fn(serde_json::Map<String, serde_json::Value>) + Send + Sync>);

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

/// A result for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolOutput {
    pub content: String,
    /// How far the content may be trusted; `Untrusted` for anything that came from outside.
    pub trust: Trust,
    /// The pages that it was read from. What was only found and not read is none.
    pub sources: Vec<Source>,
}

impl ToolOutput {
    /// A result that rests on no page.
    pub fn new(content: String, trust: Trust) -> Self {
        Self { content, trust, sources: Vec::new() }
    }
}

/// Why there is no result; both fields go to the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure {
    /// One of `domain::event::tool::codes`, or the tool's own.
    pub code: String,
    pub error: String,
}

impl ToolFailure {
    pub fn new(code: &str, error: impl Into<String>) -> Self {
        Self { code: code.into(), error: error.into() }
    }
}

/// The arguments as the tool's own struct, or a sentence for the model. Read from the model's bytes, so that a key given twice is refused:
/// what a person saw before approving is then never another value than the one that runs.
fn parse<T: DeserializeOwned>(args: &Args) -> Result<T, String> {
    args.object()?;
    serde_json::from_str(args.as_str()).map_err(|error| format!("the arguments are not what this tool takes: {error}"))
}
