//! `[log]`

use schemars::JsonSchema;
use serde::Deserialize;

use crate::telemetry::Format;

/// What is logged, and how.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {
    /// How a line is written.
    pub format: Format,
    /// A filter: a level, or `target=level` joined by commas. `RUST_LOG` wins over it.
    #[schemars(length(min = 1))]
    pub level: String,
}
