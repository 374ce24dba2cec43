//! `[auth]` and `[[auth.keys]]`

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::domain::Scope;
use crate::domain::api_key::KeyHash;
use crate::domain::principal::DEFAULT_TENANT;

/// Who may call. With none of it set, only this machine itself.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Auth {
    /// Whether an administrator's key is made at the first start, and kept in the store's folder.
    #[serde(default)]
    pub admin_key: bool,
    /// The API keys.
    #[serde(default)]
    pub keys: Vec<Key>,
}

/// An API key, by its hash.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// What it is called in records; no other of its tenant is called so.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The SHA-256 of the whole key.
    #[schemars(with = "String", length(min = 1))]
    pub hash: KeyHash,
    /// Whose data it reaches.
    #[serde(default = "default_tenant")]
    #[schemars(length(min = 1))]
    pub tenant: String,
    /// What it allows; never empty.
    pub scopes: BTreeSet<Scope>,
}

impl Auth {
    /// Whether callers have to prove who they are.
    pub fn is_configured(&self) -> bool {
        self.admin_key || !self.keys.is_empty()
    }
}

fn default_tenant() -> String {
    DEFAULT_TENANT.to_owned()
}
