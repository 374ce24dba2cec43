//! The gateway's own recorder, and its text for `GET /metrics`.
//!
//! Every layer brings its table of metrics; here they meet. What can be looked up is looked up when somebody asks: what waits, from the
//! store, for it may wait in sessions that are not awake; the process's own figures, from the system.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use metrics::{Gauge, Recorder};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder};

use crate::http::metrics::Exposition;
use crate::meter::{Kind, Meter, Metric};
use crate::store::{Pending, Store};
use crate::{channel, http, outbox, provider, session, store};
use process::Process;

mod process;

const BUILD: Metric = Metric::gauge("portico_build_info", &["version"], "Always 1; the version is its label.");
const PENDING: Metric = Metric::gauge(
    "portico_pending",
    &["kind"],
    "Waits that are open, also of sessions that sleep: `approval`, `question`, `client_call`. NaN while the store does not say.",
);

/// How long the store may take to count what waits.
const COUNTING: Duration = Duration::from_millis(800);

/// The tables of all layers.
fn all() -> impl Iterator<Item = &'static Metric> {
    const OWN: &[Metric] = &[PENDING, BUILD];
    [
        http::metrics::ALL,
        session::metrics::ALL,
        channel::metrics::ALL,
        outbox::metrics::ALL,
        provider::metered::ALL,
        store::metrics::ALL,
        OWN,
        process::ALL,
    ]
    .into_iter()
    .flatten()
}

/// One gateway's metrics.
#[derive(Debug)]
pub struct Metrics {
    meter: Meter,
    handle: PrometheusHandle,
}

impl Metrics {
    /// # Errors
    /// When a histogram has no bounds.
    pub fn new() -> Result<Self, BuildError> {
        let recorder = recorder()?;
        let handle = recorder.handle();
        Ok(Self { meter: Meter::new(recorder), handle })
    }

    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Counts what histograms were given since the last time into their buckets. To be called every few seconds: until then it takes memory.
    pub fn upkeep(&self) {
        self.handle.run_upkeep();
    }

    pub(super) fn exposition(&self, store: Arc<dyn Store>) -> Text {
        self.meter.gauge(&BUILD, &[env!("CARGO_PKG_VERSION")]).set(1);
        let pending = ["approval", "question", "client_call"].map(|kind| self.meter.gauge(&PENDING, &[kind]));
        Text { handle: self.handle.clone(), store, pending, process: Process::new(&self.meter) }
    }
}

fn recorder() -> Result<PrometheusRecorder, BuildError> {
    let mut builder = PrometheusBuilder::new();
    for metric in all() {
        if let Kind::Histogram(bounds) = metric.kind {
            builder = builder.set_buckets_for_metric(Matcher::Full(metric.name.into()), bounds)?;
        }
    }
    let recorder = builder.build_recorder();
    for metric in all() {
        let (name, help) = (metric.name.into(), metric.help.into());
        match metric.kind {
            Kind::Counter => recorder.describe_counter(name, None, help),
            Kind::Gauge => recorder.describe_gauge(name, None, help),
            Kind::Histogram(_) => recorder.describe_histogram(name, None, help),
        }
    }
    Ok(recorder)
}

/// What `GET /metrics` answers.
#[derive(Debug)]
pub(super) struct Text {
    handle: PrometheusHandle,
    store: Arc<dyn Store>,
    pending: [Gauge; 3],
    process: Process,
}

impl Exposition for Text {
    fn render(&self) -> BoxFuture<'_, String> {
        Box::pin(async {
            let counted = tokio::time::timeout(COUNTING, self.store.pending()).await;
            let counts = match counted {
                Ok(Ok(Pending { approvals, questions, client_calls })) => [approvals, questions, client_calls].map(|count| count as f64),
                Ok(Err(_)) | Err(_) => [f64::NAN; 3],
            };
            for (gauge, count) in self.pending.iter().zip(counts) {
                gauge.set(count);
            }
            self.process.look().await;
            self.handle.render()
        })
    }
}

#[cfg(test)]
mod tests;
