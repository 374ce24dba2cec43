//! A response's bytes as [`ModelEvent`]s.
//!
//! The answer is whole at `message_stop` and nowhere before it. A block has the place in which it first appeared; kinds of events, blocks and
//! deltas that are not known here are skipped. Arguments are read only when the answer is whole.

use std::collections::BTreeMap;

use super::frame::{Delta, Frame, Start, Usage, Whole, is_foreign, is_foreign_block};
use super::thinking::Kept;
use crate::domain::message::ToolCall;
use crate::domain::{Args, Block, Finish, ToolCallId};
use crate::provider::call_ids::{CallIds, UNNAMED};
use crate::provider::http::decode::{self, Answer, Decoder};
use crate::provider::http::{classify, invalid_response};
use crate::provider::text::said;
use crate::provider::{ErrorClass, ModelError, ModelEvent, ModelRequest};

/// What came so far.
#[derive(Debug)]
pub struct MessageAnswer {
    /// Who wants thoughts back.
    provider: String,
    model: String,
    blocks: Vec<Growing>,
    /// The provider's index of a block, and its place among ours; `None` for one that is skipped.
    places: BTreeMap<u64, Option<usize>>,
    ids: CallIds,
    stop_reason: Option<String>,
    usage: Usage,
    finished: bool,
}

#[derive(Debug)]
enum Growing {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted(String),
    /// `input` is what came with its start, `args` what came after it.
    Call {
        id: ToolCallId,
        tool: String,
        input: String,
        args: String,
    },
}

/// The reader of the answer to this request, whose body keeps the ids of calls apart; `provider` is the table's id.
pub fn decoder(request: &ModelRequest, provider: &str, body: &[u8]) -> Decoder<MessageAnswer> {
    Decoder::new(MessageAnswer {
        provider: provider.into(),
        model: request.model.clone(),
        blocks: Vec::new(),
        places: BTreeMap::new(),
        ids: CallIds::new(request, body),
        stop_reason: None,
        usage: Usage::default(),
        finished: false,
    })
}

impl Answer for MessageAnswer {
    fn frame(&mut self, name: &str, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match data {
            data if name == "error" => Err(failure(data)),
            // What gateways put in that speak another wire as well.
            data if data.starts_with("[DONE]") => Ok(()),
            data => self.event(data, events),
        }
    }

