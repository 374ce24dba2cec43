//! Derives from the transcript what is still to print. Pure: it remembers what was printed and gives pieces; where they go is the sink's.
//!
//! A terminal cannot take text back. Where printed text turns out to be void, the printer says so on its own line and prints the new text.

use std::collections::BTreeMap;

use super::transcript::{Live, Transcript};
use super::visible::{brief, exact};
use super::waited::Waited;
use super::wire::{Ask, Done, Message, Queued, Record, Retry, ToolDenied, ToolEnd, ToolStart, Voice, What};
use super::words;
use crate::domain::MessageId;

/// The longest arguments, in characters, on a line that only informs. An approval shows all of them.
const ARGS_SHOWN: usize = 200;
/// The tool that is nothing but its questions.
const ASKS: &str = "ask_user";
const RETRACTED: &str = "the text above is withdrawn";

/// A piece to print.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Out {
    /// Goes on where the last text stopped.
    Text(Voice, String),
    /// The text is over; the next begins on a line of its own.
    Break,
    /// The text is over, and void: nothing more of it need be shown.
    Void,
    /// On a line of its own; text that is not over goes on below it.
    Line(Tone, String),
}

/// What kind of line it is; the sink chooses how that looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// What a person wrote.
    Person,
    Tool,
    Good,
    Bad,
    Note,
}

#[derive(Debug, Default)]
pub(super) struct Printer {
    generation: u32,
    entries: usize,
    /// Live text that is on the screen and not yet confirmed by its message.
    printed: BTreeMap<(MessageId, u32), String>,
    /// The block that the last text belonged to.
    open: Option<(MessageId, u32)>,
    /// The newest answer of the turn, as the screen has it.
    answer: String,
    /// How long the turn waited for a person.
    waited: Waited,
    /// A restart was said, so that the turn's going on need not be.
    restarted: bool,
    /// Our own messages, which stand on the screen already.
    own: Own,
}

/// What this client posted: by id once the gateway gave one, by text before.
#[derive(Debug, Default)]
struct Own {
    ids: Vec<MessageId>,
    in_flight: Vec<String>,
}

impl Printer {
    /// Says that this text is being posted from here.
    pub(super) fn posting(&mut self, text: &str) {
        self.own.in_flight.push(text.to_owned());
    }

    /// The post is over; `id` is the message it made, if it made one.
    pub(super) fn posted(&mut self, text: &str, id: Option<MessageId>) {
        let known = id.as_ref().is_some_and(|id| self.own.ids.contains(id));
        if !known {
            self.own.in_flight.iter().position(|t| t == text).map(|at| self.own.in_flight.remove(at));
            self.own.ids.extend(id);
        }
    }

    /// What is new since the last update.
    pub(super) fn update(&mut self, transcript: &Transcript) -> Vec<Out> {
        let mut out = Vec::new();
        if transcript.generation != self.generation {
            *self = Self { generation: transcript.generation, own: std::mem::take(&mut self.own), ..Self::default() };
            out.extend([Out::Break, note("the gateway starts the conversation over; here it is again")]);
        }
        for record in transcript.entries.iter().skip(self.entries) {
            let history = transcript.history.is_some_and(|head| record.seq <= head);
            self.record(record, history, &mut out);
        }
        self.entries = transcript.entries.len();
        for (key, live) in &transcript.live {
            self.live(key, live, &mut out);
        }
        out
    }

    fn record(&mut self, record: &Record, history: bool, out: &mut Vec<Out>) {
        let restarted = std::mem::take(&mut self.restarted);
        self.waited.record(record);
        match &record.what {
            What::Queued(queued) => self.queued(queued, history, out),
            What::Removed(removed) => line(out, Tone::Note, format!("a message was removed ({})", exact(&removed.reason))),
            What::Claimed(_) => {}
            What::Retry(retry) => self.retry(retry, out),
            What::Message(message) => self.message(message, out),
            // its questions and their answers stand on the screen already
            What::ToolStart(ToolStart { tool, .. }) | What::ToolEnd(ToolEnd { tool, .. }) | What::ToolDenied(ToolDenied { tool, .. })
                if tool == ASKS && !history => {}
            What::ToolStart(start) => {
                let args = start.args.as_ref().map(|a| brief(a.as_str(), ARGS_SHOWN)).unwrap_or_default();
                line(out, Tone::Tool, format!("· {} {args}", exact(&start.tool)));
            }
            What::ToolEnd(end) => line(out, Tone::Good, format!("✓ {} {}", exact(&end.tool), words::time(end.duration_ms))),
            What::ToolError(e) => {
                line(out, Tone::Bad, format!("✗ {}: {}", exact(&e.tool), words::tool_error(e)));
            }
            What::ToolDenied(e) => line(out, Tone::Bad, format!("✗ {} denied: {}", exact(&e.tool), brief(&e.reason, ARGS_SHOWN))),
            What::Asked(Ask::ClientCall(call)) => {
                line(out, Tone::Note, format!("the agent waits for {}, which another client has to run", exact(&call.tool)));
            }
            // shown when it can be answered, by whoever prompts
            What::Asked(Ask::Approval(_) | Ask::Questions(_)) => {}
            What::Answered(_, how) => line(out, Tone::Note, format!("→ {}", words::answered(how))),
            What::Continued if restarted => {}
            What::Continued => line(out, Tone::Note, "the gateway restarted; the turn goes on".into()),
            What::Done(done) => self.done(done, out),
        }
    }

