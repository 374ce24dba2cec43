//! A response's bytes as [`ModelEvent`]s.
//!
//! The answer is whole at `[DONE]`, or at the end of the stream if a `finish_reason` was seen; anything else is a cut. All text is one block
//! and all reasoning is one block, as on this wire both are one string each. Arguments are read only when the answer is whole.

use super::calls::{Calls, Named};
use super::chunk::{Choice, Chunk, Delta, Usage};
use crate::domain::{Block, Finish};
use crate::provider::call_ids::CallIds;
use crate::provider::http::decode::{self, Answer, Decoder};
use crate::provider::http::{classify, invalid_response};
use crate::provider::text::said;
use crate::provider::{ErrorClass, ModelError, ModelEvent, ModelRequest};

/// What came so far.
#[derive(Debug)]
pub struct ChatAnswer {
    blocks: Vec<Growing>,
    text: Option<usize>,
    reasoning: Option<usize>,
    calls: Calls,
    /// A choice was seen: the server did answer.
    began: bool,
    refused: bool,
    finish_reason: Option<String>,
    usage: crate::domain::Usage,
    finished: bool,
}

#[derive(Debug)]
enum Growing {
    Text(String),
    Reasoning(String),
    /// Its place among the calls.
    Call(usize),
}

/// The reader of the answer to this request, whose body keeps the ids of calls apart.
pub fn decoder(request: &ModelRequest, body: &[u8]) -> Decoder<ChatAnswer> {
    Decoder::new(ChatAnswer {
        blocks: Vec::new(),
        text: None,
        reasoning: None,
        calls: Calls::new(CallIds::new(request, body)),
        began: false,
        refused: false,
        finish_reason: None,
        usage: crate::domain::Usage::default(),
        finished: false,
    })
}

impl Answer for ChatAnswer {
    fn frame(&mut self, name: &str, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        match data {
            data if name == "error" => Err(failure(data, data)),
            data if data.starts_with("[DONE]") => self.end(events),
            data => self.chunk(data, events),
        }
    }

    fn body(&mut self, body: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.chunk(body, events)?;
        self.end(events)
    }

    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if !self.began {
            return Err(invalid_response("the answer holds no choice".into()));
        }
        for named in self.calls.name_the_rest() {
            self.named(named, events);
        }
        self.finished = true;
        let finish = self.finish();
        let content = std::mem::take(&mut self.blocks).into_iter().map(|block| match block {
            Growing::Text(text) => Block::Text { text },
            Growing::Reasoning(text) => Block::reasoning(text),
            Growing::Call(call) => Block::ToolCall(self.calls.whole(call)),
        });
        events.push(ModelEvent::Finished { content: content.collect(), finish, usage: self.usage });
        Ok(())
    }

    fn is_whole(&self) -> bool {
        self.finish_reason.is_some()
    }

    fn is_finished(&self) -> bool {
        self.finished
    }
}

impl ChatAnswer {
    fn chunk(&mut self, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let chunk: Chunk<'_> = match serde_json::from_str(data) {
            Ok(chunk) => chunk,
            Err(error) => return Err(invalid_response(format!("a frame is not of the chat wire: {error}"))),
        };
        if let Some(error) = chunk.error {
            return Err(failure(error.get(), data));
        }
        if let Some(usage) = chunk.usage {
            self.count(usage, events);
        }
        // Chunks without choices carry usage, a content filter's findings, or nothing.
        match chunk.choices.into_iter().flatten().next() {
            Some(choice) => self.choice(choice, events),
            None => Ok(()),
        }
    }

    /// Servers that send usage with each chunk count from the start: the last one holds.
    fn count(&mut self, usage: Usage, events: &mut Vec<ModelEvent>) {
        self.usage = usage.disjoint();
        decode::count(self.usage, events);
    }

    fn choice(&mut self, choice: Choice<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.began = true;
        if let Some(delta) = choice.delta {
            self.delta(delta, events);
        }
        match said(&choice.finish_reason) {
            Some("error") => Err(failure("null", "the provider ended its answer with an error")),
            Some("insufficient_system_resource") => Err(overloaded()),
            Some(reason) => {
                self.finish_reason = Some(reason.into());
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn delta(&mut self, delta: Delta<'_>, events: &mut Vec<ModelEvent>) {
        // Servers that know both names send the same under both.
        if let Some(text) = said(&delta.reasoning_content).or_else(|| said(&delta.reasoning)) {
            self.reasoning(text, events);
        }
        if let Some(text) = said(&delta.content) {
            self.text(text, events);
        }
        if let Some(text) = said(&delta.refusal) {
            self.refused = true;
            self.text(text, events);
        }
        for fragment in delta.tool_calls.into_iter().flatten() {
            if let Some(named) = self.calls.take(&fragment) {
                self.named(named, events);
            }
        }
    }

    fn text(&mut self, piece: &str, events: &mut Vec<ModelEvent>) {
        let at = *self.text.get_or_insert_with(|| grow(&mut self.blocks, Growing::Text(String::new())));
        if let Growing::Text(text) = &mut self.blocks[at] {
            text.push_str(piece);
        }
        match events.last_mut() {
            Some(ModelEvent::Text { text, .. }) => text.push_str(piece),
            _ => events.push(ModelEvent::Text { block: index(at), text: piece.into() }),
        }
    }

    fn reasoning(&mut self, piece: &str, events: &mut Vec<ModelEvent>) {
        let at = *self.reasoning.get_or_insert_with(|| grow(&mut self.blocks, Growing::Reasoning(String::new())));
        if let Growing::Reasoning(text) = &mut self.blocks[at] {
            text.push_str(piece);
        }
        match events.last_mut() {
            Some(ModelEvent::Reasoning { text, .. }) => text.push_str(piece),
            _ => events.push(ModelEvent::Reasoning { block: index(at), text: piece.into() }),
        }
    }

    fn named(&mut self, Named { call, id, tool }: Named, events: &mut Vec<ModelEvent>) {
        let at = grow(&mut self.blocks, Growing::Call(call));
        events.push(ModelEvent::ToolInput { block: index(at), id, tool });
    }

    /// Calls are believed before the word `stop` is; that an answer was cut short is believed before both.
    fn finish(&self) -> Finish {
        match self.finish_reason.as_deref() {
            Some("length" | "max_tokens" | "model_length") => Finish::MaxTokens,
            Some("content_filter") => Finish::ContentFilter,
            _ if self.blocks.iter().any(|b| matches!(b, Growing::Call(_))) => Finish::ToolCalls,
            _ if self.refused => Finish::Refusal,
            _ => Finish::Stop,
        }
    }
}

fn grow(blocks: &mut Vec<Growing>, block: Growing) -> usize {
    blocks.push(block);
    blocks.len() - 1
}

/// No answer has four billion blocks.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

/// An error frame; `raw` is what to show if it has no message.
fn failure(error: &str, raw: &str) -> ModelError {
    classify::frame(serde_json::from_str(error).unwrap_or_default(), raw)
}

fn overloaded() -> ModelError {
    let message = "the provider broke off: it lacks the resources".into();
    ModelError { class: ErrorClass::Retry, code: "overloaded", message, retry_after: None }
}
