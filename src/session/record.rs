//! A durable record as readers get it: serialised once, projected once per view.

use std::sync::{Arc, OnceLock};

use serde::Deserialize;

use crate::domain::event::AttemptEffect;
use crate::domain::view::May;
use crate::domain::{MessageId, Record, Seq, View};
use crate::store::StoredRecord;

/// Shared by all readers.
#[derive(Debug)]
pub struct FeedRecord {
    pub seq: Seq,
    pub kind: Arc<str>,
    pub turn: Option<u32>,
    pub effect: AttemptEffect,
    pub json: Arc<str>,
    /// What `chat` and `owner` see; `admin` sees the record itself.
    views: [OnceLock<Option<Arc<str>>>; View::COUNT - 1],
}

impl FeedRecord {
    /// # Errors
    /// When the record does not serialise.
    pub fn new(record: &Record) -> serde_json::Result<Self> {
        Ok(Self {
            seq: record.seq(),
            kind: record.event.kind().into(),
            turn: record.head.turn,
            effect: record.event.attempt(),
            json: record.to_json()?.into(),
            views: Default::default(),
        })
    }

    /// # Errors
    /// When the stored text is not a record.
    pub fn from_stored(stored: StoredRecord) -> serde_json::Result<Self> {
        #[derive(Deserialize)]
        struct Place {
            turn: Option<u32>,
            author: Option<String>,
        }
        let place: Place = serde_json::from_str(&stored.json)?;
        let effect = AttemptEffect::of(&stored.kind, place.author.is_some());
        Ok(Self { seq: stored.seq, kind: stored.kind.into(), turn: place.turn, effect, json: stored.json, views: Default::default() })
    }

    /// The record's text in that view. `may_decide` is asked with the tool of an approval.
    pub fn data(&self, view: View, may_decide: &dyn Fn(&str) -> bool) -> Option<Arc<str>> {
        let project = |may| view.project(&self.kind, &self.json, may).map(|text| Arc::<str>::from(text.as_ref()));
        if view == View::Admin {
            return Some(self.json.clone());
        }
        if &*self.kind == "approval_requested" && self.tool().is_some_and(|tool| may_decide(&tool)) {
            return project(May::Decide);
        }
        self.views[view.index()].get_or_init(|| project(May::Look)).clone()
    }

    /// Whether this record queues, claims or removes that message.
    pub fn names_message(&self, id: &MessageId) -> bool {
        #[derive(Deserialize)]
        struct Names {
            message_id: Option<MessageId>,
            #[serde(default)]
            message_ids: Vec<MessageId>,
        }
        let names = serde_json::from_str::<Names>(&self.json);
        names.is_ok_and(|n| n.message_id.as_ref() == Some(id) || n.message_ids.contains(id))
    }

    fn tool(&self) -> Option<String> {
        #[derive(Deserialize)]
        struct Tool {
            tool: String,
        }
        serde_json::from_str::<Tool>(&self.json).ok().map(|t| t.tool)
    }

    pub fn stored(&self) -> StoredRecord {
        StoredRecord { seq: self.seq, kind: self.kind.to_string(), json: self.json.clone() }
    }
}
