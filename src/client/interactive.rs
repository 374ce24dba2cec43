//! A chat with a person at a terminal: one loop over what is typed, what the feed brings, and what became of our own calls.

use std::collections::{BTreeSet, VecDeque};
use std::pin::pin;
use std::time::Duration;

use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::answer::{Asking, Interview, choices, read_decision, show_approval};
use super::api::{Api, ApiError, Posted};
use super::backoff::Patience;
use super::editor::{self, Typed};
use super::feed::{End, FeedItem, feed};
use super::post::post;
use super::printer::{Printer, Tone};
use super::screen::{DRAWING, Screen};
use super::sink::{Paint, Sink, print};
use super::transcript::Transcript;
use super::wire::{self, Approval, Ask, Event};
use super::{ClientError, Exit, explain, hint};
use crate::domain::SessionId;
use crate::domain::pending::Decision;

/// How long a leaving person's last message may take to be taken.
const PARTING: Duration = Duration::from_secs(2);

const HELP: &str = "\
Enter    sends the message; a working agent is told in the middle of its turn
Ctrl-C   stops the turn; clears the line; twice at an empty prompt leaves
Ctrl-D   leaves; the session stays and can be taken up again
/quit    leaves
/help    this";
/// A stop that takes longer is said to be under way.
const STOP_NOTICED: Duration = Duration::from_secs(1);
/// A gateway that shuts down still takes connections, and ends them at once: one that lasts so long is back.
const STEADY: Duration = Duration::from_secs(1);

/// Runs until the person leaves.
///
/// # Errors
/// When the terminal cannot be used.
pub(super) async fn run(api: Api, session: SessionId) -> Result<Exit, ClientError> {
    let (mut keyboard, screen) = editor::start(Paint::for_terminal()).map_err(|e| ClientError::Terminal(e.to_string()))?;
    let exit = drive(api, session.clone(), screen, &mut keyboard.typed).await;
    keyboard.join();
    let how = format!("the session stays:\n{}", hint::chat(&format!("--session {session}")));
    println!("{}", Paint::for_terminal().line(Tone::Note, &how));
    Ok(exit)
}

/// The chat itself, whatever the screen is and whoever types.
pub(super) async fn drive(api: Api, session: SessionId, screen: Screen, typed: &mut mpsc::Receiver<Typed>) -> Exit {
    let mut chat = Chat::new(api.clone(), session.clone(), screen);
    chat.note(&format!("session {session}, /help for the keys"));
    let mut feed = pin!(feed(api, session, "0".into(), Patience::Endless));
    loop {
        tokio::select! {
            biased;
            typed = typed.recv() => match typed {
                Some(Typed::Line { text, under }) => chat.line(text, under.as_deref()),
                Some(Typed::Interrupt { had_text }) => if chat.is_busy() || !had_text { chat.interrupt() },
                Some(Typed::Leave) | None => break,
            },
            // only between two lines, when the editor does not hold the terminal: it reads Ctrl-C as a key
            _ = tokio::signal::ctrl_c() => chat.interrupt(),
            Some(done) = chat.jobs.join_next() => if let Ok(done) = done { chat.job_done(done) },
            Some(item) = feed.next() => chat.item(item),
            () = until(chat.back) => chat.say_back(),
            () = until(chat.stop_noticed) => chat.say_stopping(),
            () = tokio::time::sleep(DRAWING), if chat.screen.is_holding() => chat.screen.flush(),
        }
    }
    chat.part().await;
    chat.exit
}

/// Never, where there is no such time.
async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

struct Chat {
    api: Api,
    session: SessionId,
    transcript: Transcript,
    printer: Printer,
    screen: Screen,
    jobs: JoinSet<JobDone>,
    /// Messages that wait for the one before them to be taken, so that they arrive in order.
    unsent: VecDeque<String>,
    sending: bool,
    asking: Option<Asking>,
    /// Waits that need nothing more from this terminal: answered, or not ours to answer.
    settled: BTreeSet<String>,
    lost: bool,
    /// Connected again, which is said with the first event, or at that time.
    back: Option<Instant>,
    /// A stop is asked for; its answer comes with the turn's end.
    stopping: bool,
    /// When it is said, unless it was or the turn is over.
    stop_noticed: Option<Instant>,
    exit: Exit,
}

enum JobDone {
    Posted(String, Result<Posted, ApiError>),
    Answered(String, Result<(), ApiError>),
    Cancelled(Result<(), ApiError>),
}

