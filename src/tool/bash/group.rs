//! A process group that ends with its owner.

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use tokio::process::Child;

/// The group that a child leads. Dropped, it is killed: a body that is given up leaves nothing running.
///
/// A process that moves itself into another session (`setsid`) has left the group and is out of reach.
#[derive(Debug)]
pub(super) struct Group(Option<Pid>);

impl Group {
    /// Of a child that was started with `process_group(0)`, and not yet waited for.
    pub(super) fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).map(Pid::from_raw))
    }

    /// Sends to all of the group, or only looks; whether anybody is there.
    pub(super) fn signal(&self, signal: Option<Signal>) -> bool {
        self.0.is_some_and(|id| killpg(id, signal) != Err(Errno::ESRCH))
    }

    /// Ends what is left. From here on the id may belong to others, so it is forgotten.
    pub(super) fn kill(&mut self) {
        self.signal(Some(Signal::SIGKILL));
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
