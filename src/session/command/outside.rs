//! What is asked of a session on behalf of the places outside it: messages that come from there, and what becomes of answers on their way.

use std::time::Duration;

use bytes::Bytes;

use super::{IntakeKey, Post, Reply, SessionError};
use crate::domain::delivery::{DeliveryState, DeliveryView};
use crate::domain::event::session::SessionCreated;
use crate::domain::{Address, Attachment, AttachmentId, DeliveryId, Overview, Timestamp};
use crate::session::delivery::{Due, PartOutcome};
use crate::store::Alias;

/// A message from a place outside, and the session that it makes where that is not there yet.
#[derive(Clone, Debug)]
pub struct Arrival {
    pub created: SessionCreated,
    /// Names of the session that are to lead to it from here on.
    pub aliases: Vec<Alias>,
    pub post: Post,
    /// Written with it: another way to find the message. Refused as `Busy` where that is taken, by then or meanwhile.
    pub found_by: Option<IntakeKey>,
}

/// What a platform tells later of something that it took.
#[derive(Clone, Debug, PartialEq)]
pub struct DeliveryStatus {
    /// As the token says that was sent along; else it is looked for by the platform's id.
    pub delivery_id: Option<DeliveryId>,
    /// From 1; with `delivery_id`.
    pub part: Option<u32>,
    pub channel_message_id: String,
    /// `Sent`, `Delivered`, `Read` or `Failed`; any other changes nothing.
    pub state: DeliveryState,
    pub code: Option<String>,
    /// With `Failed`; none leaves the part as it is.
    pub then: Option<AfterFailure>,
}

/// What follows for a part that the platform took and tells later not to have brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterFailure {
    /// It waits until the receiver writes again.
    Hold,
    /// It is sent again then, unless it was sent often enough.
    RetryAt(Timestamp),
    Dead,
}

/// What became of a wish to try a delivery again.
#[derive(Clone, Debug, PartialEq)]
pub enum Retried {
    /// It is on its way again.
    Queued(DeliveryView),
    /// It stays as it is: it was sent, is being sent, or may have been.
    Standing(DeliveryView),
}

/// A sentence of the gateway's own, about something that came from there and made no message.
#[derive(Clone, Debug)]
pub struct Notice {
    pub to: Address,
    pub text: String,
    /// It is not said again within this.
    pub every: Duration,
    /// What makes it happen once.
    pub key: Option<IntakeKey>,
}

/// Where a person's words go who answers in a session.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyTo {
    /// Where the newest input came from that had an address.
    Place(Address),
    /// Whoever writes there reads along.
    Here,
    /// It is a messaging channel's, and nobody has written yet.
    Unknown,
}

/// A person takes over, goes on, or gives back.
#[derive(Clone, Debug)]
pub struct TakeOver {
    pub by: String,
    /// How long the agent is silent. A time that is past gives the conversation back.
    pub until: Timestamp,
    /// What the person said.
    pub text: Option<String>,
    /// Where it is to be sent; `None` where it was said there already.
    pub send_to: Option<Address>,
    /// What makes it happen once.
    pub key: Option<IntakeKey>,
}

/// The part of the first inbox that is about places outside.
#[derive(Debug)]
pub(in crate::session) enum Outward {
    Claim { reply: Reply<Due> },
    Outcome { sent: SentPart, outcome: PartOutcome, reply: Reply<()> },
    Status { status: DeliveryStatus, reply: Reply<()> },
    Retry { delivery_id: DeliveryId, by: String, reply: Reply<Option<Retried>> },
    Notice { notice: Notice, reply: Reply<bool> },
    TakeOver { wish: TakeOver, reply: Reply<Overview> },
    Unsettled { reply: Reply<Vec<Attachment>> },
    Settle { id: AttachmentId, file: Result<Bytes, &'static str>, reply: Reply<()> },
    ReplyTo { reply: Reply<ReplyTo> },
    MayBeSending { reply: Reply<bool> },
}

impl Outward {
    /// Tells whoever asked that it was not done.
    pub(in crate::session) fn refuse(self, error: SessionError) {
        // a caller that has gone does not hear it
        match self {
            Self::Claim { reply } => drop(reply.send(Err(error))),
            Self::Outcome { reply, .. } | Self::Status { reply, .. } | Self::Settle { reply, .. } => drop(reply.send(Err(error))),
            Self::Retry { reply, .. } => drop(reply.send(Err(error))),
            Self::Notice { reply, .. } => drop(reply.send(Err(error))),
            Self::TakeOver { reply, .. } => drop(reply.send(Err(error))),
            Self::Unsettled { reply } => drop(reply.send(Err(error))),
            Self::ReplyTo { reply } => drop(reply.send(Err(error))),
            Self::MayBeSending { reply } => drop(reply.send(Err(error))),
        }
    }
}

/// The part that an outcome is about.
#[derive(Clone, Debug)]
pub(in crate::session) struct SentPart {
    pub(in crate::session) delivery_id: DeliveryId,
    pub(in crate::session) part: u32,
    /// The index has the platform's id already: one that repeats its ids must not cost the session its append.
    pub(in crate::session) indexed: Indexed,
}

/// Whether the intake index has a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::session) enum Indexed {
    Yes,
    No,
}
