//! `[sessions]`

use schemars::JsonSchema;
use serde::Deserialize;

/// Actors of sessions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sessions {
    /// How long an actor stays in memory with nothing to do, in seconds.
    #[schemars(range(min = 1, max = 86_400))]
    pub passivate_s: u64,
}
