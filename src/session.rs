//! Sessions: one actor each, one ledger each, and a feed that any number of readers pull from.
//!
//! The actor is the only writer of its session: it stages what the turn yields and what callers ask for, applies the fold, and commits in
//! appends of whatever came together. Readers never talk to it; they read the feed, which shows only what is durable, and live text whose
//! records in front are. Never here: HTTP, SSE framing, a channel's name, a provider's wire.
//!
//! Read in this order: [`setup`] (what a session is given), [`ledger`] (staging and commits), [`artifacts`] (long results), [`record`] and [`live`] (what is shown),
//! [`feed`] and [`reader`] (how readers see it), [`command`] (what callers ask), [`actor`] (the one loop), [`repair`] (after a restart),
//! [`registry`] (which sessions are awake), [`follow`] (one message's fate), [`delivery`] (the port to the places outside), [`metrics`] (what is counted).

pub mod actor;
pub mod artifacts;
pub mod command;
pub mod delivery;
pub mod feed;
pub mod follow;
pub mod ledger;
pub mod live;
pub mod metrics;
pub mod reader;
pub mod record;
pub mod registry;
pub mod repair;
pub mod setup;
mod sources;

pub use command::{AfterFailure, Arrival, DeliveryStatus, Posted, Retried, SessionError, TakeOver};
pub use feed::Feed;
pub use reader::{FeedItem, Reader};
pub use registry::{Lease, Sessions};
pub use setup::{Prepared, Settings, Setup, Want};
#[cfg(test)]
mod tests;