impl Chat {
    fn new(api: Api, session: SessionId, screen: Screen) -> Self {
        Self {
            api,
            session,
            transcript: Transcript::default(),
            printer: Printer::default(),
            screen,
            jobs: JoinSet::new(),
            unsent: VecDeque::new(),
            sending: false,
            asking: None,
            settled: BTreeSet::new(),
            lost: false,
            back: None,
            stopping: false,
            stop_noticed: None,
            exit: Exit::Done,
        }
    }

    fn note(&mut self, text: &str) {
        self.screen.line(Tone::Note, text);
    }

    fn trouble(&mut self, text: &str) {
        self.screen.line(Tone::Bad, text);
    }

    /// A line is for the wait under which it was begun; otherwise it is a message.
    fn line(&mut self, text: String, under: Option<&str>) {
        match (text.trim(), self.asking.take()) {
            ("/help", asking) => {
                self.asking = asking;
                self.note(HELP);
            }
            (_, Some(asking)) if under == Some(asking.id()) => self.answer(asking, &text),
            (command, asking) if is_command(command) => {
                self.asking = asking;
                self.note(&format!("{command} is no command: /help"));
            }
            (_, asking) => {
                self.asking = asking;
                self.unsent.push_back(text);
                self.send_next();
            }
        }
    }

    fn send_next(&mut self) {
        if self.sending {
            return;
        }
        let Some(text) = self.unsent.pop_front() else { return };
        self.sending = true;
        self.printer.posting(&text);
        self.screen.set_busy(true);
        let (api, session) = (self.api.clone(), self.session.clone());
        self.jobs.spawn(async move {
            let result = post(&api, &session, &text, Patience::Endless).await;
            JobDone::Posted(text, result)
        });
    }

    fn answer(&mut self, asking: Asking, text: &str) {
        match asking {
            Asking::Approval(approval) => match read_decision(&approval, text) {
                Some(decision) => self.decide(&approval, decision),
                None => {
                    self.note(&format!("not sent. Please type: {}", choices(&approval)));
                    self.asking = Some(Asking::Approval(approval));
                }
            },
            Asking::Interview(interview) if text.trim() == "/decline" => self.send_answers(interview.id().to_owned(), None),
            Asking::Interview(mut interview) => match interview.take(text) {
                Ok(Some(answers)) => self.send_answers(interview.id().to_owned(), Some(answers)),
                Ok(None) => {
                    self.screen.ask(interview.id(), &interview.show());
                    self.asking = Some(Asking::Interview(interview));
                }
                Err(why) => {
                    self.note(&why);
                    self.asking = Some(Asking::Interview(interview));
                }
            },
        }
    }

    fn decide(&mut self, approval: &Approval, decision: Decision) {
        // Of the bytes that stand on the screen, not as the gateway announced it: what was read is what is allowed.
        let digest = approval.args.as_ref().map(|args| args.digest(&approval.tool)).unwrap_or_default();
        let (api, session, id) = (self.api.clone(), self.session.clone(), approval.approval_id.to_string());
        self.settle(&id);
        self.jobs.spawn(async move {
            let result = api.decide(&session, &id, decision, &digest).await;
            JobDone::Answered(id, result)
        });
    }

    fn send_answers(&mut self, id: String, answers: Option<Vec<crate::domain::pending::Answer>>) {
        let (api, session) = (self.api.clone(), self.session.clone());
        self.settle(&id);
        self.jobs.spawn(async move {
            let result = api.answer(&session, &id, answers).await;
            JobDone::Answered(id, result)
        });
    }

    fn settle(&mut self, id: &str) {
        self.settled.insert(id.to_owned());
        self.asking = None;
        self.screen.ask_over();
        self.ask_next();
    }

    fn interrupt(&mut self) {
        if !self.is_busy() {
            return self.note("Ctrl-C once more, or Ctrl-D, leaves");
        }
        for text in std::mem::take(&mut self.unsent) {
            self.note(&format!("not sent: {text}"));
        }
        if std::mem::replace(&mut self.stopping, true) {
            return self.say_stopping();
        }
        self.stop_noticed = Some(Instant::now() + STOP_NOTICED);
        let (api, session) = (self.api.clone(), self.session.clone());
        self.jobs.spawn(async move { JobDone::Cancelled(api.cancel(&session).await) });
    }

    /// The turn's own last line says that it is stopped; until then, once, that it takes its time.
    fn say_stopping(&mut self) {
        if self.stop_noticed.take().is_some() && self.is_busy() {
            self.note("stopping; what runs is being ended");
        }
    }