    fn queued(&mut self, queued: &Queued, history: bool, out: &mut Vec<Out>) {
        if self.own.ids.contains(&queued.message_id) {
            return;
        }
        if let Some(at) = self.own.in_flight.iter().position(|text| *text == queued.text) {
            self.own.in_flight.remove(at);
            self.own.ids.push(queued.message_id.clone());
            return;
        }
        let text = super::visible::prose(&queued.text);
        match (history, &queued.author) {
            (true, _) => line(out, Tone::Person, format!("› {text}")),
            (false, Some(author)) => line(out, Tone::Person, format!("» {} from another client: {text}", exact(author))),
            (false, None) => line(out, Tone::Person, format!("» from another client: {text}")),
        }
    }

    fn retry(&mut self, retry: &Retry, out: &mut Vec<Out>) {
        self.restarted = retry.code == "restart";
        let why = words::retry(retry);
        match retry.discarded && !self.printed.is_empty() {
            true => self.retract(&why, out),
            false => line(out, Tone::Note, why),
        }
    }

    fn message(&mut self, message: &Message, out: &mut Vec<Out>) {
        if message.author.is_some() {
            return line(out, Tone::Person, format!("» {}", super::visible::prose(&text_of(message))));
        }
        let blocks: Vec<_> = (0u32..).zip(&message.content).filter_map(|(i, block)| Some((i, block, block.text.as_deref()?))).collect();
        let final_text =
            |key: &(MessageId, u32)| blocks.iter().find(|(i, ..)| key.0 == message.message_id && *i == key.1).map(|(.., text)| *text);
        // A hidden block has no text to compare, and what is not there was not contradicted.
        let contradicted = self.printed.iter().any(|(key, text)| match final_text(key) {
            Some(whole) => !whole.starts_with(text.as_str()),
            None => key.0 != message.message_id,
        });
        if contradicted {
            self.retract("here is what stands", out);
        }
        for (i, block, text) in &blocks {
            let voice = if block.kind == "reasoning" { Voice::Reasoning } else { Voice::Answer };
            self.live(&(message.message_id.clone(), *i), &Live { voice, text: (*text).to_owned() }, out);
        }
        self.printed.clear();
        self.open = None;
        self.answer = text_of(message);
        out.push(Out::Break);
    }

    fn live(&mut self, key: &(MessageId, u32), live: &Live, out: &mut Vec<Out>) {
        if self.printed.keys().any(|(id, _)| *id != key.0) || self.printed.get(key).is_some_and(|text| !agree(text, &live.text)) {
            self.retract("here is the new one", out);
        }
        let printed = self.printed.entry(key.clone()).or_default();
        // After a join that starts the attempt over, the text may be behind what stands on the screen.
        let Some(news) = live.text.get(printed.len()..).filter(|news| !news.is_empty()) else { return };
        if self.open.as_ref().is_some_and(|open| open != key) {
            out.push(Out::Break);
        }
        self.open = Some(key.clone());
        out.push(Out::Text(live.voice, news.to_owned()));
        printed.push_str(news);
    }

    fn done(&mut self, done: &Done, out: &mut Vec<Out>) {
        if !self.printed.is_empty() {
            self.retract("the turn ended without it", out);
        }
        if !done.answer.is_empty() && done.answer != self.answer {
            out.extend([Out::Break, Out::Text(Voice::Answer, done.answer.clone()), Out::Break]);
        }
        self.answer.clear();
        let as_wanted = done.completed() || done.reason == "aborted";
        let text = words::turn_over(done, self.waited.take_ms());
        line(out, if as_wanted { Tone::Note } else { Tone::Bad }, text);
    }

    fn retract(&mut self, why: &str, out: &mut Vec<Out>) {
        self.printed.clear();
        self.open = None;
        out.push(Out::Void);
        line(out, Tone::Bad, format!("({RETRACTED}: {why})"));
    }
}

fn agree(a: &str, b: &str) -> bool {
    a.starts_with(b) || b.starts_with(a)
}

fn text_of(message: &Message) -> String {
    message.content.iter().filter(|b| b.kind == "text").filter_map(|b| b.text.as_deref()).collect()
}

fn note(text: &str) -> Out {
    Out::Line(Tone::Note, text.to_owned())
}

fn line(out: &mut Vec<Out>, tone: Tone, text: String) {
    out.push(Out::Line(tone, text));
}

#[cfg(test)]
mod tests;
