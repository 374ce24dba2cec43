//! Files that came with messages: fetched, and given to their session, which keeps its turn waiting for them a while.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tracing::{debug, warn};

use super::Shared;
use crate::channel::messenger::{FetchFailure, Messenger};
use crate::domain::{Attachment, SessionId};
use crate::session::{SessionError, Sessions};

/// How often one is tried. The turn waits a minute at most.
const TRIES: u32 = 3;
/// Before the second try; twice that before the third.
const FIRST_WAIT: Duration = Duration::from_secs(2);

/// Fetches what the session still waits for.
pub(super) async fn run(shared: &Arc<Shared>, sessions: &Sessions, session: &SessionId) {
    match all(shared, sessions, session).await {
        Ok(()) | Err(SessionError::NotFound | SessionError::Stopping) => {}
        Err(error) => warn!(%session, %error, "files of a session were not fetched; the turn goes on without them"),
    }
}

async fn all(shared: &Arc<Shared>, sessions: &Sessions, session: &SessionId) -> Result<(), SessionError> {
    let lease = sessions.open(session).await?;
    let waits = sessions.unsettled(&lease).await?;
    if waits.is_empty() {
        return Ok(());
    }
    let Some(account) = super::courier::account(shared, sessions, session).await? else { return Ok(()) };
    let one = |attachment: Attachment| {
        let (lease, messenger) = (&lease, account.messenger.clone());
        async move {
            let Some(fetched) = fetch(shared, messenger, &attachment).await else { return Ok(()) };
            sessions.settle_attachment(lease, &attachment.attachment_id, fetched).await
        }
    };
    join_all(waits.into_iter().map(one)).await.into_iter().collect()
}

/// The file, or the word for why there is none; `None` where the process stops.
async fn fetch(shared: &Shared, messenger: Arc<dyn Messenger>, attachment: &Attachment) -> Option<Result<Bytes, &'static str>> {
    let permit = shared.fetches.clone();
    for attempt in 1..=TRIES {
        let fetched = tokio::select! { biased;
            () = shared.stop.cancelled() => return None,
            fetched = async {
                let _one_of_few = permit.acquire().await;
                messenger.fetch(attachment).await
            } => fetched,
        };
        let why = match fetched {
            Ok(bytes) => return Some(Ok(bytes)),
            Err(FetchFailure::TooLarge) => "too_large",
            Err(FetchFailure::HashMismatch) => "hash_mismatch",
            Err(FetchFailure::Unavailable) => "unavailable",
            Err(FetchFailure::Later) if attempt < TRIES => {
                debug!(attempt, "a file is not to be had yet");
                if !shared.pause(FIRST_WAIT * attempt).await {
                    return None;
                }
                continue;
            }
            Err(FetchFailure::Later) => "unavailable",
        };
        return Some(Err(why));
    }
    None
}
