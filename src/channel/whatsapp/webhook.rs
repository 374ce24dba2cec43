//! Who calls the webhook: Meta's handshake when it is set up, and the signature of everything after.

use axum::http::Method;
use hmac::{Hmac, KeyInit, Mac};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::channel::messenger::{Refusal, WebhookRequest};

/// Over the raw body, by the app's secret. The older SHA-1 header beside it proves less and is not read.
const SIGNATURE: &str = "x-hub-signature-256";
/// Meta sends a number of ten digits.
const LONGEST_CHALLENGE: usize = 128;

/// Proves a request: a GET by the token that the operator gave Meta, a POST by its signature.
///
/// # Errors
/// What the request is not.
pub(super) fn check(request: &WebhookRequest, app_secret: &SecretString, verify_token: &SecretString) -> Result<(), Refusal> {
    match request.method {
        Method::GET => handshake(request, verify_token.expose_secret()),
        Method::POST => signature(request, app_secret.expose_secret()),
        _ => Err(Refusal::Malformed),
    }
}

/// What does not fit, as its operator can look it up.
pub(super) fn why(method: &Method, refusal: Refusal) -> &'static str {
    match (method, refusal) {
        (&Method::GET, Refusal::Malformed) => "hub.challenge is not there, or is none that Meta would send",
        (&Method::GET, Refusal::Wrong | Refusal::Unproven) => {
            "hub.verify_token is not the account's verify_token, or hub.mode is not subscribe"
        }
        (_, Refusal::Unproven) => "the request has no X-Hub-Signature-256",
        (_, Refusal::Wrong) => "the request's X-Hub-Signature-256 does not fit the account's app_secret",
        (_, Refusal::Malformed) => "Meta would not send this",
    }
}

/// What a handshake wants back. `None` for everything that is not one.
pub(super) fn challenge(request: &WebhookRequest) -> Option<String> {
    if request.method != Method::GET {
        return None;
    }
    // it is answered as it came: nothing that a browser could take for a page gets through
    let inert = |c: char| c.is_ascii_graphic() && !matches!(c, '<' | '>' | '&' | '"' | '\'');
    parameter(request, "hub.challenge").filter(|text| !text.is_empty() && text.len() <= LONGEST_CHALLENGE && text.chars().all(inert))
}

fn handshake(request: &WebhookRequest, token: &str) -> Result<(), Refusal> {
    let given = parameter(request, "hub.verify_token").unwrap_or_default();
    let subscribes = parameter(request, "hub.mode").as_deref() == Some("subscribe");
    // hashes, so that not even the length shows; an empty token in the configuration is nobody's
    let same = Sha256::digest(given).ct_eq(&Sha256::digest(token));
    if token.is_empty() || !subscribes || !bool::from(same) {
        return Err(Refusal::Wrong);
    }
    challenge(request).map(|_| ()).ok_or(Refusal::Malformed)
}

fn signature(request: &WebhookRequest, secret: &str) -> Result<(), Refusal> {
    let header = request.headers.get(SIGNATURE).ok_or(Refusal::Unproven)?;
    let given = header.to_str().ok().and_then(|text| text.strip_prefix("sha256=")).and_then(from_hex).ok_or(Refusal::Wrong)?;
    // a signature by an empty key could be anybody's
    if secret.is_empty() {
        return Err(Refusal::Wrong);
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(|_| Refusal::Wrong)?;
    mac.update(&request.body);
    mac.verify_slice(&given).map_err(|_| Refusal::Wrong)
}

/// 64 hexadecimal digits.
pub(super) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let digits = text.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let mut bytes = [0; 32];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        let value = |digit: u8| char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok());
        *byte = value(pair[0])? << 4 | value(pair[1])?;
    }
    Some(bytes)
}

fn parameter(request: &WebhookRequest, name: &str) -> Option<String> {
    let query = request.uri.query()?;
    url::form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}
