//! The binary: one TLS backend, one runtime, one command.

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use portico::cli::Cli;

/// A turn is thousands of small allocations on whichever thread has time, which the system's allocator answers slower: `docs/PERFORMANCE.md`
/// has the figures.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    // the first of a process wins, and there is no other
    let _ = rustls::crypto::ring::default_provider().install_default();
    cli.run_to_end().unwrap_or_else(|error| {
        eprintln!("portico: {error:#}");
        ExitCode::FAILURE
    })
}
