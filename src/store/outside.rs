//! What the store knows of the places outside: which session a recipient's words go to, what is on its way there, and who asked to be let in.

use crate::domain::delivery::DeliveryState;
use crate::domain::pairing::{Pairing, PairingStatus};
use crate::domain::{DeliveryId, SessionId};

/// A name that a session is found by. `(tenant, scope, name)` is unique; the newest writer has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    pub tenant: String,
    /// Channel and account, as `whatsapp:main`.
    pub scope: String,
    /// A [`Recipient`](crate::domain::Recipient) as it is displayed.
    pub name: String,
    pub session: SessionId,
}

/// A filter of the list of deliveries. Order: newest first, by `created_at`, then by id.
#[derive(Clone, Debug, Default)]
pub struct DeliveryFilter {
    pub tenant: String,
    /// Only of this owner's sessions; `None` is the whole tenant.
    pub owner: Option<String>,
    pub session: Option<SessionId>,
    pub state: Option<DeliveryState>,
    /// The last id of the page before. Nothing comes after one that is gone.
    pub after: Option<DeliveryId>,
    /// Rows, and [`Most::BYTES`](super::Most::BYTES) of them.
    pub limit: usize,
}

/// A filter of the list of pairings. Order: newest first, by `asked_at`, then by code.
#[derive(Clone, Debug, Default)]
pub struct PairingFilter {
    pub tenant: String,
    pub status: Option<PairingStatus>,
    /// The last code of the page before. Nothing comes after one that is gone.
    pub after: Option<String>,
    /// Rows, and [`Most::BYTES`](super::Most::BYTES) of them.
    pub limit: usize,
}

/// What names a stranger on an account for good: the first of his ids.
pub(super) fn first_id(pairing: &Pairing) -> String {
    pairing.ids.first().map(ToString::to_string).unwrap_or_default()
}
