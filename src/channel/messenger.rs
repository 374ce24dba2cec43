//! What a messaging platform's adapter does. Everything else (who may write, which session, what is due, how often it is tried) is the same
//! for all of them and stands elsewhere.
//!
//! An adapter is pure but for its three calls to the platform: it proves where a request came from, reads it as a list of [`Inbound`], and
//! renders and sends what goes out. It keeps no state of conversations.

use std::fmt;
use std::time::Duration;

use axum::http::{HeaderMap, Method, Uri};
use bytes::Bytes;
use futures_util::future::BoxFuture;

use crate::domain::delivery::{DeliveryState, Part};
use crate::domain::pending::Decision;
use crate::domain::{Address, ApprovalId, Attachment, DigestId, Timestamp};

/// A request to a webhook, as its bytes came.
#[derive(Clone, Debug)]
pub struct WebhookRequest {
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// A request that proved where it comes from: what only [`Messenger::verify`] makes.
#[derive(Clone, Debug)]
pub struct VerifiedRequest(WebhookRequest);

impl VerifiedRequest {
    pub fn vouched(request: WebhookRequest) -> Self {
        Self(request)
    }

    pub fn request(&self) -> &WebhookRequest {
        &self.0
    }
}

/// Why a request is not what it says; [`Messenger::why`] has it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// 401: no proof at all.
    Unproven,
    /// 403: a wrong one.
    Wrong,
    /// 400: the platform would not send this.
    Malformed,
}

/// What a request held, and what is answered once all of it is safe.
#[derive(Clone, Debug, PartialEq)]
pub struct Received {
    pub items: Vec<Item>,
    pub reply: HttpReply,
}

/// The body of a 200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HttpReply {
    Empty,
    /// Sent as `text/plain`, these bytes and no others.
    Text(String),
}

/// One thing that a request held. An item that cannot be read is [`Inbound::Ignored`] and costs its siblings nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The platform's id of the account that it came to (on WhatsApp the `phone_number_id`): one app may serve several.
    pub line: String,
    pub inbound: Inbound,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Inbound {
    Message(InboundMessage),
    /// A button of an approval was pressed.
    Decision {
        /// The platform's id of the press.
        id: String,
        from: Person,
        group: Option<String>,
        approval_id: ApprovalId,
        decision: Decision,
        sent_at: Timestamp,
    },
    /// What became of something that we sent.
    Status {
        /// The platform's id of it.
        message: String,
        /// What [`Messenger::deliver`] was given with it, where the platform gives it back.
        token: Option<String>,
        /// `Sent`, `Delivered`, `Read` or `Failed`.
        state: DeliveryState,
        code: Option<String>,
        at: Timestamp,
    },
    /// A person has other ids than before.
    Identity {
        old: Person,
        new: Person,
    },
    /// Somebody answered in the gateway's place, from the account's own phone.
    Echo {
        id: String,
        to: Person,
        text: String,
        sent_at: Timestamp,
    },
    /// The sender took a message back.
    Retract {
        original: String,
        from: Person,
        group: Option<String>,
    },
    /// Understood, and not for an agent; `why` is one of a few fixed words.
    Ignored {
        why: &'static str,
    },
}

/// A message of a person.
#[derive(Clone, Debug, PartialEq)]
pub struct InboundMessage {
    /// The platform's id: what makes it the same message however often it comes.
    pub id: String,
    pub from: Person,
    /// Where it was written, if not to the account alone.
    pub group: Option<String>,
    /// What the model reads: the words, and as facts in brackets what else the message holds. Empty where it holds nothing that can be read.
    pub text: String,
    pub attachments: Vec<Attachment>,
    pub sent_at: Timestamp,
    /// The platform's id of the message that it answers.
    pub quotes: Option<String>,
    /// The message that it is a new wording of.
    pub replaces: Option<String>,
    /// It speaks to the account by name or answers it. Always true outside groups.
    pub addressed: bool,
}

/// A person, by what the platform tells of him. At least one id is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Person {
    /// Digits only.
    pub phone: Option<String>,
    /// The platform's own id.
    pub user: Option<String>,
    /// What he calls himself: never proof of who he is.
    pub name: Option<String>,
}

