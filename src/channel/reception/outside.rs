//! What happens beside words: what became of messages of ours, a person who answers in the gateway's place, new ids of a person.

use std::sync::Arc;
use std::time::Duration;

use super::{Outcome, Reception, Undone};
use crate::channel::access::{given_up, ids};
use crate::channel::accounts::Account;
use crate::channel::messenger::{ErrorClass, Person};
use crate::channel::pairings::Standing;
use crate::domain::delivery::DeliveryState;
use crate::domain::digest::sha256;
use crate::domain::{DeliveryId, Recipient, SessionId, Timestamp};
use crate::session::command::{AfterFailure, DeliveryStatus, IntakeKey, SessionError, TakeOver};
use crate::store::DeliveryFilter;

/// Deliveries of a conversation that an echo is looked for in: it comes soon after them.
const LATELY: usize = 32;
/// When a message goes again that the platform took and could not bring: it has tried for itself by then.
const AGAIN_AFTER: Duration = Duration::from_secs(30);
/// The same where the account is at fault: an operator needs time to see to it.
const ACCOUNT_AFTER: Duration = Duration::from_secs(600);

/// What the platform tells of a message of ours.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) message: String,
    pub(super) token: Option<String>,
    pub(super) state: DeliveryState,
    pub(super) code: Option<String>,
}

/// Somebody answered from the account's own phone.
#[derive(Debug)]
pub(super) struct Echo {
    pub(super) id: String,
    pub(super) to: Person,
    pub(super) text: String,
    pub(super) sent_at: Timestamp,
}

impl Reception {
    pub(super) async fn status(&self, account: &Account, told: Told) -> Outcome {
        let token = told.token.as_deref().and_then(read_token);
        let named = match &token {
            Some((id, _)) => self.session_of(account, id).await?,
            None => None,
        };
        let session = match named {
            Some(session) => Some(session),
            None => self.intake(account, &account.sent_scope(), &told.message).await?.map(|row| row.session),
        };
        let Some(session) = session else { return Ok("status_unknown") };
        let (delivery_id, part) = token.unzip();
        let then = (told.state == DeliveryState::Failed).then(|| self.after_failure(account, told.code.as_deref()));
        let status = DeliveryStatus { delivery_id, part, channel_message_id: told.message, state: told.state, code: told.code, then };
        let lease = match self.sessions.open(&session).await {
            Err(SessionError::NotFound) => return Ok("status_unknown"),
            lease => lease?,
        };
        match self.sessions.delivery_status(&lease, status).await {
            Ok(()) => Ok("status"),
            Err(SessionError::NotFound) => Ok("status_unknown"),
            Err(error) => Err(error.into()),
        }
    }

    fn after_failure(&self, account: &Account, code: Option<&str>) -> AfterFailure {
        match code.map_or(ErrorClass::Final, |code| account.messenger.class_of(code)) {
            ErrorClass::Closed => AfterFailure::Hold,
            ErrorClass::Retry { .. } | ErrorClass::TooFast { .. } => AfterFailure::RetryAt(self.clock.now() + AGAIN_AFTER),
            // the next send tells whether the account stands still
            ErrorClass::Account => AfterFailure::RetryAt(self.clock.now() + ACCOUNT_AFTER),
            ErrorClass::Final | ErrorClass::Ambiguous => AfterFailure::Dead,
        }
    }

    /// The session of a delivery, if it went out by this account.
    async fn session_of(&self, account: &Account, id: &DeliveryId) -> Result<Option<SessionId>, Undone> {
        let delivery = self.store.delivery(id).await?;
        let own = delivery.filter(|delivery| delivery.to.channel == account.channel() && delivery.to.account == account.name());
        Ok(own.map(|delivery| delivery.session_id))
    }

