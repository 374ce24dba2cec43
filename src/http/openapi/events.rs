//! Records and the events of a stream, as schemas.
//!
//! A record's fields are those of its type in [`AgentEvent`]; what a view may leave out of it is asked of [`View`] itself. The events that are no
//! records are described here; the integration tests check every event that they read against these schemas.

use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};

use crate::domain::live::StreamMode;
use crate::domain::view::May;
use crate::domain::{AgentEvent, View};
use crate::http::sse::Hello;

const CURSOR: &str = "#/components/schemas/Cursor";

/// `Record`, `StreamEvent`, and what they are made of.
pub(super) fn schemas(generator: &mut SchemaGenerator) -> Map<String, Value> {
    let records = AgentEvent::schemas(generator);
    let (mut made, mut choices, mut events) = (Map::new(), Vec::new(), Vec::new());
    for (kind, fields) in records {
        let name = format!("{}Record", pascal(kind));
        let link = json!({"$ref": format!("#/components/schemas/{name}")});
        made.insert(name, record(kind, &fields.into()));
        choices.push((kind, link.clone()));
        events.push(event(kind, Some(json!({"$ref": CURSOR})), &link));
    }
    let mapping: Map<String, Value> = choices.iter().map(|(kind, link)| ((*kind).to_owned(), link["$ref"].clone())).collect();
    let all: Vec<_> = choices.into_iter().map(|(_, link)| link).collect();
    made.insert(
        "Record".into(),
        json!({
            "description": "One durable event of a session. Types that you do not know are to be skipped.",
            "oneOf": all,
            "discriminator": {"propertyName": "type", "mapping": mapping},
        }),
    );
    made.insert(
        "Cursor".into(),
        json!({
            "type": "string",
            "pattern": "^[0-9]+(\\.[0-9]+)?$",
            "description": "A position in a session's stream. Opaque: send it back as `Last-Event-ID` or `after`.",
        }),
    );
    for (kind, id, data) in live_events().into_iter().chain(control_events(generator)) {
        let link = match data.get("$ref") {
            Some(_) => data,
            None => {
                // inline ones would be left to each generator of clients to name
                let name = format!("{}Data", pascal(kind));
                let link = json!({"$ref": format!("#/components/schemas/{name}")});
                made.insert(name, data);
                link
            }
        };
        events.push(event(kind, id, &link));
    }
    made.insert("StreamEvent".into(), json!({
        "description": "An event of a stream: the lines `event:`, `id:` and `data:`, the last as JSON. A frame with an `id:` only moves the cursor.",
        "oneOf": events,
    }));
    made
}

/// A record: where and when it stands, and its own fields.
fn record(kind: &str, own: &Value) -> Value {
    let mut properties = Map::from_iter([
        ("seq".to_owned(), json!({"type": "integer", "minimum": 1, "description": "Its place in the ledger: from 1, without a hole."})),
        ("at".to_owned(), json!({"type": "string", "format": "date-time"})),
        ("turn".to_owned(), json!({"type": "integer", "minimum": 1, "description": "On the records of a turn."})),
        ("step".to_owned(), json!({"type": "integer", "minimum": 1, "description": "On the records of a step."})),
        ("type".to_owned(), json!({"const": kind})),
    ]);
    let mut required = vec![json!("seq"), json!("at"), json!("type")];
    required.extend(own["required"].as_array().cloned().unwrap_or_default());
    properties.extend(own["properties"].as_object().cloned().unwrap_or_default());
    let mut record = json!({"type": "object", "properties": properties, "required": required, "x-type": kind});
    if let Some(description) = own.get("description") {
        record["description"] = description.clone();
    }
    record
}

/// Writes the fields of a call into its block, where serde writes them too.
pub(super) fn calls_in_blocks(schemas: &mut Map<String, Value>) {
    let Some(call) = schemas.remove("ToolCall") else { return };
    let blocks = schemas.get_mut("Block").and_then(|block| block["oneOf"].as_array_mut()).into_iter().flatten();
    for block in blocks.filter_map(Value::as_object_mut).filter(|block| block.contains_key("$ref")) {
        block.remove("$ref");
        for (field, merged) in [("properties", &call["properties"]), ("required", &call["required"])] {
            match (block.get_mut(field), merged) {
                (Some(Value::Object(own)), Value::Object(more)) => own.extend(more.clone()),
                (Some(Value::Array(own)), Value::Array(more)) => own.extend(more.iter().cloned()),
                _ => {}
            }
        }
    }
}

