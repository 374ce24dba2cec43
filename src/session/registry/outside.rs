//! What the places outside ask of sessions.

use bytes::Bytes;
use tokio::sync::oneshot;

use super::entry::Message;
use super::{Lease, Sessions, TRIES};
use crate::domain::{Attachment, AttachmentId, DeliveryId, MessageId, Overview, SessionId};
use crate::session::command::outside::{Indexed, Outward, SentPart};
use crate::session::command::{
    Arrival, Control, DeliveryStatus, Input, IntakeKey, Notice, Posted, Removal, Reply, ReplyTo, Retried, SessionError, TakeOver,
};
use crate::session::delivery::{Due, PartOutcome};

/// What became of a wish that happens once.
enum Sent {
    /// The actor has it, and answers.
    Taken,
    Known,
}

impl Sessions {
    /// Takes a message from a place outside, once however often its key comes, and makes the session if it is not there: one append has
    /// `session_created`, `message_queued`, the key's row and the aliases. Cancel-safe: one that is dropped is accepted or not, and the key
    /// tells which.
    ///
    /// # Errors
    /// `NotFound` where a session that was deleted since had accepted it, or this one is being deleted: another id is needed for a new
    /// message; `QueueFull`, `Stopping`, `Busy`, `Unavailable`.
    pub async fn receive(&self, id: &SessionId, arrival: Arrival) -> Result<Posted, SessionError> {
        let lease = self.shared.lease(id);
        let (key, found_by) = (arrival.post.key.clone(), arrival.found_by.clone());
        let (reply, answer) = oneshot::channel();
        let mut message = Message::Input(Box::new(Input::Receive { arrival: Box::new(arrival), reply }));
        for _ in 0..TRIES {
            let generation = lease.entry.activate(&self.shared)?;
            if let Some(key) = &key
                && let Some(known) = self.known(key).await?
            {
                return known.ok_or(SessionError::NotFound);
            }
            if let Some(key) = &found_by
                && self.known(key).await?.is_some()
            {
                return Err(SessionError::Busy);
            }
            match lease.entry.send_to(generation, &self.shared, message)? {
                None => return lease.answer(answer).await,
                Some(back) => message = back,
            }
        }
        Err(SessionError::Busy)
    }

    /// Hands out the first part that is due, once its `sending` is on disk. Whoever asks sends it and reports with
    /// [`Sessions::part_outcome`]; one that is dropped on the way leaves a part of which nobody knows whether it was sent.
    ///
    /// # Errors
    /// `NotFound`, `Stopping`, `Busy`, `Unavailable`.
    pub async fn claim_part(&self, session: &Lease) -> Result<Due, SessionError> {
        self.outward(session, |reply| Outward::Claim { reply }).await
    }

    /// What came of a part that was claimed. Nothing changes where a status was first.
    ///
    /// # Errors
    /// As [`Sessions::claim_part`]; it is taken while a stop waits.
    pub async fn part_outcome(
        &self,
        session: &Lease,
        delivery_id: &DeliveryId,
        part: u32,
        outcome: PartOutcome,
    ) -> Result<(), SessionError> {
        let indexed = self.sent_before(session, delivery_id, &outcome).await?;
        let sent = SentPart { delivery_id: delivery_id.clone(), part, indexed };
        self.outward(session, |reply| Outward::Outcome { sent, outcome, reply }).await
    }

    /// What a platform tells later. States only go forward, and one for a delivery that is long over changes nothing.
    ///
    /// # Errors
    /// As [`Sessions::part_outcome`].
    pub async fn delivery_status(&self, session: &Lease, status: DeliveryStatus) -> Result<(), SessionError> {
        self.outward(session, |reply| Outward::Status { status, reply }).await
    }

    /// Tries a delivery again that is dead, waits, or did not arrive.
    ///
    /// # Errors
    /// `NotFound` also where the session has no such delivery; else as [`Sessions::claim_part`].
    pub async fn retry_delivery(&self, session: &Lease, delivery_id: &DeliveryId, by: String) -> Result<Retried, SessionError> {
        let wanted = delivery_id.clone();
        let retried = self.outward(session, |reply| Outward::Retry { delivery_id: wanted, by, reply }).await?;
        if let Some(retried) = retried {
            return Ok(retried);
        }
        // long over: the session has forgotten what it said
        let view = self.shared.settings.store.delivery(delivery_id).await?;
        view.filter(|view| view.session_id == *session.id()).map(Retried::Standing).ok_or(SessionError::NotFound)
    }

