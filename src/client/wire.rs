//! Events as this client reads them: the fields it shows, each optional where some view leaves it out.
//!
//! The ledger's own types (`domain::event`) are whole records; a reader gets a view of them, so it reads leniently. What it does not know
//! or cannot read is [`Event::Other`] and harms nothing.

use serde::Deserialize;

use crate::domain::pending::{Decision, Question};
use crate::domain::{ApprovalId, Args, MessageId, QuestionId, Seq, Timestamp, ToolCallId};

/// One event of the feed.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Event {
    Record(Record),
    Delta(Delta),
    Hello(Hello),
    Reset,
    Closing(Closing),
    /// Progress, heartbeats, and whatever a later server sends.
    Other,
}

/// A record, less what is not shown.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub(super) seq: Seq,
    pub(super) turn: Option<u32>,
    pub(super) at: Option<Timestamp>,
    pub(super) what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum What {
    Queued(Queued),
    Removed(Removed),
    /// `turn_start` and `queue_drain`: a turn took these messages.
    Claimed(Claimed),
    Retry(Retry),
    Message(Message),
    ToolStart(ToolStart),
    ToolEnd(ToolEnd),
    ToolError(ToolError),
    ToolDenied(ToolDenied),
    Asked(Ask),
    /// The wait with that id ended; how, as the wire says it.
    Answered(String, String),
    Continued,
    Done(Done),
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Queued {
    pub(super) message_id: MessageId,
    pub(super) text: String,
    pub(super) author: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Removed {
    pub(super) message_id: MessageId,
    #[serde(default)]
    pub(super) reason: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Claimed {
    pub(super) message_ids: Vec<MessageId>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Retry {
    #[serde(default)]
    pub(super) code: String,
    #[serde(default)]
    pub(super) delay_ms: u64,
    #[serde(default)]
    pub(super) discarded: bool,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Message {
    pub(super) message_id: MessageId,
    pub(super) content: Vec<Block>,
    pub(super) author: Option<String>,
}

/// A content block; `text` is absent in blocks that have none or whose text the view hides.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Block {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ToolStart {
    pub(super) tool: String,
    pub(super) args: Option<Args>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ToolEnd {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) duration_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ToolError {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) code: String,
    #[serde(default)]
    pub(super) error: String,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ToolDenied {
    pub(super) tool: String,
    #[serde(default)]
    pub(super) reason: String,
}

/// Something that waits for a person.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ask {
    Approval(Approval),
    Questions(Questions),
    ClientCall(ClientCall),
}

/// From the record or from `hello`. Without `args` this reader may not decide it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Approval {
    pub(super) approval_id: ApprovalId,
    pub(super) tool: String,
    pub(super) args: Option<Args>,
    pub(super) reason: Option<String>,
    /// What may be decided; all that a person can decide where it is absent.
    pub(super) decisions: Option<Vec<Decision>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Questions {
    pub(super) question_id: QuestionId,
    pub(super) questions: Vec<Question>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct ClientCall {
    pub(super) tool_call_id: ToolCallId,
    pub(super) tool: String,
}

impl Ask {
    /// The id that its POST names.
    pub(super) fn id(&self) -> &str {
        match self {
            Ask::Approval(a) => a.approval_id.as_str(),
            Ask::Questions(q) => q.question_id.as_str(),
            Ask::ClientCall(c) => c.tool_call_id.as_str(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Done {
    pub(super) reason: String,
    pub(super) code: Option<String>,
    pub(super) detail: Option<String>,
    #[serde(default)]
    pub(super) answer: String,
    #[serde(default)]
    pub(super) total_time_ms: u64,
}

impl Done {
    pub(super) fn completed(&self) -> bool {
        self.reason == "completed"
    }
}

/// A piece of the open attempt's text or reasoning.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Delta {
    pub(super) message_id: MessageId,
    pub(super) block: u32,
    pub(super) voice: Voice,
    pub(super) text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Voice {
    Answer,
    Reasoning,
}

/// How the session stands at the moment of a join.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Hello {
    pub(super) head: Seq,
    pub(super) turn: Option<u32>,
    #[serde(default)]
    approvals: Vec<Approval>,
    #[serde(default)]
    questions: Vec<Questions>,
    #[serde(default)]
    client_calls: Vec<ClientCall>,
}

impl Hello {
    pub(super) fn asks(&self) -> Vec<Ask> {
        let approvals = self.approvals.iter().cloned().map(Ask::Approval);
        let questions = self.questions.iter().cloned().map(Ask::Questions);
        approvals.chain(questions).chain(self.client_calls.iter().cloned().map(Ask::ClientCall)).collect()
    }
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Closing {
    pub(super) reason: String,
    pub(super) retry_after_ms: Option<u64>,
}

/// Reads one event of the feed from its name and data.
pub(super) fn read(event: &str, data: &str) -> Event {
    let read = match event {
        "hello" => serde_json::from_str(data).map(Event::Hello),
        "reset" => Ok(Event::Reset),
        "closing" => serde_json::from_str(data).map(Event::Closing),
        "text_delta" => delta(data, Voice::Answer),
        "reasoning_delta" => delta(data, Voice::Reasoning),
        _ => record(event, data),
    };
    read.unwrap_or(Event::Other)
}

fn delta(data: &str, voice: Voice) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct Wire {
        message_id: MessageId,
        block: u32,
        text: String,
    }
    let Wire { message_id, block, text } = serde_json::from_str(data)?;
    Ok(Event::Delta(Delta { message_id, block, voice, text }))
}

fn record(event: &str, data: &str) -> serde_json::Result<Event> {
    #[derive(Deserialize)]
    struct Envelope {
        seq: Seq,
        turn: Option<u32>,
        at: Option<Timestamp>,
    }
    let what = match event {
        "message_queued" => What::Queued(serde_json::from_str(data)?),
        "message_removed" => What::Removed(serde_json::from_str(data)?),
        "turn_start" | "queue_drain" => What::Claimed(serde_json::from_str(data)?),
        "retry" => What::Retry(serde_json::from_str(data)?),
        "message" => What::Message(serde_json::from_str(data)?),
        "tool_start" => What::ToolStart(serde_json::from_str(data)?),
        "tool_end" => What::ToolEnd(serde_json::from_str(data)?),
        "tool_error" => What::ToolError(serde_json::from_str(data)?),
        "tool_denied" => What::ToolDenied(serde_json::from_str(data)?),
        "approval_requested" => What::Asked(Ask::Approval(serde_json::from_str(data)?)),
        "question_asked" => What::Asked(Ask::Questions(serde_json::from_str(data)?)),
        "client_call_requested" => What::Asked(Ask::ClientCall(serde_json::from_str(data)?)),
        "tool_approval" | "question_answered" | "client_call_result" => answered(data)?,
        "turn_continued" => What::Continued,
        "done" => What::Done(serde_json::from_str(data)?),
        _ => return Ok(Event::Other),
    };
    let Envelope { seq, turn, at } = serde_json::from_str(data)?;
    Ok(Event::Record(Record { seq, turn, at, what }))
}

fn answered(data: &str) -> serde_json::Result<What> {
    #[derive(Deserialize)]
    struct Wire {
        approval_id: Option<String>,
        question_id: Option<String>,
        tool_call_id: String,
        decision: Option<String>,
        reason: Option<String>,
        #[serde(default)]
        declined: bool,
    }
    let wire: Wire = serde_json::from_str(data)?;
    let how = wire.decision.or(wire.reason).unwrap_or_else(|| if wire.declined { "declined" } else { "answered" }.into());
    Ok(What::Answered(wire.approval_id.or(wire.question_id).unwrap_or(wire.tool_call_id), how))
}
