//! One answer of the model: requests until one comes whole, with everything that can go wrong between.
//!
//! Retried inside the step: what [`ErrorClass::Retry`] says, also after visible output (then the live text is declared void). Never
//! retried: auth, billing, bad requests (but once without the files that may be why), a cancel. A stream that ends without its terminal event is never an answer.

use std::pin::Pin;
use std::time::Duration;

use async_stream::stream;
use futures_util::{Stream, StreamExt};
use tokio::task::consume_budget;
use tokio::time::Sleep;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::port::StepInput;
use super::run::{Agent, record};
use super::{Blob, Output};
use crate::domain::event::model::{Message, Request, Retry, Thinking};
use crate::domain::live::{Delta, DeltaKind};
use crate::domain::message::{calls_of, text_of};
use crate::domain::{Block, Finish, LiveEvent, MessageId, Usage};
use crate::provider::{ErrorClass, ModelError, ModelEvent, ModelRequest, ModelStream, http};

/// The longest `Retry-After` that is waited for; a provider that asks for more has failed.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(60);
/// The first back-off; doubled each time, with full jitter.
const BACKOFF: Duration = Duration::from_millis(500);
/// The code of a retry that asks for the last answer.
const DEADLINE: &str = "deadline";

/// A whole answer; its `message` is yielded.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) content: Vec<Block>,
    pub(super) finish: Finish,
}

/// Why a step's attempts came to no answer; `usage` is what no record tells of.
#[derive(Debug)]
pub(super) enum Failure {
    Model {
        error: ModelError,
        usage: Usage,
    },
    /// The model ended without a word, after what it had said: it has nothing to add.
    Silent {
        usage: Usage,
    },
    /// With the text that was visible by then.
    Stopped {
        by: Stop,
        text: String,
        usage: Usage,
    },
}

impl Failure {
    /// By a cancel, before there was anything.
    pub(super) fn cancelled() -> Self {
        Self::Stopped { by: Stop::Cancel, text: String::new(), usage: Usage::default() }
    }
}

/// What stops an attempt that the provider would have gone on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    Cancel,
    Deadline,
}

/// What came next from the provider.
enum Received {
    Batch(Vec<ModelEvent>),
    Failed(ModelError),
    Stopped(Stop),
}

