//! The books of a session: what must hold in every ledger, whatever happened.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{kind, list, number, text};

/// Fails unless the ledger is whole: no hole, each turn, step and call closed once and in order, each message claimed or removed once.
///
/// Of a session at rest: nothing may be open or waiting.
#[track_caller]
pub(crate) fn audit(records: &[Value]) {
    if let Err(why) = books_of(records) {
        panic!("{why}\nin {}", records.iter().map(|r| format!("{r}\n")).collect::<String>());
    }
}

/// What is wrong with the ledger, if anything.
pub(super) fn books_of(records: &[Value]) -> Result<(), String> {
    let mut books = Books::default();
    for (i, record) in records.iter().enumerate() {
        ensure(number(record, "/seq") == i as u64 + 1, &format!("seq has a hole before {record}"))?;
        books.enter(record).map_err(|why| format!("{why} at {record}"))?;
    }
    ensure(books.turn.is_none() && books.waiting.is_empty(), &format!("open at rest: {books:?}"))
}

#[derive(Debug, Default)]
struct Books {
    seen: BTreeSet<String>,
    waiting: BTreeSet<String>,
    turn: Option<u64>,
    turns: u64,
    claimed: Vec<String>,
    step: Option<u64>,
    steps: u64,
    attempt: bool,
    answered: bool,
    /// Calls of the open step that have no result, in the model's order.
    calls: Vec<String>,
}

impl Books {
    fn enter(&mut self, record: &Value) -> Result<(), String> {
        match kind(record) {
            "message_queued" => {
                let id = text(record, "/message_id").to_owned();
                ensure(self.seen.insert(id.clone()), "a message is queued twice")?;
                self.waiting.insert(id);
            }
            "message_removed" => ensure(self.waiting.remove(text(record, "/message_id")), "removed, but not waiting")?,
            "turn_start" => {
                ensure(self.turn.is_none(), "a turn starts inside a turn")?;
                self.turns += 1;
                self.turn = Some(self.turns);
                self.of_turn(record)?;
                (self.claimed, self.steps) = (Vec::new(), 0);
                self.claim(record)?;
            }
            "queue_drain" => {
                self.of_turn(record)?;
                self.claim(record)?;
                let count = list(record, "/message_ids").len() as u64;
                ensure(number(record, "/message_count") == count, "message_count")?;
            }
            "step_start" => {
                self.of_turn(record)?;
                ensure(self.step.is_none(), "a step starts inside a step")?;
                // an attempt may end with the turn's `done`, but no other step comes between
                ensure(!self.attempt, "a step starts inside an attempt")?;
                self.steps += 1;
                (self.step, self.answered) = (Some(self.steps), false);
                self.of_step(record)?;
            }
            "step_end" => {
                self.of_step(record)?;
                ensure(self.calls.is_empty(), "the step ends before its results")?;
                self.step = None;
            }
            "request" => {
                self.of_step(record)?;
                ensure(!std::mem::replace(&mut self.attempt, true), "a request inside an attempt")?;
            }
            "retry" => {
                self.of_step(record)?;
                ensure(std::mem::take(&mut self.attempt), "a retry outside an attempt")?;
            }
            "message" if record["author"] != "human" => self.message(record)?,
            "tool_end" | "tool_error" | "tool_denied" => {
                self.of_step(record)?;
                let id = text(record, "/tool_call_id");
                ensure(self.calls.first().is_some_and(|c| c == id), "a result out of the model's order, or a second one")?;
                self.calls.remove(0);
            }
            "tool_start" => {
                self.of_step(record)?;
                ensure(self.calls.iter().any(|c| c == text(record, "/tool_call_id")), "a body starts that nobody called, or again")?;
            }
            "done" => self.done(record)?,
            _ => {}
        }
        Ok(())
    }

    fn message(&mut self, record: &Value) -> Result<(), String> {
        self.of_step(record)?;
        ensure(std::mem::take(&mut self.attempt), "a message outside an attempt")?;
        ensure(!std::mem::replace(&mut self.answered, true), "two messages in one step")?;
        let calls = list(record, "/content").iter().filter(|b| b["type"] == "tool_call");
        self.calls = calls.map(|b| text(b, "/id").to_owned()).collect();
        Ok(())
    }

    fn done(&mut self, record: &Value) -> Result<(), String> {
        self.of_turn(record)?;
        ensure(self.step.is_none(), "done inside a step")?;
        let ids: Vec<&str> = list(record, "/message_ids").iter().filter_map(Value::as_str).collect();
        ensure(ids == self.claimed, "done names the messages of its turn")?;
        ensure(number(record, "/steps") == self.steps, "done counts its steps")?;
        (self.turn, self.attempt) = (None, false);
        Ok(())
    }

    fn claim(&mut self, record: &Value) -> Result<(), String> {
        for id in list(record, "/message_ids").iter().filter_map(Value::as_str) {
            ensure(self.waiting.remove(id), "claimed, but not waiting")?;
            self.claimed.push(id.to_owned());
        }
        Ok(())
    }

    fn of_turn(&self, record: &Value) -> Result<(), String> {
        ensure(self.turn.is_some() && record["turn"].as_u64() == self.turn, "not of the open turn")
    }

    fn of_step(&self, record: &Value) -> Result<(), String> {
        self.of_turn(record)?;
        ensure(self.step.is_some() && record["step"].as_u64() == self.step, "not of the open step")
    }
}

fn ensure(holds: bool, otherwise: &str) -> Result<(), String> {
    if holds { Ok(()) } else { Err(otherwise.to_owned()) }
}
