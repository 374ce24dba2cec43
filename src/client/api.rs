//! The gateway's HTTP API, as far as a chat needs it: one function a call. Never retries and never prints; who calls decides.

use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderMap, RETRY_AFTER};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::domain::pending::{Answer, Decision};
use crate::domain::{MessageId, Seq, SessionId};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// For calls that answer at once. A commit behind a slow disk may take seconds.
const CALL_TIMEOUT: Duration = Duration::from_secs(30);
/// The feed has a heartbeat every 15 s; after three missed ones the connection is dead, whatever TCP says.
const SILENCE: Duration = Duration::from_secs(50);

/// Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Api {
    http: reqwest::Client,
    base: Arc<Url>,
    key: Option<SecretString>,
}

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApiError {
    /// No answer came; whether the request was taken is unknown.
    #[error("{}", root_cause(.0))]
    Transport(#[from] reqwest::Error),
    #[error("{0}")]
    Problem(Problem),
}

/// An `application/problem+json` answer, or as much of one as came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    pub(super) status: u16,
    pub(super) code: String,
    pub(super) detail: String,
    pub(super) retry_after: Option<Duration>,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.detail.is_empty() {
            true => write!(f, "the gateway answered {} ({})", self.status, self.code),
            false => write!(f, "{} ({})", self.detail, self.code),
        }
    }
}

impl ApiError {
    /// Whether the same call may succeed later: nothing answered, or something in front of the gateway or its store is not well.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            ApiError::Transport(error) => !error.is_builder(),
            ApiError::Problem(problem) => matches!(problem.status, 408 | 425 | 429 | 500 | 502 | 503 | 504) && problem.code != "queue_full",
        }
    }

    /// For a person, of a failure after which another try follows.
    pub(super) fn in_passing(&self) -> String {
        match self {
            ApiError::Transport(error) if error.is_connect() => "the gateway does not answer".into(),
            ApiError::Transport(_) => "the connection broke".into(),
            ApiError::Problem(problem) => problem.to_string(),
        }
    }

    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            ApiError::Transport(_) => None,
            ApiError::Problem(problem) => problem.retry_after,
        }
    }

    /// Whether showing another key, or one at all, may help.
    pub(super) fn is_about_the_key(&self) -> bool {
        matches!(self, ApiError::Problem(problem) if matches!(problem.status, 401 | 403))
    }

    pub(super) fn is_code(&self, code: &str) -> bool {
        matches!(self, ApiError::Problem(problem) if problem.code == code)
    }
}

/// reqwest's own text names the URL and stops; what went wrong is the innermost source.
pub(super) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    // the number of the operating system's error helps nobody
    let text = cause.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Posted {
    pub(super) message_id: MessageId,
    /// Of its `message_queued` record.
    pub(super) seq: Seq,
}

#[derive(Debug)]
pub(super) enum Opened {
    Feed(Response),
    /// Nothing is left to come.
    Over,
}

impl Api {
    /// # Errors
    /// When the TLS verifier of this platform cannot be set up.
    pub(super) fn new(base: Url, key: Option<SecretString>) -> Result<Self, reqwest::Error> {
        // Fails only where a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none())
            .user_agent(concat!("portico-chat/", env!("CARGO_PKG_VERSION")));
        if is_loopback(&base) {
            http = http.no_proxy();
        }
        Ok(Self { http: http.build()?, base: Arc::new(base), key })
    }

    pub(super) fn base(&self) -> &Url {
        &self.base
    }

    pub(super) async fn create_session(&self) -> Result<SessionId, ApiError> {
        #[derive(Deserialize)]
        struct Created {
            id: SessionId,
        }
        let created: Created = self.call(self.post(&[]).json(&json!({"channel": "cli"}))).await?;
        Ok(created.id)
    }

    /// Whether the session is there for this caller.
    pub(super) async fn find_session(&self, session: &SessionId) -> Result<(), ApiError> {
        let request = self.http.get(self.url(&[session.as_str()])).timeout(CALL_TIMEOUT);
        self.send(request).await.map(drop)
    }

    /// `key` makes a repeat of the call harmless.
    pub(super) async fn post_message(&self, session: &SessionId, text: &str, key: &str) -> Result<Posted, ApiError> {
        let request = self.post(&[session.as_str(), "messages"]).header("Idempotency-Key", key);
        self.call(request.json(&json!({"text": text}))).await
    }

