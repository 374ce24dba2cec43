//! WhatsApp, over Meta's Cloud API. Nobody sits at a keyboard: answers are read on a phone, when the person looks again.
//!
//! [`WhatsApp`] is one account, the [`Messenger`](super::messenger::Messenger). In comes what `webhook` proves and `receive` takes apart, one
//! item at a time (`message`, `content`, `facts`, `person`, `status`); out goes what `render` makes, as the requests of `request`, over
//! `graph`, whose failures `errors` sorts; `media` fetches files. Whatever a person or the platform says is data: it is bounded, and never
//! trusted to have the shape that it should have.

mod account;
mod content;
mod errors;
mod facts;
mod graph;
mod media;
mod message;
mod person;
mod receive;
mod render;
mod request;
mod status;
#[cfg(test)]
mod tests;
mod webhook;

use std::time::Duration;

pub use account::{Settings, WhatsApp};
pub use graph::client;

use crate::domain::ChannelProfile;
use crate::domain::event::input::Mode;
use crate::domain::profile::{Capabilities, LengthUnit};
use crate::domain::toolset::Policy;
use crate::prompt::tones;

pub static PROFILE: ChannelProfile = ChannelProfile {
    label: "whatsapp",
    tone: tones::PHONE,
    capabilities: Capabilities {
        attended: false,
        local_tools: false,
        streams: false,
        approvals: false,
        questions: false,
        markdown: false,
        tables: false,
        edit: false,
        typing: true,
        // Meta takes 4,096 of a unit that it does not name; UTF-16 is safe either way, and leaves room
        max_len: 4_000,
        unit: LengthUnit::Utf16,
    },
    default_policy: Policy::Ask,
    mid_run: Mode::Followup,
    debounce: Duration::from_millis(1_500),
    max_steps: 25,
};
