//! `[channels.NAME]`

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

pub mod whatsapp;

use whatsapp::WhatsApp;

/// Channels' own settings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Browsers.
    pub web: Web,
    /// WhatsApp's accounts, by the name that stands in the webhook's path.
    #[serde(default)]
    pub whatsapp: BTreeMap<String, WhatsApp>,
}

/// The channel `web`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Whether the agent may ask questions there with the tool `ask_user`.
    pub allow_ask_user: bool,
}
