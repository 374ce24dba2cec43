//! Figures: gathered over the rounds, printed as a table, added to a file as JSON lines.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;

use crate::target::Target;
use crate::tokens::Faults;
use crate::turn::Turn;

/// What one scenario on one process came to.
#[derive(Debug)]
pub struct Measured {
    pub faults: Faults,
    pub tokens: usize,
    /// By name, in the order in which they are printed.
    figures: Vec<(&'static str, f64)>,
}

impl Measured {
    pub fn new(turns: &[Turn]) -> Self {
        let mut faults = Faults::default();
        turns.iter().for_each(|turn| faults.add(turn.faults));
        Self { faults, tokens: turns.iter().map(|turn| turn.tokens).sum(), figures: Vec::new() }
    }

    pub fn add(&mut self, name: &'static str, figure: f64) {
        self.figures.push((name, figure));
    }
}

/// Of some times, in milliseconds. Zero where there are none.
#[derive(Clone, Copy, Debug)]
pub struct Percentiles {
    pub p50: f64,
    pub p99: f64,
}

impl Percentiles {
    pub fn of(times: &[Duration]) -> Self {
        let mut ms: Vec<f64> = times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        let at = |share: f64| ms.get(((ms.len() as f64 * share) as usize).min(ms.len().saturating_sub(1))).copied().unwrap_or(0.0);
        Self { p50: at(0.5), p99: at(0.99) }
    }
}

/// All that was measured.
#[derive(Debug)]
pub struct Report {
    json: Option<PathBuf>,
    sync_ms: f64,
    faults: Faults,
    /// The figures of all rounds.
    rounds: BTreeMap<(String, Target), Vec<Measured>>,
}

impl Report {
    pub fn new(json: Option<PathBuf>, sync_ms: f64) -> Self {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        println!("{processors} processors; the disk makes 4 KB durable in {sync_ms:.2} ms (p50)");
        println!("{:44}{:>12}{:>12}{:>12}{:>10}", "", "floor", "portico", "beyond it", "ratio");
        Self { json, sync_ms, faults: Faults::default(), rounds: BTreeMap::new() }
    }

    pub fn take(&mut self, scenario: &str, target: Target, measured: Measured) -> anyhow::Result<()> {
        if let Some(path) = &self.json {
            let Faults { errors, lost, doubled, crossed } = measured.faults;
            let figures: serde_json::Map<_, _> = measured.figures.iter().map(|(name, figure)| ((*name).into(), json!(figure))).collect();
            let line = json!({
                "scenario": scenario, "target": target.to_string(), "tokens": measured.tokens, "errors": errors, "lost": lost,
                "doubled": doubled, "crossed": crossed, "figures": figures, "sync_p50_ms": self.sync_ms,
            });
            writeln!(OpenOptions::new().create(true).append(true).open(path)?, "{line}")?;
        }
        self.faults.add(measured.faults);
        self.rounds.entry((scenario.to_owned(), target)).or_default().push(measured);
        Ok(())
    }

    /// The medians of that scenario.
    pub fn print(&self, scenario: &str) {
        let of = |target| self.rounds.get(&(scenario.to_owned(), target)).map_or(&[][..], Vec::as_slice);
        let (floor, portico) = (of(Target::Floor), of(Target::Portico));
        let names = portico.first().map_or(&[][..], |measured| measured.figures.as_slice());
        for (name, _) in names {
            let line = format!("{:44}", format!("{scenario}: {name}"));
            match (median(floor, name), median(portico, name)) {
                (Some(floor), Some(portico)) => {
                    let (beyond, ratio) = (portico - floor, portico / floor);
                    println!("{line}{}{}{}{ratio:>10.2}", number(floor), number(portico), number(beyond));
                }
                (None, Some(portico)) => println!("{line}{:12}{}", "", number(portico)),
                (_, None) => {}
            }
        }
    }

    /// Says what went wrong.
    pub fn verdict(&self) -> ExitCode {
        let Faults { errors, lost, doubled, crossed } = self.faults;
        println!("errors {errors}, tokens lost {lost}, doubled {doubled}, crossed {crossed}");
        if self.faults.sum() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}

fn median(rounds: &[Measured], name: &str) -> Option<f64> {
    let mut all: Vec<f64> = rounds.iter().flat_map(|m| &m.figures).filter(|(other, _)| *other == name).map(|(_, figure)| *figure).collect();
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

fn number(figure: f64) -> String {
    let digits = if figure.abs() >= 100.0 { 0 } else { 2 };
    format!("{figure:>12.digits$}")
}
