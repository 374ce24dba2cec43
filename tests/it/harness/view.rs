//! What a client shows, by the client's rule: key live text by message and block; append deltas; a message replaces everything live; a
//! retry that discards, and done, drop what is still live; a join with anything but its own last id starts by dropping it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Frame, Gateway, Sse, text};

/// The fold of one client, over any number of connections.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct View {
    /// In order of their ids.
    pub(crate) records: Vec<Value>,
    /// Live text by message and block.
    pub(crate) live: BTreeMap<(String, u64), String>,
    /// The last id.
    pub(crate) cursor: Option<String>,
}

impl View {
    /// Folds a frame in, and fails where its id goes back.
    #[track_caller]
    pub(crate) fn fold(&mut self, frame: &Frame) {
        if let Some(now) = frame.cursor() {
            let before = self.position();
            let forward = if frame.event.is_some() { Some(now) > before } else { Some(now) >= before };
            assert!(forward, "the id {now:?} of {frame:?} does not follow {before:?}");
            self.cursor.clone_from(&frame.id);
        }
        match frame.kind() {
            "hello" | "heartbeat" | "closing" | "stream_progress" | "tool_progress" | "" => {
                assert!(frame.event.is_none() || frame.id.is_none(), "stream control and progress carry no id: {frame:?}")
            }
            "reset" => *self = Self::default(),
            "text_delta" | "reasoning_delta" => {
                let delta = frame.json();
                let key = (text(&delta, "/message_id").to_owned(), delta["block"].as_u64().unwrap());
                self.live.entry(key).or_default().push_str(text(&delta, "/text"));
            }
            "tool_input_delta" => assert!(frame.id.is_some(), "{frame:?}"),
            _ => self.record(frame),
        }
    }

    #[track_caller]
    fn record(&mut self, frame: &Frame) {
        let record = frame.json();
        assert_eq!(record["type"], frame.kind(), "the event's name is the record's type");
        assert_eq!(record["seq"].as_u64(), frame.cursor().map(|(seq, _)| seq), "the id is of the record: {frame:?}");
        match frame.kind() {
            "message" if record["author"] != "human" => self.live.clear(),
            "retry" if record["discarded"] == true => self.live.clear(),
            "done" => self.live.clear(),
            _ => {}
        }
        self.records.push(record);
    }

    #[track_caller]
    pub(crate) fn fold_all(&mut self, frames: &[Frame]) {
        frames.iter().for_each(|f| self.fold(f));
    }

    fn position(&self) -> Option<(u64, u64)> {
        Frame { id: self.cursor.clone(), ..Frame::default() }.cursor()
    }

    /// All live text, in order.
    pub(crate) fn live_text(&self) -> String {
        self.live.values().map(String::as_str).collect()
    }

    /// Opens the session's feed where this client left it.
    pub(crate) async fn join(&mut self, gateway: &Gateway, session: &str) -> Sse {
        let path = format!("/v1/sessions/{session}/events");
        match self.cursor.clone() {
            Some(cursor) => Sse::open(gateway, &path, &[("Last-Event-ID", &cursor)]).await,
            None => {
                self.live.clear();
                Sse::open(gateway, &path, &[]).await
            }
        }
    }

    /// Reads on until a record with that `seq` is in.
    pub(crate) async fn read_to(&mut self, sse: &mut Sse, seq: u64) {
        if self.position() >= Some((seq, 0)) {
            return;
        }
        let frames = sse.until(&format!("record {seq}"), |f| f.is_record() && f.cursor() >= Some((seq, 0))).await;
        self.fold_all(&frames);
    }

    /// Reads on until the live text is `wanted`.
    pub(crate) async fn read_live(&mut self, sse: &mut Sse, wanted: &str) {
        while self.live_text() != wanted {
            let frame = sse.next().await.unwrap_or_else(|| panic!("the stream ended at {:?}, not {wanted:?}", self.live_text()));
            self.fold(&frame);
            assert!(wanted.starts_with(&self.live_text()), "{:?} is no beginning of {wanted:?}", self.live_text());
        }
    }
}
