//! What a store measures of itself.

use metrics::{Counter, Histogram};

use crate::meter::{DISK_SECONDS, Meter, Metric};

const APPEND: Metric = Metric::histogram(
    "portico_store_append_seconds",
    &[],
    DISK_SECONDS,
    "Time of an append from its request to its answer, the wait for the commit before it included.",
);
const COMMIT: Metric = Metric::histogram("portico_store_commit_seconds", &[], DISK_SECONDS, "Time of a commit to disk.");
const GROUP: Metric =
    Metric::histogram("portico_store_group_size", &[], GROUP_BOUNDS, "Requests that one commit wrote; larger groups mean a busier disk.");
const FAILURES: Metric = Metric::counter(
    "portico_store_failures_total",
    &["operation"],
    "Commits (`commit`) and reads (`read`) that failed; each is in the log with its cause.",
);

/// A group is what arrived during a commit: from one request to thousands of sessions at once.
const GROUP_BOUNDS: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1_024.0];

/// Every metric of this layer.
pub const ALL: &[Metric] = &[APPEND, COMMIT, GROUP, FAILURES];

/// The handles of one store.
#[derive(Clone, Debug)]
pub(super) struct StoreMetrics {
    pub(super) append: Histogram,
    pub(super) commit: Histogram,
    pub(super) group: Histogram,
    pub(super) failed_commits: Counter,
    pub(super) failed_reads: Counter,
}

impl StoreMetrics {
    pub(super) fn new(meter: &Meter) -> Self {
        Self {
            append: meter.histogram(&APPEND, &[]),
            commit: meter.histogram(&COMMIT, &[]),
            group: meter.histogram(&GROUP, &[]),
            failed_commits: meter.counter(&FAILURES, &["commit"]),
            failed_reads: meter.counter(&FAILURES, &["read"]),
        }
    }
}
