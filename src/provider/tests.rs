//! What the tests of every wire share.

pub(super) mod listener;
pub(super) mod recorded;
mod strict;
