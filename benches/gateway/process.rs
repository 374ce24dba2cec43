//! Processes: this program in another role, or Portico; what each took, from `/proc`.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use axum::Router;
use axum::serve::ListenerExt;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

/// How long a process may take to say where it listens.
const START: Duration = Duration::from_secs(30);
/// Linux counts a process's time in hundredths of a second, on every machine (`USER_HZ`).
const TICK_MS: f64 = 10.0;

/// Serves on a free port of the loopback until the process is killed, and says where.
pub async fn serve(router: Router) -> anyhow::Result<()> {
    let listener = portico::server::listen(([127, 0, 0, 1], 0).into()).await?;
    println!("listens on http://{}", listener.local_addr()?);
    let listener = listener.tap_io(|stream| {
        // without it small writes wait for more, here as in Portico
        let _ = stream.set_nodelay(true);
    });
    axum::serve(listener, router).await?;
    Ok(())
}

/// A process that listens. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    /// Without a slash at its end.
    pub url: String,
    /// From its start until it said where it listens.
    pub started_in: Duration,
    child: Child,
    _stdout: BufReader<ChildStdout>,
}

impl Process {
    /// Starts it, with nothing of this process's environment, and waits for its first line. What it logs goes to the file `log` in `dir`.
    pub async fn start(program: impl AsRef<OsStr>, args: &[&str], dir: &Path) -> anyhow::Result<Self> {
        let log = fs::File::create(dir.join("log"))?;
        let mut command = Command::new(program);
        command.args(args).env_clear().current_dir(dir).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log).kill_on_drop(true);
        let began = Instant::now();
        let mut child = command.spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().context("no output")?);
        let mut line = String::new();
        tokio::time::timeout(START, stdout.read_line(&mut line)).await.context("it does not start")??;
        let Some(address) = line.trim().split("http://").nth(1) else {
            bail!("it did not start: {}", fs::read_to_string(dir.join("log")).unwrap_or_default());
        };
        Ok(Self { url: format!("http://{address}"), started_in: began.elapsed(), child, _stdout: stdout })
    }

    /// This program in another role.
    pub async fn of_role(args: &[&str], dir: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(dir)?;
        Self::start(std::env::current_exe()?, args, dir).await
    }

    /// What it has taken so far.
    pub fn usage(&self) -> anyhow::Result<Usage> {
        let pid = self.child.id().context("it has ended")?;
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
        // fields 14 and 15, counted behind the name, which may hold anything
        let fields: Vec<&str> = stat.rsplit_once(')').context("no stat")?.1.split_whitespace().collect();
        let ticks = |at: usize| -> anyhow::Result<f64> { Ok(fields.get(at).context("no stat")?.parse()?) };
        let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
        let kb = |name: &str| -> anyhow::Result<f64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).context("no status")?;
            Ok(line.trim_matches(|c: char| !c.is_ascii_digit()).parse()?)
        };
        Ok(Usage { cpu_ms: (ticks(11)? + ticks(12)?) * TICK_MS, memory_kb: kb("VmRSS")?, peak_kb: kb("VmHWM")? })
    }
}

/// What a process has taken by some moment.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu_ms: f64,
    pub memory_kb: f64,
    pub peak_kb: f64,
}
