//! The configuration: one struct per concern, filled from the compiled-in `config.toml`, a file and the environment, in this order.
//!
//! Every file and every variable is judged alone before anything is merged, so that a mistake is named where it was made. The structs are
//! the only truth on which keys exist ([`shape`] reads it off them); `config.toml` is the only truth on defaults. Nothing here opens a
//! socket, knows a provider's table or a tool's body: `app` combines these values with them.
//!
//! Read the structs first, then `shape`, `file`, `environment`, `merge`, `check`.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

pub mod agents;
pub mod approvals;
pub mod auth;
pub mod channels;
mod check;
mod environment;
pub mod error;
mod file;
pub mod log;
mod merge;
pub mod net;
pub mod providers;
pub mod server;
pub mod sessions;
mod shape;
pub mod store;
pub mod tools;
pub mod variables;

#[cfg(test)]
mod tests;

pub use error::{ConfigError, Place, Problem};

use agents::Agents;
use environment::Environment;
use file::Layer;
use shape::Shape;
use variables::Variables;

/// Read when no file is named; need not exist.
const USUAL_FILE: &str = "config.toml";

/// The documented defaults.
const BUILT_IN: &str = include_str!("../config.toml");

/// Everything an operator can set.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where the gateway listens and how it stops.
    pub server: server::Server,
    /// Who may call.
    #[serde(default)]
    pub auth: auth::Auth,
    /// Where the ledger is kept.
    pub store: store::Store,
    /// The agents, by name; `default` is always there.
    #[schemars(with = "std::collections::BTreeMap<String, agents::Agent>")]
    pub agents: Agents,
    /// What the operator says about providers, by the id that the table of providers has or a name of their own.
    #[serde(default)]
    pub providers: providers::Providers,
    /// Policies and limits of tools.
    pub tools: tools::Tools,
    /// Where requests may go whose address others name.
    pub net: net::Net,
    /// Approvals and questions.
    pub approvals: approvals::Approvals,
    /// Actors of sessions.
    pub sessions: sessions::Sessions,
    /// Channels' own settings.
    pub channels: channels::Channels,
    /// What is logged, and how.
    pub log: log::Log,
    /// The providers' usual variables, which no file can set.
    #[serde(skip)]
    pub variables: Variables,
    /// Where each value was given last.
    #[serde(skip)]
    places: file::Places,
}

impl Config {
    /// Reads the configuration: the compiled-in defaults, then `file` (or `./config.toml` where there is one), then the variables
    /// `PORTICO__SECTION__KEY` of `env`. Relative paths are the process's. Blocks on reading files.
    ///
    /// # Errors
    /// Everything that is wrong with the file and the variables, each with its place.
    pub fn load(file: Option<&Path>, env: impl Iterator<Item = (String, String)>) -> Result<Self, ConfigError> {
        let shape = Shape::of::<Self>();
        let env: Vec<(String, String)> = env.collect();
        let mut problems = Vec::new();

        let mut layers = Vec::new();
        for layer in [file::check("built-in config.toml", BUILT_IN.to_owned(), &shape), read(file, &shape)] {
            match layer {
                Ok(layer) => layers.push(layer),
                Err(more) => problems.extend(more),
            }
        }
        let environment = Environment::check(&env, &shape).unwrap_or_else(|more| {
            problems.extend(more);
            Environment::default()
        });
        let variables = Variables::read(&env).unwrap_or_else(|problem| {
            problems.push(problem);
            Variables::default()
        });
        ConfigError::unless_none(problems)?;

        let merged = merge::merge(layers, environment, &shape)?;
        check::alone(&merged)?;
        let places = merged.places.clone();
        let mut config: Self = merged.into_values()?;
        config.places = places;
        config.variables = variables;
        check::together(&config)?;
        Ok(config)
    }

    /// A problem with the value of that key, or with its table, found by who puts it to use: with the file and line, or the variable.
    pub fn problem(&self, key: &str, why: impl std::fmt::Display) -> ConfigError {
        let place = self.place(key).cloned().unwrap_or_else(|| error::Place::file("configuration", None));
        ConfigError { problems: vec![place.problem(format!("{key}: {why}"))] }
    }

    /// Whether this very key was given.
    fn is_given(&self, key: &str) -> bool {
        self.places.contains_key(key)
    }

    /// Where this key, or something in its table, was given last.
    fn place(&self, key: &str) -> Option<&Place> {
        let within = format!("{key}.");
        self.places.iter().find(|(at, _)| *at == key || at.starts_with(&within)).map(|(_, place)| place)
    }
}

/// The operator's file as a layer; an empty one where none was named and the usual one does not exist.
fn read(file: Option<&Path>, shape: &Shape) -> Result<Layer, Vec<Problem>> {
    let path = file.unwrap_or(Path::new(USUAL_FILE));
    let name = path.display().to_string();
    match std::fs::read_to_string(path) {
        Ok(text) => file::check(&name, text, shape),
        Err(e) if file.is_none() && e.kind() == std::io::ErrorKind::NotFound => file::check(&name, String::new(), shape),
        Err(e) => Err(vec![Place::file(&name, None).problem(format!("cannot read it: {e}"))]),
    }
}
