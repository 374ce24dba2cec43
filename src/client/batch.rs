//! A chat without a prompt: one message and its answer, or a message a line. Answers no approval and no question: it says that one waits.

use std::collections::BTreeSet;
use std::pin::pin;

use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::answer::{Interview, show_approval};
use super::api::{Api, Posted};
use super::backoff::Patience;
use super::feed::{End, FeedItem, feed};
use super::pipes::Pipes;
use super::post::post;
use super::printer::{Printer, Tone};
use super::sink::print;
use super::transcript::Transcript;
use super::wire::{self, Ask, Record, What};
use super::{ClientError, Exit, explain, hint, words};
use crate::domain::{MessageId, SessionId};

/// Tries in a row before a script gets its error: about two and a half minutes.
const PATIENCE: Patience = Patience::Failures(10);

/// What to do when the turn waits for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// Somebody may answer elsewhere: keep waiting.
    Stay,
    /// Nobody is there: end with [`Exit::Waiting`].
    Leave,
}

/// Posts one message and prints the answer of its turn.
///
/// # Errors
/// When the message could not be posted or the feed was refused.
pub(super) async fn message(api: Api, session: SessionId, text: String, waits: Waits, pipes: &mut Pipes) -> Result<Exit, ClientError> {
    let posted = post(&api, &session, &text, PATIENCE).await.map_err(|e| ClientError::of(&api, &e))?;
    // From just before its own record, so that nothing of the turn can be missed, however late the feed opens.
    let mut feed = pin!(feed(api.clone(), session.clone(), (posted.seq - 1).to_string(), PATIENCE));
    let mut batch = Batch::new(pipes);
    batch.waits = waits;
    batch.mine = Some(posted);
    let mut stopping = false;
    // beside the feed: a stop is answered with the turn's end
    let mut stops = JoinSet::new();
    loop {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {
                if std::mem::replace(&mut stopping, true) {
                    return Ok(Exit::Failed);
                }
                let (api, session) = (api.clone(), session.clone());
                stops.spawn(async move { api.cancel(&session).await });
            }
            Some(Ok(Err(error))) = stops.join_next() => batch.pipes.note(Tone::Bad, &explain(&error)),
            item = feed.next() => match batch.item(&api, item)? {
                Some(exit) => return Ok(exit),
                None if batch.pipes.broken => return Ok(Exit::Failed),
                None if waits == Waits::Leave && batch.has_caught_up() && !batch.transcript.asks.is_empty() => {
                    let ids: Vec<&str> = batch.transcript.asks.iter().map(Ask::id).collect();
                    let text = format!(
                        "the turn waits for a person: {}. Answer with: {}",
                        ids.join(", "),
                        hint::chat(&format!("--session {session}"))
                    );
                    batch.pipes.note(Tone::Bad, &text);
                    return Ok(Exit::Waiting);
                }
                None => {}
            },
        }
    }
}

/// Posts each line as a message; ends when the lines have ended and no turn runs.
///
/// # Errors
/// When the feed was refused.
pub(super) async fn lines(api: Api, session: SessionId, mut lines: mpsc::Receiver<String>, pipes: &mut Pipes) -> Result<Exit, ClientError> {
    let mut feed = pin!(feed(api.clone(), session.clone(), "0".into(), Patience::Endless));
    let mut batch = Batch::new(pipes);
    let mut open = true;
    let mut stops = JoinSet::new();
    while (open || batch.is_busy()) && !batch.pipes.broken {
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {
                if !batch.is_busy() {
                    return Ok(batch.exit);
                }
                let (api, session) = (api.clone(), session.clone());
                stops.spawn(async move { api.cancel(&session).await });
            }
            Some(Ok(Err(error))) = stops.join_next() => batch.pipes.note(Tone::Bad, &explain(&error)),
            line = lines.recv(), if open => match line {
                Some(line) => batch.post(&api, &session, &line).await,
                None => open = false,
            },
            item = feed.next() => if let Some(exit) = batch.item(&api, item)? {
                return Ok(exit);
            },
        }
    }
    Ok(batch.exit)
}

struct Batch<'a> {
    pipes: &'a mut Pipes,
    transcript: Transcript,
    printer: Printer,
    /// The one message whose answer is wanted; all are wanted where there is none.
    mine: Option<Posted>,
    /// The turn that claimed it.
    turn: Option<u32>,
    /// Posted, and not yet seen in the feed.
    unseen: BTreeSet<MessageId>,
    announced: BTreeSet<String>,
    waits: Waits,
    lost: bool,
    exit: Exit,
}

