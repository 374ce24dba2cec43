//! Metrics, as every layer sees them: a table of what it measures, and handles that it is given.
//!
//! There is no global recorder: `app` makes one and hands a [`Meter`] down, so that two gateways of one process count apart. A layer keeps
//! the handles that it uses often, and asks for one with labels when something rare happens (a request, a tool call, a turn). Nothing is
//! counted for each delta. A label's values are few and known beforehand: never an id, a path with ids, or a text that somebody sent.

use std::fmt;
use std::sync::Arc;

use metrics::{Counter, Gauge, Histogram, Key, Label, Level, Metadata, NoopRecorder, Recorder};

/// What is measured: one family of `GET /metrics`.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// With its unit; `_total` at a counter's end.
    pub name: &'static str,
    pub kind: Kind,
    /// Their names, in the order in which values are given.
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

/// How a value moves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Up.
    Counter,
    /// Up and down.
    Gauge,
    /// Many values, counted by these upper bounds.
    Histogram(&'static [f64]),
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

impl Metric {
    pub const fn counter(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Self {
        Self { name, kind: Kind::Counter, labels, help }
    }

    pub const fn gauge(name: &'static str, labels: &'static [&'static str], help: &'static str) -> Self {
        Self { name, kind: Kind::Gauge, labels, help }
    }

    pub const fn histogram(name: &'static str, labels: &'static [&'static str], bounds: &'static [f64], help: &'static str) -> Self {
        Self { name, kind: Kind::Histogram(bounds), labels, help }
    }
}

/// Where a gateway's metrics go. A clone is the same one.
#[derive(Clone)]
pub struct Meter(Arc<dyn Recorder + Send + Sync>);

impl Meter {
    pub fn new(recorder: impl Recorder + Send + Sync + 'static) -> Self {
        Self(Arc::new(recorder))
    }

    /// One that keeps nothing.
    pub fn none() -> Self {
        Self::new(NoopRecorder)
    }

    /// The handle for these values of the metric's labels.
    pub fn counter(&self, metric: &Metric, values: &[&str]) -> Counter {
        self.0.register_counter(&key(metric, values), &METADATA)
    }

    /// As [`Meter::counter`].
    pub fn gauge(&self, metric: &Metric, values: &[&str]) -> Gauge {
        self.0.register_gauge(&key(metric, values), &METADATA)
    }

    /// As [`Meter::counter`].
    pub fn histogram(&self, metric: &Metric, values: &[&str]) -> Histogram {
        self.0.register_histogram(&key(metric, values), &METADATA)
    }
}

const METADATA: Metadata<'static> = Metadata::new("portico", Level::INFO, None);

fn key(metric: &Metric, values: &[&str]) -> Key {
    debug_assert_eq!(metric.labels.len(), values.len(), "{}: a value for each label", metric.name);
    let labels: Vec<Label> = metric.labels.iter().zip(values).map(|(name, value)| Label::new(*name, (*value).to_owned())).collect();
    Key::from_parts(metric.name, labels)
}

impl fmt::Debug for Meter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").finish_non_exhaustive()
    }
}

/// Somebody's part of a gauge. It goes with its holder, however that ends, so a gauge cannot leak.
#[derive(Debug)]
pub struct Share {
    gauge: Gauge,
    held: u32,
}

impl Share {
    pub fn new(gauge: &Gauge, held: u32) -> Self {
        gauge.increment(held);
        Self { gauge: gauge.clone(), held }
    }

    pub fn one(gauge: &Gauge) -> Self {
        Self::new(gauge, 1)
    }

    pub fn set(&mut self, held: u32) {
        if held > self.held {
            self.gauge.increment(held - self.held);
        } else if held < self.held {
            self.gauge.decrement(self.held - held);
        }
        self.held = held;
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.set(0);
    }
}

/// Bounds in seconds for what a disk or the gateway itself takes: from a commit to a fast disk to one that is stuck.
pub const DISK_SECONDS: &[f64] = &[0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
/// Bounds in seconds for what a person waits for: from a fast local model's first word to the longest wait of a request.
pub const WAIT_SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0];
/// Bounds in seconds for what works by itself: a tool, a model's whole answer, a turn; a turn may take half an hour.
pub const WORK_SECONDS: &[f64] = &[0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1_800.0];

#[cfg(test)]
mod tests {
    use metrics_exporter_prometheus::PrometheusBuilder;

    use super::*;

    const HELD: Metric = Metric::gauge("held", &["by"], "Held.");

    #[test]
    fn a_share_goes_with_its_holder() {
        let recorder = PrometheusBuilder::new().build_recorder();
        let (handle, meter) = (recorder.handle(), Meter::new(recorder));
        let value = || handle.render().lines().find(|l| l.starts_with("held{by=\"me\"}")).unwrap().to_owned();
        let gauge = meter.gauge(&HELD, &["me"]);
        let (one, mut more) = (Share::one(&gauge), Share::new(&gauge, 3));
        assert_eq!(value(), "held{by=\"me\"} 4");
        more.set(7);
        more.set(2);
        assert_eq!(value(), "held{by=\"me\"} 3");
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = one;
            panic!("while it holds its share");
        }));
        assert!(panicked.is_err());
        assert_eq!(value(), "held{by=\"me\"} 2");
        drop(more);
        assert_eq!(value(), "held{by=\"me\"} 0");
    }
}
