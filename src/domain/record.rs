//! The envelope of an event in the ledger.

use serde::Deserialize;

use super::event::{AgentEvent, Unknown};
use super::{Seq, Timestamp};

/// Where and when: everything of a record but its event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    pub seq: Seq,
    pub at: Timestamp,
    pub turn: Option<u32>,
    pub step: Option<u32>,
}

/// One durable event of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub head: Head,
    pub event: AgentEvent,
}

/// The version of the record types that this build writes; a record carries `v` only when it is another.
const VERSION: u32 = 1;

impl Record {
    pub fn seq(&self) -> Seq {
        self.head.seq
    }

    /// The one writer: flat, compact, on one line.
    ///
    /// # Errors
    /// Never for records that this build made; a metadata value that JSON cannot hold would be one.
    pub fn to_json(&self) -> serde_json::Result<String> {
        if let AgentEvent::Unknown(unknown) = &self.event {
            return Ok(unknown.text.clone());
        }
        let body = self.event.body()?;
        let Head { seq, at, turn, step } = self.head;
        let mut text = String::with_capacity(body.len() + 96);
        text.push_str(&format!("{{\"seq\":{seq},\"at\":\"{at}\""));
        if let Some(turn) = turn {
            text.push_str(&format!(",\"turn\":{turn}"));
        }
        if let Some(step) = step {
            text.push_str(&format!(",\"step\":{step}"));
        }
        text.push_str(&format!(",\"type\":\"{}\"", self.event.kind()));
        if body.len() > 2 {
            text.push(',');
        }
        text.push_str(&body[1..]);
        Ok(text)
    }

    /// The one reader: the head first, then the event's own struct from the same text.
    ///
    /// # Errors
    /// When the text is not a record, or not one of its own type's shape. A type or version that this build does not know is no error.
    pub fn from_json(text: &str) -> serde_json::Result<Record> {
        #[derive(Deserialize)]
        struct Envelope {
            seq: Seq,
            at: Timestamp,
            turn: Option<u32>,
            step: Option<u32>,
            #[serde(rename = "type")]
            kind: String,
            v: Option<u32>,
            #[serde(default)]
            ignorable: bool,
        }
        let e: Envelope = serde_json::from_str(text)?;
        let known = match e.v.unwrap_or(VERSION) {
            VERSION => AgentEvent::read(&e.kind, text)?,
            _ => None,
        };
        let event = known.unwrap_or_else(|| AgentEvent::Unknown(Unknown { kind: e.kind, text: text.into(), ignorable: e.ignorable }));
        Ok(Record { head: Head { seq: e.seq, at: e.at, turn: e.turn, step: e.step }, event })
    }
}

#[cfg(test)]
mod tests {
    use super::Record;
    use crate::domain::AgentEvent;

    #[test]
    fn a_record_is_flat_and_keeps_its_bytes() {
        for text in [
            r#"{"seq":12,"at":"2026-11-30T21:00:00.000Z","turn":1,"step":2,"type":"tool_start","tool_call_id":"c1","tool":"bash","args":{"z":1.50,"a":[1,2]}}"#,
            r#"{"seq":3,"at":"2026-11-30T21:00:00.000Z","turn":1,"step":2,"type":"step_start"}"#,
        ] {
            assert_eq!(Record::from_json(text).unwrap().to_json().unwrap(), text);
        }
    }

    #[test]
    fn a_later_type_or_version_is_carried_along() {
        for text in [
            r#"{"seq":1,"at":"2026-11-30T21:00:00.000Z","type":"hologram","ignorable":true,"x":1}"#,
            r#"{"seq":1,"at":"2026-11-30T21:00:00.000Z","type":"step_start","v":2}"#,
        ] {
            let record = Record::from_json(text).unwrap();
            assert!(matches!(record.event, AgentEvent::Unknown(_)));
            assert_eq!(record.to_json().unwrap(), text);
        }
    }
}
