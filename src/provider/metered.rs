//! Measures every request to a provider, whatever its wire: a provider around another.
//!
//! It looks at each batch and counts at the request's end, so a delta costs next to nothing. The model's name is no label: a message may choose it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use futures_util::Stream;
use metrics::Histogram;

use super::files::Takes;
use super::{ModelError, ModelEvent, ModelRequest, ModelStream, Provider, http};
use crate::domain::Usage;
use crate::meter::{Meter, Metric, WAIT_SECONDS, WORK_SECONDS};

const REQUESTS: Metric = Metric::counter(
    "portico_provider_requests_total",
    &["provider", "outcome"],
    "Requests to a model's provider that ended: `ok`, `error`, or `given_up` by the gateway (a cancel, a deadline).",
);
const ERRORS: Metric = Metric::counter(
    "portico_provider_errors_total",
    &["provider", "code"],
    "Requests that failed, by the code that `retry` and `done` have.",
);
const REQUEST: Metric = Metric::histogram(
    "portico_provider_request_seconds",
    &["provider"],
    WORK_SECONDS,
    "Time of a request from its sending to the end of its stream, however that came.",
);
const FIRST_DELTA: Metric = Metric::histogram(
    "portico_provider_first_delta_seconds",
    &["provider"],
    WAIT_SECONDS,
    "Time from sending a request to the first piece of its answer: text, reasoning or a tool call.",
);
const TOKENS: Metric = Metric::counter(
    "portico_tokens_total",
    &["provider", "kind"],
    "Tokens as the provider counted them, disjoint: `input`, `cache_read`, `cache_write`, `output`, `reasoning`.",
);

/// Every metric of this layer.
pub const ALL: &[Metric] = &[REQUESTS, ERRORS, REQUEST, FIRST_DELTA, TOKENS];

/// A provider whose requests are measured.
#[derive(Debug)]
pub struct Metered {
    provider: Arc<dyn Provider>,
    meter: Meter,
    request: Histogram,
    first_delta: Histogram,
}

impl Metered {
    pub fn new(provider: Arc<dyn Provider>, meter: Meter) -> Self {
        let id = [provider.id()];
        let (request, first_delta) = (meter.histogram(&REQUEST, &id), meter.histogram(&FIRST_DELTA, &id));
        Self { provider, meter, request, first_delta }
    }
}

impl Provider for Metered {
    fn id(&self) -> &str {
        self.provider.id()
    }

    fn takes(&self) -> Takes {
        self.provider.takes()
    }

    fn body(&self, request: &ModelRequest) -> Vec<u8> {
        self.provider.body(request)
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let under_way = UnderWay {
            provider: self.provider.id().to_owned(),
            meter: self.meter.clone(),
            request: self.request.clone(),
            first_delta: Some(self.first_delta.clone()),
            sent: Instant::now(),
            outcome: Outcome::GivenUp,
            usage: Usage::default(),
        };
        Box::pin(Measured { stream: self.provider.stream(request), under_way })
    }
}

/// A response, looked at as it passes.
struct Measured {
    stream: ModelStream,
    under_way: UnderWay,
}

impl Stream for Measured {
    type Item = Result<Vec<ModelEvent>, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.stream.as_mut().poll_next(cx));
        self.under_way.saw(item.as_ref());
        Poll::Ready(item)
    }
}

/// One request; counted when it is dropped, however it ended.
struct UnderWay {
    provider: String,
    meter: Meter,
    request: Histogram,
    /// Taken by the first piece of the answer.
    first_delta: Option<Histogram>,
    sent: Instant,
    outcome: Outcome,
    usage: Usage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Ok,
    Error(&'static str),
    GivenUp,
}

impl UnderWay {
    fn saw(&mut self, item: Option<&Result<Vec<ModelEvent>, ModelError>>) {
        match item {
            Some(Ok(batch)) => {
                if batch.iter().any(|event| !matches!(event, ModelEvent::Usage(_) | ModelEvent::Finished { .. }))
                    && let Some(first_delta) = self.first_delta.take()
                {
                    first_delta.record(self.sent.elapsed());
                }
                for event in batch {
                    match event {
                        ModelEvent::Usage(usage) => self.usage = *usage,
                        ModelEvent::Finished { usage, .. } => (self.outcome, self.usage) = (Outcome::Ok, *usage),
                        ModelEvent::Text { .. } | ModelEvent::Reasoning { .. } | ModelEvent::ToolInput { .. } => {}
                    }
                }
            }
            Some(Err(error)) => self.outcome = Outcome::Error(error.code),
            None if self.outcome == Outcome::GivenUp => self.outcome = Outcome::Error(http::cut().code),
            None => {}
        }
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.request.record(self.sent.elapsed());
        let outcome = match self.outcome {
            Outcome::Ok => "ok",
            Outcome::Error(code) => {
                self.meter.counter(&ERRORS, &[&self.provider, code]).increment(1);
                "error"
            }
            Outcome::GivenUp => "given_up",
        };
        self.meter.counter(&REQUESTS, &[&self.provider, outcome]).increment(1);
        let Usage { input, cache_read, cache_write, output, reasoning } = self.usage;
        let kinds =
            [("input", input), ("cache_read", cache_read), ("cache_write", cache_write), ("output", output), ("reasoning", reasoning)];
        for (kind, tokens) in kinds.into_iter().filter(|(_, tokens)| *tokens > 0) {
            self.meter.counter(&TOKENS, &[&self.provider, kind]).increment(tokens);
        }
    }
}

#[cfg(test)]
mod tests;
