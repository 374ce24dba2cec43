//! What a session needs to know of the rest of the gateway to run a turn. The composition root implements it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::delivery::DeliverySink;
use super::metrics::SessionMetrics;
use crate::agent::{Blob, End, Limits, ModelChoice};
use crate::domain::profile::ChannelProfile;
use crate::domain::toolset::Toolset;
use crate::domain::{Address, Clock, IdSource, Timestamp};
use crate::store::Store;
use crate::tool::Toolbox;

/// Gives turns their model, prompt and tools.
pub trait Setup: fmt::Debug + Send + Sync + 'static {
    /// # Errors
    /// The turn's end, where it cannot even begin: no such model, say.
    fn prepare(&self, want: &Want<'_>) -> Result<Prepared, End>;

    /// Of the channel, or on a messaging channel of that account. `None` for an unknown one: nothing runs on it.
    fn profile(&self, channel: &str, account: Option<&str>) -> Option<Arc<ChannelProfile>>;

    /// The tools of a turn on that channel, and why others are absent.
    fn toolset(&self, channel: &str, account: Option<&str>, agent: &str) -> Option<Arc<Toolset>>;

    /// Whether a message may ask for that model.
    ///
    /// # Errors
    /// Why not, for the caller.
    fn knows_model(&self, agent: &str, model: &str) -> Result<(), String>;

    /// How much input may wait.
    fn max_queue(&self, agent: &str) -> usize;
}

/// What a turn is for.
#[derive(Clone, Copy, Debug)]
pub struct Want<'a> {
    pub agent: &'a str,
    pub channel: &'a str,
    /// On a messaging channel.
    pub account: Option<&'a str>,
    /// Where the messages came from that it has claimed, each place once; empty where whoever wrote them reads along.
    pub addresses: &'a [Address],
    /// The model that the message chose.
    pub model: Option<&'a str>,
    pub instructions: Option<&'a str>,
    pub started_at: Timestamp,
}

/// What a turn gets.
#[derive(Debug)]
pub struct Prepared {
    pub model: ModelChoice,
    pub system: Blob,
    pub tools: Option<Blob>,
    pub toolset: Arc<Toolset>,
    pub toolbox: Arc<Toolbox>,
    pub limits: Limits,
}

/// The parts and numbers that all sessions share.
#[derive(Clone, Debug)]
pub struct Settings {
    pub store: Arc<dyn Store>,
    pub setup: Arc<dyn Setup>,
    pub clock: Arc<dyn Clock>,
    pub ids: Arc<dyn IdSource>,
    /// Where answers go that nobody reads here.
    pub deliveries: Arc<dyn DeliverySink>,
    pub metrics: SessionMetrics,
    /// An actor without work is passivated after this.
    pub passivate: Duration,
    /// How long a person has to decide or answer.
    pub expire: Duration,
    /// How long a stop lets running turns reach their end.
    pub drain: Duration,
}
