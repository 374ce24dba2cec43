//! A stranger who asked to be let in, and what became of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Recipient, Timestamp};

/// One stranger on one account. `(tenant, channel, account, ids[0])` is unique, and so is `code` in its tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pairing {
    pub tenant: String,
    pub channel: String,
    pub account: String,
    /// All that are known of him, the one to answer first.
    pub ids: Vec<Recipient>,
    /// That were his, and may be another's now: nobody is found by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub former: Vec<Recipient>,
    /// What he calls himself.
    pub name: Option<String>,
    pub code: String,
    pub status: PairingStatus,
    pub asked_at: Timestamp,
    /// The code counts no longer.
    pub expires_at: Timestamp,
    /// Codes that he was given so far.
    pub codes: u32,
    /// The message with the code was taken by the platform.
    pub told: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PairingStatus {
    Pending,
    /// An operator let him in.
    Admitted,
}