impl<'a> Batch<'a> {
    fn new(pipes: &'a mut Pipes) -> Self {
        Self {
            pipes,
            transcript: Transcript::default(),
            printer: Printer::default(),
            mine: None,
            turn: None,
            unseen: BTreeSet::new(),
            announced: BTreeSet::new(),
            waits: Waits::Stay,
            lost: false,
            exit: Exit::Done,
        }
    }

    /// All that was there when the feed was joined has come: what waits then keeps our message waiting, whichever turn it is of.
    fn has_caught_up(&self) -> bool {
        self.transcript.has_caught_up()
    }

    fn is_busy(&self) -> bool {
        self.transcript.turn.is_some() || !self.transcript.queued.is_empty() || !self.unseen.is_empty()
    }

    async fn post(&mut self, api: &Api, session: &SessionId, line: &str) {
        self.printer.posting(line);
        let result = post(api, session, line, PATIENCE).await;
        self.printer.posted(line, result.as_ref().ok().map(|p| p.message_id.clone()));
        match result {
            Ok(posted) => drop(self.unseen.insert(posted.message_id)),
            Err(error) => {
                self.exit = Exit::Failed;
                self.pipes.note(Tone::Bad, &format!("not sent: {}", explain(&error)));
            }
        }
    }

    /// Takes what the feed gave; an exit when there is nothing more to wait for.
    fn item(&mut self, api: &Api, item: Option<FeedItem>) -> Result<Option<Exit>, ClientError> {
        match item {
            None | Some(FeedItem::Ended(End::Over)) => {
                self.pipes.note(Tone::Bad, "the session is over: it was deleted, or nothing is left to come");
                Ok(Some(Exit::Failed))
            }
            Some(FeedItem::Ended(End::GaveUp(why))) => Err(ClientError::Lost(why)),
            Some(FeedItem::Ended(End::Refused(error))) => Err(ClientError::of(api, &error)),
            Some(FeedItem::Lost(why)) => {
                if !std::mem::replace(&mut self.lost, true) {
                    self.pipes.note(Tone::Note, &format!("{why}; reconnecting"));
                }
                Ok(None)
            }
            Some(FeedItem::Joined(join)) => {
                self.lost = false;
                self.transcript.join(join);
                Ok(None)
            }
            Some(FeedItem::Event(raw)) => {
                self.pipes.event(&raw);
                let before = (self.transcript.generation, self.transcript.entries.len());
                self.transcript.apply(wire::read(&raw.event, &raw.data));
                let new = if before.0 == self.transcript.generation { before.1 } else { 0 };
                let ended = self.transcript.entries[new..].to_vec().iter().find_map(|record| self.record(record));
                let pieces = self.printer.update(&self.transcript);
                if self.mine.is_none() || self.turn.is_some() {
                    print(self.pipes, pieces);
                    self.announce();
                }
                Ok(ended)
            }
        }
    }

    /// Follows our message from its claim to its turn's end.
    fn record(&mut self, record: &Record) -> Option<Exit> {
        match (&record.what, &self.mine) {
            (What::Queued(queued), _) => drop(self.unseen.remove(&queued.message_id)),
            (What::Claimed(claimed), Some(mine)) if claimed.message_ids.contains(&mine.message_id) => self.turn = record.turn,
            (What::Removed(removed), Some(mine)) if removed.message_id == mine.message_id => {
                self.pipes.note(Tone::Bad, &format!("the message was removed: {}", removed.reason));
                return Some(Exit::Failed);
            }
            (What::Done(done), None) => {
                self.pipes.final_answer(&done.answer);
                self.exit = if done.completed() { self.exit } else { Exit::Failed };
            }
            (What::Done(done), Some(_)) if self.turn.is_some() && record.turn == self.turn => {
                self.pipes.final_answer(&done.answer);
                if done.completed() {
                    return Some(Exit::Done);
                }
                if self.pipes.format == super::pipes::Format::Json {
                    self.pipes.note(Tone::Bad, &words::ended(done));
                }
                return Some(Exit::Failed);
            }
            _ => {}
        }
        None
    }

    /// Says once of each wait that nobody answers it here.
    fn announce(&mut self) {
        for ask in &self.transcript.asks {
            if !self.announced.insert(ask.id().to_owned()) {
                continue;
            }
            let (what, lines) = match ask {
                Ask::Approval(approval) => ("approval", show_approval(approval)),
                Ask::Questions(questions) => ("answer", Interview::new(questions.clone()).show()),
                Ask::ClientCall(_) => continue,
            };
            // The keys are for a prompt, which there is none of.
            let shown = lines.len().saturating_sub(usize::from(lines.len() > 1));
            self.pipes.note(Tone::Person, &lines[..shown].join("\n"));
            if self.waits == Waits::Stay {
                self.pipes.note(Tone::Note, &format!("waiting for somebody's {what}: {} (not answered from here)", ask.id()));
            }
        }
    }
}