/// Makes optional what a view leaves out, and says which views show a record at all.
pub(super) fn hidden_by_views(schemas: &mut Map<String, Value>) {
    for schema in schemas.values_mut() {
        if let Some(kind) = schema.as_object_mut().and_then(|s| s.remove("x-type")) {
            let kind = kind.as_str().unwrap_or_default().to_owned();
            narrow(&kind, schema);
        }
    }
    // a block that a view hides keeps its place: its type, and what names a call
    for block in schemas.get_mut("Block").and_then(|block| block["oneOf"].as_array_mut()).into_iter().flatten() {
        if block["properties"]["type"]["const"] == "reasoning" {
            optional(block, "text");
        }
        if block["properties"]["type"]["const"] == "tool_call" {
            optional(block, "args");
        }
    }
}

fn optional(schema: &mut Value, field: &str) {
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| name != field);
    }
}

fn narrow(kind: &str, schema: &mut Value) {
    let names: Vec<String> = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    let sample = Value::Object(names.iter().map(|name| (name.clone(), json!(0))).collect()).to_string();
    let fields = |view: View| serde_json::from_str(&view.project(kind, &sample, May::Look)?).ok();
    let shown: Vec<(&str, Map<String, Value>)> = View::ALL.into_iter().filter_map(|view| Some((view.as_str(), fields(view)?))).collect();
    if let Some(required) = schema["required"].as_array_mut() {
        required.retain(|name| name.as_str().is_some_and(|name| shown.iter().all(|(_, fields)| fields.contains_key(name))));
    }
    let all: Vec<&str> = shown.iter().map(|(name, _)| *name).collect();
    schema["x-views"] = json!(all);
    for name in names {
        let seen: Vec<&str> = shown.iter().filter(|(_, fields)| fields.contains_key(&name)).map(|(view, _)| *view).collect();
        if seen.len() < shown.len() {
            schema["properties"][&name]["x-views"] = json!(seen);
        }
    }
}

fn event(kind: &str, id: Option<Value>, data: &Value) -> Value {
    let mut properties = json!({"event": {"const": kind}, "data": data});
    let mut required = vec!["event", "data"];
    if let Some(id) = id {
        properties["id"] = id;
        required.push("id");
    }
    json!({"title": format!("{}Event", pascal(kind)), "type": "object", "properties": properties, "required": required})
}

/// An event that is no record: its type, its id where it has one, its data.
type Unrecorded = (&'static str, Option<Value>, Value);

fn object(description: &str, properties: &Value) -> Value {
    let required: Vec<String> = properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect();
    json!({"type": "object", "description": description, "properties": properties, "required": required})
}

/// What streams before it is durable. Deltas have an id; progress has none, and only the newest counts.
fn live_events() -> Vec<Unrecorded> {
    let text = || {
        json!({
            "message_id": {"type": "string", "description": "Of the attempt: new for each, and that of the `message` which replaces all its deltas."},
            "block": {"type": "integer", "minimum": 0, "description": "The index in the `content` of that `message`."},
            "text": {"type": "string", "description": "To append."},
        })
    };
    let call = json!({"tool_call_id": {"type": "string"}, "tool": {"type": "string"}});
    let modes = StreamMode::json_schema(&mut SchemaGenerator::default());
    let progress =
        json!({"mode": modes, "char_delta": {"type": "integer", "minimum": 0, "description": "Characters since the last such event."}});
    let mut report =
        object("The newest report of a running tool; the other fields are the tool's own.", &json!({"tool_call_id": {"type": "string"}}));
    report["additionalProperties"] = json!(true);
    let cursor = || Some(json!({"$ref": CURSOR}));
    vec![
        ("text_delta", cursor(), object("A piece of the answer.", &text())),
        ("reasoning_delta", cursor(), object("A piece of the model's reasoning.", &text())),
        ("tool_input_delta", cursor(), object("The model begins to call a tool; the arguments stand in the `message`.", &call)),
        ("stream_progress", None, object("What the turn is doing, when it changes and now and then in between.", &progress)),
        ("tool_progress", None, report),
    ]
}

/// What concerns the connection only.
fn control_events(generator: &mut SchemaGenerator) -> Vec<Unrecorded> {
    let hello = generator.subschema_for::<Hello<'_>>();
    let at = json!({"at": {"type": "string", "format": "date-time"}});
    let reset = json!({
        "reason": {"enum": ["malformed", "ahead", "expired"]},
        "from_seq": {"const": 1},
    });
    let mut closing = object(
        "The gateway ends the stream. Come back with the last id, after `retry_after_ms` where it is there; without it nothing is left to come.",
        &json!({"reason": {"enum": ["draining", "token_expired", "slow", "deleted", "max_age"]}}),
    );
    closing["properties"]["retry_after_ms"] = json!({"type": "integer", "minimum": 0});
    vec![
        ("hello", None, hello.into()),
        ("heartbeat", None, object("Every 15 seconds.", &at)),
        ("reset", None, object("The cursor cannot be honoured: empty the view, all comes again from record 1.", &reset)),
        ("closing", None, closing),
    ]
}

/// `tool_end` as `ToolEnd`.
fn pascal(kind: &str) -> String {
    let mut name = String::new();
    for word in kind.split('_') {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    name
}
