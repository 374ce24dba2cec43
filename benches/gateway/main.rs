//! What Portico costs, beside the least that anything in its place would: `cargo bench --bench gateway`.
//!
//! A scripted model, a pass-through floor and the real `portico` run as processes of their own over loopback; this one makes the load, checks
//! every token, and reads what each process took from `/proc`. Floor and Portico take turns, each on a fresh process, so that a machine that
//! slows down slows both. Read the ratios.
//!
//! Read in this order: [`scenario`] (what is measured), [`target`] (how each is asked), [`turn`] and [`tokens`] (how an answer is read and
//! checked), [`model`] and [`floor`] (the other ends), [`process`] (starting and metering), [`report`].
//!
//! Under `cargo test` it runs every scenario once, small, for its checks alone.

#![expect(unreachable_pub, reason = "a binary of its own: what its files share is public to it alone")]

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::Parser;

mod floor;
mod model;
mod process;
mod report;
mod scenario;
mod target;
mod tokens;
mod turn;

use report::Report;
use scenario::{Bench, Scenario, Size};

/// The longest that one scenario may take on one process.
const LONGEST: Duration = Duration::from_secs(180);

/// Measures Portico beside a pass-through floor that keeps nothing.
#[derive(Debug, Parser)]
#[command(name = "gateway")]
struct Options {
    /// Small and once: for the checks, not for the figures.
    #[arg(long)]
    quick: bool,
    /// How often floor and Portico take turns; the medians are printed.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    rounds: u32,
    /// Only these scenarios.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    only: Vec<Scenario>,
    /// Adds each measurement to this file, as a line of JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Another binary of Portico, to compare builds.
    #[arg(long, value_name = "FILE", default_value = env!("CARGO_BIN_EXE_portico"))]
    portico: PathBuf,
    /// Given by `cargo bench`.
    #[arg(long, hide = true)]
    bench: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    // the first of a process wins, and there is no other
    let _ = rustls::crypto::ring::default_provider().install_default();
    let args: Vec<String> = std::env::args().collect();
    match args.iter().skip(1).map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve-model"] => model::serve().await.map(|()| ExitCode::SUCCESS),
        ["serve-floor", model] => floor::serve(model).await.map(|()| ExitCode::SUCCESS),
        // what a test runner passes on, names of tests among it, is not for this one
        _ if !args.iter().any(|arg| arg == "--bench") && !std::env::args().any(|arg| arg == "--help") => {
            measure(&Options::parse_from(["gateway", "--quick"])).await
        }
        _ => measure(&Options::parse()).await,
    }
}

/// Fails when one answer was not whole and right.
async fn measure(options: &Options) -> anyhow::Result<ExitCode> {
    portico::server::raise_file_limit();
    let (size, rounds) = if options.quick { (Size::QUICK, 1) } else { (Size::FULL, options.rounds) };
    let bench = Bench::new(size, options.portico.clone()).await?;
    let mut report = Report::new(options.json.clone(), bench.sync_p50()?);
    for scenario in Scenario::ALL.into_iter().filter(|s| options.only.is_empty() || options.only.contains(s)) {
        for _ in 0..rounds {
            for target in scenario.targets() {
                let measured = tokio::time::timeout(LONGEST, bench.run(scenario, *target)).await;
                let measured = measured.context("it took too long")?.with_context(|| format!("{scenario} on {target}"))?;
                report.take(&scenario.to_string(), *target, measured)?;
            }
        }
        report.print(&scenario.to_string());
    }
    Ok(report.verdict())
}