    pub(super) async fn echo(&self, account: &Arc<Account>, echo: Echo) -> Outcome {
        if self.intake(account, &account.sent_scope(), &echo.id).await?.is_some() {
            return Ok("echo_own");
        }
        if self.said.has(&account.scope(), &ids(&echo.to), &echo.text, self.clock.now()) {
            return Ok("echo_own");
        }
        if self.is_too_old(account, echo.sent_at) {
            return Ok("too_old");
        }
        let lease = match self.known(account, &echo.to, None).await? {
            Some(lease) => lease,
            // somebody writes to a person who has not written yet: his answer is for them
            None if self.pairings.standing(account, &echo.to).await? == Standing::LetIn
                && account.place(&echo.to, None, None).is_some() =>
            {
                self.conversation(account, &echo.to, None, &echo.id).await?
            }
            None => return Ok("echo_unknown"),
        };
        // what we are sending, or may have sent, has no id of the platform's yet: it may be this, and would silence ourselves
        if self.is_told_of(account, lease.id(), &echo.id).await? {
            return Ok("echo_own");
        }
        match self.sessions.may_be_sending(&lease).await {
            Ok(false) => {}
            Ok(true) => return Err(Undone::Again("an echo came while it is not known what was sent".to_owned())),
            Err(SessionError::NotFound) => return Ok("echo_unknown"),
            Err(error) => return Err(error.into()),
        }
        // one that was on its way when it was looked for has its id by now
        if self.intake(account, &account.sent_scope(), &echo.id).await?.is_some() || self.is_told_of(account, lease.id(), &echo.id).await? {
            return Ok("echo_own");
        }
        let key =
            IntakeKey { tenant: account.rules.tenant.clone(), scope: account.scope(), external_id: echo.id, body_hash: sha256(&echo.text) };
        let until = self.clock.now() + account.rules.handoff_pause;
        let take_over =
            TakeOver { by: account.scope(), until, text: Some(echo.text).filter(|text| !text.is_empty()), send_to: None, key: Some(key) };
        match self.sessions.take_over(&lease, take_over).await {
            Ok(_) => Ok("echo"),
            Err(SessionError::NotFound) => Ok("echo_unknown"),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a status has told that it is a message of ours, of which nobody knew whether it was sent.
    async fn is_told_of(&self, account: &Account, session: &SessionId, message: &str) -> Result<bool, Undone> {
        let (tenant, session) = (account.rules.tenant.clone(), Some(session.clone()));
        let lately = DeliveryFilter { tenant, session, limit: LATELY, ..DeliveryFilter::default() };
        let is_its = |ids: &Vec<String>| ids.iter().any(|id| id == message);
        Ok(self.store.deliveries(lately).await?.rows.iter().any(|delivery| is_its(&delivery.channel_message_ids)))
    }

    /// A person has new ids: they lead to where the old ones did, and what was decided about him holds. The old ones lead there no more:
    /// a number is given to somebody else one day.
    pub(super) async fn identity(&self, account: &Arc<Account>, old: &Person, new: &Person) -> Outcome {
        let _deciding = account.deciding.hold(&[ids(old), ids(new)].concat()).await;
        self.pairings.renamed(account, old, new).await?;
        for id in ids(old) {
            if let Some(session) = self.alias(account, &id).await? {
                let alias = |ids: &[Recipient]| super::place::aliases(account, &session, ids);
                self.store.put_aliases(alias(&ids(new)), alias(&given_up(old, new))).await?;
                return Ok("identity");
            }
        }
        Ok("identity_unknown")
    }
}

/// Reads what [`crate::channel::messenger::Messenger::deliver`] was given with a part of a delivery.
fn read_token(token: &str) -> Option<(DeliveryId, u32)> {
    let (id, part) = token.rsplit_once(':')?;
    Some((DeliveryId::from(id), part.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_a_delivery_and_a_part() {
        assert_eq!(read_token("dlv_1:2"), Some((DeliveryId::from("dlv_1"), 2)));
        for other in ["stranger", "dlv_1", "dlv_1:", "dlv_1:x", ""] {
            assert_eq!(read_token(other), None, "{other:?}");
        }
    }
}