impl Agent {
    /// The attempts of a step, until one is whole or none follows; `end` is what they came to.
    pub(super) fn attempts<'a>(
        &'a mut self,
        input: &'a StepInput,
        end: &'a mut Result<Answer, Failure>,
    ) -> impl Stream<Item = Output> + 'a {
        stream! {
            if let Err(failure) = self.read_files(input).await {
                *end = Err(failure);
                return;
            }
            for tries in 1.. {
                self.attempts += 1;
                yield record(self.request_record());
                let mut partial = Partial::new(MessageId::from_uuid(self.turn.ids.uuid()));
                yield Output::Live(LiveEvent::Requesting(partial.message_id.clone()));
                let mut response = self.send(input);
                let failure = loop {
                    match response.next().await {
                        Received::Batch(batch) => {
                            for delta in batch.into_iter().filter_map(|event| partial.take(event)) {
                                // an answer that is there already must let others run
                                consume_budget().await;
                                yield Output::Live(LiveEvent::Delta(delta));
                            }
                            match partial.whole() {
                                None => {}
                                Some(Err(_)) if self.has_spoken() => {
                                    *end = Err(Failure::Silent { usage: partial.usage });
                                    return;
                                }
                                Some(Err(empty)) => break empty,
                                Some(Ok(message)) => {
                                    *end = Ok(Answer { content: message.content.clone(), finish: message.finish });
                                    if let Some(thinking) = thinking(&message) {
                                        yield record(thinking);
                                    }
                                    yield record(message);
                                    return;
                                }
                            }
                        }
                        Received::Failed(error) => break error,
                        Received::Stopped(Stop::Deadline) if !self.is_last() => {
                            self.out_of_time();
                            break out_of_time();
                        }
                        Received::Stopped(by) => {
                            let (stopped, message) = partial.interrupted(by);
                            *end = Err(stopped);
                            if let Some(message) = message {
                                yield record(message);
                            }
                            return;
                        }
                    }
                };
                drop(response);
                let delay = self.retry_delay(&failure, tries).or_else(|| self.leaves_files_out(&failure, input).then_some(Duration::ZERO));
                let Some(delay) = delay else {
                    *end = Err(Failure::Model { error: failure, usage: partial.usage });
                    return;
                };
                yield record(self.retry_record(&failure, delay, &partial));
                if self.cancelled_within(delay.min(self.time_left())).await {
                    *end = Err(Failure::cancelled());
                    return;
                }
            }
        }
    }

    fn request_record(&self) -> Request {
        let (tools, withheld) = self.offered_and_withheld();
        Request {
            attempt: self.attempts,
            provider: self.turn.model.provider.id().into(),
            model: self.turn.model.model.clone(),
            parameters: self.turn.model.parameters.clone(),
            system_digest: self.turn.system.digest.clone(),
            tools_digest: tools.map(|t| t.digest.clone()),
            withheld_digest: withheld.map(|t| t.digest.clone()),
            without_files: self.shown.are_refused(),
        }
    }

    /// The tools that are offered, and those that are withheld: the last answer may call none.
    fn offered_and_withheld(&self) -> (Option<&Blob>, Option<&Blob>) {
        let tools = self.turn.tools.as_ref();
        if self.is_last() { (None, tools) } else { (tools, None) }
    }

    /// Makes the request; the first wait for its response sends it. The response is read where the turn is polled: the actor goes on
    /// polling while an append is under way, so the network waits for the disk no longer than for the append to begin.
    fn send(&self, input: &StepInput) -> Response {
        let (tools, withheld) = self.offered_and_withheld();
        let request = ModelRequest {
            model: self.turn.model.model.clone(),
            system: self.turn.system.text.clone(),
            tools: tools.map(|t| t.text.clone()),
            withheld: withheld.map(|t| t.text.clone()),
            messages: input.surface.clone(),
            files: self.shown.files(),
            parameters: self.turn.model.parameters.clone(),
        };
        Response {
            batches: self.turn.model.provider.stream(request),
            cancelled: Box::pin(self.turn.cancel.clone().cancelled_owned()),
            deadline: Box::pin(tokio::time::sleep(self.time_left())),
        }
    }

    fn retry_record(&self, failure: &ModelError, delay: Duration, partial: &Partial) -> Retry {
        Retry {
            attempt: self.attempts,
            code: failure.code.into(),
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            discarded: partial.live,
            usage: Some(partial.usage).filter(|usage| *usage != Usage::default()),
        }
    }

    /// How long to wait before the next attempt; `None` where none follows.
    fn retry_delay(&self, error: &ModelError, tries: u32) -> Option<Duration> {
        if error.code == DEADLINE {
            return Some(Duration::ZERO);
        }
        if error.class != ErrorClass::Retry || tries >= self.turn.limits.attempts {
            return None;
        }
        match error.retry_after {
            Some(after) => (after <= MAX_RETRY_AFTER).then_some(after),
            None => {
                let ceiling = BACKOFF * 2u32.saturating_pow(tries - 1);
                let random = self.turn.ids.uuid().as_u64_pair().1 << 2;
                Some(ceiling.mul_f64(random as f64 / u64::MAX as f64))
            }
        }
    }

    async fn cancelled_within(&self, delay: Duration) -> bool {
        tokio::select! { biased;
            () = self.turn.cancel.cancelled() => true,
            () = tokio::time::sleep(delay) => false,
        }
    }
}

/// A response under way; its drop ends the request. Its waits are made once, so that a batch registers nowhere anew.
struct Response {
    batches: ModelStream,
    cancelled: Pin<Box<WaitForCancellationFutureOwned>>,
    deadline: Pin<Box<Sleep>>,
}

