//! Valid ledgers: a walk over the state that takes its choices from bytes, and makes every type of the vocabulary.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one event among all")]

use std::time::Duration;

use serde_json::json;

use crate::domain::burst::Claim;
use crate::domain::event::input::{Input, MessageQueued, MessageRemoved, Mode, QueueDrain, RemovedReason, Target, Trust, TurnStart};
use crate::domain::event::model::{Message, Parameters, Request, Retry, Thinking};
use crate::domain::event::pending::{
    ApprovalRequested, ClientCallRequested, ClientCallResult, QuestionAnswered, QuestionAsked, ToolApproval,
};
use crate::domain::event::session::{Metadata, SessionCreated, SessionUpdated};
use crate::domain::event::tool::{ToolDenied, ToolEnd, ToolError, ToolLimit, ToolStart};
use crate::domain::event::turn::{AbortCause, ContinueCause, Done, DoneReason, StepEnd, StepStart, Turn, TurnContinued};
use crate::domain::event::{Place, Unknown};
use crate::domain::message::ToolCall;
use crate::domain::pending::{Answer, Choice, Decision, ItemKind, Question};
use crate::domain::record::Head;
use crate::domain::state::CallState;
use crate::domain::{Address, AgentEvent, Args, Block, Finish, MessageId, Recipient, Record, SessionState, Timestamp, Usage};

/// The types that a walk makes; a test sees to it that it makes them all.
pub(crate) const KINDS: [&str; 28] = [
    "session_created",
    "session_updated",
    "message_queued",
    "message_removed",
    "turn_start",
    "queue_drain",
    "step_start",
    "step_end",
    "turn_continued",
    "done",
    "request",
    "retry",
    "thinking",
    "message",
    "tool_start",
    "tool_end",
    "tool_error",
    "tool_denied",
    "tool_limit",
    "approval_requested",
    "tool_approval",
    "question_asked",
    "question_answered",
    "client_call_requested",
    "client_call_result",
    "delivery",
    "attachment",
    "handoff",
];

/// The ledger that these bytes choose.
pub(crate) fn ledger(bytes: &[u8]) -> Vec<Record> {
    let mut walk = Walk { state: SessionState::default(), records: Vec::new(), bytes: bytes.iter().copied().collect() };
    while !walk.bytes.is_empty() {
        let event = walk.choose();
        walk.push(event);
    }
    walk.records
}

mod outside;

type May = fn(&mut Walk) -> AgentEvent;

struct Walk {
    state: SessionState,
    records: Vec<Record>,
    bytes: std::collections::VecDeque<u8>,
}

impl Walk {
    fn byte(&mut self) -> usize {
        usize::from(self.bytes.pop_front().unwrap_or_default())
    }

    fn flip(&mut self) -> bool {
        self.byte() % 2 == 1
    }

