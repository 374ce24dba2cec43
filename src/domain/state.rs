//! What a ledger means: a pure fold of its records.
//!
//! [`SessionState::apply`] does no I/O and never looks at a clock. The next model request, the inbox, what waits for a person and what a
//! restart must repair are all functions of this value. Each family of events folds itself (`event/`); here stand the parts they fold into.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::event::delivery::{AttachmentSettled, Handoff};
use super::event::input::{MessageQueued, Trust};
use super::event::session::Metadata;
use super::event::tool::Source;
use super::event::turn::{CallStatus, CallSummary};
use super::message::ToolCall;
use super::outbox::Outbox;
use super::overview::RunningTool;
use super::pending::{Decision, Item, ItemKind, Outcome};
use super::record::Head;
use super::surface::Surface;
use super::{Address, Block, DigestId, Finish, MessageId, Record, Seq, Timestamp, ToolCallId, Usage};

/// Changes with every change of the fold or of this type's JSON: a snapshot of another version is ignored and the ledger folded from 1.
pub const FOLD_VERSION: u32 = 8;

/// How many closed waits the state remembers, so that a repeated answer is recognised before the index has it.
const RESOLVED_KEPT: usize = 64;

/// How many pages a turn remembers that its answer may rest on.
const SOURCES_KEPT: usize = 20;

/// A session, as its ledger tells it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionState {
    /// The last record applied; 0 before the first.
    pub head: Seq,
    pub profile: Option<Profile>,
    pub created_at: Timestamp,
    pub updated_at: Timestamp,
    pub inbox: Inbox,
    pub last_turn: u32,
    pub turn: Option<OpenTurn>,
    pub attempt: Option<OpenAttempt>,
    /// The last record that opened or closed an attempt: at and after it a reader's live text is what is in memory now.
    pub attempt_edge: Seq,
    pub surface: Surface,
    /// Waits that ended, the newest last.
    pub resolved: VecDeque<Item>,
    /// Digests of tool calls that were allowed for the whole session.
    pub grants: BTreeSet<String>,
    /// Prompts and tool lists that this session's blobs hold already.
    pub blobs: BTreeSet<DigestId>,
    /// What goes to places outside.
    pub outbox: Outbox,
    /// A person has taken over, until then.
    pub handoff: Option<Handoff>,
}

/// What `session_created` fixed, and `session_updated` changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    pub channel: String,
    pub agent: String,
    pub tenant: String,
    pub principal: String,
    /// On a messaging channel.
    pub account: Option<String>,
    pub parent: Option<String>,
    pub title: Option<String>,
    pub metadata: Metadata,
}

/// Input that no turn has claimed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inbox {
    pub waiting: Vec<Queued>,
}

/// One message in the inbox.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Queued {
    pub seq: Seq,
    pub at: Timestamp,
    pub message: MessageQueued,
    /// What became of what came with it.
    pub settled: Vec<AttachmentSettled>,
}

/// The attempt whose live text is in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenAttempt {
    /// Of its `request` record.
    pub seq: Seq,
    pub attempt: u32,
}

/// From `turn_start` to `done`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenTurn {
    pub turn: u32,
    pub started_at: Timestamp,
    pub message_ids: Vec<MessageId>,
    /// Where they came from, each place once, with the newest message of it; empty where whoever wrote them reads along.
    pub addresses: Vec<Address>,
    /// Who wrote what came from there.
    pub authors: BTreeSet<String>,
    /// Chosen by the newest claimed message that chose one.
    pub model: Option<String>,
    pub instructions: Option<String>,
    /// Steps begun.
    pub steps: u32,
    pub step: Option<OpenStep>,
    pub usage: Usage,
    pub calls: Vec<CallSummary>,
    /// How often the turn was continued after a restart, and how many of those were crashes.
    pub continued: u32,
    pub crashes: u32,
    /// Sticky: one answer of the turn was cut at the output limit.
    pub max_tokens: bool,
    /// The newest whole step asked for no tools, and no input was claimed since.
    pub answered: bool,
    /// The text of the newest answer.
    pub last_text: String,
    /// The pages that its tools read, each once, the oldest first.
    pub sources: Vec<Source>,
    /// Time in which nothing of the turn could run: it waited for a person, or no process was there. In milliseconds.
    pub idle_ms: u64,
}

/// From `step_start` to `step_end`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenStep {
    pub step: u32,
    pub attempts: u32,
    /// How its message ended; `None` until it is in.
    pub finish: Option<Finish>,
    pub calls: Vec<CallState>,
    /// What a person said meanwhile: it joins the surface when the step ends, so that no call is parted from its result.
    pub aside: Vec<Vec<Block>>,
}

/// A call of the open step's message.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CallState {
    pub call: ToolCall,
    pub started: bool,
    /// When, if it has.
    pub started_at: Timestamp,
    /// The wait that this call opened, with its outcome once it has one.
    pub item: Option<Item>,
    pub result: Option<CallStatus>,
}

