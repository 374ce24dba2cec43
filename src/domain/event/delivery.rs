//! Answers on their way, attachments on theirs, and a person who takes over.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::delivery::{DeliveryState, Part, Purpose};
use crate::domain::record::Head;
use crate::domain::state::{FoldError, SessionState};
use crate::domain::{Address, AttachmentId, DeliveryId, Timestamp};

super::family! {
    /// What happens between the session and the places that it speaks to.
    Outside {
        "delivery" => Delivery,
        "attachment" => AttachmentSettled,
        "handoff" => Handoff,
    }
}

/// A part of a delivery is somewhere else than before. The first record of a delivery is `queued` with `to` and `parts`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    pub delivery_id: DeliveryId,
    /// From 1.
    pub part: u32,
    pub of: u32,
    pub state: DeliveryState,
    /// The platform's id of the part, once it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel_message_id: Option<String>,
    /// Why it failed, waits or is dead: a stable word, or the platform's own number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// With `queued` and `failed`: not before then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Timestamp>,
    /// With `failed`: the platform refused the account, which counts as no attempt of the part's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refused: bool,
    /// With `queued`: not before the receiver writes again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purpose: Option<Purpose>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Address>,
    /// What is sent, part by part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<Vec<Part>>,
    /// With the first record: it answers something that came from there and made no message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub heard: bool,
}

/// An attachment was fetched and stands in the session's blobs, or it was not and never will. The turn that claims its message waits for this.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AttachmentSettled {
    pub attachment_id: AttachmentId,
    /// Of what is kept; absent where nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Why nothing is: `too_large`, `hash_mismatch`, `unavailable`, `timeout`, `unsupported`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// A person has taken over: until then the agent is paused. A time that is past gives the conversation back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handoff {
    pub by: String,
    pub until: Timestamp,
}

impl Delivery {
    /// The first record of a delivery. `parts` are not none.
    pub fn first(delivery_id: DeliveryId, purpose: Purpose, to: Address, parts: Vec<Part>) -> Self {
        let of = u32::try_from(parts.len()).unwrap_or(u32::MAX);
        let (purpose, to, parts) = (Some(purpose), Some(to), Some(parts));
        Self { purpose, to, parts, ..Self::of(delivery_id, 1, of, DeliveryState::Queued) }
    }

    /// A part is in that state, and no more is known of it.
    pub fn of(delivery_id: DeliveryId, part: u32, of: u32, state: DeliveryState) -> Self {
        Self {
            delivery_id,
            part,
            of,
            state,
            channel_message_id: None,
            code: None,
            retry_at: None,
            refused: false,
            held: false,
            purpose: None,
            to: None,
            parts: None,
            heard: false,
        }
    }
}

impl Outside {
    pub(super) fn apply(&self, state: &mut SessionState, head: &Head) -> Result<(), FoldError> {
        match self {
            Outside::Delivery(e) => state.outbox.apply(head.at, e).map_err(|why| FoldError::inconsistent(head, why)),
            Outside::AttachmentSettled(e) if state.inbox.settle(e) => Ok(()),
            Outside::AttachmentSettled(_) => Err(FoldError::inconsistent(head, "no message waits for that attachment")),
            Outside::Handoff(e) => {
                state.handoff = (e.until > head.at).then(|| e.clone());
                Ok(())
            }
        }
    }
}
