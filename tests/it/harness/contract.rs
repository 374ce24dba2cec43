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
struct Operation {
    path: String,
    method: String,
}

/// The operation of a request, if the document has one.
fn operation(method: &str, target: &str) -> Option<Operation> {
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

/// Every method and path that the document has.
pub(crate) fn operations() -> Vec<(String, String)> {
    let items = CONTRACT.api["paths"].as_object().expect("paths");
    let methods = |item: &Value| item.as_object().expect("operations").keys().map(|method| method.to_uppercase()).collect::<Vec<_>>();
    items.iter().flat_map(|(path, item)| methods(item).into_iter().map(|method| (method, path.clone()))).collect()
}

/// The `operationId` of what a request is for.
pub(crate) fn operation_of(method: &str, target: &str) -> Option<String> {
    let Operation { path, method } = operation(method, target)?;
    CONTRACT.api["paths"][path][method]["operationId"].as_str().map(ToOwned::to_owned)
}

/// Of each operation with a body: its name, its example and its command.
pub(crate) fn examples() -> Vec<(String, Value, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let items = CONTRACT.api["paths"].as_object().expect("paths").values();
    let operations = items.flat_map(|item| item.as_object().expect("operations").values()).filter(|o| !o["requestBody"].is_null());
    let example = |o: &Value| o["requestBody"]["content"]["application/json"]["example"].clone();
    operations.map(|o| (text(&o["operationId"]), example(o), text(&o["x-codeSamples"][0]["source"]))).collect()
}

/// Whether the document allows this answer to this request.
///
/// # Errors
/// What it does not allow.
pub(crate) fn judge_answer(method: &str, target: &str, status: u16, headers: &[(String, String)], body: &[u8]) -> Result<(), String> {
    let header = |name: &str| headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value);
    let kind = header("content-type").split(';').next().unwrap_or_default();
    let wrong = |why: &str| Err(format!("{why}: {method} {target}: {status} {kind} {}", String::from_utf8_lossy(body)));
    let Some(Operation { path, method }) = operation(method, target) else {
        // the page's own files, and what is refused because it is not there
        return if status >= 400 || !kind.contains("json") { Ok(()) } else { wrong("the document has no such operation") };
    };
    let response = &CONTRACT.api["paths"][&path][&method]["responses"][status.to_string()];
    if !response.is_object() {
        return wrong("the document does not know this status");
    }
    let promised = response["headers"].as_object().into_iter().flatten().map(|(name, _)| name).filter(|name| must_come(name));
    if let Some(missing) = promised.into_iter().find(|name| header(name).is_empty()) {
        return wrong(&format!("there is no {missing}"));
    }
    let Some(content) = response["content"].as_object() else {
        return if body.is_empty() { Ok(()) } else { wrong("there is a body where none is due") };
    };
    if !content.contains_key(kind) {
        return wrong("the document does not know this content type");
    }
    if kind == "application/x-ndjson" {
        let mut records = body.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(serde_json::from_slice::<Value>);
        return records.try_for_each(|record| judge_record(&record.map_err(|e| e.to_string())?));
    }
    if !kind.ends_with("json") {
        return Ok(());
    }
    let Ok(value) = serde_json::from_slice::<Value>(body) else { return wrong("the body is not JSON") };
    let place = format!("/paths/{}/{method}/responses/{status}/content/{}/schema", escaped(&path), escaped(kind));
    CONTRACT.validate(&place, &value).or_else(|why| {
        // of a page of records the first that is wrong says more than all of them
        value["data"].as_array().into_iter().flatten().filter(|row| row.get("type").is_some()).try_for_each(judge_record)?;
        wrong(&why)
    })
}

/// Headers that stand on every answer of their status.
fn must_come(name: &str) -> bool {
    matches!(name, "X-Request-Id" | "Retry-After" | "WWW-Authenticate")
}

fn judge_record(record: &Value) -> Result<(), String> {
    let kind = record["type"].as_str().unwrap_or_default();
    let mapping = &CONTRACT.api["components"]["schemas"]["Record"]["discriminator"]["mapping"];
    let place = mapping[kind].as_str().ok_or_else(|| format!("the document has no record {kind}: {record}"))?;
    CONTRACT.validate(place.trim_start_matches('#'), record).map_err(|why| format!("{why}: {record}"))
}

/// Whether the document has this event, in this shape. A frame without an event moves the cursor only.
///
/// # Errors
/// What it does not allow.
pub(crate) fn judge_event(frame: &Frame) -> Result<(), String> {
    let Some(kind) = &frame.event else { return Ok(()) };
    let all = CONTRACT.components["schemas"]["StreamEvent"]["oneOf"].as_array().expect("events");
    let place = all.iter().position(|event| event["properties"]["event"]["const"] == *kind);
    let place = place.ok_or_else(|| format!("the document has no event {kind}: {frame:?}"))?;
    let mut event = json!({"event": kind, "data": frame.json()});
    if let Some(id) = &frame.id {
        event["id"] = json!(id);
    }
    CONTRACT.validate(&format!("/components/schemas/StreamEvent/oneOf/{place}"), &event).map_err(|why| format!("{why}: {frame:?}"))
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
