use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::document;
use crate::http::code::Code;
use crate::http::router::described;
use crate::http::sse;

const RENEW: &str = "cargo test --lib renew_openapi_json -- --ignored";

fn made() -> String {
    serde_json::to_string_pretty(&document(&described())).unwrap() + "\n"
}

fn file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json")
}

#[test]
fn the_file_is_what_the_handlers_say() {
    let stands = fs::read_to_string(file()).unwrap_or_default();
    assert!(stands == made(), "docs/openapi.json is stale. Renew it, and read what changed:\n\n    {RENEW}\n");
}

#[test]
#[ignore = "writes docs/openapi.json"]
fn renew_openapi_json() {
    fs::write(file(), made()).unwrap();
}

#[test]
fn every_reference_resolves_and_every_schema_is_referred_to() {
    let api = document(&described());
    let mut used = BTreeSet::new();
    references(&api, &mut used);
    for link in &used {
        assert!(api.pointer(link.trim_start_matches('#')).is_some(), "{link} is not in the document");
    }
    for name in api["components"]["schemas"].as_object().unwrap().keys() {
        assert!(used.contains(&format!("#/components/schemas/{name}")), "nothing refers to {name}");
    }
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(Value::as_str).map(ToOwned::to_owned));
            object.values().for_each(|inner| references(inner, found));
        }
        Value::Array(all) => all.iter().for_each(|inner| references(inner, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Else a filter would refuse an event that the document names.
#[test]
fn the_events_of_the_document_are_those_that_a_filter_may_name() {
    let api = document(&described());
    let events = api["components"]["schemas"]["StreamEvent"]["oneOf"].as_array().unwrap();
    let named: Vec<&str> = events.iter().map(|event| event["properties"]["event"]["const"].as_str().unwrap()).collect();
    assert_eq!(named, sse::kinds().collect::<Vec<_>>());
}

#[test]
fn every_code_that_an_operation_names_is_in_the_table() {
    let annotated = serde_json::to_value(described()).unwrap();
    for item in annotated["paths"].as_object().unwrap().values() {
        for operation in item.as_object().unwrap().values() {
            for code in operation["x-codes"].as_array().into_iter().flatten() {
                assert!(Code::named(code.as_str().unwrap_or_default()).is_some(), "{}: {code}", operation["operationId"]);
            }
        }
    }
}

#[test]
fn every_operation_says_what_a_reader_needs() {
    let api = document(&described());
    let mut ids = BTreeSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            assert!(ids.insert(id.to_owned()), "{id} is there twice");
            assert!(operation["responses"].as_object().unwrap().values().all(|r| !r.get("content").is_some_and(Value::is_null)), "{id}");
            for field in ["summary", "tags", "responses", "x-codeSamples"] {
                assert!(!operation[field].is_null(), "{method} {path}: {field}");
            }
            let parameters = operation["parameters"].as_array().cloned().unwrap_or_default();
            let in_path = parameters.iter().filter(|p| p["in"] == "path").map(|p| p["name"].as_str().unwrap()).collect::<Vec<_>>();
            assert_eq!(in_path, path.split(['{', '}']).skip(1).step_by(2).collect::<Vec<_>>(), "{method} {path}");
        }
    }
}

/// A client that fills in a default sends what would better be absent, and one that is told of no items cannot be made.
#[test]
fn makers_of_clients_find_no_default_of_a_field_and_the_items_of_every_list() {
    fn look(place: &str, value: &Value) {
        if let Value::Object(object) = value {
            for (name, property) in object.get("properties").and_then(Value::as_object).into_iter().flatten() {
                assert!(property.get("default").is_none(), "{place}: {name} has a default");
            }
            let is_list =
                object.get("type").is_some_and(|kind| *kind == "array" || kind.as_array().is_some_and(|all| all.contains(&"array".into())));
            assert!(!is_list || object.get("items").is_some_and(Value::is_object), "{place}: a list of what?");
            object.iter().for_each(|(name, inner)| look(&format!("{place}/{name}"), inner));
        }
        value.as_array().into_iter().flatten().for_each(|inner| look(place, inner));
    }
    look("", &document(&described())["components"]["schemas"]);
}

/// By the same annotation a handler is routed and described; what is routed otherwise is no API.
#[test]
fn only_files_and_webhooks_are_routed_past_the_document() {
    let router = include_str!("../router.rs");
    let past = ["get(assets::", "get(channels::take)"];
    for line in router.lines().filter(|line| line.contains(".route(")) {
        assert!(past.iter().any(|handler| line.contains(handler)), "register it with routes!(), so that openapi.json has it: {line}");
    }
}
