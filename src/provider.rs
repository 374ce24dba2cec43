//! Model providers: one table of them, and one file for each wire that they speak.
//!
//! A wire turns a [`ModelRequest`] into bytes (a pure function, so that a request rebuilds from the ledger) and a response's bytes into
//! [`ModelEvent`]s. No wire retries: the agent does, and it asks [`ModelError::class`].
//!
//! Read the [`Provider`] trait first, then [`table`] (which provider a model's name leads to, and how it differs from the others), a wire
//! ([`openai_chat`] or [`anthropic`]: `body` out, `decode` in) and [`http`] (what both do with the network). `call_ids` gives calls the ids that
//! a wire takes, [`files`] says what is sent of files, `offered`, `base64` and `text` are small things of both; [`metered`] measures any provider, and [`demo`] answers without one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;

use crate::domain::event::model::Parameters;
use crate::domain::{Block, Finish, SurfaceMessage, ToolCallId, Usage};
use files::{Files, Takes};

pub mod anthropic;
mod base64;
mod call_ids;
pub mod demo;
pub mod files;
pub mod http;
pub mod metered;
mod offered;
pub mod openai_chat;
pub mod table;
mod text;

/// One request, as every wire can say it.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// The provider's own name of the model, its prefix removed where the table says so.
    pub model: String,
    pub system: Arc<str>,
    /// A JSON array of `{name, description, schema}`; `None` offers no tools. Its bytes are the session's blob.
    pub tools: Option<Arc<str>>,
    /// The same of tools that were offered before and may not be called now; never beside `tools`. A wire names them where its provider
    /// would otherwise forget the conversation's beginning.
    pub withheld: Option<Arc<str>>,
    pub messages: Vec<Arc<SurfaceMessage>>,
    /// What is sent, and said, of the files of these messages.
    pub files: Arc<Files>,
    pub parameters: Parameters,
}

/// A piece of a response. `block` is the index of its block in the final content, given in the order in which blocks first appear.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    Text {
        block: u32,
        text: String,
    },
    Reasoning {
        block: u32,
        text: String,
    },
    /// A call takes shape. Sent once for each call, when its name is known.
    ToolInput {
        block: u32,
        id: ToolCallId,
        tool: String,
    },
    /// What the request cost by now; it holds instead of the one before. Sent as soon as it is known, for what is cut was paid all the same.
    Usage(Usage),
    /// The terminal event was seen: the answer is whole. Nothing follows.
    Finished {
        content: Vec<Block>,
        finish: Finish,
        usage: Usage,
    },
}

/// The response, in batches of what one read of the network gave; neighbouring text of one block is one event. A stream that ends
/// without [`ModelEvent::Finished`] or an error was cut.
pub type ModelStream = BoxStream<'static, Result<Vec<ModelEvent>, ModelError>>;

/// A provider that can be asked. Dropping the stream ends the request.
pub trait Provider: fmt::Debug + Send + Sync + 'static {
    /// The table's id, as in `request.provider`.
    fn id(&self) -> &str;

    /// Which files its models take.
    fn takes(&self) -> Takes {
        Takes::NOTHING
    }

    /// The exact body that [`Provider::stream`] sends.
    fn body(&self, request: &ModelRequest) -> Vec<u8>;

    /// Sends the request. Errors of connecting come as the stream's first item.
    fn stream(&self, request: ModelRequest) -> ModelStream;
}

/// Why an attempt failed.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{code}: {message}")]
pub struct ModelError {
    pub class: ErrorClass,
    /// A stable word for `retry` and `done`.
    pub code: &'static str,
    /// For the owner. Holds no secret.
    pub message: String,
    /// The provider's own word on when to come back.
    pub retry_after: Option<Duration>,
}

/// What may be done about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// Connect errors, 408, 409, 429, 5xx, 529, a cut transport.
    Retry,
    /// The request was longer than the model's window.
    Overflow,
    /// Auth, billing, bad requests: asking again gives the same.
    Final,
}

#[cfg(test)]
mod tests;
