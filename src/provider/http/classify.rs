//! What an error answer of a provider means: its class and a stable code.
//!
//! The same body comes with an HTTP status, or in a frame of a stream that began with 200. What a provider says in words of its own
//! (`code`) is better than the status, and the status better than the vague `type`.

use std::time::SystemTime;

use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{retry_after, shorten};
use crate::provider::{ErrorClass, ModelError};

type Verdict = (ErrorClass, &'static str);

const RATE_LIMITED: Verdict = (ErrorClass::Retry, "rate_limited");
const OVERLOADED: Verdict = (ErrorClass::Retry, "overloaded");
const SERVER_ERROR: Verdict = (ErrorClass::Retry, "server_error");
const TIMEOUT: Verdict = (ErrorClass::Retry, "timeout");
const CONFLICT: Verdict = (ErrorClass::Retry, "conflict");
const OVERFLOW: Verdict = (ErrorClass::Overflow, "context_overflow");
const AUTH: Verdict = (ErrorClass::Final, "auth");
const BILLING: Verdict = (ErrorClass::Final, "billing");
const BAD_REQUEST: Verdict = (ErrorClass::Final, "bad_request");
const MODEL_NOT_FOUND: Verdict = (ErrorClass::Final, "model_not_found");

/// Words of `error.code`, which name the cause.
const CODES: &[(&str, Verdict)] = &[
    ("context_length_exceeded", OVERFLOW),
    ("insufficient_quota", BILLING),
    ("billing_hard_limit_reached", BILLING),
    ("insufficient_balance", BILLING),
    ("rate_limit_exceeded", RATE_LIMITED),
    ("invalid_api_key", AUTH),
    ("model_not_found", MODEL_NOT_FOUND),
    ("server_error", SERVER_ERROR),
];

/// Words of `error.type` (and of Anthropic-like errors behind a gateway), which name a kind.
const TYPES: &[(&str, Verdict)] = &[
    ("insufficient_quota", BILLING),
    ("billing_error", BILLING),
    ("rate_limit_error", RATE_LIMITED),
    ("overloaded_error", OVERLOADED),
    ("authentication_error", AUTH),
    ("permission_error", AUTH),
    ("not_found_error", MODEL_NOT_FOUND),
    ("timeout_error", TIMEOUT),
    ("invalid_request_error", BAD_REQUEST),
];

/// What Anthropic says of an account without money, as a bad request; in lower case.
const NO_CREDIT: &str = "credit balance is too low";

/// Messages of throttling, which may talk about tokens and are no overflow.
const NO_OVERFLOW: &[&str] = &["rate limit", "too many requests", "tokens per min", "throttling error", "service unavailable"];

/// How servers say that a request is longer than the model's window: the pieces of a message, in this order, in lower case. Facts from the
/// trackers of several agents.
const OVERFLOWS: &[&[&str]] = &[
    &["prompt is too long"],
    &["request_too_large"],
    &["input is too long for requested model"],
    &["exceed context limit"],
    &["context_length_exceeded"],
    &["context length exceeded"],
    &["exceeds the context window"],
    &["maximum context length is"],
    &["maximum context length of"],
    &["exceeds", "maximum context length"],
    &["is longer than the model's context length"],
    &["input token count", "exceeds the maximum"],
    &["maximum prompt length is"],
    &["reduce the length of the messages"],
    &["maximum allowed input length of"],
    &["requested", "output tokens", "prompt contains"],
    &["prompt contains", "input tokens"],
    &["exceeds the available context size"],
    &["greater than the context length"],
    &["prompt too long", "context length"],
    &["exceeded model token limit"],
    &["context window exceeds limit"],
    &["too large for model with", "maximum context length"],
    &["token", "exceeds the limit of"],
    &["too many tokens"],
    &["token limit exceeded"],
];

/// What an answer with a status other than 2xx means. `now` is for a `Retry-After` that is a date.
pub fn answer(status: u16, headers: &HeaderMap, body: &[u8], now: SystemTime) -> ModelError {
    let text = String::from_utf8_lossy(body);
    let said = Said::read(serde_json::from_str(&text).unwrap_or(Value::Null), &text);
    let (mut class, code) = verdict(Some(status), &said);
    match retry_after::should_retry(headers) {
        Some(true) if class == ErrorClass::Final => class = ErrorClass::Retry,
        Some(false) if class == ErrorClass::Retry => class = ErrorClass::Final,
        _ => {}
    }
    let message = match said.message.as_str() {
        "" => format!("the provider answered {status}"),
        message => format!("the provider answered {status}: {message}"),
    };
    ModelError { class, code, message: shorten(&message), retry_after: retry_after::retry_after(headers, now) }
}

/// What an error in a stream means that began well: the frame's `error`, or all of it.
pub fn frame(error: Value, raw: &str) -> ModelError {
    let said = Said::read(error, raw);
    let (class, code) = verdict(None, &said);
    ModelError { class, code, message: shorten(&format!("the provider broke off: {}", said.message)), retry_after: None }
}

/// What a provider says about an error, as far as it says it.
struct Said {
    /// A word, or a status where OpenRouter puts one.
    code: String,
    kind: String,
    message: String,
}

impl Said {
    /// From `{error: {message, type, code}}`, `{error: "..."}`, the inner object alone, or any text; also wrapped in an array.
    fn read(mut value: Value, raw: &str) -> Self {
        if let Value::Array(items) = &mut value {
            value = items.first_mut().map(Value::take).unwrap_or_default();
        }
        if let Some(inner @ (Value::Object(_) | Value::String(_))) = value.get_mut("error").map(Value::take) {
            value = inner;
        }
        let field = |name: &str| match value.get(name) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        let (code, kind, mut message) = (field("code"), field("type"), field("message"));
        if message.is_empty() {
            message = [value.as_str().map(str::to_owned), Some(field("detail")), Some(raw.trim().to_owned())]
                .into_iter()
                .flatten()
                .find(|m| !m.is_empty())
                .unwrap_or_default();
        }
        Self { code, kind, message }
    }

    fn is_empty(&self) -> bool {
        self.code.is_empty() && self.kind.is_empty() && self.message.is_empty()
    }
}

fn verdict(status: Option<u16>, said: &Said) -> Verdict {
    let status = status.or_else(|| said.code.parse().ok().filter(|code| (400..600).contains(code)));
    let word = |table: &[(&str, Verdict)], word: &str| table.iter().find(|(w, _)| *w == word).map(|(_, verdict)| *verdict);
    if let Some(verdict) = word(CODES, &said.code) {
        return verdict;
    }
    if said.kind == "insufficient_quota" || said.message.to_lowercase().contains(NO_CREDIT) {
        return BILLING;
    }
    if is_overflow(status, said) {
        return OVERFLOW;
    }
    status.and_then(by_status).or_else(|| word(TYPES, &said.kind)).unwrap_or(SERVER_ERROR)
}

/// `None` for a status that says nothing about an error.
fn by_status(status: u16) -> Option<Verdict> {
    Some(match status {
        300..=399 => BAD_REQUEST, // A redirect: the base URL is wrong.
        401 | 403 => AUTH,
        402 => BILLING,
        404 => MODEL_NOT_FOUND,
        408 => TIMEOUT,
        409 => CONFLICT,
        429 => RATE_LIMITED,
        400..=499 => BAD_REQUEST,
        503 | 529 => OVERLOADED,
        504 => TIMEOUT,
        500..=599 => SERVER_ERROR,
        _ => return None,
    })
}

fn is_overflow(status: Option<u16>, said: &Said) -> bool {
    if matches!(status, Some(429 | 503)) {
        return false;
    }
    if status == Some(413) || (status == Some(400) && said.is_empty()) {
        return true; // Cerebras says 400 or 413 and nothing else.
    }
    let text = format!("{} {} {}", said.code, said.kind, said.message).to_lowercase();
    !NO_OVERFLOW.iter().any(|no| text.contains(no)) && OVERFLOWS.iter().any(|pieces| has_in_order(&text, pieces))
}

fn has_in_order(text: &str, pieces: &[&str]) -> bool {
    let mut rest = text;
    pieces.iter().all(|piece| match rest.find(piece) {
        Some(at) => {
            rest = &rest[at + piece.len()..];
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests;
