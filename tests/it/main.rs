//! Portico from outside: the shipped binary over real sockets, with a scripted model behind it.
//!
//! One file a capability. Everything asserted here stands in the wire contract; where that is silent, so is the test. Each test has a
//! gateway, a store and a model of its own (`harness`), waits for events with a deadline, and never for time.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "the whole crate is tests: what fails here is to fail the test, loudly")]

mod harness;

mod access;
mod access_keys;
mod access_routes;
mod anthropic;
mod api_page;
mod approvals;
mod artifacts;
mod assets;
mod bad_input;
mod cancel;
mod capabilities;
mod config;
mod crash;
mod decisions;
mod demo;
mod events;
mod export;
mod invariants;
mod messages;
mod metrics;
mod pages;
mod questions;
mod queue;
mod races;
mod ready;
mod rebuild;
mod research;
mod resume;
mod retries;
mod sessions;
mod shutdown;
mod steer;
mod token;
mod turns;
mod views;
mod web_fetch;
mod whatsapp;
mod whatsapp_graph;
mod wire;
