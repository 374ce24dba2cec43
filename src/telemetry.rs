//! Where log lines go: to standard error, as text or JSON. Never to standard output, which belongs to `portico chat`.

use std::io::IsTerminal;

use schemars::JsonSchema;
use serde::Deserialize;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// How a log line is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    Text,
    Json,
}

/// Why logging could not be set up.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("{name}: {why}")]
    Filter { name: &'static str, why: String },
    #[error("logging is set up already: {0}")]
    Twice(#[from] TryInitError),
}

/// Sets up logging for the process; `RUST_LOG` wins over `level` when it is set and not empty.
///
/// # Errors
/// A filter that cannot be read, or a second call.
pub fn init(format: Format, level: &str) -> Result<(), TelemetryError> {
    let filter = filter(std::env::var("RUST_LOG").ok().as_deref(), level)?;
    let lines = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    match format {
        Format::Text => lines.with_ansi(colours()).finish().try_init()?,
        Format::Json => lines.json().finish().try_init()?,
    }
    Ok(())
}

fn filter(rust_log: Option<&str>, level: &str) -> Result<EnvFilter, TelemetryError> {
    let (name, text) = match rust_log {
        Some(text) if !text.trim().is_empty() => ("RUST_LOG", text),
        Some(_) | None => ("log.level", level),
    };
    read(text).map_err(|why| TelemetryError::Filter { name, why })
}

/// What a filter may say where it names no target.
const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

/// Reads a filter. A word alone that is no level would name a target and silence all others, so it is refused.
///
/// # Errors
/// What is wrong with it.
pub fn read(text: &str) -> Result<EnvFilter, String> {
    let alone = text.split(',').map(str::trim).filter(|part| !part.contains(['=', '[']) && !part.is_empty());
    if let Some(word) = alone.into_iter().find(|part| !LEVELS.contains(&part.to_ascii_lowercase().as_str())) {
        let meant = LEVELS.into_iter().find(|level| word.to_ascii_lowercase().starts_with(level));
        let hint = meant.map_or_else(|| format!("for a target give a level too, as {word}=info"), |level| format!("did you mean {level}?"));
        return Err(format!("{word:?} is not a level; levels are {}; {hint}", LEVELS.join(", ")));
    }
    EnvFilter::try_new(text).map_err(|error| format!("not a log filter: {error}"))
}

fn colours() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{filter, read};

    #[test]
    fn rust_log_wins_when_it_says_something() {
        for (rust_log, effective) in [(None, "info"), (Some(""), "info"), (Some("portico=debug"), "portico=debug")] {
            assert_eq!(filter(rust_log, "info").unwrap().to_string(), effective);
        }
    }

    #[test]
    fn a_word_that_is_no_level_is_refused_and_not_taken_for_a_target() {
        for (text, why) in [
            ("warning", "\"warning\" is not a level; levels are off, error, warn, info, debug, trace; did you mean warn?"),
            (
                "info, loud",
                "\"loud\" is not a level; levels are off, error, warn, info, debug, trace; for a target give a level too, as loud=info",
            ),
        ] {
            assert_eq!(read(text).unwrap_err(), why);
            assert_eq!(filter(Some(text), "info").unwrap_err().to_string(), format!("RUST_LOG: {why}"));
        }
        for text in ["off", "WARN", "portico=debug", "info,hyper=warn", "warn,portico[actor]=trace"] {
            read(text).unwrap();
        }
    }

    #[test]
    fn a_bad_filter_is_named() {
        let of = |rust_log| filter(rust_log, "portico=loud").unwrap_err().to_string();
        assert!(of(None).starts_with("log.level: not a log filter: "), "{}", of(None));
        assert!(of(Some("portico=louder")).starts_with("RUST_LOG: not a log filter: "));
    }
}
