//! The transcript as a fold of the records that make it up.

use schemars::JsonSchema;
use serde::Serialize;

use super::cut;
use crate::domain::event::input::Input;
use crate::domain::event::model::Model;
use crate::domain::message::text_of;
use crate::domain::{AgentEvent, MessageId, Record, Seq, Timestamp};
use crate::store::StoredRecord;

/// One message of the conversation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(rename = "TranscriptRow")]
pub(super) struct Row {
    seq: Seq,
    at: Timestamp,
    /// Absent while no turn has claimed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<u32>,
    message_id: MessageId,
    role: Role,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
    Human,
}

/// A page of the transcript.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TranscriptPage {
    data: Vec<Row>,
    /// Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
    /// What this page is complete to: follow the session from here, and nothing is missing.
    cursor: String,
}

impl Row {
    pub(super) fn is_input(&self, id: &str) -> bool {
        self.role == Role::User && self.message_id.as_str() == id
    }
}

/// All rows, oldest first. Messages that were removed are not among them; answers that said nothing neither.
pub(super) fn rows(records: &[StoredRecord]) -> serde_json::Result<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for stored in records {
        let record = Record::from_json(&stored.json)?;
        let head = record.head;
        match record.event {
            AgentEvent::Input(Input::MessageQueued(m)) => {
                rows.push(Row { seq: head.seq, at: head.at, turn: None, message_id: m.message_id, role: Role::User, text: m.text });
            }
            AgentEvent::Input(Input::MessageRemoved(m)) => rows.retain(|r| r.message_id != m.message_id),
            AgentEvent::Input(Input::TurnStart(claim)) => claimed(&mut rows, &claim.message_ids, head.turn),
            AgentEvent::Input(Input::QueueDrain(claim)) => claimed(&mut rows, &claim.message_ids, head.turn),
            AgentEvent::Model(Model::Message(m)) => {
                let (text, role) = (text_of(&m.content), if m.author.is_some() { Role::Human } else { Role::Assistant });
                if !text.is_empty() {
                    rows.push(Row { seq: head.seq, at: head.at, turn: head.turn, message_id: m.message_id, role, text });
                }
            }
            AgentEvent::Session(_) | AgentEvent::Turn(_) | AgentEvent::Model(_) | AgentEvent::Tool(_) | AgentEvent::Pending(_) => {}
            AgentEvent::Unknown(_) => {}
        }
    }
    Ok(rows)
}

fn claimed(rows: &mut [Row], ids: &[MessageId], turn: Option<u32>) {
    for row in rows.iter_mut().filter(|r| r.turn.is_none() && ids.contains(&r.message_id)) {
        row.turn = turn;
    }
}

/// A page of the rows after `after`. `cursor` is what the page is complete to: the head of the same read, or the page's last row.
pub(super) fn page(rows: Vec<Row>, head: Seq, after: Seq, limit: usize) -> TranscriptPage {
    let mut rows: Vec<Row> = rows.into_iter().filter(|r| r.seq > after).collect();
    let more = cut(&mut rows, limit);
    let end = rows.last().map_or(head, |r| r.seq);
    TranscriptPage { data: rows, next_cursor: more.then(|| end.to_string()), cursor: if more { end } else { head }.to_string() }
}
