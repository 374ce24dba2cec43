//! Where messages come from and answers go: one file a channel, each with its [`ChannelProfile`].
//!
//! Of messaging channels, [`messenger`] is what an adapter does, [`accounts`] and [`access`] are which there are and who may write there, and
//! [`reception`] is the way in; [`markdown`] and [`chunk`] make messages of what a model writes, for channels that show no Markdown.
//!
//! A profile is a value; who reads it asks for capabilities and never for a name. A name that is not listed here is no channel.

use crate::domain::ChannelProfile;

pub mod access;
pub mod accounts;
pub mod api;
pub mod chunk;
pub mod cli;
pub mod markdown;
pub mod messenger;
pub mod metrics;
pub mod pairings;
pub mod reception;
#[cfg(test)]
mod tests;
pub mod web;
pub mod whatsapp;

/// The channels that a session can be made for directly.
pub static PROFILES: [&ChannelProfile; 3] = [&cli::PROFILE, &web::PROFILE, &api::PROFILE];

/// The channels whose sessions only their adapters make.
pub static ADAPTERS: [&ChannelProfile; 1] = [&whatsapp::PROFILE];
