//! `[store]`

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

/// Where the ledger is kept.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Store {
    /// The engine.
    pub kind: StoreKind,
    /// The folder of the database; made if it is not there.
    #[schemars(with = "String", length(min = 1))]
    pub path: PathBuf,
}

/// The engines of this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-otherwise" = "this build has no other store"))]
pub enum StoreKind {
    Sqlite,
}
