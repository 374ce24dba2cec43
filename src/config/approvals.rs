//! `[approvals]`

use schemars::JsonSchema;
use serde::Deserialize;

/// Approvals and questions to a person.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approvals {
    /// How long one waits for an answer, in seconds.
    #[schemars(range(min = 1, max = 2_592_000))]
    pub expire_s: u64,
}