    fn body(&mut self, body: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let whole: Whole<'_> = serde_json::from_str(body).map_err(|error| not_this_wire(&error))?;
        let Some(content) = whole.content.filter(|_| whole.error.is_none()) else { return Err(failure(body)) };
        for (index, block) in (0..).zip(content) {
            self.start(index, block.get(), events)?;
        }
        self.count(whole.usage, events);
        self.stop_reason = said(&whole.stop_reason).map(str::to_owned);
        self.end(events)
    }

    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let finish = self.finish()?;
        self.finished = true;
        let kept = |kept: Kept| Some(kept.into_opaque(&self.provider, &self.model));
        let content = self.blocks.drain(..).map(|block| match block {
            Growing::Text(text) => Block::Text { text },
            Growing::Thinking { text, signature } if signature.is_empty() => Block::reasoning(text),
            Growing::Thinking { text, signature } => Block::Reasoning { text, opaque: kept(Kept::Signature(signature)) },
            Growing::Redacted(data) => Block::Reasoning { text: String::new(), opaque: kept(Kept::Redacted(data)) },
            Growing::Call { id, tool, input, args } => {
                Block::ToolCall(ToolCall { id, tool, args: Args::from_model(if args.is_empty() { &input } else { &args }) })
            }
        });
        let content = content.collect();
        events.push(ModelEvent::Finished { content, finish, usage: self.usage.disjoint() });
        Ok(())
    }

    /// Nothing but `message_stop` says so, and nothing follows it.
    fn is_whole(&self) -> bool {
        self.finished
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

impl MessageAnswer {
    fn event(&mut self, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let frame: Frame<'_> = match serde_json::from_str(data) {
            Ok(frame) => frame,
            Err(_) if is_foreign(data) => return Ok(()),
            Err(error) => return Err(not_this_wire(&error)),
        };
        let index = frame.index.unwrap_or_default();
        match said(&frame.kind) {
            Some("message_start") => self.count(frame.message.and_then(|m| m.usage), events),
            Some("content_block_start") => {
                if let Some(block) = frame.content_block {
                    self.start(index, block.get(), events)?;
                }
            }
            Some("content_block_delta") => {
                if let Some(delta) = frame.delta {
                    self.delta(index, &delta, events);
                }
            }
            Some("message_delta") => {
                self.count(frame.usage, events);
                if let Some(reason) = frame.delta.as_ref().and_then(|delta| said(&delta.stop_reason)) {
                    self.stop_reason = Some(reason.into());
                }
            }
            Some("message_stop") => self.end(events)?,
            Some("error") => return Err(failure(data)),
            // An error body of any make, in a stream that began with 200.
            None if frame.error.is_some() => return Err(failure(data)),
            Some(_) | None => {}
        }
        Ok(())
    }

    fn count(&mut self, usage: Option<Usage>, events: &mut Vec<ModelEvent>) {
        if let Some(newer) = usage {
            self.usage.update(newer);
            decode::count(self.usage.disjoint(), events);
        }
    }

    /// A block begins; whole, in an answer that is not streamed.
    fn start(&mut self, index: u64, block: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let start: Start<'_> = match serde_json::from_str(block) {
            Ok(start) => start,
            Err(_) if is_foreign_block(block) => Start::default(),
            Err(error) => return Err(not_this_wire(&error)),
        };
        match said(&start.kind) {
            Some("text") => {
                self.grow(index, Growing::Text(String::new()));
                self.text(index, said(&start.text), events);
            }
            Some("thinking") => {
                let signature = said(&start.signature).unwrap_or_default().to_owned();
                self.grow(index, Growing::Thinking { text: String::new(), signature });
                self.thought(index, said(&start.thinking), events);
            }
            Some("redacted_thinking") => {
                self.grow(index, Growing::Redacted(said(&start.data).unwrap_or_default().into()));
            }
            Some("tool_use") => self.call(index, &start, events),
            Some(_) | None => {
                self.places.insert(index, None);
            }
        }
        Ok(())
    }

    fn call(&mut self, index: u64, start: &Start<'_>, events: &mut Vec<ModelEvent>) {
        let id = self.ids.give(said(&start.id).unwrap_or_default(), self.blocks.len());
        let tool = said(&start.name).unwrap_or(UNNAMED).to_owned();
        let input = start.input.map(|input| input.get().to_owned()).unwrap_or_default();
        let at = self.grow(index, Growing::Call { id: id.clone(), tool: tool.clone(), input, args: String::new() });
        events.push(ModelEvent::ToolInput { block: place(at), id, tool });
    }

    fn delta(&mut self, index: u64, delta: &Delta<'_>, events: &mut Vec<ModelEvent>) {
        match said(&delta.kind) {
            Some("text_delta") => self.text(index, said(&delta.text), events),
            Some("thinking_delta") => self.thought(index, said(&delta.thinking), events),
            Some("signature_delta") => {
                if let (Some(Growing::Thinking { signature, .. }), Some(given)) = (self.block(index), said(&delta.signature)) {
                    signature.push_str(given);
                }
            }
            Some("input_json_delta") => {
                if let (Some(Growing::Call { args, .. }), Some(piece)) = (self.block(index), said(&delta.partial_json)) {
                    args.push_str(piece);
                }
            }
            Some(_) | None => {}
        }
    }

    fn text(&mut self, index: u64, piece: Option<&str>, events: &mut Vec<ModelEvent>) {
        let Some(piece) = piece else { return };
        let at = self.place_or(index, || Growing::Text(String::new()));
        let Some((at, Growing::Text(text))) = at.and_then(|at| Some((at, self.blocks.get_mut(at)?))) else { return };
        text.push_str(piece);
        match events.last_mut() {
            Some(ModelEvent::Text { block, text }) if *block == place(at) => text.push_str(piece),
            _ => events.push(ModelEvent::Text { block: place(at), text: piece.into() }),
        }
    }

    fn thought(&mut self, index: u64, piece: Option<&str>, events: &mut Vec<ModelEvent>) {
        let Some(piece) = piece else { return };
        let at = self.place_or(index, || Growing::Thinking { text: String::new(), signature: String::new() });
        let Some((at, Growing::Thinking { text, .. })) = at.and_then(|at| Some((at, self.blocks.get_mut(at)?))) else { return };
        text.push_str(piece);
        match events.last_mut() {
            Some(ModelEvent::Reasoning { block, text }) if *block == place(at) => text.push_str(piece),
            _ => events.push(ModelEvent::Reasoning { block: place(at), text: piece.into() }),
        }
    }

    fn grow(&mut self, index: u64, block: Growing) -> usize {
        self.blocks.push(block);
        let at = self.blocks.len() - 1;
        self.places.insert(index, Some(at));
        at
    }

    /// Where a block stands. One whose start was left out begins with its first delta.
    fn place_or(&mut self, index: u64, block: impl Fn() -> Growing) -> Option<usize> {
        match self.places.get(&index) {
            Some(at) => *at,
            None => Some(self.grow(index, block())),
        }
    }

    fn block(&mut self, index: u64) -> Option<&mut Growing> {
        let at = *self.places.get(&index)?;
        self.blocks.get_mut(at?)
    }

    /// Calls are believed before the word `end_turn` is; that an answer was cut short is believed before both.
    fn finish(&self) -> Result<Finish, ModelError> {
        let calls = self.blocks.iter().any(|block| matches!(block, Growing::Call { .. }));
        let says = self.blocks.iter().any(|block| matches!(block, Growing::Text(text) if !text.trim().is_empty()));
        match self.stop_reason.as_deref() {
            Some("max_tokens") => Ok(Finish::MaxTokens),
            // The window ended within the answer: what was said is kept, as one that was cut. Without a word there is no answer to keep.
            Some("model_context_window_exceeded") if says => Ok(Finish::MaxTokens),
            Some("model_context_window_exceeded") => Err(window_exceeded()),
            Some("refusal") => Ok(Finish::Refusal),
            // Only tools that run at the provider pause a turn, and none was offered: the answer is not whole, and the request that would go on
            // with it is not one that we can say.
            Some("pause_turn") => {
                Err(invalid_response("the model paused its answer for a tool of the provider, and none was offered".into()))
            }
            _ if calls => Ok(Finish::ToolCalls),
            _ => Ok(Finish::Stop),
        }
    }
}

/// No answer has four billion blocks.
fn place(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// An error frame, or a body that is one.
fn failure(data: &str) -> ModelError {
    classify::frame(serde_json::from_str(data).unwrap_or_default(), data)
}

fn not_this_wire(error: &serde_json::Error) -> ModelError {
    invalid_response(format!("a frame is not of the Anthropic wire: {error}"))
}

fn window_exceeded() -> ModelError {
    let message = "the model's context window was full before it could answer".into();
    ModelError { class: ErrorClass::Overflow, code: "context_overflow", message, retry_after: None }
}
