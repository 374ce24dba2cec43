//! `[channels.NAME]`

use schemars::JsonSchema;
use serde::Deserialize;

/// Channels' own settings.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channels {
    /// Browsers.
    pub web: Web,
}

/// The channel `web`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Whether the agent may ask questions there with the tool `ask_user`.
    pub allow_ask_user: bool,
}
