//! The built-in scripted provider: what answers when no key is set, so that the first minute with Portico works, offline.
//!
//! It has no state and makes nothing up about the world: what it says is a function of the request alone ([`script`]), it says that it is a
//! demo, and it calls only tools that it was offered. Only the pace is its own: small pieces with a small pause, as a model has it.

use std::time::Duration;

use async_stream::stream;

use super::table::Quirks;
use super::{ModelEvent, ModelRequest, ModelStream, Provider, openai_chat};
use crate::domain::digest::sha256;
use crate::domain::message::ToolCall;
use crate::domain::{Args, Block, Finish, ToolCallId, Usage};
use script::Line;

mod script;

/// Fast enough not to bore, slow enough to be seen.
const PACE: Duration = Duration::from_millis(15);
/// A rough measure of a token, in bytes.
const BYTES_PER_TOKEN: usize = 4;

/// The demo.
#[derive(Clone, Debug)]
pub struct Demo {
    pace: Duration,
}

impl Default for Demo {
    fn default() -> Self {
        Self::new()
    }
}

impl Demo {
    pub fn new() -> Self {
        Self::paced(PACE)
    }

    /// With another pause between its pieces.
    pub fn paced(pace: Duration) -> Self {
        Self { pace }
    }
}

impl Provider for Demo {
    fn id(&self) -> &'static str {
        "demo"
    }

    /// Nothing is sent; these are the bytes that the ledger's claim is about, in the most common wire.
    fn body(&self, request: &ModelRequest) -> Vec<u8> {
        openai_chat::body::body(request, &Quirks::COMPATIBLE)
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let events = perform(&script::script(&request), &self.body(&request));
        let pace = self.pace;
        Box::pin(stream! {
            for event in events {
                tokio::time::sleep(pace).await;
                yield Ok(vec![event]);
            }
        })
    }
}

/// The script as a model would stream it.
fn perform(lines: &[Line], body: &[u8]) -> Vec<ModelEvent> {
    let (mut events, mut content) = (Vec::new(), Vec::new());
    for (line, block) in lines.iter().zip(0u32..) {
        content.push(match line {
            Line::Think(text) => {
                events.extend(pieces(text).map(|text| ModelEvent::Reasoning { block, text }));
                Block::reasoning(text.clone())
            }
            Line::Say(text) => {
                events.extend(pieces(text).map(|text| ModelEvent::Text { block, text }));
                Block::Text { text: text.clone() }
            }
            Line::Call { tool, args } => {
                let call = ToolCall { id: call_id(body, block), tool: (*tool).into(), args: Args::from_model(&args.to_string()) };
                events.push(ModelEvent::ToolInput { block, id: call.id.clone(), tool: call.tool.clone() });
                Block::ToolCall(call)
            }
        });
    }
    let calls = lines.iter().any(|line| matches!(line, Line::Call { .. }));
    let finish = if calls { Finish::ToolCalls } else { Finish::Stop };
    let usage = estimate(body, lines);
    events.push(ModelEvent::Finished { content, finish, usage });
    events
}

/// Words, each with the space after it.
fn pieces(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split_inclusive([' ', '\n']).map(str::to_owned)
}

/// The same for the same request, and another in each step of a conversation.
fn call_id(body: &[u8], block: u32) -> ToolCallId {
    ToolCallId::from(format!("call_demo_{}_{block}", &sha256(body)[..12]))
}

/// Nobody bills for the demo; the counts are there to be looked at.
fn estimate(body: &[u8], lines: &[Line]) -> Usage {
    let tokens = |bytes: usize| u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX);
    let (mut said, mut thought) = (0, 0);
    for line in lines {
        match line {
            Line::Think(text) => thought += text.len(),
            Line::Say(text) => said += text.len(),
            Line::Call { args, .. } => said += args.to_string().len(),
        }
    }
    Usage { input: tokens(body.len()), output: tokens(said), reasoning: tokens(thought), ..Usage::default() }
}

#[cfg(test)]
mod tests;
