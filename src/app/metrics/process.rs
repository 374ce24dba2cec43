//! The process's own figures, as Linux gives them in `/proc`. On other systems they are not there.

use std::fs;
use std::time::{SystemTime, UNIX_EPOCH};

use metrics::Gauge;

use crate::meter::{Meter, Metric};

const STARTED: Metric =
    Metric::gauge("portico_process_start_time_seconds", &[], "When the process started, in seconds since the Unix epoch.");
const MEMORY: Metric = Metric::gauge("portico_process_resident_memory_bytes", &[], "Memory of the process that is in RAM.");
const FILES: Metric = Metric::gauge("portico_process_open_fds", &[], "Open file descriptors: connections, and a few files.");

pub(super) const ALL: &[Metric] = &[STARTED, MEMORY, FILES];

/// The handles, where the system gives what they show.
#[derive(Clone, Debug)]
pub(super) struct Process {
    memory: Option<Gauge>,
    files: Option<Gauge>,
}

impl Process {
    pub(super) fn new(meter: &Meter) -> Self {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        meter.gauge(&STARTED, &[]).set(started.as_secs_f64());
        Self { memory: resident().map(|_| meter.gauge(&MEMORY, &[])), files: open_files().map(|_| meter.gauge(&FILES, &[])) }
    }

    /// Sets them to what is so now. The reading blocks for a moment where thousands of files are open.
    pub(super) async fn look(&self) {
        let read = tokio::task::spawn_blocking(|| (resident(), open_files())).await;
        let (memory, files) = read.unwrap_or_default();
        if let Some((gauge, bytes)) = self.memory.as_ref().zip(memory) {
            gauge.set(bytes as f64);
        }
        if let Some((gauge, files)) = self.files.as_ref().zip(files) {
            gauge.set(files as f64);
        }
    }
}

/// In bytes.
fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse::<u64>().ok().map(|kib| kib * 1024)
}

fn open_files() -> Option<usize> {
    fs::read_dir("/proc/self/fd").ok().map(Iterator::count)
}
