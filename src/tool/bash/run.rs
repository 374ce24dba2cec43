//! Runs one command to its end, whatever that end is, and collects the facts.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::group::Group;
use super::streams::Streams;
use crate::tool::ToolContext;

/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_millis(500);

/// How often the group is looked at during [`GRACE`]; there is no event for the end of a grandchild.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// For reaping and for reading what is left in the pipes after SIGKILL. A process that left the group may hold a pipe open for ever.
const REAP: Duration = Duration::from_secs(1);

/// What to run.
#[derive(Debug)]
pub(super) struct Order<'a> {
    pub(super) shell: &'a Path,
    pub(super) command: &'a str,
    pub(super) directory: Option<&'a PathBuf>,
    pub(super) environment: &'a [(OsString, OsString)],
    pub(super) timeout: Duration,
}

/// What ended the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Exited,
    TimedOut,
    Cancelled,
}

/// The facts, each on its own: a command may time out and still exit with 0.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) end: End,
    /// `None` when it could not be reaped in time.
    pub(super) status: Option<ExitStatus>,
    /// Processes outlived their shell and were ended.
    pub(super) leftovers: bool,
    pub(super) streams: Streams,
}

/// Returns when nothing of the command is left. Dropped before that, it kills the command's process group.
///
/// # Errors
/// When the shell could not be started.
pub(super) async fn run(order: Order<'_>, context: ToolContext) -> io::Result<Outcome> {
    let deadline = Instant::now() + order.timeout;
    let mut child = spawn(&order)?;
    // After the child, so that it is dropped first: its id is the child's, and belongs to us only until the child is reaped.
    let mut group = Group::of(&child);
    let mut streams = Streams::of(&mut child, context.progress);
    let end = loop {
        tokio::select! {
            biased;
            _ = child.wait() => break End::Exited,
            () = context.cancel.cancelled() => break End::Cancelled,
            () = sleep_until(deadline) => break End::TimedOut,
            () = streams.pump(), if !streams.closed() => {}
        }
    };
    let anybody = group.signal(Some(Signal::SIGTERM));
    if anybody {
        let gone = timeout(GRACE, ended(&mut child, &group));
        tokio::pin!(gone);
        loop {
            tokio::select! {
                biased;
                _ = &mut gone => break,
                () = streams.pump(), if !streams.closed() => {}
            }
        }
    }
    group.kill();
    let (status, _) = tokio::join!(timeout(REAP, child.wait()), timeout(REAP, streams.pump()));
    let status = status.ok().and_then(Result::ok);
    Ok(Outcome { end, status, leftovers: anybody && end == End::Exited, streams })
}

fn spawn(order: &Order<'_>) -> io::Result<Child> {
    let mut command = Command::new(order.shell);
    command.arg("-c").arg(order.command);
    command.env_clear().envs(order.environment.iter().map(|(name, value)| (name, value)));
    if let Some(directory) = order.directory {
        command.current_dir(directory);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true).spawn()
}

async fn ended(child: &mut Child, group: &Group) {
    // Until it is reaped the child itself counts as somebody in the group.
    let _ = child.wait().await;
    while group.signal(None) {
        sleep(LOOK_EVERY).await;
    }
}
