//! One answer, read from its event stream to its end, and checked.

use std::time::{Duration, Instant};

use portico::domain::sse::{Event, Parser};
use reqwest::Response;
use serde::Deserialize;

use crate::model::Script;
use crate::target::Door;
use crate::tokens::{Faults, Tokens};

/// The longest that one answer may take.
const LONGEST: Duration = Duration::from_secs(60);

/// What a turn came to.
#[derive(Debug, Default)]
pub struct Turn {
    pub faults: Faults,
    /// Tokens that came.
    pub tokens: usize,
    /// From before the request to the first token, and to the end.
    pub first: Option<Duration>,
    pub whole: Duration,
    /// How long each token was on its way from the model, in microseconds.
    pub delays_us: Vec<u32>,
}

/// Asks for an answer and reads it.
pub async fn ask(door: &Door, session: &str, script: &Script) -> Turn {
    let began = Instant::now();
    let mut reading = Reading::new(script, began);
    let read = async {
        let mut response = door.turn(session, script).await?;
        reading.until_done(&mut response).await?;
        // the end of the body follows, and only then may the connection be used again
        while response.chunk().await?.is_some() {}
        anyhow::Ok(())
    };
    let read = tokio::time::timeout(LONGEST, read).await;
    reading.turn(matches!(read, Ok(Ok(()))))
}

/// Reads an answer from a feed that was opened before it was asked for.
pub async fn follow(mut feed: Response, script: &Script) -> Turn {
    let mut reading = Reading::new(script, Instant::now());
    let read = tokio::time::timeout(LONGEST, reading.until_done(&mut feed)).await;
    reading.turn(matches!(read, Ok(Ok(()))))
}

#[derive(Debug)]
struct Reading {
    tokens: Tokens,
    began: Instant,
    first: Option<Duration>,
    done: bool,
}

/// Of any event, what this reads.
#[derive(Deserialize)]
struct Data {
    #[serde(default)]
    text: String,
    answer: Option<String>,
    reason: Option<String>,
}

impl Reading {
    fn new(script: &Script, began: Instant) -> Self {
        Self { tokens: Tokens::new(&script.id, script.tokens), began, first: None, done: false }
    }

    async fn until_done(&mut self, response: &mut Response) -> anyhow::Result<()> {
        let mut parser = Parser::new();
        while !self.done
            && let Some(bytes) = response.chunk().await?
        {
            parser.push(&bytes);
            while let Some(event) = parser.next() {
                self.event(&event?)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, event: &Event<'_>) -> anyhow::Result<()> {
        match event.name {
            "text_delta" => {
                let data: Data = serde_json::from_str(&event.data)?;
                self.first.get_or_insert_with(|| self.began.elapsed());
                self.tokens.take(&data.text);
            }
            "done" => {
                let data: Data = serde_json::from_str(&event.data)?;
                let differs = data.answer.is_some_and(|answer| answer != self.tokens.text);
                let failed = data.reason.is_some_and(|reason| reason != "completed");
                self.tokens.faults.errors += usize::from(differs || failed);
                self.done = true;
            }
            // the answer was taken back, which no script asks for
            "retry" | "reset" | "closing" => self.tokens.faults.errors += 1,
            _ => {}
        }
        Ok(())
    }

    fn turn(mut self, was_read: bool) -> Turn {
        let whole = self.began.elapsed();
        self.tokens.end();
        self.tokens.faults.errors += usize::from(!was_read || !self.done);
        let delays_us = self.tokens.delays_us;
        Turn { faults: self.tokens.faults, tokens: delays_us.len(), first: self.first, whole, delays_us }
    }
}
