//! What the parts cost by themselves: `cargo bench --bench micro`.
//!
//! [`append`] the store's commits, [`feed`] from the ledger to its readers, [`sse`] the wire in and out, [`fold`] a ledger read back. Whole
//! turns over real sockets are `gateway`'s business.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot run is to stop")]

mod append;
mod feed;
mod fold;
mod ledger;
mod sse;

fn main() {
    divan::main();
}
