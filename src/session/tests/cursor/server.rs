//! A session's ledger and feed, driven at random as an actor drives them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::{Dice, Seen};
use crate::agent::End;
use crate::domain::burst::Claim;
use crate::domain::event::input::{MessageQueued, MessageRemoved, Mode, QueueDrain, RemovedReason, Target, Trust, TurnStart};
use crate::domain::event::model::{Message, Parameters, Request, Retry};
use crate::domain::event::session::{Metadata, SessionCreated, SessionUpdated};
use crate::domain::event::tool::ToolError;
use crate::domain::event::turn::{ContinueCause, DoneReason, StepEnd, StepStart};
use crate::domain::live::{Delta, DeltaKind};
use crate::domain::message::ToolCall;
use crate::domain::{
    AgentEvent, Args, Block, Finish, LiveEvent, MessageId, Overview, Record, Seq, SessionId, SessionState, Timestamp, Usage,
};
use crate::session::feed::{Closing, Feed};
use crate::session::ledger::Ledger;
use crate::session::record::FeedRecord;
use crate::session::repair;
use crate::store::memory::MemoryStore;
use crate::store::{Most, Position, Store};

/// One delta that was sent.
#[derive(Debug)]
pub(super) struct Sent {
    pub(super) base: Seq,
    pub(super) block: u32,
    pub(super) event: &'static str,
    pub(super) text: String,
}

/// One attempt, by its `request`.
#[derive(Debug)]
pub(super) struct Attempt {
    pub(super) message_id: MessageId,
    pub(super) sent: Vec<Sent>,
}

#[derive(Debug)]
pub(super) struct Server {
    pub(super) dice: Dice,
    pub(super) feed: Arc<Feed>,
    /// What is durable.
    pub(super) log: Vec<Arc<FeedRecord>>,
    pub(super) attempts: BTreeMap<Seq, Attempt>,
    /// The attempt that was opened last by this process.
    pub(super) newest: Option<Seq>,
    store: Arc<MemoryStore>,
    ledger: Ledger,
    kinds: Vec<&'static str>,
    made: u64,
    pub(super) process: u32,
}

pub(super) fn session() -> SessionId {
    "ses_1".into()
}

impl Server {
    pub(super) fn new(dice: Dice) -> Self {
        let store = Arc::new(MemoryStore::new());
        let feed = Arc::new(Feed::new(session(), store.clone()));
        let ledger = Ledger::new(session(), SessionState::default(), Position::default());
        let (log, attempts) = (Vec::new(), BTreeMap::new());
        let mut server = Self { dice, feed, log, attempts, newest: None, store, ledger, kinds: Vec::new(), made: 0, process: 0 };
        let named = |text: &str| text.to_owned();
        server.stage(SessionCreated {
            channel: named("web"),
            agent: named("default"),
            tenant: named("t"),
            principal: named("p"),
            account: None,
            parent: None,
            title: None,
            metadata: Metadata::new(),
        });
        server.store.hold_appends();
        server.flush();
        server
    }

    pub(super) fn head(&self) -> Seq {
        self.log.last().map_or(0, |r| r.seq)
    }

    /// The attempt that is open at the durable head.
    pub(super) fn open_attempt(&self) -> Option<Seq> {
        self.feed.overview().and_then(|o| o.attempt).map(|a| a.seq)
    }

    /// The attempt that is open at that record.
    pub(super) fn attempt_at(&self, seq: Seq) -> Option<Seq> {
        let edge = self.log[..usize::try_from(seq).unwrap()].iter().rev().find(|r| {
            let human = &*r.kind == "message" && r.json.contains("\"author\":\"human\"");
            matches!(&*r.kind, "request" | "message" | "retry" | "done") && !human
        });
        edge.filter(|r| &*r.kind == "request").map(|r| r.seq)
    }

    pub(super) fn has(&self, message: &MessageId) -> bool {
        self.log.iter().any(|r| &*r.kind == "message_queued" && r.names_message(message))
    }

    pub(super) fn open_turn(&self) -> Option<u32> {
        self.feed.overview().and_then(|o| o.turn)
    }

    fn stage(&mut self, event: impl Into<AgentEvent>) -> Seq {
        self.made += 1;
        self.ledger.stage(Timestamp(self.made), event.into()).unwrap()
    }

    fn id(&mut self) -> MessageId {
        self.made += 1;
        format!("msg_{}", self.made).into()
    }

    /// Begins an append of what is staged, or commits the one under way.
    pub(super) fn commit(&mut self) {
        if !self.ledger.writing() {
            if self.ledger.has_staged() {
                self.ledger.begin_append(self.store.as_ref(), None);
            }
            return;
        }
        self.store.commit_held(1);
        let appended = self.ledger.written().now_or_never().unwrap().unwrap();
        let Self { ledger, feed, log, .. } = self;
        ledger
            .committed(&appended, |durable| {
                log.extend(durable.records.iter().cloned());
                feed.advance(durable.records, durable.overview);
            })
            .unwrap();
    }