/// The platform took a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    pub message: String,
}

/// Why a part was not sent, or may not have been.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryError {
    /// The platform's own number, or `timeout`, `connection`, `http_503`.
    pub code: String,
    pub class: ErrorClass,
    /// For the log and the operator; without secrets.
    pub detail: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// It was not sent; the same may go later. `after` is what the platform asks for.
    Retry { after: Option<Duration> },
    /// The same, for this conversation alone: it was written to too fast.
    TooFast { after: Option<Duration> },
    /// Not before the receiver writes again.
    Closed,
    /// Nothing can be sent from this account until its operator has changed something.
    Account,
    /// Never.
    Final,
    /// It may have been sent: nobody knows.
    Ambiguous,
}

/// What may be sent when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How long after a person's last message he may be written to; `None` is always.
    pub window: Option<Duration>,
    /// Between two messages of one conversation, in the long run.
    pub spacing: Duration,
    /// So many may follow each other without it.
    pub burst: u32,
    /// How often the sign that somebody writes is to be given anew.
    pub typing: Duration,
}

/// What is to be rendered.
#[derive(Clone, Copy, Debug)]
pub enum Say<'a> {
    Markdown(&'a str),
    /// What would run, why it is asked, and the choices that are offered; each of them comes back as [`Inbound::Decision`].
    Approval {
        approval_id: &'a ApprovalId,
        tool: &'a str,
        args: &'a str,
        decisions: &'a [Decision],
    },
}

/// One account on one platform.
pub trait Messenger: fmt::Debug + Send + Sync + 'static {
    /// As `whatsapp`.
    fn channel(&self) -> &'static str;

    /// Its name in the configuration.
    fn account(&self) -> &str;

    /// The platform's id of it, as in [`Item::line`].
    fn line(&self) -> &str;

    /// Names the app that this account is of, by a hash of what proves its requests: a request to one account of an app may hold what came to
    /// another.
    fn app(&self) -> &DigestId;

    /// Proves the request over its raw bytes, in constant time.
    ///
    /// # Errors
    /// What it is not.
    fn verify(&self, request: WebhookRequest) -> Result<VerifiedRequest, Refusal>;

    /// What does not fit in a request of that method, for the sender and the operator's log; without secrets.
    fn why(&self, method: &Method, refusal: Refusal) -> &'static str;

    /// Reads it. Never fails: what cannot be read is [`Inbound::Ignored`].
    fn receive(&self, request: &VerifiedRequest) -> Received;

    fn pace(&self) -> Pace;

    /// As messages of the platform, never none, each within its limits.
    fn render(&self, say: Say<'_>, to: &Address) -> Vec<Part>;

    /// Sends one part. `token` comes back in its statuses where the platform can do that; `quotes` whether the part answers the message that
    /// the address was captured with. Dropped, it may or may not have sent.
    fn deliver(&self, to: &Address, part: &Part, token: &str, quotes: Quotes) -> BoxFuture<'static, Result<Receipt, DeliveryError>>;

    /// What an operator does about an error of the class [`ErrorClass::Account`] with that code, as a clause of a sentence.
    fn remedy(&self, code: &str) -> &'static str;

    /// What it means where a status gives this code: the platform took the message, and did not bring it.
    fn class_of(&self, code: &str) -> ErrorClass;

    /// Shows there that the message was read and an answer is being written, for about [`Pace::typing`]. Best effort.
    fn typing(&self, to: &Address) -> BoxFuture<'static, Result<(), DeliveryError>>;

    /// Fetches a file that came with a message and checks its size and hash.
    fn fetch(&self, attachment: &Attachment) -> BoxFuture<'static, Result<Bytes, FetchFailure>>;
}

/// Whether a part is shown as an answer to a certain message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quotes {
    Nothing,
    Address,
}

/// Why a file was not fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchFailure {
    TooLarge,
    HashMismatch,
    /// The platform does not have it, or not any more.
    Unavailable,
    /// It may be had later.
    Later,
}
