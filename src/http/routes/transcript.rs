//! The transcript as a fold of the records that make it up, a page at a time: what is before a page is not read, and what is behind it is
//! read only until each message of the page is known to be claimed or removed.

use schemars::JsonSchema;
use serde::Serialize;

use crate::domain::event::input::Input;
use crate::domain::event::model::Model;
use crate::domain::message::text_of;
use crate::domain::{AgentEvent, MessageId, Record, Seq, SessionId, Timestamp};
use crate::http::error::ApiError;
use crate::http::no_session;
use crate::store::{Most, Slice, Store, StoredRecord};

/// The fewest records that are read at once.
const LEAST_READ: usize = 64;

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

/// A page of the session's rows after `after`: at most `limit`, and [`Most::BYTES`] of their texts.
///
/// # Errors
/// 404 where the session was deleted meanwhile; 503.
pub(super) async fn page(store: &dyn Store, session: &SessionId, after: Seq, limit: usize) -> Result<TranscriptPage, ApiError> {
    // about three records make two rows
    let most = Most::rows(limit.saturating_mul(2).max(LEAST_READ));
    let (mut fold, mut read_to) = (Fold::new(after, limit), after);
    loop {
        let (Slice { rows, more }, head) = store.transcript(session, read_to, most).await?;
        if head == 0 {
            return Err(no_session());
        }
        for stored in &rows {
            fold.add(read(stored)?);
            read_to = stored.seq;
        }
        if more && !fold.is_settled() {
            continue;
        }
        if fold.page > 0 || fold.rows.is_empty() {
            return Ok(fold.finish(head));
        }
        // all of the page was removed, and there is more behind it
        (read_to, fold) = (fold.through, Fold::new(fold.through, limit));
    }
}

/// Whether a message of that id was queued and not removed.
///
/// # Errors
/// 503.
pub(super) async fn has_input(store: &dyn Store, session: &SessionId, id: &str) -> Result<bool, ApiError> {
    let (mut found, mut read_to) = (false, 0);
    loop {
        let (Slice { rows, more }, _) = store.transcript(session, read_to, Most::rows(usize::MAX)).await?;
        for stored in &rows {
            if let AgentEvent::Input(event) = read(stored)?.event {
                match event {
                    Input::MessageQueued(m) => found |= m.message_id.as_str() == id,
                    Input::MessageRemoved(m) => found &= m.message_id.as_str() != id,
                    Input::TurnStart(_) | Input::QueueDrain(_) => {}
                }
            }
            read_to = stored.seq;
        }
        if !more {
            return Ok(found);
        }
    }
}

fn read(stored: &StoredRecord) -> Result<Record, ApiError> {
    Record::from_json(&stored.json).map_err(|e| ApiError::unavailable("a record cannot be read", e.to_string()))
}

/// Rows from a place on. Messages that were removed are not among them; answers that said nothing neither.
#[derive(Debug)]
struct Fold {
    /// Those behind the page have no text.
    rows: Vec<Row>,
    /// How many of the rows are the page.
    page: usize,
    /// The last row that was ever of the page, or where it begins.
    through: Seq,
    /// No further row is of the page, also where one of it is removed.
    is_full: bool,
    bytes: usize,
    limit: usize,
}

impl Fold {
    fn new(after: Seq, limit: usize) -> Self {
        Self { rows: Vec::new(), page: 0, through: after, is_full: false, bytes: 0, limit }
    }

    fn add(&mut self, record: Record) {
        let Record { head, event } = record;
        match event {
            AgentEvent::Input(Input::MessageQueued(m)) => {
                self.push(Row { seq: head.seq, at: head.at, turn: None, message_id: m.message_id, role: Role::User, text: m.text });
            }
            AgentEvent::Input(Input::MessageRemoved(m)) => self.remove(&m.message_id),
            AgentEvent::Input(Input::TurnStart(claim)) => self.claimed(&claim.message_ids, head.turn),
            AgentEvent::Input(Input::QueueDrain(claim)) => self.claimed(&claim.message_ids, head.turn),
            AgentEvent::Model(Model::Message(m)) => {
                let (text, role) = (text_of(&m.content), if m.author.is_some() { Role::Human } else { Role::Assistant });
                if !text.is_empty() {
                    self.push(Row { seq: head.seq, at: head.at, turn: head.turn, message_id: m.message_id, role, text });
                }
            }
            AgentEvent::Session(_) | AgentEvent::Turn(_) | AgentEvent::Model(_) | AgentEvent::Tool(_) | AgentEvent::Pending(_) => {}
            AgentEvent::Outside(_) | AgentEvent::Unknown(_) => {}
        }
    }

    fn push(&mut self, row: Row) {
        self.bytes = self.bytes.saturating_add(row.text.len());
        self.is_full |= self.page >= self.limit || (self.page > 0 && self.bytes > Most::BYTES);
        if self.is_full {
            self.rows.push(Row { text: String::new(), ..row });
            return;
        }
        (self.page, self.through) = (self.page + 1, row.seq);
        self.rows.push(row);
    }

    fn remove(&mut self, id: &MessageId) {
        if let Some(at) = self.rows.iter().position(|row| row.message_id == *id) {
            self.rows.remove(at);
            self.page -= usize::from(at < self.page);
        }
    }

    fn claimed(&mut self, ids: &[MessageId], turn: Option<u32>) {
        for row in self.rows.iter_mut().filter(|r| r.turn.is_none() && ids.contains(&r.message_id)) {
            row.turn = turn;
        }
    }

    /// Whether no later record changes the page: what became of each of its rows is known, and that there is one behind it.
    fn is_settled(&self) -> bool {
        let (page, behind) = self.rows.split_at(self.page);
        page.iter().all(Row::is_settled) && behind.iter().any(Row::is_settled)
    }

    /// `cursor` is what the page is complete to: the head of the last read, or the page's last row.
    fn finish(mut self, head: Seq) -> TranscriptPage {
        let next_cursor = (self.rows.len() > self.page).then(|| self.through.to_string());
        self.rows.truncate(self.page);
        let cursor = next_cursor.clone().unwrap_or_else(|| head.to_string());
        TranscriptPage { data: self.rows, next_cursor, cursor }
    }
}

impl Row {
    /// Whether it stays as it is.
    fn is_settled(&self) -> bool {
        self.role != Role::User || self.turn.is_some()
    }
}

#[cfg(test)]
mod tests;
