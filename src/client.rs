//! `portico chat`: the terminal client. It speaks only HTTP, as any other client does, and of this crate it sees only the `domain` types.
//!
//! Never full-screen: text streams into the terminal's own scrollback. Read in this order: `wire` (events as they come), `transcript` (what
//! a client holds: a pure reducer), `printer` (what is still to print, in the plain words of `words`: pure), `page` (how text stands on a
//! terminal: pure), `feed` (the connection that never ends), then `interactive` with `screen` and `editor`, or `batch` with `pipes`.

mod answer;
mod api;
mod backoff;
mod batch;
mod editor;
mod feed;
pub mod health;
mod hint;
mod interactive;
mod page;
mod pipes;
mod post;
mod printer;
mod screen;
mod sink;
mod table;
mod transcript;
mod visible;
mod waited;
mod wire;
mod words;

use std::io::{BufRead, IsTerminal, Read};
use std::process::ExitCode;

use reqwest::Url;
use secrecy::SecretString;
use tokio::sync::mpsc;

use crate::domain::SessionId;
use api::{Api, ApiError};
use batch::Waits;
use page::Page;
use pipes::{Format, Pipes};
use printer::Tone;
use sink::Paint;

/// What to chat with, and how.
#[derive(Clone, Debug)]
pub struct ChatOptions {
    /// The gateway's root.
    pub url: String,
    /// A session to take up; a new `cli` session where there is none.
    pub session: Option<SessionId>,
    /// One message to post; the client ends with its turn.
    pub message: Option<String>,
    /// Every event as a line of JSON on stdout.
    pub json: bool,
    /// Sent as bearer: the local key, or an API key.
    pub key: Option<SecretString>,
}

/// How a chat ended, where it did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The person left, or the turn completed: 0.
    Done,
    /// The turn ended in another way than completed, or the session ended: 1.
    Failed,
    /// The turn waits for a person, and there is none: 2.
    Waiting,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Done => ExitCode::SUCCESS,
            Exit::Failed => ExitCode::FAILURE,
            Exit::Waiting => ExitCode::from(2),
        }
    }
}

/// Why there is no chat. Each text is for a person, and says what to do where something can be done.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{0:?} is no URL of a gateway: give --url http://HOST:PORT")]
    Url(String),
    #[error("no gateway answers at {url} ({why})\nStart one with: {serve}\nor say where it is, with: --url http://HOST:PORT", serve = hint::serve())]
    Unreachable { url: String, why: String },
    #[error("{0}\n{KEY_HELP}")]
    KeyNeeded(String),
    #[error("{0}")]
    Refused(String),
    #[error("the connection was lost and did not come back ({0})")]
    Lost(String),
    #[error("the terminal cannot be used: {0}")]
    Terminal(String),
    #[error("there is nothing to send: the message is empty")]
    Empty,
    #[error("stdin: {0}")]
    Stdin(#[from] std::io::Error),
}

const KEY_HELP: &str = "Give a key with --key or in the variable PORTICO_KEY. On the gateway's own machine its local key will do, \
    which stands in the file `local.key` of its store folder (`store.path`); from elsewhere an API key with the scopes for this.";

impl ClientError {
    fn of(api: &Api, error: &ApiError) -> Self {
        match error {
            ApiError::Transport(_) => Self::Unreachable { url: api.base().to_string(), why: error.to_string() },
            ApiError::Problem(_) if error.is_about_the_key() => Self::KeyNeeded(error.to_string()),
            ApiError::Problem(_) => Self::Refused(error.to_string()),
        }
    }
}

/// An error of a running chat, in words.
fn explain(error: &ApiError) -> String {
    match error.is_about_the_key() {
        true => format!("{error}\n{KEY_HELP}"),
        false => error.in_passing(),
    }
}

/// Chats until the person leaves, or the one message is answered.
///
/// With a terminal on both sides it prompts. Otherwise it never does: a message given, or the whole of a piped stdin, is posted and its
/// answer printed; where only stdout is redirected, each line of stdin is a message.
///
/// # Errors
/// When the gateway cannot be reached or refuses. Nothing has been printed about it yet.
pub async fn chat(options: ChatOptions) -> Result<Exit, ClientError> {
    let url = Url::parse(&options.url).ok().filter(|url| url.has_host() && matches!(url.scheme(), "http" | "https"));
    let url = url.ok_or_else(|| ClientError::Url(options.url.clone()))?;
    let tty = Tty { stdin: std::io::stdin().is_terminal(), stdout: std::io::stdout().is_terminal() };
    let message = match (options.message, tty.stdin) {
        (Some(message), _) => Some(message),
        (None, true) => None,
        (None, false) => Some(read_stdin().await?),
    };
    if message.as_ref().is_some_and(|m| m.trim().is_empty()) {
        return Err(ClientError::Empty);
    }
    let api = Api::new(url, options.key).map_err(|e| ClientError::Refused(e.to_string()))?;
    let is_new = options.session.is_none();
    let session = open(&api, options.session).await?;
    if message.is_none() && tty.is_full() && !options.json {
        return interactive::run(api, session).await;
    }
    let mut pipes = std_pipes(options.json, tty);
    if is_new {
        pipes.note(Tone::Note, &format!("session {session}"));
    }
    match message {
        Some(message) => {
            let waits = if tty.is_full() { Waits::Stay } else { Waits::Leave };
            batch::message(api, session, message, waits, &mut pipes).await
        }
        None => batch::lines(api, session, stdin_lines()?, &mut pipes).await,
    }
}

/// Which ends of this process a person holds.
#[derive(Clone, Copy, Debug)]
struct Tty {
    stdin: bool,
    stdout: bool,
}

impl Tty {
    fn is_full(self) -> bool {
        self.stdin && self.stdout
    }
}

/// A new session, or the given one if it is there: the first call, which finds out whether there is a gateway at all.
async fn open(api: &Api, session: Option<SessionId>) -> Result<SessionId, ClientError> {
    let opened = match session {
        None => api.create_session().await,
        Some(session) => api.find_session(&session).await.map(|()| session),
    };
    opened.map_err(|error| ClientError::of(api, &error))
}

fn std_pipes(json: bool, tty: Tty) -> Pipes {
    let format = match (json, tty.stdout) {
        (true, _) => Format::Json,
        (false, true) => Format::Stream,
        (false, false) => Format::Final,
    };
    let is_watched = tty.stdout && std::io::stderr().is_terminal();
    let paint = if is_watched { Paint::for_terminal() } else { Paint::Plain };
    let columns = if tty.stdout { editor::columns() } else { None };
    let mut pipes =
        Pipes::new(format, Page::new(paint, columns.unwrap_or(usize::MAX)), Box::new(std::io::stdout()), Box::new(std::io::stderr()));
    pipes.is_watched = is_watched;
    pipes
}

async fn read_stdin() -> Result<String, ClientError> {
    let read = || {
        let mut text = String::new();
        std::io::stdin().lock().read_to_string(&mut text).map(|_| text)
    };
    let text = tokio::task::spawn_blocking(read).await.map_err(std::io::Error::other)??;
    Ok(text.trim_end_matches(['\r', '\n']).to_owned())
}

/// The lines of stdin, blank ones left out. The thread ends with stdin or with the process: a blocked read cannot be called off.
fn stdin_lines() -> Result<mpsc::Receiver<String>, ClientError> {
    let (sender, lines) = mpsc::channel(16);
    let read = move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok).filter(|l| !l.trim().is_empty()) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("stdin".into()).spawn(read)?;
    Ok(lines)
}

#[cfg(test)]
mod tests;
