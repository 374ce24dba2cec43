//! The session itself: created, renamed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::record::Head;
use crate::domain::state::{FoldError, Profile, SessionState};

/// The caller's own JSON object; the gateway keeps it and reads nothing in it.
pub type Metadata = serde_json::Map<String, serde_json::Value>;

super::family! {
    /// What happens to the session as a whole.
    Session {
        "session_created" => SessionCreated,
        "session_updated" => SessionUpdated,
    }
}

/// Always record 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionCreated {
    pub channel: String,
    pub agent: String,
    pub tenant: String,
    /// Who it belongs to.
    pub principal: String,
    /// On a messaging channel: the account that it came to, by its name in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Metadata::is_empty")]
    pub metadata: Metadata,
}

/// The new values of what changed; an empty title is no title.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
pub struct SessionUpdated {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Metadata>,
}

impl Session {
    pub(super) fn apply(&self, state: &mut SessionState, head: &Head) -> Result<(), FoldError> {
        match self {
            Session::SessionCreated(e) => {
                if head.seq != 1 {
                    return Err(FoldError::inconsistent(head, "session_created is always record 1"));
                }
                state.created_at = head.at;
                state.profile = Some(Profile {
                    channel: e.channel.clone(),
                    agent: e.agent.clone(),
                    tenant: e.tenant.clone(),
                    principal: e.principal.clone(),
                    account: e.account.clone(),
                    parent: e.parent.clone(),
                    title: e.title.clone(),
                    metadata: e.metadata.clone(),
                });
            }
            Session::SessionUpdated(e) => {
                let profile = state.profile.as_mut().ok_or_else(|| FoldError::inconsistent(head, "there is no session yet"))?;
                if let Some(title) = &e.title {
                    profile.title = Some(title.clone()).filter(|t| !t.is_empty());
                }
                if let Some(metadata) = &e.metadata {
                    profile.metadata = metadata.clone();
                }
            }
        }
        Ok(())
    }
}
