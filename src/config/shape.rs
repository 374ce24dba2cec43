//! Which keys there are and what their values may be, read off the structs through their JSON schema.
//!
//! serde stops at its first error and knows no line; the shape lets a file and the environment be judged key by key, with every mistake
//! at its place and a suggestion for a key that is nearly right.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::net::Network;

/// What may stand at a key.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// A table of known keys.
    Table(BTreeMap<String, Shape>),
    /// A table whose keys the operator chooses.
    Named(Box<Shape>),
    Text {
        min_chars: u64,
    },
    /// One of these words; `otherwise` says more to who wrote another.
    Word {
        words: Vec<String>,
        otherwise: Option<String>,
    },
    Network,
    Integer {
        min: i64,
        max: i64,
    },
    Switch,
    List(Box<Shape>),
    /// A list of tables. Each is whole in itself, for a later file's list replaces it and none is merged into it.
    Rows {
        row: Box<Shape>,
        required: Vec<String>,
    },
    /// Nothing is known; the struct judges it after merging. No key of the configuration has it.
    Opaque,
}

/// What stands at a key, as far as a shape judges it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Given<'a> {
    Text(&'a str),
    Integer(i64),
    Switch,
    /// Anything else, by its name.
    Other(&'static str),
}

impl Shape {
    pub(super) fn of<T: JsonSchema>() -> Self {
        let settings = SchemaSettings::default().with(|s| s.inline_subschemas = true);
        Self::read(settings.into_generator().into_root_schema_for::<T>().as_value())
    }

    fn read(schema: &Value) -> Self {
        if let Some(words) = words(schema) {
            let otherwise = schema.get("x-otherwise").and_then(Value::as_str).map(str::to_owned);
            return Self::Word { words, otherwise };
        }
        let bound = |key| schema.get(key).and_then(Value::as_i64);
        match kind(schema) {
            Some("object") => match (schema.get("properties").and_then(Value::as_object), schema.get("additionalProperties")) {
                (Some(keys), _) => Self::Table(keys.iter().map(|(k, v)| (k.clone(), Self::read(v))).collect()),
                (None, Some(each @ Value::Object(_))) => Self::Named(Box::new(Self::read(each))),
                (None, _) => Self::Opaque,
            },
            Some("string") if schema.get("format").and_then(Value::as_str) == Some("network") => Self::Network,
            Some("string") => Self::Text { min_chars: schema.get("minLength").and_then(Value::as_u64).unwrap_or(0) },
            Some("integer") => Self::Integer { min: bound("minimum").unwrap_or(i64::MIN), max: bound("maximum").unwrap_or(i64::MAX) },
            Some("boolean") => Self::Switch,
            Some("array") => match schema.get("items").map(|each| (each, Self::read(each))) {
                Some((each, row @ Self::Table(_))) => Self::Rows { row: Box::new(row), required: texts(each.get("required")) },
                Some((_, each)) => Self::List(Box::new(each)),
                None => Self::Opaque,
            },
            Some(_) | None => Self::Opaque,
        }
    }

    /// What stands below `name` in the table at `path` (empty for the root).
    ///
    /// # Errors
    /// A sentence that names the whole key.
    pub(super) fn child(&self, path: &str, name: &str) -> Result<&Self, String> {
        let whole = join(path, name);
        match self {
            Self::Table(keys) => keys.get(name).ok_or_else(|| match nearest(name, keys.keys()) {
                Some(near) => format!("unknown key {whole}; did you mean {}?", join(path, near)),
                None => format!("unknown key {whole}"),
            }),
            Self::Named(each) if is_name(name) => Ok(each),
            Self::Named(_) => Err(format!("{whole}: a name has 1 to 64 lower-case letters, digits, \"-\" and \"_\"")),
            Self::Opaque => Ok(self),
            Self::Text { .. }
            | Self::Word { .. }
            | Self::Network
            | Self::Integer { .. }
            | Self::Switch
            | Self::List(_)
            | Self::Rows { .. } => Err(format!("unknown key {whole}")),
        }
    }

    /// Judges one value. Lists and tables are the caller's to walk.
    ///
    /// # Errors
    /// What is wrong, without the key. Shows the value only where it should have been one of a few words or a number.
    pub(super) fn judge(&self, given: Given<'_>) -> Result<(), String> {
        match (self, given) {
            (Self::Text { min_chars }, Given::Text(text)) => {
                if (text.chars().count() as u64) < *min_chars {
                    Err("must not be empty".to_owned())
                } else {
                    Ok(())
                }
            }
            (Self::Word { words, otherwise }, Given::Text(text)) => {
                if words.iter().any(|w| w == text) {
                    Ok(())
                } else {
                    Err(not_among(words, text, otherwise.as_deref()))
                }
            }
            (Self::Network, Given::Text(text)) => Network::try_from(text.to_owned()).map(drop),
            (Self::Integer { min, max }, Given::Integer(n)) => {
                if (*min..=*max).contains(&n) {
                    Ok(())
                } else {
                    Err(format!("must be {}, not {n}", range(*min, *max)))
                }
            }
            (Self::Switch, Given::Switch) | (Self::Opaque, _) => Ok(()),
            (_, given) => Err(format!("expected {}, found {}", self.noun(), given.noun())),
        }
    }

    fn noun(&self) -> &'static str {
        match self {
            Self::Table(_) | Self::Named(_) => "a table",
            Self::Text { .. } | Self::Word { .. } | Self::Network => "a string",
            Self::Integer { .. } => "an integer",
            Self::Switch => "true or false",
            Self::List(_) => "a list",
            Self::Rows { .. } => "a list of tables",
            Self::Opaque => "anything",
        }
    }
}

