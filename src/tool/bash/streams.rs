//! Reads both pipes of a command at once, and reports how much came.

use std::time::Duration;

use serde_json::Map;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::time::{Instant, sleep_until};

use super::capture::{Capture, KEPT};
use crate::tool::Progress;

/// Readers of progress see a number move; more often than this only costs.
const REPORT_EVERY: Duration = Duration::from_millis(250);

/// Bytes of one read.
const CHUNK: usize = 16 * 1024;

#[derive(Debug)]
pub(super) struct Streams {
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
    pub(super) out: Capture,
    pub(super) err: Capture,
    progress: Progress,
    /// Before this no further report is due.
    due: Instant,
    reported: u64,
}

impl Streams {
    pub(super) fn of(child: &mut Child, progress: Progress) -> Self {
        Self {
            stdout: child.stdout.take(),
            stderr: child.stderr.take(),
            out: Capture::new(KEPT),
            err: Capture::new(KEPT),
            progress,
            due: Instant::now(),
            reported: 0,
        }
    }

    pub(super) fn closed(&self) -> bool {
        self.stdout.is_none() && self.stderr.is_none()
    }

    /// Reads until both ends are closed. Cancel-safe: what was read is kept, and it can be called again.
    pub(super) async fn pump(&mut self) {
        let (mut out, mut err) = (Vec::with_capacity(CHUNK), Vec::with_capacity(CHUNK));
        while !self.closed() {
            tokio::select! {
                open = read(&mut self.stdout, &mut out, &mut self.out), if self.stdout.is_some() => if !open { self.stdout = None },
                open = read(&mut self.stderr, &mut err, &mut self.err), if self.stderr.is_some() => if !open { self.stderr = None },
                () = sleep_until(self.due), if self.unreported() => self.report(),
            }
        }
    }

    fn bytes(&self) -> u64 {
        self.out.total() + self.err.total()
    }

    fn unreported(&self) -> bool {
        self.bytes() > self.reported
    }

    fn report(&mut self) {
        self.reported = self.bytes();
        self.due = Instant::now() + REPORT_EVERY;
        (self.progress.0)(Map::from_iter([("bytes".to_owned(), self.reported.into())]));
    }
}

/// One read; false at the end. An error ends a stream like its end: the exit code says how the command fared.
async fn read<R: AsyncRead + Unpin>(pipe: &mut Option<R>, chunk: &mut Vec<u8>, into: &mut Capture) -> bool {
    let Some(pipe) = pipe else { return false };
    chunk.clear();
    let open = matches!(pipe.read_buf(chunk).await, Ok(1..));
    into.push(chunk);
    open
}
