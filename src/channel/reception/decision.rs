//! A button of an approval was pressed. It counts if an approver pressed it, in the conversation that asked, while it waits; everything else
//! is counted and answered with a sentence.

use std::sync::Arc;
use std::time::Duration;

use super::{Outcome, Reception};
use crate::channel::access::reachable_at;
use crate::channel::accounts::Account;
use crate::channel::messenger::Person;
use crate::domain::pending::{Decision, ItemKind};
use crate::domain::{ApprovalId, Timestamp};
use crate::session::Lease;
use crate::session::command::{Notice, Resolution, Resolved, SessionError, standing};

const OVER: &str = "That request is over.";
const NOT_YOU: &str = "You cannot decide this.";
/// How seldom a place is told so.
const TOLD_EVERY: Duration = Duration::from_secs(60);

/// Who pressed what, and where.
#[derive(Debug)]
pub(super) struct Press {
    pub(super) from: Person,
    pub(super) group: Option<String>,
    pub(super) approval_id: ApprovalId,
    pub(super) decision: Decision,
    pub(super) sent_at: Timestamp,
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
        let Some(item) = item else { return self.answer(account, &lease, press, OVER, "decision_elsewhere").await };
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

    async fn answer(&self, account: &Account, lease: &Lease, press: &Press, text: &str, outcome: &'static str) -> Outcome {
        if let Some(place) = account.place(&press.from, None, None) {
            let notice = Notice { to: place, text: text.to_owned(), every: TOLD_EVERY, key: None };
            self.sessions.notice(lease, notice).await?;
        }
        Ok(outcome)
    }
}
