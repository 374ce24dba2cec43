//! The binary: one TLS backend, one runtime, one command.

use std::process::ExitCode;

use clap::Parser;
use portico::cli::Cli;

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