/// A record that does not follow from the ledger before it.
#[derive(Debug, thiserror::Error)]
pub enum FoldError {
    #[error("record {found} does not follow record {head}")]
    Gap { head: Seq, found: Seq },
    #[error("record type {0:?} is of a later build and may not be ignored: use that build")]
    UnknownType(String),
    #[error("record {seq}: {why}")]
    Inconsistent { seq: Seq, why: String },
}

impl FoldError {
    pub(super) fn inconsistent(head: &Head, why: &str) -> Self {
        Self::Inconsistent { seq: head.seq, why: why.into() }
    }
}

impl SessionState {
    /// Folds the next record in.
    ///
    /// # Errors
    /// When the record does not follow from the state. The state is then not to be used any further.
    pub fn apply(&mut self, record: &Record) -> Result<(), FoldError> {
        let head = &record.head;
        if head.seq != self.head + 1 {
            return Err(FoldError::Gap { head: self.head, found: head.seq });
        }
        record.event.apply(self, head)?;
        if record.event.attempt() != super::event::AttemptEffect::None {
            self.attempt_edge = head.seq;
        }
        self.head = head.seq;
        self.updated_at = head.at;
        Ok(())
    }

    /// Waits that are open, in the model's order.
    pub fn open_items(&self) -> impl Iterator<Item = &Item> {
        let step = self.turn.as_ref().and_then(|t| t.step.as_ref());
        step.into_iter().flat_map(|s| &s.calls).filter_map(|c| c.item.as_ref()).filter(|i| i.outcome.is_none())
    }

    /// The wait with that id, open or closed lately.
    pub fn item(&self, id: &str) -> Option<&Item> {
        self.open_items().chain(self.resolved.iter().rev()).find(|i| i.id() == id)
    }

    /// An open turn of which nothing runs: it goes on when a person answers. Decisions come first, so one open wait means just that.
    pub fn waits_for_person(&self) -> bool {
        self.open_items().next().is_some()
    }

    /// How long nothing of the open turn could run by `now`: what is over, and the wait that is open.
    pub fn idle(&self, now: Timestamp) -> Duration {
        let past = self.turn.as_ref().map_or(0, |turn| turn.idle_ms);
        let asked_at = self.open_items().map(|item| item.requested_at).min();
        Duration::from_millis(past) + asked_at.map_or(Duration::ZERO, |at| now.since(at))
    }

    /// Calls whose body has started and has no result yet.
    pub fn running_tools(&self) -> impl Iterator<Item = RunningTool> {
        let step = self.turn.as_ref().and_then(|t| t.step.as_ref());
        let running = step.into_iter().flat_map(|s| &s.calls).filter(|c| c.started && !c.has_result());
        running.map(|c| RunningTool { tool_call_id: c.call.id.clone(), tool: c.call.tool.clone() })
    }

    pub(super) fn open_turn(&mut self, head: &Head) -> Result<&mut OpenTurn, FoldError> {
        self.turn.as_mut().filter(|t| head.turn == Some(t.turn)).ok_or_else(|| FoldError::inconsistent(head, "not of the open turn"))
    }

    pub(super) fn open_step(&mut self, head: &Head) -> Result<&mut OpenStep, FoldError> {
        let step = self.open_turn(head)?.step.as_mut();
        step.filter(|s| head.step == Some(s.step)).ok_or_else(|| FoldError::inconsistent(head, "not of the open step"))
    }

    pub(super) fn open_call(&mut self, head: &Head, id: &ToolCallId) -> Result<&mut CallState, FoldError> {
        let call = self.open_step(head)?.calls.iter_mut().find(|c| c.call.id == *id);
        call.filter(|c| !c.has_result())
            .ok_or_else(|| FoldError::inconsistent(head, &format!("{id} is no call of the open step that lacks its result")))
    }

    pub(super) fn result(
        &mut self,
        head: &Head,
        id: &ToolCallId,
        status: CallStatus,
        duration_ms: Option<u64>,
        content: &str,
    ) -> Result<(), FoldError> {
        let call = self.open_call(head, id)?;
        if call.item.as_ref().is_some_and(|item| item.outcome.is_none()) {
            return Err(FoldError::inconsistent(head, &format!("{id} has a result while it waits for somebody")));
        }
        call.result = Some(status);
        // a result without a duration of its own took from its start until now
        let duration_ms = duration_ms.unwrap_or_else(|| if call.started { millis(head.at.since(call.started_at)) } else { 0 });
        let summary = CallSummary { tool_call_id: id.clone(), tool: call.call.tool.clone(), status, duration_ms };
        self.surface.tool_result(id, &summary.tool, content, status != CallStatus::Ok);
        self.open_turn(head)?.calls.push(summary);
        Ok(())
    }

