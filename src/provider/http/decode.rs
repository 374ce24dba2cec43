//! A response's bytes as events: the frames are the same for every wire, and what they mean is each one's own.

use super::{cut, invalid_response};
use crate::domain::Usage;
use crate::domain::sse::{Event, Parser, TooLong};
use crate::provider::{ModelError, ModelEvent};

/// One answer, as its wire reads it. Text that goes on with the last event's block becomes part of that event. After an error nothing more is
/// given to it; `events` then has what came before.
pub trait Answer: Send + 'static {
    /// Takes a frame: the event's name and its data.
    ///
    /// # Errors
    /// When the provider says that it failed, or what came is not this wire.
    fn frame(&mut self, name: &str, data: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// Takes the whole body of a server that does not stream, and ends.
    ///
    /// # Errors
    /// As [`Answer::frame`].
    fn body(&mut self, body: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// Nothing follows what came: adds [`ModelEvent::Finished`]. Asked only of an answer that is whole.
    ///
    /// # Errors
    /// As [`Answer::frame`].
    fn end(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError>;

    /// The answer is whole, but for what a server may send after its end.
    fn is_whole(&self) -> bool;

    /// [`ModelEvent::Finished`] was given.
    fn is_finished(&self) -> bool;
}

/// The reader of one response.
#[derive(Debug)]
pub struct Decoder<A> {
    parser: Parser,
    answer: A,
}

impl<A: Answer> Decoder<A> {
    pub fn new(answer: A) -> Self {
        Self { parser: Parser::new(), answer }
    }

    /// Takes bytes, cut anywhere, and adds what they complete to `events`.
    ///
    /// # Errors
    /// When the provider says that it failed, or what came is not its wire. Nothing may be pushed after that.
    pub fn push(&mut self, bytes: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.parser.push(bytes);
        while !self.answer.is_finished()
            && let Some(event) = self.parser.next()
        {
            take(&mut self.answer, event, events)?;
        }
        Ok(())
    }

    /// At the end of the stream: adds [`ModelEvent::Finished`] if the answer is whole.
    ///
    /// # Errors
    /// `transport_cut` when it is not, and as [`Decoder::push`].
    pub fn finish(&mut self, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let was_whole = self.answer.is_whole();
        if !self.answer.is_finished()
            && let Some(event) = self.parser.finish()
        {
            match take(&mut self.answer, event, events) {
                // The stream ended within the frame, or the last one lacked its blank line.
                Err(error) if error.code == "invalid_response" && !was_whole => return Err(cut()),
                Err(error) if !was_whole => return Err(error),
                Err(_) | Ok(()) => {}
            }
        }
        match (self.answer.is_finished(), self.answer.is_whole()) {
            (true, _) => Ok(()),
            (false, true) => self.answer.end(events),
            (false, false) => Err(cut()),
        }
    }

    /// The whole body of a server that does not stream.
    ///
    /// # Errors
    /// As [`Decoder::push`].
    pub fn whole(&mut self, body: &[u8], events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.answer.body(&String::from_utf8_lossy(body), events)
    }

    /// The answer is whole, but for what a server may send after its end.
    pub fn is_whole(&self) -> bool {
        self.answer.is_whole()
    }

    /// [`ModelEvent::Finished`] was given.
    pub fn is_finished(&self) -> bool {
        self.answer.is_finished()
    }
}

/// Tells what the request cost by now: once in a batch, and in front, for servers that count with every piece would part its text.
pub fn count(usage: Usage, events: &mut Vec<ModelEvent>) {
    if let Some(ModelEvent::Usage(told)) = events.first_mut() {
        *told = usage;
    } else {
        events.insert(0, ModelEvent::Usage(usage));
    }
}

fn take(answer: &mut impl Answer, event: Result<Event<'_>, TooLong>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
    let event = event.map_err(|error| invalid_response(error.to_string()))?;
    // What keeps the connection open, on any wire.
    if event.data.trim().is_empty() {
        return Ok(());
    }
    answer.frame(event.name, &event.data, events)
}