    pub(super) fn flush(&mut self) {
        while !self.ledger.is_clean() {
            self.commit();
        }
    }

    /// The running turn ends, and all is durable.
    pub(super) fn finish(&mut self) {
        self.done();
        self.flush();
    }

    /// A message comes in: its id and its `message_queued`.
    pub(super) fn queue(&mut self) -> (MessageId, Seq) {
        let message_id = self.id();
        let target = if self.ledger.state.turn.is_some() && self.dice.chance(60) { Target::NextStep } else { Target::NextTurn };
        let seq = self.stage(MessageQueued {
            message_id: message_id.clone(),
            target,
            mode: Mode::Steer,
            text: "?".into(),
            author: "p".into(),
            trust: Trust::User,
            reply_to: None,
            attachments: Vec::new(),
            model: None,
            instructions: None,
        });
        (message_id, seq)
    }

    pub(super) fn step(&mut self, seen: &mut Seen) {
        let luck = self.dice.below(100);
        match (self.ledger.state.turn.is_some(), self.ledger.state.attempt.is_some()) {
            (false, _) => self.idle(luck, seen),
            (true, false) => self.between(luck, seen),
            (true, true) => self.streaming(luck, seen),
        }
    }

    fn idle(&mut self, luck: usize, seen: &mut Seen) {
        match luck {
            0..50 => self.start_turn(),
            50..62 => drop(self.queue()),
            62..68 => self.rename(),
            68..74 => self.remove(),
            74..77 => self.human(),
            77..80 if self.ledger.is_clean() => self.feed.retire(),
            80..83 => self.crash(seen),
            _ => {}
        }
    }

    fn between(&mut self, luck: usize, seen: &mut Seen) {
        match luck {
            0..60 => self.next_attempt(),
            60..72 => drop(self.queue()),
            72..76 => self.rename(),
            76..86 => self.done(),
            86..89 => self.crash(seen),
            89..92 => self.fail(seen),
            92..95 => self.human(),
            _ => self.remove(),
        }
    }

    fn streaming(&mut self, luck: usize, seen: &mut Seen) {
        match luck {
            0..52 => self.delta(),
            52..60 => drop(self.queue()),
            60..65 => self.rename(),
            65..68 => self.human(),
            68..75 => self.retry(),
            75..83 => self.message(false),
            83..86 => {
                self.message(true);
                self.done();
            }
            86..89 => self.done(),
            89..93 => self.crash(seen),
            93..96 => self.fail(seen),
            _ => self.remove(),
        }
    }

    fn start_turn(&mut self) {
        if self.ledger.state.inbox.is_empty() {
            self.queue();
        }
        let Claim::Now(message_ids) = self.ledger.state.inbox.next_turn(Duration::ZERO, Timestamp::default()) else { panic!() };
        self.stage(TurnStart { message_ids });
        self.stage(StepStart {});
        self.request();
    }

    /// What a turn does between two attempts: the results of its tools, the next step, or the next attempt of this one.
    fn next_attempt(&mut self) {
        let step = self.ledger.state.turn.as_ref().and_then(|t| t.step.clone());
        let missing = step.as_ref().and_then(|s| s.calls.iter().find(|c| !c.has_result()).cloned());
        if let Some(call) = missing {
            let (tool_call_id, tool) = (call.call.id, call.call.tool);
            self.stage(ToolError { tool_call_id, tool, code: "E".into(), error: "no".into() });
            return;
        }
        if step.as_ref().is_none_or(|s| s.finish.is_some()) {
            if step.is_some() {
                self.stage(StepEnd {});
            }
            let waiting: Vec<MessageId> = self.ledger.state.inbox.next_step().map(|q| q.message.message_id.clone()).collect();
            if !waiting.is_empty() {
                self.stage(QueueDrain { message_count: waiting.len(), merged_text: "?".into(), message_ids: waiting });
            }
            self.stage(StepStart {});
        }
        self.request();
    }

    fn request(&mut self) {
        let attempt = self.ledger.state.turn.as_ref().and_then(|t| t.step.as_ref()).map_or(1, |s| s.attempts + 1);
        let message_id = self.id();
        let seq = self.stage(Request {
            attempt,
            provider: "p".into(),
            model: "m".into(),
            parameters: Parameters::default(),
            system_digest: "d".into(),
            tools_digest: None,
            withheld_digest: None,
            without_files: false,
        });
        self.feed.open_attempt(seq);
        self.attempts.insert(seq, Attempt { message_id, sent: Vec::new() });
        (self.newest, self.kinds) = (Some(seq), Vec::new());
    }

