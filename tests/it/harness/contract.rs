//! Holds every answer and every event that any test reads to `docs/openapi.json`: its status, its kind, its shape.
//!
//! Stricter than a client may be: a field that the document does not name fails the test too.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use jsonschema::Validator;
use serde_json::{Value, json};

use super::Frame;

static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::load);

struct Contract {
    api: Value,
    /// With every object closed.
    components: Value,
    /// Compiled schemas, by where they stand.
    compiled: Mutex<HashMap<String, Arc<Validator>>>,
}

/// The operation that a request is for: its path as the document has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    path: String,
    method: String,
}

/// The operation of a request, if the document has one.
pub(crate) fn operation(method: &str, target: &str) -> Option<Operation> {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let paths = CONTRACT.api["paths"].as_object().expect("paths");
    let found = paths.iter().find(|(template, item)| matches(template, path) && item.get(method.to_ascii_lowercase()).is_some())?;
    Some(Operation { path: found.0.clone(), method: method.to_ascii_lowercase() })
}

fn matches(template: &str, path: &str) -> bool {
    let (mut wanted, mut given) = (template.split('/'), path.split('/'));
    loop {
        match (wanted.next(), given.next()) {
            (None, None) => return true,
            (Some(name), Some(part)) if name == part || (name.starts_with('{') && !part.is_empty()) => {}
            _ => return false,
        }
    }
}

/// Fails the test unless the document allows this answer to this request.
pub(crate) fn check_answer(method: &str, target: &str, status: u16, headers: &[(String, String)], body: &[u8]) {
    let header = |name: &str| headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value);
    let kind = header("content-type").split(';').next().unwrap_or_default();
    let told = || format!("{method} {target}: {status} {kind} {}", String::from_utf8_lossy(body));
    let Some(Operation { path, method }) = operation(method, target) else {
        assert!(status >= 400 || !kind.contains("json"), "the document does not have it: {}", told());
        return;
    };
    let responses = &CONTRACT.api["paths"][&path][&method]["responses"];
    let response = &responses[status.to_string()];
    assert!(response.is_object(), "the document does not know this status: {}", told());
    for name in response["headers"].as_object().into_iter().flatten().map(|(name, _)| name).filter(|name| must_come(name)) {
        assert!(!header(name).is_empty(), "no {name}: {}", told());
    }
    let Some(content) = response["content"].as_object() else {
        assert!(body.is_empty(), "a body where none is due: {}", told());
        return;
    };
    assert!(content.contains_key(kind), "the document does not know this content type: {}", told());
    if kind == "text/event-stream" {
        return;
    }
    let place = format!("/paths/{}/{method}/responses/{status}/content/{}/schema", escaped(&path), escaped(kind));
    let value: Value = serde_json::from_slice(body).unwrap_or_else(|e| panic!("not JSON ({e}): {}", told()));
    if let Err(why) = CONTRACT.validate(&place, &value) {
        // of a page of records the first that is wrong says more than all of them
        for record in value["data"].as_array().into_iter().flatten().filter(|row| row.get("type").is_some()) {
            check_record(record);
        }
        panic!("{why}\n{}", told());
    }
}

/// Headers that stand on every answer of their status.
fn must_come(name: &str) -> bool {
    matches!(name, "X-Request-Id" | "Retry-After" | "WWW-Authenticate")
}

fn check_record(record: &Value) {
    let kind = record["type"].as_str().unwrap_or_default();
    let place = CONTRACT.api.pointer("/components/schemas/Record/discriminator/mapping").and_then(|m| m[kind].as_str());
    let place = place.unwrap_or_else(|| panic!("the document has no record {kind}: {record}"));
    if let Err(why) = CONTRACT.validate(place.trim_start_matches('#'), record) {
        panic!("{why}\n{record}");
    }
}

/// Fails the test unless the document has this event.
pub(crate) fn check_event(frame: &Frame) {
    let Some(kind) = &frame.event else { return };
    let all = CONTRACT.components["schemas"]["StreamEvent"]["oneOf"].as_array().expect("events");
    let place = all.iter().position(|event| event["properties"]["event"]["const"] == *kind);
    let place = place.unwrap_or_else(|| panic!("the document has no event {kind}: {frame:?}"));
    let mut event = json!({"event": kind, "data": frame.json()});
    if let Some(id) = &frame.id {
        event["id"] = json!(id);
    }
    if let Err(why) = CONTRACT.validate(&format!("/components/schemas/StreamEvent/oneOf/{place}"), &event) {
        panic!("{why}\n{frame:?}");
    }
}

fn escaped(segment: &str) -> String {
    segment.replace('~', "~0").replace('/', "~1")
}

impl Contract {
    fn load() -> Self {
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
        let api: Value = serde_json::from_slice(&std::fs::read(file).expect("docs/openapi.json")).expect("JSON");
        let mut components = api["components"].clone();
        close(&mut components["schemas"]);
        Self { api, components, compiled: Mutex::default() }
    }

    fn validate(&self, place: &str, value: &Value) -> Result<(), String> {
        let validator = {
            let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
            compiled.entry(place.to_owned()).or_insert_with(|| Arc::new(self.compile(place))).clone()
        };
        let wrong: Vec<String> = validator.iter_errors(value).map(|e| format!("{} at {:?}", e, e.instance_path.to_string())).collect();
        if wrong.is_empty() { Ok(()) } else { Err(format!("not what {place} of the document says: {}", wrong.join("; "))) }
    }

    fn compile(&self, place: &str) -> Validator {
        let open = self.api.pointer(place).unwrap_or_else(|| panic!("the document has no {place}"));
        let closed = place.strip_prefix("/components").and_then(|within| self.components.pointer(within));
        let mut schema = closed.unwrap_or(open).clone();
        schema["components"] = self.components.clone();
        jsonschema::draft202012::new(&schema).unwrap_or_else(|e| panic!("{place}: {e}"))
    }
}

/// Lets no field through that the document does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.values_mut().for_each(close);
            if object.get("properties").is_some_and(Value::is_object) && !object.contains_key("$ref") {
                object.entry("additionalProperties").or_insert(json!(false));
            }
        }
        Value::Array(all) => all.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