    /// Sends a sentence of the gateway's own there, without a turn; what is held for that conversation goes too. False, and nothing is
    /// sent, where the same went there lately, the key is known, or a person has taken over.
    ///
    /// # Errors
    /// As [`Sessions::claim_part`].
    pub async fn notice(&self, session: &Lease, notice: Notice) -> Result<bool, SessionError> {
        let key = notice.key.clone();
        let (reply, answer) = oneshot::channel();
        let message = Message::Control(Box::new(Control::Outward(Outward::Notice { notice, reply })));
        match self.send_once(session, key.as_ref(), message).await? {
            Sent::Known => Ok(false),
            Sent::Taken => session.answer(answer).await,
        }
    }

    /// A person takes over: the running turn is cancelled, and no other begins until the time is over. What he says is said in the agent's
    /// place, and answers the input that waits. Answered when it is on disk, and a turn that ran has ended.
    ///
    /// # Errors
    /// As [`Sessions::claim_part`].
    pub async fn take_over(&self, session: &Lease, wish: TakeOver) -> Result<Overview, SessionError> {
        let (reply, answer) = oneshot::channel();
        let key = wish.key.clone();
        let message = Message::Control(Box::new(Control::Outward(Outward::TakeOver { wish, reply })));
        match self.send_once(session, key.as_ref(), message).await? {
            Sent::Known => session.overview().map(|overview| (*overview).clone()),
            Sent::Taken => session.answer(answer).await,
        }
    }

    /// Gives it to the actor, unless the index has its key.
    async fn send_once(&self, session: &Lease, key: Option<&IntakeKey>, mut message: Message) -> Result<Sent, SessionError> {
        for _ in 0..TRIES {
            let generation = session.entry.activate(&self.shared)?;
            if let Some(key) = key
                && self.known(key).await?.is_some()
            {
                return Ok(Sent::Known);
            }
            match session.entry.send_to(generation, &self.shared, message)? {
                None => return Ok(Sent::Taken),
                Some(back) => message = back,
            }
        }
        Err(SessionError::Busy)
    }

    /// Takes away a message that its sender took back, if no turn has claimed it.
    ///
    /// # Errors
    /// As [`Sessions::take_back`].
    pub async fn retract(&self, session: &Lease, message_id: MessageId, by: String) -> Result<(), SessionError> {
        self.control(session, |reply| Control::Remove { message_id, by, why: Removal::Retracted, reply }).await
    }

    /// The files that came with messages and are neither kept nor given up.
    ///
    /// # Errors
    /// As [`Sessions::claim_part`].
    pub async fn unsettled(&self, session: &Lease) -> Result<Vec<Attachment>, SessionError> {
        self.outward(session, |reply| Outward::Unsettled { reply }).await
    }

    /// Keeps a file that was fetched, or notes why it cannot be had: `too_large`, `hash_mismatch`, `unavailable`, `timeout`, `unsupported`.
    /// Nothing happens where that is settled.
    ///
    /// # Errors
    /// As [`Sessions::claim_part`].
    pub async fn settle_attachment(
        &self,
        session: &Lease,
        id: &AttachmentId,
        file: Result<Bytes, &'static str>,
    ) -> Result<(), SessionError> {
        let id = id.clone();
        self.outward(session, |reply| Outward::Settle { id, file, reply }).await
    }

    /// Where a person's words go.
    ///
    /// # Errors
    /// As [`Sessions::claim_part`].
    pub async fn reply_to(&self, session: &Lease) -> Result<ReplyTo, SessionError> {
        self.outward(session, |reply| Outward::ReplyTo { reply }).await
    }

    /// Whether a part of the session's is being sent, or may have been. Where none is, the platform's ids of all that was sent are in the index.
    ///
    /// # Errors
    /// As [`Sessions::claim_part`].
    pub async fn may_be_sending(&self, session: &Lease) -> Result<bool, SessionError> {
        self.outward(session, |reply| Outward::MayBeSending { reply }).await
    }

    async fn outward<T>(&self, session: &Lease, outward: impl FnOnce(Reply<T>) -> Outward) -> Result<T, SessionError> {
        self.control(session, |reply| Control::Outward(outward(reply))).await
    }

    /// What the index has of the key: `Some(None)` where the session that accepted it is gone.
    async fn known(&self, key: &IntakeKey) -> Result<Option<Option<Posted>>, SessionError> {
        let row = self.shared.settings.store.intake(&key.tenant, &key.scope, &key.external_id).await?;
        Ok(row.map(Posted::indexed))
    }

    async fn sent_before(&self, session: &Lease, delivery_id: &DeliveryId, outcome: &PartOutcome) -> Result<Indexed, SessionError> {
        let PartOutcome::Sent { channel_message_id } = outcome else { return Ok(Indexed::No) };
        let store = &self.shared.settings.store;
        let Some(delivery) = store.delivery(delivery_id).await? else { return Ok(Indexed::No) };
        let tenant = session.overview()?.tenant.clone();
        let row = store.intake(&tenant, &delivery.to.sent_scope(), channel_message_id).await?;
        Ok(if row.is_some() { Indexed::Yes } else { Indexed::No })
    }
}
