//! The port through which a session reaches the places that its input came from.
//!
//! The session says what is to be delivered and keeps what became of it; who renders and sends is behind [`DeliverySink`]. A part goes this
//! way: the actor queues it in the append of what it says ([`DeliverySink::parts`]), tells that parts wait ([`DeliverySink::due`]), hands one
//! out and makes `sending` durable ([`Sessions::claim_part`](super::Sessions::claim_part)), and records what came of it.

use std::fmt;

use crate::domain::delivery::{Part, Purpose};
use crate::domain::event::turn::Done;
use crate::domain::pending::Decision;
use crate::domain::{Address, ApprovalId, Args, DeliveryId, SessionId, Timestamp};

/// Where deliveries go. Called by actors: no method waits.
pub trait DeliverySink: fmt::Debug + Send + Sync + 'static {
    /// What is said as the messages of that channel, never none. Empty only where the account is not there any more.
    fn parts(&self, to: &Address, say: Say<'_>) -> Vec<Part>;

    /// Parts are due, or attachments to be fetched, in that session.
    fn due(&self, session: &SessionId);

    /// Shows there that an answer is being written, until the value is dropped.
    fn typing(&self, to: &[Address]) -> Typing;
}

/// What a session says.
#[derive(Clone, Copy, Debug)]
pub enum Say<'a> {
    Done(&'a Done),
    Approval {
        approval_id: &'a ApprovalId,
        tool: &'a str,
        args: &'a Args,
        decisions: &'a [Decision],
    },
    /// A sentence of the gateway's own, or a person's words.
    Text(&'a str),
}

/// Ends the sign that somebody writes when it is dropped; it cannot outlive what holds it.
#[derive(Debug, Default)]
pub struct Typing(pub Option<tokio_util::sync::DropGuard>);

/// A part that is to be sent now, by whoever claimed it; its `sending` is on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Claimed {
    pub delivery_id: DeliveryId,
    /// From 1.
    pub part: u32,
    pub of: u32,
    pub to: Address,
    pub purpose: Purpose,
    pub content: Part,
    /// From 1.
    pub attempt: u32,
    /// When somebody last wrote from there, as far as the session knows.
    pub last_inbound: Option<Timestamp>,
}

/// What is due in a session.
#[derive(Clone, Debug, PartialEq)]
pub enum Due {
    Part(Claimed),
    /// Nothing before then.
    Later(Timestamp),
    Nothing,
}

/// What came of sending a part.
#[derive(Clone, Debug, PartialEq)]
pub enum PartOutcome {
    Sent {
        channel_message_id: String,
    },
    /// It was not sent, and is tried again then.
    Failed {
        code: String,
        retry_at: Timestamp,
    },
    /// The same, and the platform refused the account: it counts as no attempt of the part's.
    Refused {
        code: String,
        retry_at: Timestamp,
    },
    /// It was not sent, and waits until the receiver writes again.
    Held {
        code: String,
    },
    /// Nobody knows.
    Unknown {
        code: String,
    },
    Dead {
        code: String,
    },
}

/// Nowhere: for gateways without messaging channels.
#[derive(Clone, Copy, Debug)]
pub struct NoDeliveries;

impl DeliverySink for NoDeliveries {
    fn parts(&self, _to: &Address, _say: Say<'_>) -> Vec<Part> {
        Vec::new()
    }

    fn due(&self, _session: &SessionId) {}

    fn typing(&self, _to: &[Address]) -> Typing {
        Typing::default()
    }
}
