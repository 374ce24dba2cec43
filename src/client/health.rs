//! One question to a gateway, for who watches it: whether it can do its work.

use std::time::Duration;

use serde::Deserialize;

/// A gateway that is well answers from memory and one look at its store.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the gateway at this URL, without a key.
///
/// # Errors
/// Why it is not ready, as a sentence.
pub async fn health(url: &str) -> Result<(), String> {
    #[derive(Default, Deserialize)]
    struct Ready {
        status: String,
    }
    let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().map_err(|e| e.to_string())?;
    let answer = http.get(format!("{}/readyz", url.trim_end_matches('/'))).send().await;
    let answer = answer.map_err(|error| format!("no gateway answers at {url} ({})", super::api::root_cause(&error)))?;
    let status = answer.status();
    let Ready { status: word } = answer.json().await.unwrap_or_default();
    if status.is_success() { Ok(()) } else { Err(format!("the gateway is not ready: {} {word}", status.as_u16())) }
}
