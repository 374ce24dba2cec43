//! What a reader wants to see, within what it may.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use crate::domain::View;

/// What a reader wants to see.
#[derive(Clone)]
pub struct Filter {
    pub view: View,
    /// Only these events; `None` is all. A delta type brings `message`, `retry` and `done` along.
    pub types: Option<Arc<BTreeSet<String>>>,
    /// Whether the reader may decide on calls of that tool.
    pub may_decide: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("view", &self.view).field("types", &self.types).finish_non_exhaustive()
    }
}

impl Filter {
    /// Whether events of that name are asked for.
    pub(super) fn wants(&self, event: &str) -> bool {
        let Some(types) = &self.types else { return true };
        let ends_deltas = matches!(event, "message" | "retry" | "done");
        types.contains(event) || (ends_deltas && types.iter().any(|t| t.ends_with("_delta")))
    }
}
