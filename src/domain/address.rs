//! Where a message came from, and so where its answer goes. Captured with each input and never changed after.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A conversation on a channel's account, and the message there that the address was captured with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Address {
    /// As `whatsapp`.
    pub channel: String,
    /// The account of the gateway, by its name in the configuration.
    pub account: String,
    pub to: Recipient,
    /// The platform's id of the message that came from there: what an answer quotes and a receipt names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Who or what is at the other end. Platforms take these in different fields, so they are told apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Recipient {
    /// A telephone number, digits only, as the platform writes it.
    Phone(String),
    /// A person by the platform's own id (on WhatsApp the business-scoped user id, prefix included).
    User(String),
    Group(String),
}

impl Address {
    /// Whether both lead to the same conversation, whatever message they were captured with.
    pub fn same_place(&self, other: &Self) -> bool {
        (&self.channel, &self.account, &self.to) == (&other.channel, &other.account, &other.to)
    }

    /// Whether whoever is there is the same, for one session: a person has several addresses (his number, the platform's own id), a group one.
    pub fn same_conversation(&self, other: &Self) -> bool {
        let people = !self.is_group() && !other.is_group();
        self.same_place(other) || people && (&self.channel, &self.account) == (&other.channel, &other.account)
    }

    /// Under which scope the intake index has the platform's ids of what was sent there.
    pub fn sent_scope(&self) -> String {
        format!("sent:{}:{}", self.channel, self.account)
    }

    pub fn is_group(&self) -> bool {
        matches!(self.to, Recipient::Group(_))
    }
}

impl Recipient {
    /// The id alone.
    pub fn id(&self) -> &str {
        match self {
            Self::Phone(id) | Self::User(id) | Self::Group(id) => id,
        }
    }
}

/// As a name that is unique among a gateway's recipients: `phone:15550100001`, `user:US.1349`, `group:Y2FwaV9...`.
impl fmt::Display for Recipient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Phone(_) => "phone",
            Self::User(_) => "user",
            Self::Group(_) => "group",
        };
        write!(f, "{kind}:{}", self.id())
    }
}
