//! The layers, one over the other, and what can only be said of all of them together: what agents inherit, and secrets in files.

use config::{Config as Values, ConfigError as MergeError, File, FileFormat};
use serde::de::DeserializeOwned;

use super::environment::{Environment, PREFIX, SEPARATOR};
use super::error::{ConfigError, Place, Problem};
use super::file::{Layer, Places};
use super::shape::Shape;

/// The merged values and, by whole key, where each was given last. Not `Debug`: the values hold secrets.
pub(super) struct Merged {
    values: Values,
    pub(super) places: Places,
}

impl Merged {
    /// The value at a key that is set to text.
    pub(super) fn text(&self, key: &str) -> Option<String> {
        self.values.get_string(key).ok()
    }

    pub(super) fn into_values<T: DeserializeOwned>(self) -> Result<T, ConfigError> {
        Ok(self.values.try_deserialize()?)
    }
}

/// Lays the files in their order and then the environment over each other.
///
/// # Errors
/// Secrets that cannot be read or are given twice.
pub(super) fn merge(layers: Vec<Layer>, environment: Environment, shape: &Shape) -> Result<Merged, ConfigError> {
    let mut builder = Values::builder();
    let mut places = Places::new();
    for layer in layers {
        builder = builder.add_source(File::from_str(&layer.text, FileFormat::Toml));
        places.extend(layer.places);
    }
    let variables = config::Environment::with_prefix(PREFIX).prefix_separator(SEPARATOR).separator(SEPARATOR);
    builder = builder.add_source(variables.source(Some(environment.single)));
    for (key, items) in environment.lists {
        builder = builder.set_override(key, items)?;
    }
    places.extend(environment.places);

    let values = inherit(builder.build()?)?;
    let values = secrets(values, &places, shape)?;
    Ok(Merged { values, places })
}

/// What an agent leaves out it has from `agents.default`.
fn inherit(values: Values) -> Result<Values, MergeError> {
    let default = values.get_table("agents.default")?;
    let mut builder = Values::builder();
    for agent in values.get_table("agents")?.keys() {
        for (key, value) in &default {
            builder = builder.set_default(format!("agents.{agent}.{key}"), value.clone())?;
        }
    }
    builder.add_source(values).build()
}

/// Puts the content of each `KEY_file` at its `KEY`.
fn secrets(values: Values, places: &Places, shape: &Shape) -> Result<Values, ConfigError> {
    let mut builder = Values::builder();
    let mut problems = Vec::new();
    for (key, place) in places {
        let Some(secret) = key.strip_suffix("_file").filter(|secret| is_text(shape, secret)) else { continue };
        match read_secret(&values, key, place, secret, places.get(secret)) {
            Ok(content) => builder = builder.set_override(secret, content)?,
            Err(problem) => problems.push(problem),
        }
    }
    ConfigError::unless_none(problems)?;
    Ok(builder.add_source(values).build()?)
}

fn read_secret(values: &Values, key: &str, place: &Place, secret: &str, twice: Option<&Place>) -> Result<String, Problem> {
    if let Some(other) = twice {
        return Err(place.problem(format!("{key}: {secret} is given too ({other}); keep one of the two")));
    }
    let path = values.get_string(key).map_err(|e| place.problem(format!("{key}: {e}")))?;
    let content = std::fs::read_to_string(&path).map_err(|e| place.problem(format!("{key}: cannot read {path}: {e}")))?;
    match content.trim() {
        "" => Err(place.problem(format!("{key}: {path} is empty"))),
        content => Ok(content.to_owned()),
    }
}

fn is_text(shape: &Shape, key: &str) -> bool {
    matches!(key.split('.').try_fold(shape, |shape, part| shape.child("", part).ok()), Some(Shape::Text { .. }))
}

/// The layers were judged before, so that this is a disagreement between a shape and its struct.
impl From<MergeError> for ConfigError {
    fn from(error: MergeError) -> Self {
        Self { problems: vec![Place::file("configuration", None).problem(error.to_string())] }
    }
}
