//! One file a resource.

pub mod approvals;
pub mod artifacts;
pub mod capabilities;
pub mod channels;
pub mod deliveries;
pub mod events;
pub mod export;
pub mod handoff;
pub mod health;
pub mod messages;
pub mod metrics;
pub mod pairings;
pub mod records;
pub mod sessions;
pub mod transcript;
pub mod waits;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ApiError;

/// The policy of what is to be saved: a browser that shows it all the same loads and runs nothing.
const INERT: &str = "default-src 'none'; sandbox";

/// A page of a list.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Page {
    after: Option<String>,
    limit: Option<String>,
}

/// A page of a list, as it is sent. Rows are written as they are: a generic value would reorder the bytes of a tool call's arguments.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub(crate) struct ListPage<T> {
    data: Vec<T>,
    /// Absent on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_cursor: Option<String>,
}

/// The rows of a page, when the caller does not say.
pub(super) const DEFAULT_LIMIT: usize = 100;
/// The most rows of a page.
pub(super) const MAX_LIMIT: usize = 1_000;

impl Page {
    /// How many rows, 1 to [`MAX_LIMIT`].
    fn limit(&self) -> Result<usize, ApiError> {
        // more than fits is more than the most
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<usize>().unwrap_or(usize::MAX));
        match self.limit.as_deref().map(|text| number(text).filter(|_| !text.is_empty())) {
            None => Ok(DEFAULT_LIMIT),
            Some(Some(limit)) if limit >= 1 => Ok(limit.min(MAX_LIMIT)),
            Some(_) => Err(ApiError::invalid("limit", format!("a number from 1 on; a page has at most {MAX_LIMIT} rows"))),
        }
    }

    /// The id after which the page begins.
    fn after_id(&self, prefix: &str) -> Result<Option<&str>, ApiError> {
        match self.after.as_deref() {
            Some(after) if !after.starts_with(prefix) => Err(ApiError::invalid("after", "the next_cursor of the page before")),
            after => Ok(after),
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
