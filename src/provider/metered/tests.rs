use futures_util::{StreamExt, stream};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use super::*;
use crate::domain::Finish;
use crate::domain::event::model::Parameters;
use crate::provider::ErrorClass;

type Batch = Result<Vec<ModelEvent>, ModelError>;

/// Answers with these batches, and then ends or, where `hangs`, says nothing more.
#[derive(Debug)]
struct Scripted {
    batches: Vec<Batch>,
    hangs: bool,
}

impl Provider for Scripted {
    fn id(&self) -> &'static str {
        "acme"
    }

    fn body(&self, _: &ModelRequest) -> Vec<u8> {
        Vec::new()
    }

    fn stream(&self, _: ModelRequest) -> ModelStream {
        let batches = stream::iter(self.batches.clone());
        if self.hangs { batches.chain(stream::pending()).boxed() } else { batches.boxed() }
    }
}

fn text() -> Batch {
    Ok(vec![ModelEvent::Text { block: 0, text: "hi".into() }, ModelEvent::Text { block: 0, text: " there".into() }])
}

fn finished() -> Batch {
    let usage = Usage { input: 5, cache_read: 3, cache_write: 0, output: 2, reasoning: 1 };
    Ok(vec![ModelEvent::Finished { content: Vec::new(), finish: Finish::Stop, usage }])
}

fn overloaded() -> Batch {
    Err(ModelError { class: ErrorClass::Retry, code: "overloaded", message: String::new(), retry_after: None })
}

/// Takes `take` batches of the answer, and lets go.
async fn asked(batches: Vec<Batch>, take: usize) -> Samples {
    let recorder = PrometheusBuilder::new().build_recorder();
    let samples = Samples(recorder.handle());
    let hangs = take == batches.len();
    let provider = Metered::new(Arc::new(Scripted { batches, hangs }), Meter::new(recorder));
    let request = ModelRequest {
        model: "m".into(),
        system: "".into(),
        tools: None,
        withheld: None,
        messages: Vec::new(),
        files: Arc::default(),
        parameters: Parameters::default(),
    };
    let _ = provider.stream(request).take(take).collect::<Vec<_>>().await;
    samples
}

struct Samples(PrometheusHandle);

impl Samples {
    fn has(&self, lines: &[&str]) {
        let text = self.0.render();
        for line in lines {
            assert!(text.lines().any(|l| l == *line), "{line} in\n{text}");
        }
    }

    fn lacks(&self, what: &str) {
        let text = self.0.render();
        assert!(!text.contains(what), "{what} in\n{text}");
    }
}

#[tokio::test]
async fn a_whole_answer_is_counted_with_its_tokens() {
    let samples = asked(vec![text(), text(), finished()], 9).await;
    samples.has(&[
        "portico_provider_requests_total{provider=\"acme\",outcome=\"ok\"} 1",
        "portico_provider_request_seconds_count{provider=\"acme\"} 1",
        "portico_provider_first_delta_seconds_count{provider=\"acme\"} 1",
        "portico_tokens_total{provider=\"acme\",kind=\"input\"} 5",
        "portico_tokens_total{provider=\"acme\",kind=\"cache_read\"} 3",
        "portico_tokens_total{provider=\"acme\",kind=\"output\"} 2",
        "portico_tokens_total{provider=\"acme\",kind=\"reasoning\"} 1",
    ]);
    samples.lacks("errors_total");
}

#[tokio::test]
async fn a_failure_is_counted_by_its_code() {
    asked(vec![text(), overloaded()], 9).await.has(&[
        "portico_provider_requests_total{provider=\"acme\",outcome=\"error\"} 1",
        "portico_provider_errors_total{provider=\"acme\",code=\"overloaded\"} 1",
        "portico_provider_first_delta_seconds_count{provider=\"acme\"} 1",
    ]);
    let silent = asked(vec![overloaded()], 9).await;
    silent.has(&["portico_provider_request_seconds_count{provider=\"acme\"} 1"]);
    silent.lacks("first_delta_seconds_count{provider=\"acme\"} 1");
}

#[tokio::test]
async fn an_answer_that_ends_without_its_end_was_cut() {
    asked(vec![text()], 9).await.has(&[
        "portico_provider_requests_total{provider=\"acme\",outcome=\"error\"} 1",
        "portico_provider_errors_total{provider=\"acme\",code=\"transport_cut\"} 1",
    ]);
}

#[tokio::test]
async fn a_request_that_is_given_up_is_no_error_of_the_provider() {
    let samples = asked(vec![text()], 1).await;
    samples.has(&["portico_provider_requests_total{provider=\"acme\",outcome=\"given_up\"} 1"]);
    samples.lacks("errors_total");
}

#[tokio::test]
async fn what_was_paid_is_counted_also_where_no_answer_came_of_it() {
    let paid = |input| Ok(vec![ModelEvent::Usage(Usage { input, ..Usage::default() })]);
    let samples = asked(vec![paid(5), paid(7)], 2).await;
    samples.has(&["portico_tokens_total{provider=\"acme\",kind=\"input\"} 7"]);
    samples.lacks("first_delta_seconds_count{provider=\"acme\"} 1");
    asked(vec![paid(5), overloaded()], 9).await.has(&["portico_tokens_total{provider=\"acme\",kind=\"input\"} 5"]);
}

#[tokio::test]
async fn an_answer_that_was_whole_before_its_reader_went_is_whole() {
    asked(vec![text(), finished()], 2).await.has(&["portico_provider_requests_total{provider=\"acme\",outcome=\"ok\"} 1"]);
}

#[tokio::test]
async fn an_answer_that_says_nothing_has_no_first_piece() {
    let samples = asked(vec![Ok(Vec::new()), finished()], 9).await;
    samples.has(&["portico_provider_requests_total{provider=\"acme\",outcome=\"ok\"} 1"]);
    samples.lacks("first_delta_seconds_count{provider=\"acme\"} 1");
}