    /// `digest` is of what was shown: the gateway refuses it if that is not what would run.
    pub(super) async fn decide(&self, session: &SessionId, id: &str, decision: Decision, digest: &str) -> Result<(), ApiError> {
        let request = self.post(&[session.as_str(), "approvals", id]);
        self.send(request.json(&json!({"decision": decision, "digest": digest}))).await.map(drop)
    }

    /// `None` declines.
    pub(super) async fn answer(&self, session: &SessionId, id: &str, answers: Option<Vec<Answer>>) -> Result<(), ApiError> {
        let body = match answers {
            Some(answers) => json!({"answers": answers}),
            None => json!({"declined": true}),
        };
        self.send(self.post(&[session.as_str(), "questions", id]).json(&body)).await.map(drop)
    }

    pub(super) async fn cancel(&self, session: &SessionId) -> Result<(), ApiError> {
        self.send(self.post(&[session.as_str(), "cancel"]).json(&json!({}))).await.map(drop)
    }

    /// The feed from after `last_id`, or from after the cursor `after` where the client has no id yet.
    pub(super) async fn open_feed(&self, session: &SessionId, last_id: Option<&str>, after: &str) -> Result<Opened, ApiError> {
        let mut url = self.url(&[session.as_str(), "events"]);
        if last_id.is_none() {
            url.query_pairs_mut().append_pair("after", after);
        }
        let mut request = self.http.get(url).header(ACCEPT, "text/event-stream");
        if let Some(id) = last_id {
            request = request.header("Last-Event-ID", id);
        }
        let response = tokio::time::timeout(CALL_TIMEOUT, self.send(request)).await.unwrap_or_else(|_| Err(slow_to_open()))?;
        Ok(if response.status() == StatusCode::NO_CONTENT { Opened::Over } else { Opened::Feed(response) })
    }

    fn post(&self, path: &[&str]) -> RequestBuilder {
        self.http.post(self.url(path)).timeout(CALL_TIMEOUT)
    }

    fn url(&self, path: &[&str]) -> Url {
        let mut url = self.base.as_ref().clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(["v1", "sessions"]).extend(path);
        }
        url
    }

    async fn call<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, ApiError> {
        Ok(self.send(request).await?.json().await?)
    }

    async fn send(&self, mut request: RequestBuilder) -> Result<Response, ApiError> {
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose_secret());
        }
        let response = request.send().await?;
        match response.status().is_success() {
            true => Ok(response),
            false => Err(ApiError::Problem(problem(response).await)),
        }
    }
}

/// The next bytes of a feed; `None` at its end. Cancel-safe.
pub(super) async fn next_chunk(response: &mut Response) -> Result<Option<bytes::Bytes>, String> {
    match tokio::time::timeout(SILENCE, response.chunk()).await {
        // how exactly a connection was cut helps nobody
        Ok(chunk) => chunk.map_err(|_| "the connection broke".into()),
        Err(_) => Err(format!("nothing came from the gateway for {} s", SILENCE.as_secs())),
    }
}

fn slow_to_open() -> ApiError {
    let detail = format!("no answer within {} s", CALL_TIMEOUT.as_secs());
    ApiError::Problem(Problem { status: 408, code: "timeout".into(), detail, retry_after: None })
}

async fn problem(response: Response) -> Problem {
    let status = response.status();
    let retry_after = retry_after(response.headers());
    // A proxy's error page is no JSON, and a cut body is none either: the status still says what happened.
    let body: Value = response.json().await.unwrap_or_default();
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut detail = Some(text("detail")).filter(|d| !d.is_empty()).unwrap_or_else(|| text("title"));
    for error in body.get("errors").and_then(Value::as_array).into_iter().flatten() {
        let part = |name: &str| error.get(name).and_then(Value::as_str).unwrap_or_default();
        detail.push_str(&format!("; {}: {}", part("pointer"), part("detail")));
    }
    let code = Some(text("code")).filter(|c| !c.is_empty()).unwrap_or_else(|| status.as_str().to_owned());
    Problem { status: status.as_u16(), code, detail, retry_after }
}

/// Only the form in seconds, the one that the gateway sends.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.parse().ok().map(Duration::from_secs)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
