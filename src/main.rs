//! The binary: one TLS backend, one runtime, one command.

use std::process::ExitCode;

use clap::Parser;
use mimalloc::MiMalloc;
use portico::cli::Cli;

/// A turn is thousands of small allocations on whichever thread has time, which the system's allocator answers slower: `docs/PERFORMANCE.md`
/// has the figures.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    // the first of a process wins, and there is no other
    let _ = rustls::crypto::ring::default_provider().install_default();
    match cli.run().await {
        Ok(code) => code,
        Err(error) => {
            eprintln!("portico: {error:#}");
            ExitCode::FAILURE
        }
    }
}
