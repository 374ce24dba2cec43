//! Calls to Meta's Graph API. Nothing is tried twice here: whether a failed call may be repeated is the whole question, and its answer is the
//! class of the error.

use std::time::{Duration, SystemTime};

use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use reqwest::{RequestBuilder, Response};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::errors;
use super::facts::clean;
use crate::channel::messenger::{DeliveryError, ErrorClass, Receipt};
use crate::provider::http::retry_after::retry_after;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A call as a whole. Meta answers within a second or two; after this long nobody knows what became of it.
const CALL_TIMEOUT: Duration = Duration::from_secs(15);
/// The most of an answer that is read, bytes.
const ANSWER_LIMIT: usize = 64 * 1024;

/// A client for [`WhatsApp::new`](super::WhatsApp::new). It follows no redirect: that would carry the token to whoever is named there, and
/// send a message twice.
///
/// # Errors
/// When TLS cannot be set up.
pub fn client() -> Result<reqwest::Client, reqwest::Error> {
    reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .redirect(Policy::none())
        .user_agent(concat!("portico/", env!("CARGO_PKG_VERSION")))
        .build()
}

/// One number at Meta's.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    client: reqwest::Client,
    /// Without a slash at its end.
    url: String,
    phone_number_id: String,
    token: SecretString,
}

impl Graph {
    pub(super) fn new(client: reqwest::Client, url: &str, phone_number_id: &str, token: SecretString) -> Self {
        Self { client, url: url.trim_end_matches('/').to_owned(), phone_number_id: phone_number_id.to_owned(), token }
    }

    /// Sends a message. Dropped, it may or may not have been sent.
    pub(super) async fn send(&self, body: &Value) -> Result<Receipt, DeliveryError> {
        let answer = self.call(self.client.post(self.messages_url()).json(body)).await?;
        match answer["messages"][0]["id"].as_str().filter(|id| !id.is_empty()) {
            Some(id) => Ok(Receipt { message: id.to_owned() }),
            None => Err(ambiguous("unreadable_answer", "a success without the id of a message")),
        }
    }

    /// Tells Meta something that is no message.
    pub(super) async fn tell(&self, body: &Value) -> Result<(), DeliveryError> {
        self.call(self.client.post(self.messages_url()).json(body)).await.map(|_| ())
    }

    /// Where a file lies, and what it should be.
    pub(super) async fn media(&self, media_id: &str) -> Result<Value, DeliveryError> {
        self.call(self.client.get(format!("{}/{media_id}", self.url))).await
    }

    /// A request with the token for an address that [`media`](Self::media) named and that was checked.
    pub(super) fn download(&self, url: url::Url) -> RequestBuilder {
        self.client.get(url).bearer_auth(self.token.expose_secret())
    }

    pub(super) fn base(&self) -> &str {
        &self.url
    }

    fn messages_url(&self) -> String {
        format!("{}/{}/messages", self.url, self.phone_number_id)
    }

    async fn call(&self, request: RequestBuilder) -> Result<Value, DeliveryError> {
        self.answer(request).await.map_err(|error| self.without_token(error))
    }

    async fn answer(&self, request: RequestBuilder) -> Result<Value, DeliveryError> {
        let sent = request.bearer_auth(self.token.expose_secret()).timeout(CALL_TIMEOUT).send().await;
        let mut response = sent.map_err(|error| of_transport(&error))?;
        let (status, after) = (response.status(), after(response.headers()));
        let body = body(&mut response).await;
        if !status.is_success() {
            // it is an answer, whatever became of its body
            let body = body.ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
            return Err(errors::of_answer(status.as_u16(), &body, after));
        }
        let answer: Value = serde_json::from_slice(&body?).map_err(|_| ambiguous("unreadable_answer", "a success that is no JSON"))?;
        match answer["error"].is_object() {
            true => Err(errors::of_answer(status.as_u16(), &answer, after)),
            false => Ok(answer),
        }
    }

    /// Whatever an error says, it does not say the token.
    fn without_token(&self, mut error: DeliveryError) -> DeliveryError {
        let token = self.token.expose_secret();
        if !token.is_empty() {
            error.detail = error.detail.replace(token, "[token]");
        }
        error
    }
}

async fn body(response: &mut Response) -> Result<Vec<u8>, DeliveryError> {
    let mut body = Vec::new();
    while let Some(bytes) = response.chunk().await.map_err(|error| of_transport(&error))? {
        if body.len() + bytes.len() > ANSWER_LIMIT {
            return Err(ambiguous("unreadable_answer", "an answer that is too long"));
        }
        body.extend_from_slice(&bytes);
    }
    Ok(body)
}

/// Nothing was sent where no connection came to be; everything else may have arrived.
fn of_transport(error: &reqwest::Error) -> DeliveryError {
    let detail = clean(&causes(error), 300);
    if error.is_builder() {
        // of the configuration alone: the body is always JSON
        return DeliveryError { code: "bad_request".into(), class: ErrorClass::Account, detail };
    }
    if error.is_connect() {
        return DeliveryError { code: "connection".into(), class: ErrorClass::Retry { after: None }, detail };
    }
    ambiguous(if error.is_timeout() { "timeout" } else { "connection" }, &detail)
}

/// reqwest's own words name the address and no cause.
fn causes(error: &reqwest::Error) -> String {
    let mut text = String::new();
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text = format!("{text}{}{cause}", if text.is_empty() { "" } else { ": " });
        next = cause.source();
    }
    if text.is_empty() { error.to_string() } else { text }
}

fn ambiguous(code: &str, detail: &str) -> DeliveryError {
    DeliveryError { code: code.into(), class: ErrorClass::Ambiguous, detail: detail.into() }
}

fn after(headers: &HeaderMap) -> Option<Duration> {
    retry_after(headers, SystemTime::now())
}