    fn name(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.records.len())
    }

    fn at(&self) -> Timestamp {
        Timestamp(1_796_000_000_000 + self.records.len() as u64 * 7)
    }

    fn push(&mut self, event: AgentEvent) {
        let open = self.state.turn.as_ref();
        let (turn, next) = (open.map(|t| t.turn), open.map(|t| t.steps + 1));
        let step = open.and_then(|t| t.step.as_ref()).map(|s| s.step);
        let (turn, step) = match &event {
            AgentEvent::Input(Input::TurnStart(_)) => (Some(self.state.last_turn + 1), None),
            AgentEvent::Input(Input::QueueDrain(_)) | AgentEvent::Turn(Turn::StepStart(_)) => (turn, next),
            other if other.place() == Place::Session => (None, None),
            _ => (turn, step),
        };
        let record = Record { head: Head { seq: self.state.head + 1, at: self.at(), turn, step }, event };
        self.state.apply(&record).unwrap();
        self.records.push(record);
    }

    /// What may come next, and of that the byte's choice.
    fn choose(&mut self) -> AgentEvent {
        if self.state.profile.is_none() {
            return self.created();
        }
        let mut may: Vec<May> = vec![Self::queued, Self::foreign];
        let waiting = !self.claimable().is_empty();
        may.extend([Self::delivery as May; 2]);
        may.extend(self.state.inbox.unsettled().map(|_| Self::settled as May));
        let steered = self.state.inbox.next_step().next().is_some();
        let open = self.state.attempt.is_some();
        match self.state.turn.as_ref().map(|t| t.step.as_ref()) {
            None if waiting => may.extend([Self::turn_start as May; 4]),
            None => {}
            Some(None) => {
                may.extend([Self::step_start as May; 3]);
                may.extend(steered.then_some(Self::drain as May));
                may.push(Self::done);
            }
            Some(Some(_)) if open => may.extend([Self::retry as May, Self::thinking, Self::message, Self::message, Self::message]),
            Some(Some(step)) if step.finish.is_none() => may.extend([Self::request as May; 3]),
            Some(Some(step)) => match step.calls.iter().find(|c| !c.has_result()) {
                Some(_) => may.extend([Self::call as May; 5]),
                None => may.extend([Self::step_end as May; 3]),
            },
        }
        let chosen = self.byte() % may.len();
        may[chosen](self)
    }

    fn created(&mut self) -> AgentEvent {
        let text = |text: &str| text.to_owned();
        let title = self.flip().then(|| text("a \"title\"\n"));
        let metadata = Metadata::from_iter([("k".to_owned(), json!({"n": 1.5}))]);
        let parent = self.flip().then(|| text("ses_0"));
        let (channel, agent, tenant, principal) = (text("web"), text("default"), text("t"), text("p"));
        SessionCreated { channel, agent, tenant, principal, account: None, parent, title, metadata }.into()
    }

    /// What may come at any time.
    fn foreign(&mut self) -> AgentEvent {
        match self.byte() % 7 {
            6 => self.handoff(),
            0 => SessionUpdated { title: Some(String::new()), metadata: None }.into(),
            1 => SessionUpdated { title: None, metadata: Some(Metadata::new()) }.into(),
            2 => self.human(),
            3 if self.state.turn.is_some() => ToolLimit { tool: "t".into(), warning: "w".into(), blocked: self.flip() }.into(),
            4 if self.state.turn.is_some() => {
                let cause = if self.flip() { ContinueCause::Crash } else { ContinueCause::Stop };
                TurnContinued { count: 1, cause }.into()
            }
            5 if !self.state.inbox.is_empty() => {
                let at = self.byte() % self.state.inbox.len();
                let message_id = self.state.inbox.waiting[at].message.message_id.clone();
                MessageRemoved { message_id, by: "p".into(), reason: RemovedReason::TakenBack }.into()
            }
            _ => {
                let (seq, at) = (self.state.head + 1, self.at());
                let text = format!(r#"{{"seq":{seq},"at":"{at}","type":"hologram","ignorable":true,"x":1}}"#);
                AgentEvent::Unknown(Unknown { kind: "hologram".into(), text, ignorable: true })
            }
        }
    }

    fn human(&mut self) -> AgentEvent {
        let (message_id, content) = (self.name("msg_").into(), vec![Block::Text { text: "a person".into() }]);
        let author = Some("human".into());
        Message { message_id, content, finish: Finish::Stop, usage: Usage::default(), interrupted: false, author }.into()
    }

    fn queued(&mut self) -> AgentEvent {
        let steer = self.flip();
        MessageQueued {
            message_id: self.name("msg_").into(),
            target: if steer { Target::NextStep } else { Target::NextTurn },
            mode: if steer { Mode::Steer } else { Mode::Followup },
            text: self.name("say \u{1F600} "),
            author: "p".into(),
            trust: Trust::User,
            reply_to: self.flip().then(|| Address {
                channel: "whatsapp".into(),
                account: "main".into(),
                to: Recipient::Phone("1".into()),
                message: None,
            }),
            attachments: if self.byte().is_multiple_of(4) { vec![self.attachment()] } else { Vec::new() },
            model: self.flip().then(|| "other".into()),
            instructions: self.flip().then(|| "briefly".into()),
        }
        .into()
    }

    fn claimable(&self) -> Vec<MessageId> {
        match self.state.inbox.next_turn(Duration::ZERO, self.at()) {
            Claim::Now(message_ids) => message_ids,
            Claim::At(_) | Claim::Nothing => Vec::new(),
        }
    }

    fn turn_start(&mut self) -> AgentEvent {
        TurnStart { message_ids: self.claimable() }.into()
    }

    fn drain(&mut self) -> AgentEvent {
        let message_ids: Vec<_> = self.state.inbox.next_step().map(|q| q.message.message_id.clone()).collect();
        QueueDrain { message_count: message_ids.len(), merged_text: "merged".into(), message_ids }.into()
    }

    fn step_start(&mut self) -> AgentEvent {
        StepStart {}.into()
    }

    fn step_end(&mut self) -> AgentEvent {
        StepEnd {}.into()
    }

    fn request(&mut self) -> AgentEvent {
        let attempt = self.state.turn.as_ref().and_then(|t| t.step.as_ref()).map_or(1, |s| s.attempts + 1);
        let parameters = Parameters { max_output_tokens: self.flip().then_some(7), reasoning_effort: None };
        let (tools_digest, withheld_digest) = if self.flip() { (Some("b".into()), None) } else { (None, Some("c".into())) };
        let (provider, model, system_digest) = ("p".into(), "m".into(), "a".into());
        Request { attempt, provider, model, parameters, system_digest, tools_digest, withheld_digest, without_files: false }.into()
    }

    fn retry(&mut self) -> AgentEvent {
        let usage = self.flip().then(|| Usage { input: 3, ..Usage::default() });
        Retry { attempt: 1, code: "x".into(), delay_ms: 5, discarded: self.flip(), usage }.into()
    }

    fn thinking(&mut self) -> AgentEvent {
        Thinking { message: "so".into() }.into()
    }

    fn message(&mut self) -> AgentEvent {
        let content: Vec<Block> = (0..self.byte() % 5).map(|i| self.block(i)).collect();
        let finish = [Finish::Stop, Finish::ToolCalls, Finish::MaxTokens, Finish::Refusal, Finish::ContentFilter][self.byte() % 5];
        let usage = Usage { input: 3, output: 4, reasoning: 1, ..Usage::default() };
        Message { message_id: self.name("msg_").into(), content, finish, usage, interrupted: self.flip(), author: None }.into()
    }

    fn block(&mut self, i: usize) -> Block {
        match self.byte() % 4 {
            0 => Block::Text { text: "text \\ \"q\"".into() },
            1 => Block::reasoning("reason"),
            _ => {
                let args = ["{\"z\": 1.50, \"a\": [1, 2]}", "", "{\"a\":", "\"s\""][self.byte() % 4];
                Block::ToolCall(ToolCall {
                    id: format!("call_{}_{i}", self.records.len()).into(),
                    tool: "t".into(),
                    args: Args::from_model(args),
                })
            }
        }
    }

    /// The next record of the first call that has no result.
    fn call(&mut self) -> AgentEvent {
        let step = self.state.turn.as_ref().and_then(|t| t.step.as_ref()).unwrap();
        let call: CallState = step.calls.iter().find(|c| !c.has_result()).unwrap().clone();
        match (&call.item, call.started) {
            (None, false) if !self.byte().is_multiple_of(4) => self.open(&call.call),
            (Some(item), _) if item.outcome.is_none() => self.close(&item.kind),
            (_, false) if self.flip() => {
                let ToolCall { id, tool, args } = call.call;
                ToolStart { tool_call_id: id, tool, args }.into()
            }
            _ => self.result(&call.call),
        }
    }

    fn open(&mut self, call: &ToolCall) -> AgentEvent {
        let (tool_call_id, tool, args) = (call.id.clone(), call.tool.clone(), call.args.clone());
        let expires_at = self.at();
        match self.byte() % 3 {
            0 => ApprovalRequested {
                approval_id: self.name("apr_").into(),
                digest: args.digest(&tool),
                decisions: vec![Decision::AllowOnce, Decision::AllowSession, Decision::Deny],
                reason: "r".into(),
                tool_call_id,
                tool,
                args,
                expires_at,
            }
            .into(),
            1 => {
                let options = vec![Choice { label: "yes".into(), description: self.flip().then(|| "d".into()) }];
                let question = Question { id: "q".into(), text: "?".into(), options, multiple: false, free_text: true };
                QuestionAsked { question_id: self.name("qst_").into(), tool_call_id, questions: vec![question], expires_at }.into()
            }
            _ => ClientCallRequested { tool_call_id, tool, args, expires_at }.into(),
        }
    }

    fn close(&mut self, kind: &ItemKind) -> AgentEvent {
        let by = self.flip().then(|| "p".into());
        match kind {
            ItemKind::Approval(a) => {
                let decision = [Decision::AllowOnce, Decision::AllowSession, Decision::Deny, Decision::Expired][self.byte() % 4];
                let (approval_id, tool_call_id) = (a.approval_id.clone(), a.tool_call_id.clone());
                ToolApproval { approval_id, tool_call_id, decision, by, note: None, heard: self.flip() }.into()
            }
            ItemKind::Question(q) => {
                let answers = self.flip().then(|| vec![Answer { id: "q".into(), selected: vec!["yes".into()], text: None }]);
                let (question_id, tool_call_id, declined) = (q.question_id.clone(), q.tool_call_id.clone(), answers.is_none());
                QuestionAnswered { question_id, tool_call_id, answers, declined, reason: None, by }.into()
            }
            ItemKind::ClientCall(c) => {
                let content = self.flip().then(|| "c".into());
                let reason = content.is_none().then(|| "expired".into());
                ClientCallResult { tool_call_id: c.tool_call_id.clone(), content, reason, by }.into()
            }
        }
    }

    fn result(&mut self, call: &ToolCall) -> AgentEvent {
        let (tool_call_id, tool) = (call.id.clone(), call.tool.clone());
        match self.byte() % 3 {
            0 => {
                let (content, preview) = ("whole".into(), "wh".into());
                ToolEnd {
                    tool_call_id,
                    tool,
                    content,
                    preview,
                    bytes: 5,
                    artifact_id: None,
                    duration_ms: 1,
                    trust: Trust::Untrusted,
                    sources: vec![],
                }
                .into()
            }
            1 => ToolError { tool_call_id, tool, code: "ABORTED".into(), error: "e".into() }.into(),
            _ => ToolDenied { tool_call_id, tool, reason: "r".into(), by: self.flip().then(|| "p".into()) }.into(),
        }
    }

    fn done(&mut self) -> AgentEvent {
        let turn = self.state.turn.clone().unwrap();
        let aborted = self.flip();
        Done {
            reason: if aborted { DoneReason::Aborted } else { DoneReason::Completed },
            cause: aborted.then_some(AbortCause::User),
            code: None,
            detail: self.flip().then(|| "d".into()),
            answer: "a".into(),
            message_ids: turn.message_ids,
            tool_calls: turn.calls,
            steps: turn.steps,
            total_time_ms: 9,
            usage: turn.usage,
            tokens_per_second: self.flip().then_some(1.5),
        }
        .into()
    }
}
