//! The gateway's `domain`, compiled alone: it does no I/O, so a fuzzer needs nothing else of the gateway, and builds in half a minute.

#[path = "../../src"]
mod tree {
    pub mod domain;
}

pub use tree::domain;
