//! Token counts of one or many requests.

use std::ops::AddAssign;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Tokens, disjoint: their sum is what was billed. `input` leaves out what came from or went to a cache, `output` leaves out reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Usage {
    /// Of the request, neither read from nor written to a cache.
    pub input: u64,
    /// Of the request, read from the provider's cache.
    pub cache_read: u64,
    /// Of the request, written to the provider's cache.
    pub cache_write: u64,
    /// Of the answer, tool calls included.
    pub output: u64,
    /// Of the answer, thought and not said.
    pub reasoning: u64,
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.input += other.input;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.output += other.output;
        self.reasoning += other.reasoning;
    }
}
