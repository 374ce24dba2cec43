//! The gateway's routes, as its document has them, so that a test which must know all of them cannot miss a new one.

use super::contract;

/// Every method and path under `/v1`.
pub(crate) fn routes() -> Vec<(String, String)> {
    contract::operations().into_iter().filter(|(_, path)| path.starts_with("/v1/")).collect()
}
