//! The tools that a request offers, as the session's blob has them; each wire says them in its own words.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A tool of the blob, in its own bytes.
#[derive(Deserialize)]
pub(super) struct Offered<'a> {
    #[serde(borrow)]
    pub(super) name: &'a RawValue,
    #[serde(borrow)]
    pub(super) description: &'a RawValue,
    #[serde(borrow)]
    pub(super) schema: &'a RawValue,
}

/// The blob is our own; one that does not read offers nothing, which no model can misuse.
pub(super) fn offered(blob: Option<&str>) -> Vec<Offered<'_>> {
    blob.and_then(|blob| serde_json::from_str(blob).ok()).unwrap_or_default()
}
