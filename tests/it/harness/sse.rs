//! A reader of event streams with a parser of its own, written from the WHATWG rules: LF, CR LF, `id`, `event`, `data`, `retry`, comments.

use std::collections::VecDeque;
use std::time::Duration;

use serde_json::Value;

use super::http::Exchange;
use super::{Gateway, contract, soon};

/// One block of a stream, up to its blank line. An `id:`-only block is a frame too: it moves the cursor.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Frame {
    pub(crate) event: Option<String>,
    pub(crate) id: Option<String>,
    pub(crate) data: Option<String>,
    pub(crate) retry: Option<u64>,
}

impl Frame {
    /// The event's name; empty for a frame without one.
    pub(crate) fn kind(&self) -> &str {
        self.event.as_deref().unwrap_or_default()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let data = self.data.as_deref().unwrap_or_else(|| panic!("no data in {self:?}"));
        serde_json::from_str(data).unwrap_or_else(|e| panic!("data is not JSON ({e}): {self:?}"))
    }

    /// Whether it carries a record of the ledger.
    pub(crate) fn is_record(&self) -> bool {
        self.data.is_some() && self.json().get("seq").is_some()
    }

    /// `(seq, n)` of the id.
    pub(crate) fn cursor(&self) -> Option<(u64, u64)> {
        let id = self.id.as_deref()?;
        let (seq, n) = id.split_once('.').unwrap_or((id, "0"));
        Some((seq.parse().expect("the cursor's seq"), n.parse().expect("the cursor's n")))
    }
}

/// An open event stream.
#[derive(Debug)]
pub(crate) struct Sse {
    exchange: Exchange,
    line: Vec<u8>,
    open: Frame,
    ready: VecDeque<Frame>,
    /// Every byte of the body so far.
    pub(crate) raw: Vec<u8>,
}

impl Sse {
    /// Opens `GET path` of the gateway.
    pub(crate) async fn open(gateway: &Gateway, path: &str, headers: &[(&str, &str)]) -> Self {
        Self::request(gateway, "GET", path, headers, None).await
    }

    /// Opens a stream by any method, and fails unless it is one.
    pub(crate) async fn request(gateway: &Gateway, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Self {
        let mut all = vec![("Accept", "text/event-stream")];
        all.extend_from_slice(headers);
        let opened = soon("the head of the stream", Exchange::open(gateway.port, method, path, &all, body)).await;
        let exchange = opened.unwrap_or_else(|e| panic!("{method} {path}: {e}"));
        if exchange.status != 200 {
            let answer = exchange.finish().await;
            panic!("{method} {path}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
        }
        assert!(exchange.header("content-type").is_some_and(|t| t.starts_with("text/event-stream")), "{:?}", exchange.headers);
        Self { exchange, line: Vec::new(), open: Frame::default(), ready: VecDeque::new(), raw: Vec::new() }
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.exchange.header(name)
    }

    /// The next frame, or `None` at the end of the stream.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        soon("the next event", self.pull()).await
    }

    /// The next frame if one comes within `patience`. For showing that something does *not* come.
    pub(crate) async fn within(&mut self, patience: Duration) -> Option<Frame> {
        tokio::time::timeout(patience, self.pull()).await.ok().flatten()
    }

    /// Cancel-safe: what has been read stays in the buffers.
    async fn pull(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            let piece = self.exchange.piece().await?;
            self.raw.extend_from_slice(&piece);
            for byte in piece {
                self.feed(byte);
            }
        }
    }

    /// Frames up to and with the first for which `last` holds. The stream's end before it fails the test.
    pub(crate) async fn until(&mut self, what: &str, last: impl Fn(&Frame) -> bool) -> Vec<Frame> {
        let mut frames = Vec::new();
        let found = soon(what, async {
            while let Some(frame) = self.pull().await {
                let is_last = last(&frame);
                frames.push(frame);
                if is_last {
                    return true;
                }
            }
            false
        });
        assert!(found.await, "the stream ended before {what}: {frames:#?}");
        frames
    }

    /// Frames up to and with the first of that name.
    pub(crate) async fn until_kind(&mut self, kind: &str) -> Vec<Frame> {
        self.until(kind, |f| f.kind() == kind).await
    }

    /// The next frame of that name, whatever comes before it.
    pub(crate) async fn event(&mut self, kind: &str) -> Value {
        self.until_kind(kind).await.pop().map(|f| f.json()).unwrap_or_default()
    }

    /// All that is left of a stream which ends.
    pub(crate) async fn rest(&mut self) -> Vec<Frame> {
        let mut frames = Vec::new();
        soon("the end of the stream", async {
            while let Some(frame) = self.pull().await {
                frames.push(frame);
            }
        })
        .await;
        frames
    }

    fn feed(&mut self, byte: u8) {
        if byte != b'\n' {
            self.line.push(byte);
            return;
        }
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8(line).expect("the stream is UTF-8");
        let line = line.strip_suffix('\r').unwrap_or(&line);
        if line.is_empty() {
            let frame = std::mem::take(&mut self.open);
            if frame != Frame::default() {
                contract::judge_event(&frame).unwrap_or_else(|why| panic!("{why}"));
                self.ready.push_back(frame);
            }
            return;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => self.open.event = Some(value.into()),
            "id" => self.open.id = Some(value.into()),
            "retry" => self.open.retry = value.parse().ok(),
            "data" => match &mut self.open.data {
                Some(data) => data.extend(["\n", value]),
                None => self.open.data = Some(value.into()),
            },
            _ => {}
        }
    }
}
