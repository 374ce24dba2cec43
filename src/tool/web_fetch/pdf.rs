//! The text of a PDF, read by a process of its own.
//!
//! A PDF is a program's worth of structure: a few kilobytes can ask for gigabytes of memory, a deep stack or hours, and no parser in this
//! process could be stopped before it took the sessions along. So this very program is started once more, with nothing but the file on its
//! standard input and hard limits on its memory and time ([`reading`]); what becomes of it is one page's error at worst.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::MAX_CHARS;

pub mod reading;

/// The command of this program that reads a PDF; no person calls it.
pub const COMMAND: &str = "read-pdf";

/// How long one may take; two thirds of a fetch's own time. Long reports take a second or two.
const TIME: Duration = Duration::from_secs(20);
/// The most bytes that are taken from the process: its text, with room for what JSON escapes.
const MAX_OUTPUT: u64 = 8 * MAX_CHARS as u64;

/// Who reads PDFs.
#[derive(Clone, Debug)]
pub struct PdfReader {
    program: PathBuf,
}

/// What the process says, as one line of JSON.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Outcome {
    Text(PdfText),
    /// It opens with a password only.
    Encrypted,
    /// There is none on any of its pages: pictures of text, perhaps.
    NoText {
        pages: usize,
    },
    /// It is no PDF that could be read.
    Damaged,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PdfText {
    /// As the file calls itself.
    pub(super) title: Option<String>,
    pub(super) text: String,
    /// There is more than was read.
    pub(super) cut: bool,
}

/// Why there is no outcome.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lost {
    /// It could not be started: the gateway's trouble, not the file's.
    NotStarted(String),
    /// It took too long.
    Late,
    /// It ended without a word: out of memory, say, or of stack.
    Crashed,
}

impl PdfReader {
    /// This program itself.
    ///
    /// # Errors
    /// When the system does not tell which that is.
    pub fn own() -> std::io::Result<Self> {
        // stays this program where its file is replaced while it runs
        let running = PathBuf::from("/proc/self/exe");
        Ok(Self { program: if running.exists() { running } else { std::env::current_exe()? } })
    }

    #[cfg(test)]
    pub(super) fn other(program: &str) -> Self {
        Self { program: program.into() }
    }

    /// Dropped, it ends the process.
    pub(super) async fn read(&self, bytes: &[u8]) -> Result<Outcome, Lost> {
        tokio::time::timeout(TIME, self.run(bytes)).await.unwrap_or(Err(Lost::Late))
    }

    async fn run(&self, bytes: &[u8]) -> Result<Outcome, Lost> {
        let mut command = Command::new(&self.program);
        // no key that the gateway was given is any business of a file's
        command.arg(COMMAND).env_clear().stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().map_err(|error| Lost::NotStarted(error.to_string()))?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Lost::NotStarted("it has no pipes".into()));
        };
        // it says nothing before it has read all, and a write that fails shows in what it says
        let _ = stdin.write_all(bytes).await;
        drop(stdin);
        let mut said = Vec::new();
        let _ = stdout.take(MAX_OUTPUT).read_to_end(&mut said).await;
        let ended = child.wait().await.map_err(|_| Lost::Crashed)?;
        if !ended.success() {
            return Err(Lost::Crashed);
        }
        serde_json::from_slice(&said).map_err(|_| Lost::Crashed)
    }
}

#[cfg(test)]
mod tests;
