//! One file a resource.

pub mod approvals;
pub mod capabilities;
pub mod events;
pub mod health;
pub mod messages;
pub mod records;
pub mod sessions;
pub mod transcript;
pub mod waits;

use serde::Deserialize;

use super::error::ApiError;

/// A page of a list.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Page {
    after: Option<String>,
    limit: Option<String>,
}

/// The rows of a page, when the caller does not say.
const DEFAULT_LIMIT: usize = 100;
/// The most rows of a page.
const MAX_LIMIT: usize = 1_000;

impl Page {
    /// How many rows, 1 to [`MAX_LIMIT`].
    fn limit(&self) -> Result<usize, ApiError> {
        match self.limit.as_deref().map(str::parse::<usize>) {
            None => Ok(DEFAULT_LIMIT),
            Some(Ok(limit)) if limit >= 1 => Ok(limit.min(MAX_LIMIT)),
            Some(_) => Err(ApiError::invalid("limit", format!("a number from 1 to {MAX_LIMIT}"))),
        }
    }

    /// The position after which the page begins; 0 is the start.
    fn after_seq(&self) -> Result<u64, ApiError> {
        match self.after.as_deref().map(str::parse::<u64>) {
            None => Ok(0),
            Some(Ok(seq)) => Ok(seq),
            Some(Err(_)) => Err(ApiError::invalid("after", "the next_cursor of the page before")),
        }
    }
}
