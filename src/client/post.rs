//! Posting a message so that it arrives once: the same `Idempotency-Key` on every try.

use uuid::Uuid;

use super::api::{Api, ApiError, Posted};
use super::backoff::{Backoff, Patience};
use crate::domain::SessionId;

/// Posts until the gateway answers, within the limits of `patience`. Dropping the future may leave the message posted.
///
/// # Errors
/// What the gateway answered, or why it could not be reached.
pub(super) async fn post(api: &Api, session: &SessionId, text: &str, patience: Patience) -> Result<Posted, ApiError> {
    let key = Uuid::now_v7().to_string();
    let mut backoff = Backoff::new(patience);
    loop {
        let error = match api.post_message(session, text, &key).await {
            Ok(posted) => return Ok(posted),
            Err(error) if error.is_passing() => error,
            Err(error) => return Err(error),
        };
        match backoff.next(error.retry_after()) {
            Some(wait) => tokio::time::sleep(wait).await,
            None => return Err(error),
        }
    }
}
