//! Answers on their way to an address: what a delivery is made of, and what became of each part.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Address, DeliveryId, SessionId, Timestamp};

/// One message of a delivery, rendered for its channel when it was queued: what is sent is what stands in the ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    pub text: String,
    /// What the receiver may press.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub buttons: Vec<Button>,
}

/// A choice below a message. `id` comes back when it is pressed; the title is only shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Button {
    pub id: String,
    pub title: String,
}

/// What a delivery says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The end of a turn.
    Answer,
    /// A request for permission.
    Approval,
    /// A word of the gateway's own: that a message cannot be read, say.
    Notice,
    /// A person's words, who has taken over.
    Person,
}

/// How far one part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It waits for its turn, for the time in `retry_at`, or (`held`) for the receiver to write again.
    Queued,
    /// It is being sent, or was when the process ended.
    Sending,
    /// The platform took it.
    Sent,
    /// It is on the receiver's device.
    Delivered,
    Read,
    /// The platform refused it, and it is tried again; or (after `sent`) it told later that it did not arrive.
    Failed,
    /// Nobody knows whether it was sent. A status of the platform's may tell.
    Unknown,
    /// It will not be sent any more; `code` says why.
    Dead,
}

impl DeliveryState {
    pub const ALL: [Self; 8] =
        [Self::Queued, Self::Sending, Self::Sent, Self::Delivered, Self::Read, Self::Failed, Self::Unknown, Self::Dead];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sending => "sending",
            Self::Sent => "sent",
            Self::Delivered => "delivered",
            Self::Read => "read",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
            Self::Dead => "dead",
        }
    }
}

/// A row of `GET /v1/deliveries`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Delivery")]
pub struct DeliveryView {
    pub delivery_id: DeliveryId,
    pub session_id: SessionId,
    pub purpose: Purpose,
    /// Where it goes.
    pub to: Address,
    /// Of the first part that is not sent, else of the part that is least far.
    pub state: DeliveryState,
    /// That part, from 1.
    pub part: u32,
    /// How many parts there are.
    pub of: u32,
    /// Why that part is where it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// It waits until the receiver writes again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// When it is tried next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// The platform's ids of the parts that were sent, in order.
    pub channel_message_ids: Vec<String>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
}
