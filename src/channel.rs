//! Where messages come from and answers go: one file a channel, each with its [`ChannelProfile`].
//!
//! [`markdown`] and [`chunk`] make messages of what a model writes, for channels that show no Markdown.
//!
//! A profile is a value; who reads it asks for capabilities and never for a name. A name that is not listed here is no channel.

use crate::domain::ChannelProfile;

pub mod api;
pub mod chunk;
pub mod cli;
pub mod markdown;
pub mod messenger;
#[cfg(test)]
mod tests;
pub mod web;
pub mod whatsapp;

/// The channels that a session can be made for directly.
pub static PROFILES: [&ChannelProfile; 3] = [&cli::PROFILE, &web::PROFILE, &api::PROFILE];
