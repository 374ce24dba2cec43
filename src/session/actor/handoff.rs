//! A person takes over: the agent is silent, and what he says is said in its place.

use super::{Actor, LedgerError, repair};
use crate::agent::End;
use crate::domain::delivery::Purpose;
use crate::domain::event::delivery::Handoff;
use crate::domain::event::input::TurnStart;
use crate::domain::event::model::Message;
use crate::domain::event::turn::DoneReason;
use crate::domain::{Address, Block, Finish, MessageId, Overview, Seq, Usage};
use crate::session::command::{IntakeKey, Posted, Reply, TakeOver};
use crate::session::delivery::Say;
use crate::store::IntakeRow;

/// Who wrote a message that no model did.
const HUMAN: &str = "human";

/// What a person said, and where it is to be sent.
#[derive(Debug)]
pub(super) struct Spoken {
    text: String,
    send_to: Option<Address>,
    /// Its row is written with the words: until then it has not happened.
    key: Option<IntakeKey>,
}

impl Actor {
    pub(super) fn take_over(&mut self, wish: TakeOver, reply: Reply<Overview>) -> Result<(), LedgerError> {
        let TakeOver { by, until, text, send_to, key } = wish;
        if key.as_ref().is_some_and(|key| self.accepted.find(key).is_some()) {
            let same = |spoken: &Spoken| spoken.key.is_some() && spoken.key == key;
            match self.running.as_mut().filter(|r| r.spoken.iter().any(same)) {
                // it is said when the turn has ended, and answered then
                Some(running) => running.taken.push(reply),
                None => self.answer_overview(reply),
            }
            return Ok(());
        }
        let seq = self.stage(Handoff { by: by.clone(), until })?;
        if let Some(key) = &key {
            self.remember(key.clone(), seq);
        }
        if let (None, Some(key)) = (&text, &key) {
            self.index_key(key, seq);
        }
        let spoken = text.map(|text| Spoken { text, send_to, key });
        let silent = self.ledger.state.handoff.is_some();
        if let Some(running) = self.running.as_mut().filter(|_| silent) {
            // the turn ends first: its input is answered by its end, and what waits by the person
            running.cancel.cancel();
            running.cancelled_by.get_or_insert(by);
            running.spoken.extend(spoken);
            running.taken.push(reply);
            return self.cancel_waits();
        }
        if let Some(spoken) = spoken {
            self.speak(spoken)?;
        }
        self.answer_overview(reply);
        self.start_turn()
    }

    /// Says it in the agent's place. Input that waits is answered by it, in a turn that no model has a part in.
    pub(super) fn speak(&mut self, spoken: Spoken) -> Result<(), LedgerError> {
        let Spoken { text, send_to, key } = spoken;
        let message_ids: Vec<MessageId> = match self.ledger.state.turn {
            // what waits for its file is not whole yet: the agent reads it once the person is gone
            None => self.ledger.state.inbox.whole().map(|q| q.message.message_id.clone()).collect(),
            Some(_) => Vec::new(),
        };
        let answers = !message_ids.is_empty();
        if answers {
            self.stage(TurnStart { message_ids })?;
        }
        let seq = self.stage(Message {
            message_id: MessageId::from_uuid(self.shared.settings.ids.uuid()),
            content: vec![Block::Text { text: text.clone() }],
            finish: Finish::Stop,
            usage: Usage::default(),
            interrupted: false,
            author: Some(HUMAN.into()),
        })?;
        if let Some(key) = &key {
            self.index_key(key, seq);
        }
        if let Some(turn) = self.ledger.state.turn.as_ref().filter(|_| answers) {
            let done = repair::done(turn, End::new(DoneReason::Completed, text.as_str()), self.shared.settings.clock.now(), None);
            self.stage(done)?;
        }
        match send_to {
            Some(to) => self.deliver(Purpose::Person, to, Say::Text(&text), &text),
            None => Ok(()),
        }
    }

    /// Notes the end of a handoff whose time is over, so that everything that is a function of the ledger knows.
    pub(super) fn end_handoff(&mut self) -> Result<(), LedgerError> {
        let now = self.shared.settings.clock.now();
        match self.ledger.state.handoff.clone().filter(|handoff| handoff.until <= now) {
            Some(over) => self.stage(over).map(drop),
            None => Ok(()),
        }
    }

    /// However often that key comes, it has happened with what is staged now.
    pub(super) fn index_key(&mut self, key: &IntakeKey, seq: Seq) {
        self.ledger.intake(IntakeRow {
            tenant: key.tenant.clone(),
            scope: key.scope.clone(),
            external_id: key.external_id.clone(),
            session: self.entry.id.clone(),
            message_id: None,
            seq,
            body_hash: key.body_hash.clone(),
            at: self.shared.settings.clock.now(),
        });
    }

    /// The same, where the row is not there yet.
    pub(super) fn remember(&mut self, key: IntakeKey, seq: Seq) {
        let message_id = MessageId::from_uuid(self.shared.settings.ids.uuid());
        self.accepted.remember(key, Posted { message_id, seq, replayed: false, body_hash: None });
    }
}
