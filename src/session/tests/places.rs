//! A place outside, and who delivers there: what a session says is split at `|`, and a test sends each part itself.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::world::{World, created, id, post};
use crate::agent::tests::script::within;
use crate::domain::delivery::{DeliveryState, DeliveryView, Part};
use crate::domain::event::delivery::{Delivery, Outside};
use crate::domain::event::input::Mode;
use crate::domain::{Address, AgentEvent, Overview, Recipient, SessionId};
use crate::session::command::{IntakeKey, Notice};
use crate::session::delivery::{Claimed, DeliverySink, Due, PartOutcome, Say, Typing};
use crate::session::{Arrival, DeliveryStatus, Posted, SessionError, TakeOver};
use crate::store::{Alias, DeliveryFilter, Store};

#[derive(Debug, Default)]
pub(super) struct TestSink {
    /// How often it was told that something is due.
    pub(super) told: watch::Sender<usize>,
    /// The account is not there any more.
    pub(super) gone: AtomicBool,
    /// What shows that somebody writes, and to how many places.
    pub(super) typing: Mutex<Vec<(usize, CancellationToken)>>,
}

impl DeliverySink for TestSink {
    fn parts(&self, _: &Address, say: Say<'_>) -> Vec<Part> {
        let text = match say {
            _ if self.gone.load(Ordering::Relaxed) => return Vec::new(),
            Say::Done(done) => done.answer.clone(),
            Say::Approval { tool, .. } => format!("may I {tool}?"),
            Say::Text(text) => text.to_owned(),
        };
        text.split('|').map(|text| Part { text: text.into(), buttons: Vec::new() }).collect()
    }

    fn due(&self, _: &SessionId) {
        self.told.send_modify(|told| *told += 1);
    }

    fn typing(&self, to: &[Address]) -> Typing {
        let shown = CancellationToken::new();
        self.typing.lock().unwrap().push((to.len(), shown.clone()));
        Typing(Some(shown.drop_guard()))
    }
}

impl TestSink {
    pub(super) fn types(&self) -> bool {
        self.typing.lock().unwrap().iter().any(|(_, shown)| !shown.is_cancelled())
    }
}

/// Somebody's telephone, and his message of that id.
pub(super) fn phone(number: &str, message: &str) -> Address {
    let (to, message) = (Recipient::Phone(number.into()), Some(message.into()));
    Address { channel: "whatsapp".into(), account: "main".into(), to, message }
}

/// The same person's by the platform's own id.
pub(super) fn user(id: &str, message: &str) -> Address {
    Address { to: Recipient::User(id.into()), ..phone("", message) }
}

pub(super) fn group(id: &str, message: &str) -> Address {
    Address { to: Recipient::Group(id.into()), ..phone("", message) }
}

/// A message from there; the author is the number, and the key the message's id.
pub(super) fn arrival(text: &str, from: &Address) -> Arrival {
    let message = from.message.clone().unwrap();
    let mut post = post(text, Mode::Followup, Some(&message));
    post.author = from.to.id().into();
    post.reply_to = Some(from.clone());
    let alias = Alias { tenant: "t".into(), scope: "whatsapp:main".into(), name: from.to.to_string(), session: id() };
    Arrival { created: created("whatsapp", Some("main")), aliases: vec![alias], post, found_by: None }
}

impl World {
    pub(super) async fn receive(&self, arrival: Arrival) -> Result<Posted, SessionError> {
        within(self.sessions.receive(&id(), arrival)).await
    }

    /// A message of the first number.
    pub(super) async fn hears(&self, text: &str, message: &str) -> Posted {
        self.receive(arrival(text, &phone("1", message))).await.unwrap()
    }

    pub(super) async fn claim(&self) -> Due {
        within(self.sessions.claim_part(&self.lease().await)).await.unwrap()
    }

    pub(super) async fn part(&self) -> Claimed {
        let due = self.claim().await;
        let Due::Part(claimed) = due else { panic!("{due:?}") };
        claimed
    }

    pub(super) async fn outcome(&self, claimed: &Claimed, outcome: PartOutcome) {
        let lease = self.lease().await;
        within(self.sessions.part_outcome(&lease, &claimed.delivery_id, claimed.part, outcome)).await.unwrap();
    }

    /// Sends the part that is due, as the platform's message of that id; its text.
    pub(super) async fn send(&self, message: &str) -> String {
        let claimed = self.part().await;
        self.outcome(&claimed, PartOutcome::Sent { channel_message_id: message.into() }).await;
        claimed.content.text
    }

    pub(super) async fn status(&self, message: &str, state: DeliveryState) {
        let status = DeliveryStatus { delivery_id: None, part: None, channel_message_id: message.into(), state, code: None, then: None };
        within(self.sessions.delivery_status(&self.lease().await, status)).await.unwrap();
    }

    /// Tells the place a sentence about its message, at most once a minute. Whether it is said.
    pub(super) async fn notices(&self, to: Address, text: &str) -> bool {
        let key =
            to.message.clone().map(|id| IntakeKey { tenant: "t".into(), scope: "s".into(), external_id: id, body_hash: String::new() });
        let notice = Notice { to, text: text.into(), every: Duration::from_secs(60), key };
        within(self.sessions.notice(&self.lease().await, notice)).await.unwrap()
    }

    pub(super) async fn takes_over(&self, minutes: u64, text: Option<&str>, send_to: Option<Address>, key: Option<&str>) -> Overview {
        let key = key.map(|key| IntakeKey { tenant: "t".into(), scope: "s".into(), external_id: key.into(), body_hash: String::new() });
        let until = self.now() + Duration::from_secs(60 * minutes);
        let wish = TakeOver { by: "ann".into(), until, text: text.map(Into::into), send_to, key };
        within(self.sessions.take_over(&self.lease().await, wish)).await.unwrap()
    }

    /// The rows of the list, the oldest first.
    pub(super) async fn listed(&self) -> Vec<DeliveryView> {
        let filter = DeliveryFilter { tenant: "t".into(), limit: 100, ..DeliveryFilter::default() };
        let mut rows = self.store.deliveries(filter).await.unwrap().rows;
        rows.reverse();
        rows
    }

    pub(super) async fn states(&self) -> Vec<DeliveryState> {
        self.listed().await.iter().map(|row| row.state).collect()
    }

    /// The `delivery` records, in order.
    pub(super) async fn deliveries(&self) -> Vec<Delivery> {
        let of = |event| if let AgentEvent::Outside(Outside::Delivery(delivery)) = event { Some(delivery) } else { None };
        self.log().await.into_iter().filter_map(|record| of(record.event)).collect()
    }

    /// What was queued so far, as `number: text`.
    pub(super) async fn said(&self) -> Vec<String> {
        let first = |d: Delivery| d.to.zip(d.parts).map(|(to, parts)| (to.to.id().to_owned(), parts));
        let text = |(to, parts): (String, Vec<Part>)| format!("{to}: {}", parts.iter().map(|p| &*p.text).collect::<Vec<_>>().join("|"));
        self.deliveries().await.into_iter().filter_map(first).map(text).collect()
    }

    /// Resolves when more was told to be due than so often.
    pub(super) async fn told(&self, before: usize) {
        within(self.sink.told.subscribe().wait_for(|told| *told > before)).await.unwrap();
    }
}