    fn job_done(&mut self, done: JobDone) {
        match done {
            JobDone::Posted(text, result) => {
                self.sending = false;
                self.printer.posted(&text, result.as_ref().ok().map(|posted| posted.message_id.clone()));
                if let Err(error) = result {
                    self.trouble(&format!("not sent: {}", explain(&error)));
                }
                self.send_next();
                self.screen.set_busy(self.is_busy());
            }
            JobDone::Answered(_, Ok(())) => {}
            JobDone::Cancelled(result) => {
                (self.stopping, self.stop_noticed) = (false, None);
                if let Err(error) = result
                    && self.is_busy()
                {
                    self.trouble(&format!("not stopped: {}", explain(&error)));
                }
            }
            JobDone::Answered(id, Err(error)) => {
                self.trouble(&explain(&error));
                // Where it still stands it is asked again; where it does not, the feed says so.
                let again = error.is_passing() || error.is_code("digest_mismatch") || error.is_code("invalid_request");
                if again && self.settled.remove(&id) {
                    self.ask_next();
                }
            }
        }
    }

    fn item(&mut self, item: FeedItem) {
        match item {
            FeedItem::Joined(join) => {
                self.transcript.join(join);
                self.back = self.lost.then(|| Instant::now() + STEADY);
            }
            FeedItem::Lost(_) if self.lost => self.back = None,
            FeedItem::Lost(why) => {
                self.lost = true;
                self.note(&format!("{why}; reconnecting"));
            }
            FeedItem::Event(raw) => self.event(wire::read(&raw.event, &raw.data)),
            FeedItem::Ended(end) => {
                let why = match &end {
                    End::Over => "the session is over: it was deleted, or nothing is left to come".to_owned(),
                    End::Refused(error) => explain(error),
                    End::GaveUp(why) => why.clone(),
                };
                self.exit = Exit::Failed;
                self.screen.close(&why);
            }
        }
    }

    fn say_back(&mut self) {
        if self.back.take().is_some() {
            self.lost = false;
            self.note("connected again");
        }
    }

    fn event(&mut self, event: Event) {
        if matches!(event, Event::Other | Event::Closing(_)) {
            return;
        }
        if !matches!(event, Event::Hello(_)) {
            self.say_back();
        }
        self.transcript.apply(event);
        self.screen.set_busy(self.is_busy());
        let open = |id: &str| self.transcript.asks.iter().any(|ask| ask.id() == id);
        self.settled.retain(|id| open(id));
        if self.asking.as_ref().is_some_and(|asking| !open(asking.id())) {
            self.asking = None;
            self.screen.ask_over();
        }
        print(&mut self.screen, self.printer.update(&self.transcript));
        self.ask_next();
    }

    /// Shows the oldest wait that nobody was asked about yet.
    fn ask_next(&mut self) {
        while self.asking.is_none() {
            let Some(ask) = self.transcript.asks.iter().find(|ask| !self.settled.contains(ask.id())).cloned() else { return };
            match ask {
                Ask::Approval(approval) if approval.args.is_some() => {
                    self.screen.ask(approval.approval_id.as_str(), &show_approval(&approval));
                    self.asking = Some(Asking::Approval(approval));
                }
                Ask::Questions(questions) => {
                    let interview = Interview::new(questions);
                    self.screen.ask(interview.id(), &interview.show());
                    self.asking = Some(Asking::Interview(interview));
                }
                Ask::Approval(approval) => {
                    self.note(&show_approval(&approval).join("\n"));
                    self.settled.insert(approval.approval_id.to_string());
                }
                Ask::ClientCall(call) => drop(self.settled.insert(call.tool_call_id.to_string())),
            }
        }
    }

    fn is_busy(&self) -> bool {
        self.transcript.turn.is_some() || self.sending || !self.transcript.queued.is_empty()
    }

    /// Gives what was typed last the time to arrive.
    async fn part(&mut self) {
        let sent = async {
            // a stop was heard, and is answered when the turn is over: nothing to wait for
            while self.jobs.len() > usize::from(self.stopping) {
                if let Some(Ok(done)) = self.jobs.join_next().await {
                    self.job_done(done);
                }
            }
        };
        if tokio::time::timeout(PARTING, sent).await.is_err() {
            self.trouble("the last message may not have arrived");
        } else if self.asking.is_some() {
            self.note("the turn waits for your answer");
        } else if self.is_busy() && !self.stopping {
            self.note("the turn goes on without you");
        }
    }
}

/// One word after a slash. A path or a sentence that begins with a slash is a message.
fn is_command(text: &str) -> bool {
    text.strip_prefix('/').is_some_and(|word| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphabetic()))
}
