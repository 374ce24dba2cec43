//! What a schema promises is what the tool takes.

use serde_json::{Value, json};

use super::ask_user::AskUser;
use super::bash::{Bash, BashConfig};
use super::demo::{DemoBooking, DemoLookup};
use super::read_artifact::ReadArtifact;
use super::*;

/// For tools that read none.
#[derive(Debug)]
pub(crate) struct NoArtifacts;

impl Artifacts for NoArtifacts {
    fn artifact(&self, _: &ArtifactId) -> BoxFuture<'static, Result<Option<Artifact>, String>> {
        Box::pin(async { Ok(None) })
    }
}

/// Each tool with arguments that use every key of its schema.
fn samples() -> Vec<(Arc<dyn Tool>, Value)> {
    let question = json!({"id": "a", "text": "Which?", "options": [{"label": "x", "description": "one"}, {"label": "y"}], "multiple": true, "free_text": true});
    vec![
        (Arc::new(Bash::new(BashConfig::default())), json!({"command": "true", "timeout_s": 5})),
        (Arc::new(web_fetch::tests::tool([])), json!({"url": "https://example.org/", "max_chars": 5})),
        (Arc::new(web_search::tests::tool(vec![], web_search::tests::SetClock::new())), json!({"query": "boats", "count": 3})),
        (Arc::new(AskUser), json!({"questions": [question]})),
        (Arc::new(ReadArtifact), json!({"artifact_id": "art_1", "offset": 0, "limit": 10, "search": "x"})),
        (Arc::new(DemoLookup), json!({"query": "boat"})),
        (Arc::new(DemoBooking), json!({"item": "rowing boat", "when": "Monday"})),
    ]
}

fn check(tool: &dyn Tool, args: &Value) -> Result<(), String> {
    tool.check(&Args::from_model(&args.to_string()))
}

/// Walks `args` along `schema`: every key is described, none described is unused, and the tool refuses what the schema forbids.
fn walk(tool: &dyn Tool, whole: &Value, pointer: &str, schema: &Value) {
    let here = whole.pointer(pointer).unwrap();
    if let Some(items) = schema.get("items") {
        return walk(tool, whole, &format!("{pointer}/0"), items);
    }
    let Some(properties) = schema.get("properties") else { return };
    let object = here.as_object().unwrap();
    assert!(object.keys().eq(properties.as_object().unwrap().keys()), "{pointer} of {here}");
    assert_eq!(schema["additionalProperties"], json!(false), "{pointer}");
    let changed = |change: &dyn Fn(&mut serde_json::Map<String, Value>)| {
        let mut args = whole.clone();
        change(args.pointer_mut(pointer).unwrap().as_object_mut().unwrap());
        check(tool, &args)
    };
    assert!(changed(&|o| drop(o.insert("unknown".into(), json!(1)))).is_err(), "an unknown key at {pointer}");
    let required: Vec<&str> = schema["required"].as_array().unwrap().iter().map(|r| r.as_str().unwrap()).collect();
    for (key, inner) in properties.as_object().unwrap() {
        let without = changed(&|o| drop(o.remove(key)));
        assert_eq!(without.is_err(), required.contains(&key.as_str()), "without {pointer}/{key}: {without:?}");
        walk(tool, whole, &format!("{pointer}/{key}"), inner);
    }
}

#[test]
fn schemas_and_checks_agree() {
    for (tool, args) in samples() {
        assert_eq!(check(tool.as_ref(), &args), Ok(()), "{args}");
        walk(tool.as_ref(), &args, "", &tool.spec().schema);
    }
}
