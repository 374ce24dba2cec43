//! A tool call's arguments: the model's own bytes.
//!
//! They are stored, shown, hashed and replayed exactly as the model wrote them, less insignificant whitespace: key order, number spelling
//! and duplicate keys stay. What a person approves is therefore what runs.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::digest::sha256;

/// The deepest nesting that is taken for JSON. Parsers refuse 128 and more, and a request has a few levels of its own around it.
const DEEPEST: usize = 100;

/// Compact JSON text. Always JSON that a strict parser takes; a JSON string when the model's text was not.
#[derive(Clone, PartialEq, Eq)]
pub struct Args(Arc<str>);

impl Args {
    /// From the text that a model sent. Nothing at all means no arguments: `{}`.
    pub fn from_model(text: &str) -> Self {
        if text.trim().is_empty() {
            return Self("{}".into());
        }
        match strictly(text) {
            Ok(_) => Self(compact(text).into()),
            Err(_) => Self(Value::from(text).to_string().into()),
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The arguments as a JSON object.
    ///
    /// # Errors
    /// Why they are none, in a sentence for the model.
    pub fn object(&self) -> Result<Map<String, Value>, String> {
        let invalid = |why| format!("the arguments are not valid JSON: {why}");
        match strictly(&self.0).map_err(invalid)? {
            Value::Object(map) => Ok(map),
            Value::String(text) => {
                strictly(&text).map_err(invalid)?;
                Err("the arguments must be a JSON object, not a string".into())
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Err("the arguments must be a JSON object".into()),
        }
    }

    /// Hex SHA-256 over the tool's name, a line feed and the exact argument bytes: what an approval is for.
    pub fn digest(&self, tool: &str) -> String {
        sha256(format!("{tool}\n{}", self.0))
    }
}

/// The text as JSON that every parser on its way takes. The arguments go back with each later request, and a provider that refuses them
/// refuses the session: so half of a surrogate pair, a number that is none and deep nesting are refused here, as they are there.
fn strictly(text: &str) -> Result<Value, String> {
    let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    if depth(&value) > DEEPEST { Err(format!("it is nested more than {DEEPEST} deep")) } else { Ok(value) }
}

/// serde reads nothing that is too deep for this recursion.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}

/// Removes whitespace outside strings; `text` must be valid JSON.
fn compact(text: &str) -> String {
    let (mut out, mut in_string, mut escaped) = (String::with_capacity(text.len()), false, false);
    for c in text.chars() {
        if in_string {
            out.push(c);
            match (escaped, c) {
                (true, _) => escaped = false,
                (false, '\\') => escaped = true,
                (false, '"') => in_string = false,
                (false, _) => {}
            }
        } else if !matches!(c, ' ' | '\t' | '\n' | '\r') {
            in_string = c == '"';
            out.push(c);
        }
    }
    out
}

impl fmt::Debug for Args {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for Args {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde_json::from_str::<&RawValue>(&self.0).map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Args {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer).map_err(D::Error::custom)?;
        Ok(Self(raw.get().into()))
    }
}

impl JsonSchema for Args {
    fn schema_name() -> Cow<'static, str> {
        "Args".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // any JSON: a list of all types would be read as an array without items
        json_schema!({
            "description": "The arguments as the model wrote them: a JSON object; a JSON string where the model's text was not JSON.",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Args, DEEPEST};

    #[test]
    fn bytes_of_the_model_stay() {
        let args = Args::from_model("{ \"b\" : 1.0,\n \"a\": \"x  \\\" y\", \"b\": 1e3 }");
        assert_eq!(args.as_str(), r#"{"b":1.0,"a":"x  \" y","b":1e3}"#);
        let again: Args = serde_json::from_str(&serde_json::to_string(&args).unwrap()).unwrap();
        assert_eq!(again, args);
    }

    #[test]
    fn what_is_not_json_becomes_a_json_string() {
        assert_eq!(Args::from_model("{\"a\":").as_str(), r#""{\"a\":""#);
        assert!(Args::from_model("{\"a\":").object().unwrap_err().contains("not valid JSON"));
        assert_eq!(Args::from_model("  ").as_str(), "{}");
    }

    #[test]
    fn what_a_strict_parser_refuses_is_not_json() {
        let deep = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
        for bad in [r#"{"a":"\ud83d"}"#, r#"{"\ude42":1}"#, r#"{"a":"\ud83d\ud83d"}"#, r#"{"a":1e999}"#, &deep(DEEPEST + 1), &deep(300)] {
            let args = Args::from_model(bad);
            assert_eq!(serde_json::from_str::<String>(args.as_str()).unwrap(), *bad);
            assert!(args.object().unwrap_err().contains("not valid JSON"), "{bad}: {:?}", args.object());
        }
        for good in [r#"{"a":"\ud83d\ude42"}"#, &deep(DEEPEST)] {
            assert_eq!(Args::from_model(good).as_str(), good);
            assert!(Args::from_model(good).object().is_ok());
        }
    }

    #[test]
    fn the_digest_covers_tool_and_exact_bytes() {
        assert_ne!(Args::from_model("{\"a\":1}").digest("x"), Args::from_model("{\"a\":1.0}").digest("x"));
        assert_ne!(Args::from_model("{}").digest("x"), Args::from_model("{}").digest("y"));
    }
}