impl Response {
    async fn next(&mut self) -> Received {
        tokio::select! { biased;
            () = &mut self.cancelled => Received::Stopped(Stop::Cancel),
            batch = self.batches.next() => match batch {
                Some(Ok(batch)) => Received::Batch(batch),
                Some(Err(error)) => Received::Failed(error),
                None => Received::Failed(http::cut()),
            },
            () = &mut self.deadline => Received::Stopped(Stop::Deadline),
        }
    }
}

fn out_of_time() -> ModelError {
    let message = "the turn's time was over before the answer was whole".into();
    ModelError { class: ErrorClass::Retry, code: DEADLINE, message, retry_after: None }
}

/// The text beside tool calls, as a record of its own for readers that show it apart from the answer.
fn thinking(message: &Message) -> Option<Thinking> {
    let text = text_of(&message.content);
    let says = !text.trim().is_empty() && calls_of(&message.content).next().is_some();
    says.then(|| Thinking { message: text.trim().into() })
}

/// An answer as far as it has come.
struct Partial {
    message_id: MessageId,
    /// Text and reasoning by block index.
    blocks: Vec<Block>,
    /// One live event of any kind was shown.
    live: bool,
    finished: Option<(Vec<Block>, Finish)>,
    /// As far as the provider has said.
    usage: Usage,
}

impl Partial {
    fn new(message_id: MessageId) -> Self {
        Self { message_id, blocks: Vec::new(), live: false, finished: None, usage: Usage::default() }
    }

    /// Takes an event in; what readers see of it, if anything.
    fn take(&mut self, event: ModelEvent) -> Option<Delta> {
        let (block, kind) = match event {
            ModelEvent::Text { block, text } => {
                self.append(block, &text, |text| Block::Text { text });
                (block, DeltaKind::Text(text))
            }
            ModelEvent::Reasoning { block, text } => {
                self.append(block, &text, Block::reasoning);
                (block, DeltaKind::Reasoning(text))
            }
            ModelEvent::ToolInput { block, id, tool } => (block, DeltaKind::ToolInput { tool_call_id: id, tool }),
            ModelEvent::Usage(usage) => {
                self.usage = usage;
                return None;
            }
            ModelEvent::Finished { content, finish, usage } => {
                (self.finished, self.usage) = (Some((content, finish)), usage);
                return None;
            }
        };
        self.live = true;
        Some(Delta { message_id: self.message_id.clone(), block, kind })
    }

    /// Adds to the block of that index; `kind` makes it where it is not there yet.
    fn append(&mut self, block: u32, piece: &str, kind: fn(String) -> Block) {
        let index = block as usize;
        while self.blocks.len() <= index {
            self.blocks.push(kind(String::new()));
        }
        match &mut self.blocks[index] {
            Block::Text { text } | Block::Reasoning { text, .. } => text.push_str(piece),
            Block::ToolCall(_) => {}
        }
    }

    /// The whole answer, once the provider's terminal event was seen. One that says nothing and calls nothing is no answer.
    fn whole(&mut self) -> Option<Result<Message, ModelError>> {
        let (content, finish) = self.finished.take()?;
        let filtered = matches!(finish, Finish::ContentFilter | Finish::Refusal | Finish::MaxTokens);
        if !filtered && text_of(&content).trim().is_empty() && calls_of(&content).next().is_none() {
            let message = "the model's answer was empty".into();
            return Some(Err(ModelError { class: ErrorClass::Retry, code: "empty_response", message, retry_after: None }));
        }
        Some(Ok(Message { message_id: self.message_id.clone(), content, finish, usage: self.usage, interrupted: false, author: None }))
    }

    /// What was visible, and its record if there was anything; half-received tool calls are dropped.
    fn interrupted(self, by: Stop) -> (Failure, Option<Message>) {
        let (text, usage) = (text_of(&self.blocks), self.usage);
        if text.is_empty() {
            return (Failure::Stopped { by, text, usage }, None);
        }
        let (message_id, content, finish) = (self.message_id, self.blocks, Finish::Cancelled);
        let message = Message { message_id, content, finish, usage, interrupted: true, author: None };
        (Failure::Stopped { by, text, usage: Usage::default() }, Some(message))
    }
}
