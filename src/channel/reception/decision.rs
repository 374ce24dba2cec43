//! A button of an approval was pressed. It counts if an approver pressed it, in the conversation that asked, while it waits; everything else
//! is counted and answered with a sentence.

use std::sync::Arc;
use std::time::Duration;

use super::{Outcome, Reception, Undone};
use crate::channel::access::reachable_at;
use crate::channel::accounts::Account;
use crate::channel::messenger::{InboundMessage, Person};
use crate::domain::pending::{Decision, ItemKind};
use crate::domain::{Address, ApprovalId, Timestamp};
use crate::session::Lease;
use crate::session::command::{IntakeKey, Notice, Resolution, Resolved, SessionError, standing};

const OVER: &str = "That request is over.";
const NOT_YOU: &str = "You cannot decide this.";
const WAITS: &str = "I am waiting for your decision: please use the buttons above.";
/// How seldom a place is told so.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Who pressed what, and where.
#[derive(Debug)]
pub(super) struct Press {
    /// The platform's id of it.
    pub(super) id: String,
    pub(super) from: Person,
    pub(super) group: Option<String>,
    pub(super) approval_id: ApprovalId,
    pub(super) decision: Decision,
    pub(super) sent_at: Timestamp,
}

/// A decision that is waited for.
struct Asked {
    lease: Lease,
    place: Address,
    at: Timestamp,
}

impl Reception {
    pub(super) async fn decision(&self, account: &Arc<Account>, press: &Press) -> Outcome {
        if press.group.is_some() {
            return Ok("decision_in_group");
        }
        if self.is_too_old(account, press.sent_at) {
            return Ok("too_old");
        }
        let Some(lease) = self.known(account, &press.from, None).await? else { return Ok("decision_elsewhere") };
        if account.rules.approver(&self.whole(account, &press.from).await?).is_none() {
            return self.answer(account, &lease, press, NOT_YOU, "decision_not_permitted").await;
        }
        let id = press.approval_id.as_str();
        let item = self.store.item(lease.id(), id).await?.filter(|item| matches!(item.kind, ItemKind::Approval(_)));
        // another conversation's, or nobody's
        let Some(item) = item else { return self.answer(account, &lease, press, NOT_YOU, "decision_elsewhere").await };
        let by = reachable_at(&press.from).map_or_else(|| account.scope(), |id| account.principal(&id));
        let answer = Resolution::Press(press.decision);
        let resolved = match self.sessions.resolve(&lease, id.to_owned(), answer.clone(), by).await {
            // the turn has gone on: what the index has of it stands
            Ok(Resolved::Unknown) => standing(item, &answer),
            Err(SessionError::NotFound) => return Ok("decision_elsewhere"),
            resolved => resolved?,
        };
        match resolved {
            Resolved::Stands(_) => Ok("decided"),
            Resolved::Conflict | Resolved::DigestMismatch | Resolved::Gone(_) | Resolved::Unknown | Resolved::Invalid { .. } => {
                self.answer(account, &lease, press, OVER, "decision_late").await
            }
        }
    }

    /// Words, which wait while a decision does. Whoever is to decide and writes instead is told so, once for each request.
    pub(super) async fn heard(&self, account: &Arc<Account>, message: InboundMessage) -> Outcome {
        let asked = self.asked(account, &message).await?;
        let outcome = self.message(account, message).await?;
        if let Some(Asked { lease, place, at }) = asked.filter(|_| outcome == "accepted") {
            let since = self.clock.now().since(at);
            self.sessions.notice(&lease, Notice { to: place, text: WAITS.to_owned(), every: since, key: None }).await?;
        }
        Ok(outcome)
    }

    /// Which decision was waited for when the message came.
    async fn asked(&self, account: &Arc<Account>, message: &InboundMessage) -> Result<Option<Asked>, Undone> {
        if message.group.is_some() || account.rules.approver(&self.whole(account, &message.from).await?).is_none() {
            return Ok(None);
        }
        let (Some(place), Some(lease)) = (account.place_of(message), self.known(account, &message.from, None).await?) else {
            return Ok(None);
        };
        let newest = lease.overview().ok().and_then(|overview| overview.approvals().map(|approval| approval.requested_at).max());
        Ok(newest.map(|at| Asked { lease, place, at }))
    }

    async fn answer(&self, account: &Account, lease: &Lease, press: &Press, text: &str, outcome: &'static str) -> Outcome {
        if let Some(place) = account.place(&press.from, None, None) {
            let (tenant, external_id) = (account.rules.tenant.clone(), press.id.clone());
            let key = IntakeKey { tenant, scope: account.scope(), external_id, body_hash: String::new() };
            let notice = Notice { to: place, text: text.to_owned(), every: TOLD_EVERY, key: Some(key) };
            self.sessions.notice(lease, notice).await?;
        }
        Ok(outcome)
    }
}