    fn delta(&mut self) {
        if self.kinds.is_empty() || self.dice.chance(25) {
            self.kinds.push(["text_delta", "text_delta", "reasoning_delta", "tool_input_delta"][self.dice.below(4)]);
        }
        let newest = self.kinds.len() - 1;
        let block = if self.dice.chance(85) { newest } else { self.dice.below(newest + 1) };
        let (event, base) = (self.kinds[block], self.ledger.state.head);
        let request = self.newest.unwrap();
        let attempt = self.attempts.get_mut(&request).unwrap();
        let text = format!("[{request}:{}]", attempt.sent.len() + 1);
        let kind = match event {
            "text_delta" => DeltaKind::Text(text.clone()),
            "reasoning_delta" => DeltaKind::Reasoning(text.clone()),
            _ => DeltaKind::ToolInput { tool_call_id: text.as_str().into(), tool: "t".into() },
        };
        let block = u32::try_from(block).unwrap();
        attempt.sent.push(Sent { base, block, event, text });
        self.feed.live(1, base, LiveEvent::Delta(Delta { message_id: attempt.message_id.clone(), block, kind }));
    }

    fn retry(&mut self) {
        let attempt = self.ledger.state.attempt.unwrap();
        let discarded = !self.attempts[&attempt.seq].sent.is_empty();
        self.stage(Retry { attempt: attempt.attempt, code: "x".into(), delay_ms: 0, discarded, usage: None });
    }

    fn message(&mut self, interrupted: bool) {
        let attempt = &self.attempts[&self.ledger.state.attempt.unwrap().seq];
        let text = |block: usize| attempt.sent.iter().filter(|s| s.block as usize == block).map(|s| s.text.as_str()).collect::<String>();
        let content: Vec<Block> = self
            .kinds
            .iter()
            .enumerate()
            .map(|(i, event)| match *event {
                "text_delta" => Block::Text { text: text(i) },
                "tool_input_delta" if !interrupted => {
                    let id = format!("c{i}-{}", attempt.message_id).into();
                    Block::ToolCall(ToolCall { id, tool: "t".into(), args: Args::from_model("{}") })
                }
                _ => Block::reasoning(text(i)),
            })
            .collect();
        let message_id = attempt.message_id.clone();
        self.stage(Message { message_id, content, finish: Finish::Stop, usage: Usage::default(), interrupted, author: None });
    }

    /// A person writes: no attempt ends, and no live text is touched.
    fn human(&mut self) {
        let message_id = self.id();
        let content = vec![Block::Text { text: "a person".into() }];
        let author = Some("human".into());
        self.stage(Message { message_id, content, finish: Finish::Stop, usage: Usage::default(), interrupted: false, author });
    }

    fn rename(&mut self) {
        self.stage(SessionUpdated { title: Some("t".into()), metadata: None });
    }

    fn remove(&mut self) {
        let Some(first) = self.ledger.state.inbox.waiting.first() else { return };
        let message_id = first.message.message_id.clone();
        self.stage(MessageRemoved { message_id, by: "p".into(), reason: RemovedReason::TakenBack });
    }

    fn done(&mut self) {
        for event in repair::close_step(&self.ledger.state) {
            self.stage(event);
        }
        let Some(turn) = &self.ledger.state.turn else { return };
        let done = repair::done(turn, End::new(DoneReason::Completed, "."), Timestamp(self.made), None);
        self.stage(done);
    }

    /// The process ends where it stands, and the next one reads the disk.
    fn crash(&mut self, seen: &mut Seen) {
        seen.crashes += 1;
        self.store = Arc::new(self.store.reopen());
        self.feed = Arc::new(Feed::new(session(), self.store.clone()));
        self.read_the_disk();
    }

    /// An append fails: the actor is dropped, its readers are told, and the next one reads the disk.
    fn fail(&mut self, seen: &mut Seen) {
        seen.failures += 1;
        self.store = Arc::new(self.store.reopen());
        let old = std::mem::replace(&mut self.feed, Arc::new(Feed::new(session(), self.store.clone())));
        old.close(Closing::Draining);
        old.retire();
        self.read_the_disk();
    }

    /// Nobody is served before the repair is durable.
    fn read_the_disk(&mut self) {
        self.store.hold_appends();
        let stored = self.store.read(&session(), 0, Most::rows(usize::MAX)).now_or_never().unwrap().unwrap().rows;
        let mut state = SessionState::default();
        for record in &stored {
            state.apply(&Record::from_json(&record.json).unwrap()).unwrap();
        }
        self.log = stored.into_iter().map(|r| Arc::new(FeedRecord::from_stored(r).unwrap())).collect();
        self.feed.awake(Overview::of(&session(), &state).unwrap());
        let position = Position(state.head);
        let (events, goes_on) = repair::after_restart(&state, ContinueCause::Crash);
        self.ledger = Ledger::new(session(), state, position);
        self.newest = None;
        self.process += 1;
        for event in events {
            self.stage(event);
        }
        if !goes_on {
            self.done();
        }
        self.flush();
        assert!(self.feed.is_sound());
    }
}