    pub(super) fn open_item(&mut self, head: &Head, item: Item) -> Result<(), FoldError> {
        let call = self.open_call(head, item.tool_call_id())?;
        if call.item.is_some() {
            return Err(FoldError::inconsistent(head, "the call waits already"));
        }
        call.item = Some(item);
        Ok(())
    }

    pub(super) fn resolve(&mut self, head: &Head, id: &str, call: &ToolCallId, outcome: Outcome) -> Result<(), FoldError> {
        let item = self.open_call(head, call)?.item.as_mut();
        let item = item
            .filter(|i| i.id() == id && i.outcome.is_none())
            .ok_or_else(|| FoldError::inconsistent(head, &format!("{id} is not an open wait")))?;
        item.outcome = Some(outcome);
        let closed = item.clone();
        if let (ItemKind::Approval(a), Some(Outcome::Decision { decision: Decision::AllowSession, .. })) = (&closed.kind, &closed.outcome) {
            self.grants.insert(a.digest.clone());
        }
        let asked_at = closed.requested_at;
        self.resolved.push_back(closed);
        if !self.waits_for_person()
            && let Some(turn) = &mut self.turn
        {
            turn.idle_ms += millis(head.at.since(asked_at));
        }
        if self.resolved.len() > RESOLVED_KEPT {
            self.resolved.pop_front();
        }
        Ok(())
    }
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

impl Inbox {
    pub(super) fn push(&mut self, seq: Seq, at: Timestamp, message: MessageQueued) {
        self.waiting.push(Queued { seq, at, message, settled: Vec::new() });
    }

    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub fn get(&self, id: &MessageId) -> Option<&Queued> {
        self.waiting.iter().find(|q| q.message.message_id == *id)
    }

    /// The file is kept, or never will be; false where no message waits for it.
    pub(super) fn settle(&mut self, settled: &AttachmentSettled) -> bool {
        let waits = |q: &&mut Queued| q.unsettled().any(|a| a.attachment_id == settled.attachment_id);
        self.waiting.iter_mut().find(waits).map(|q| q.settled.push(settled.clone())).is_some()
    }

    pub(super) fn claim(&mut self, head: &Head, ids: &[MessageId]) -> Result<Vec<Queued>, FoldError> {
        ids.iter()
            .map(|id| match self.waiting.iter().position(|q| q.message.message_id == *id) {
                Some(at) => Ok(self.waiting.remove(at)),
                None => Err(FoldError::inconsistent(head, &format!("{id} is not in the inbox"))),
            })
            .collect()
    }
}

impl OpenTurn {
    pub(super) fn open(turn: u32, started_at: Timestamp, claimed: &[Queued]) -> Self {
        let mut open = Self {
            turn,
            started_at,
            message_ids: Vec::new(),
            addresses: Vec::new(),
            authors: BTreeSet::new(),
            model: claimed.iter().rev().find_map(|q| q.message.model.clone()),
            instructions: claimed.iter().rev().find_map(|q| q.message.instructions.clone()),
            steps: 0,
            step: None,
            usage: Usage::default(),
            calls: Vec::new(),
            continued: 0,
            crashes: 0,
            max_tokens: false,
            answered: false,
            last_text: String::new(),
            sources: Vec::new(),
            idle_ms: 0,
        };
        open.claims(claimed);
        open
    }

    pub(super) fn claims(&mut self, claimed: &[Queued]) {
        for Queued { message, .. } in claimed {
            self.message_ids.push(message.message_id.clone());
            let Some(address) = &message.reply_to else { continue };
            self.authors.insert(message.author.clone());
            match self.addresses.iter_mut().find(|known| known.same_place(address)) {
                Some(known) => *known = address.clone(),
                None => self.addresses.push(address.clone()),
            }
        }
    }

    pub(super) fn cite(&mut self, sources: &[Source]) {
        for source in sources {
            if self.sources.len() < SOURCES_KEPT && self.sources.iter().all(|known| known.url != source.url) {
                self.sources.push(source.clone());
            }
        }
    }
}

impl Queued {
    pub(super) fn is_untrusted(&self) -> bool {
        self.message.trust == Trust::Untrusted
    }
}

impl OpenStep {
    pub(super) fn open(step: u32) -> Self {
        Self { step, attempts: 0, finish: None, calls: Vec::new(), aside: Vec::new() }
    }
}

impl CallState {
    /// A call nothing has happened to.
    pub fn open(call: &ToolCall) -> Self {
        Self { call: call.clone(), started: false, started_at: Timestamp::default(), item: None, result: None }
    }

    pub fn has_result(&self) -> bool {
        self.result.is_some()
    }

    /// Something ran for it: what a person or a client gives has no body.
    pub fn had_body(&self) -> bool {
        self.started && self.item.as_ref().is_none_or(|item| matches!(item.kind, ItemKind::Approval(_)))
    }
}
