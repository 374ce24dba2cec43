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
    #[derive(Deserialize)]
    struct Ready {
        status: String,
    }
    let http = reqwest::Client::builder().no_proxy().timeout(TIMEOUT).build().map_err(|e| e.to_string())?;
    let answer = http.get(format!("{}/readyz", url.trim_end_matches('/'))).send().await;
    let answer = answer.map_err(|error| format!("no gateway answers at {url} ({})", super::api::root_cause(&error)))?;
    let status = answer.status();
    // something else may answer there, and well
    let said = answer.json::<Ready>().await.ok();
    match said.as_ref().map(|ready| ready.status.as_str()) {
        Some("ready") if status.is_success() => Ok(()),
        Some(word) => Err(format!("the gateway is not ready: {} {word}", status.as_u16())),
        None => Err(format!("what answers at {url} is no gateway: {}", status.as_u16())),
    }
}