impl Given<'_> {
    fn noun(self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Switch => "a boolean",
            Self::Other(noun) => noun,
        }
    }
}

/// A key's whole name.
pub(super) fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Variables are lower-cased and their parts become a path, so a name must survive both.
fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

/// The type beside "null", which is how an optional key is written.
fn kind(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|k| *k != "null"),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    }
}

fn texts(list: Option<&Value>) -> Vec<String> {
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// An enum's words; where its variants have docs, each stands in a schema of its own.
fn words(schema: &Value) -> Option<Vec<String>> {
    let word = |v: &Value| v.as_str().map(str::to_owned);
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        return words.iter().map(word).collect();
    }
    schema.get("oneOf")?.as_array()?.iter().map(|one| one.get("const").and_then(word)).collect()
}

fn not_among(words: &[String], text: &str, otherwise: Option<&str>) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("{w:?}")).collect();
    let one_of = if quoted.len() > 1 { "one of " } else { "" };
    let more = otherwise.map(|o| format!("; {o}")).unwrap_or_default();
    format!("must be {one_of}{}, not {text:?}{more}", quoted.join(", "))
}

fn range(min: i64, max: i64) -> String {
    match (min, max) {
        (min, i64::MAX) => format!("at least {min}"),
        (i64::MIN, max) => format!("at most {max}"),
        (min, max) => format!("{min} to {max}"),
    }
}

/// The key that was probably meant: its unit was left out, or it is at most two slips away and shares most of its letters.
fn nearest<'a>(name: &str, keys: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    let without_unit = |key: &str| key.strip_prefix(name).is_some_and(|unit| unit.starts_with('_'));
    let distance = |key: &'a String| if without_unit(key) { (0, key) } else { (slips(name, key), key) };
    keys.map(distance).filter(|(n, key)| *n <= 2 && n * 2 < key.len()).min().map(|(_, key)| key.as_str())
}

/// Letters to put in, take out, change or swap with their neighbour to get from one word to the other.
fn slips(from: &str, to: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (from.chars().collect(), to.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=b.len()).collect()];
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = changed.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}
