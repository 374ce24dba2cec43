//! The live text of the attempt that is open now: one append-only buffer that all readers share.
//!
//! A delta is numbered by its place here, from 1. It is shown only when the records in front of it are durable. A reader that is behind
//! gets a run of neighbouring deltas of one block as one, which is a slice of this buffer.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::live::{Delta, DeltaKind, StreamMode};
use crate::domain::{MessageId, Seq, ToolCallId};

/// The most text of one merged delta, in bytes: what one write to a socket may carry.
const RUN_BYTES: usize = 64 * 1024;

/// The open attempt.
#[derive(Debug)]
pub(super) struct LiveText {
    /// The `request` record that opened it.
    pub(super) request: Seq,
    pub(super) message_id: Option<MessageId>,
    pieces: Vec<Piece>,
    text: String,
    tools: Vec<(ToolCallId, String)>,
    /// Pieces whose records in front are durable.
    visible: usize,
    /// The last run that was rendered: many readers are at the same place.
    rendered: Option<Run>,
}

/// One delta.
#[derive(Debug)]
struct Piece {
    /// The last record staged before it.
    base: Seq,
    block: u32,
    kind: PieceKind,
    /// Where its text ends in the buffer.
    end: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PieceKind {
    Text,
    Reasoning,
    /// Index into `tools`.
    Tool(usize),
}

/// A run of deltas as a reader gets it.
#[derive(Clone, Debug)]
pub(super) struct Run {
    from: usize,
    /// The number of its last delta.
    pub(super) to: usize,
    pub(super) event: &'static str,
    pub(super) data: Arc<str>,
}

impl LiveText {
    pub(super) fn new(request: Seq) -> Self {
        Self { request, message_id: None, pieces: Vec::new(), text: String::new(), tools: Vec::new(), visible: 0, rendered: None }
    }

    pub(super) fn push(&mut self, base: Seq, delta: Delta) {
        let kind = match delta.kind {
            DeltaKind::Text(text) => {
                self.text.push_str(&text);
                PieceKind::Text
            }
            DeltaKind::Reasoning(text) => {
                self.text.push_str(&text);
                PieceKind::Reasoning
            }
            DeltaKind::ToolInput { tool_call_id, tool } => {
                self.tools.push((tool_call_id, tool));
                PieceKind::Tool(self.tools.len() - 1)
            }
        };
        self.message_id.get_or_insert(delta.message_id);
        self.pieces.push(Piece { base, block: delta.block, kind, end: self.text.len() });
    }

    /// Shows what stands behind durable records only. True when that is more than before.
    pub(super) fn reveal(&mut self, head: Seq) -> bool {
        let before = self.visible;
        self.visible += self.pieces[self.visible..].iter().take_while(|p| p.base <= head).count();
        self.visible > before
    }

    /// How many deltas may be shown.
    pub(super) fn visible(&self) -> usize {
        self.visible
    }

    /// The run after the first `n` deltas that this reader sees, and how far it has come if it sees none.
    pub(super) fn after(&mut self, n: usize, sees: impl Fn(&str) -> bool) -> Result<Run, usize> {
        let shown = |piece: &Piece| sees(piece.event());
        let Some(skipped) = self.pieces[n..self.visible].iter().position(shown) else { return Err(self.visible) };
        let from = n + skipped;
        if let Some(run) = self.rendered.as_ref().filter(|r| r.from == from && self.extent(from) == r.to) {
            return Ok(run.clone());
        }
        let run = self.render(from, self.extent(from));
        self.rendered = Some(run.clone());
        Ok(run)
    }

    /// The next run after the first `n` deltas that this reader sees.
    pub(super) fn run_after(&self, n: usize, sees: impl Fn(&str) -> bool) -> Option<Run> {
        let skipped = self.pieces[n..self.visible].iter().position(|piece| sees(piece.event()))?;
        Some(self.render(n + skipped, self.extent(n + skipped)))
    }

    /// Where the run that begins at `from` ends.
    fn extent(&self, from: usize) -> usize {
        let (first, start) = (&self.pieces[from], self.start(from));
        let same = |p: &&Piece| p.block == first.block && p.kind == first.kind && p.end - start <= RUN_BYTES;
        match first.kind {
            PieceKind::Tool(_) => from + 1,
            // the first always belongs, however long it is
            PieceKind::Text | PieceKind::Reasoning => from + 1 + self.pieces[from + 1..self.visible].iter().take_while(same).count(),
        }
    }

    fn start(&self, piece: usize) -> usize {
        piece.checked_sub(1).map_or(0, |before| self.pieces[before].end)
    }

    fn render(&self, from: usize, to: usize) -> Run {
        #[derive(Serialize)]
        struct Text<'a> {
            message_id: Option<&'a MessageId>,
            block: u32,
            text: &'a str,
        }
        #[derive(Serialize)]
        struct ToolInput<'a> {
            tool_call_id: &'a ToolCallId,
            tool: &'a str,
        }
        let piece = &self.pieces[from];
        let data = match piece.kind {
            PieceKind::Tool(i) => serde_json::to_string(&ToolInput { tool_call_id: &self.tools[i].0, tool: &self.tools[i].1 }),
            PieceKind::Text | PieceKind::Reasoning => {
                let text = &self.text[self.start(from)..self.pieces[to - 1].end];
                serde_json::to_string(&Text { message_id: self.message_id.as_ref(), block: piece.block, text })
            }
        };
        Run { from, to, event: piece.event(), data: data.unwrap_or_default().into() }
    }
}

impl Piece {
    fn event(&self) -> &'static str {
        match self.kind {
            PieceKind::Text => "text_delta",
            PieceKind::Reasoning => "reasoning_delta",
            PieceKind::Tool(_) => "tool_input_delta",
        }
    }
}

/// What the turn is doing, for readers; only the newest counts.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub(super) turn: u32,
    pub(super) mode: Option<StreamMode>,
    /// The last record staged before it: what it tells is not told before that is durable.
    pub(super) base: Seq,
    /// Of the newest attempt.
    pub(super) message_id: Option<MessageId>,
    /// Characters of live text since the turn began.
    pub(super) chars: u64,
    /// The newest report of each running tool, and the number of reports by then.
    pub(super) tools: BTreeMap<String, (u64, Arc<str>)>,
    pub(super) reports: u64,
}

impl Activity {
    pub(super) fn delta(&mut self, delta: &Delta) {
        let (mode, text) = match &delta.kind {
            DeltaKind::Text(text) => (StreamMode::Responding, text.as_str()),
            DeltaKind::Reasoning(text) => (StreamMode::Thinking, text.as_str()),
            DeltaKind::ToolInput { .. } => (StreamMode::ToolInput, ""),
        };
        self.mode = Some(mode);
        self.chars += text.chars().count() as u64;
    }

    pub(super) fn tool(&mut self, id: &ToolCallId, mut fields: Map<String, Value>) {
        fields.insert("tool_call_id".into(), id.as_str().into());
        self.reports += 1;
        self.tools.insert(id.to_string(), (self.reports, Value::Object(fields).to_string().into()));
    }
}
