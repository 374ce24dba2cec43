//! Portico: a gateway that keeps one agent actor per session and delivers what the agent does to every channel.
//!
//! **The agent yields events, the actor appends them, everyone else reads the log.**
//!
//! Layers, each using only those above it (`tests/tidy.rs` holds this):
//!
//! 1. [`domain`]: values and pure functions: records and their fold, the surface, views. No tokio, no I/O.
//! 2. [`store`], [`provider`], [`prompt`]: where ledgers live, who answers, what the model is told.
//! 3. [`tool`]: what an agent can do.
//! 4. [`agent`]: a turn as a stream of what it does.
//! 5. [`session`]: one actor, one ledger and one feed per session.
//! 6. [`channel`]: where messages come from, and what each may do.
//! 7. [`outbox`]: answers on their way to messaging channels.
//! 8. [`http`]: the edge.
//! 9. [`app`], [`server`], [`cli`]: the composition root, the listener, the command line. [`config`] and [`telemetry`] are used here only.
//!
//! [`client`] is the terminal client; it stands on the HTTP API and sees only [`domain`].
//! [`meter`] stands above all: how each layer measures what it does.
//! `docs/ARCHITECTURE.md` has the path of a message and the invariants.

pub mod agent;
pub mod app;
pub mod channel;
pub mod cli;
pub mod client;
pub mod config;
pub mod domain;
pub mod http;
pub mod meter;
pub mod outbox;
pub mod prompt;
pub mod provider;
pub mod server;
pub mod session;
pub mod store;
pub mod telemetry;
#[cfg(test)]
mod test_folder;
#[cfg(test)]
mod test_server;
pub mod tool;
