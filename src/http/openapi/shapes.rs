//! The bodies that go in and come out, described by the types that serde reads and writes.

use std::borrow::Cow;

use schemars::generate::{Contract, SchemaSettings};
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Map, Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, Schema as Placeholder};
use utoipa::{PartialSchema, ToSchema};

use super::events;
use crate::domain::delivery::DeliveryView;
use crate::domain::overview::SessionObject;
use crate::domain::pending::{ApprovalView, ClientCallView, QuestionView};
use crate::http::routes::approvals::{ApprovalPage, Decide};
use crate::http::routes::capabilities::Capabilities;
use crate::http::routes::deliveries::DeliveryPage;
use crate::http::routes::handoff::Handoff;
use crate::http::routes::health::{Alive, Readiness};
use crate::http::routes::messages::{Accepted, Message, turn::TurnEnd};
use crate::http::routes::pairings::{PairingPage, PairingView};
use crate::http::routes::records::RecordPage;
use crate::http::routes::sessions::create::Create;
use crate::http::routes::sessions::{Cancel, Cancelled, Change, SessionPage};
use crate::http::routes::transcript::TranscriptPage;
use crate::http::routes::waits::{Answers, Content};

/// Makes these types bodies that an annotation may name; one that is not here does not compile there.
macro_rules! bodies {
    (requests: $($request:ident),+; answers: $($answer:ident),+ $(,)?) => {
        $(body!($request);)+
        $(body!($answer);)+

        /// Each body's schema, by its name. Requests stand for themselves: what is optional to read is not what is optional to write.
        fn of_bodies(answers: &mut SchemaGenerator) -> Map<String, Value> {
            let mut requests = generator(Contract::Deserialize);
            $(answers.subschema_for::<$answer>();)+
            Map::from_iter([$((<$request as JsonSchema>::schema_name().into_owned(), <$request>::json_schema(&mut requests).into())),+])
        }
    };
}

macro_rules! body {
    ($body:ident) => {
        impl PartialSchema for $body {
            /// Only holds the place: the schema itself is made by [`schemas`].
            fn schema() -> RefOr<Placeholder> {
                Object::new().into()
            }
        }

        impl ToSchema for $body {
            fn name() -> Cow<'static, str> {
                <$body as JsonSchema>::schema_name()
            }
        }
    };
}

bodies! {
    requests: Create, Change, Cancel, Message, Decide, Answers, Content, Handoff;
    answers: SessionObject, SessionPage, Cancelled, Accepted, TurnEnd, TranscriptPage, RecordPage, ApprovalView, ApprovalPage, QuestionView,
        ClientCallView, DeliveryView, DeliveryPage, PairingView, PairingPage, Capabilities, Alive, Readiness,
}

fn generator(contract: Contract) -> SchemaGenerator {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = contract == Contract::Deserialize;
    settings.contract = contract;
    settings.definitions_path = "/components/schemas".into();
    settings.into_generator()
}

/// Everything that the document refers to.
pub(super) fn schemas() -> Map<String, Value> {
    let mut answers = generator(Contract::Serialize);
    let requests = of_bodies(&mut answers);
    let events = events::schemas(&mut answers);
    let mut written = answers.take_definitions(true);
    written.extend(events);
    written.values_mut().for_each(absent_is_not_null);
    written.extend(requests);
    events::calls_in_blocks(&mut written);
    events::hidden_by_views(&mut written);
    written.values_mut().for_each(for_readers);
    written
}

/// What is optional is absent, never null: serde would read a null there, and never writes one.
fn absent_is_not_null(schema: &mut Value) {
    each_schema(schema, &mut |schema| {
        let required = schema.get("required").cloned().unwrap_or_default();
        let is_required = |name: &str| required.as_array().is_some_and(|all| all.iter().any(|r| r == name));
        let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) else { return };
        for (_, property) in properties.iter_mut().filter(|(name, _)| !is_required(name)) {
            never_null(property);
        }
    });
}

fn never_null(property: &mut Value) {
    if let Some(types) = property.get_mut("type").and_then(Value::as_array_mut) {
        types.retain(|kind| kind != "null");
        if let [one] = &types[..] {
            property["type"] = one.clone();
        }
    }
    if let Some([one, null]) = property.get("anyOf").and_then(Value::as_array).map(Vec::as_slice)
        && *null == json!({"type": "null"})
    {
        let (one, description) = (one.clone(), property.get("description").cloned());
        *property = one;
        if let Some(description) = description {
            property["description"] = description;
        }
    }
}

/// Takes out what is meant for readers of the code only, and what makers of clients read otherwise than it is meant.
fn for_readers(schema: &mut Value) {
    each_schema(schema, &mut |schema| {
        // A client fills in a default by itself, and so sends what changes something where absence would not. What is assumed of a field
        // that is left out stands in its description.
        for property in
            schema.get_mut("properties").and_then(Value::as_object_mut).into_iter().flatten().filter_map(|(_, p)| p.as_object_mut())
        {
            property.remove("default");
        }
        // not every reader of schemas knows that `true` is one
        if schema.get("items") == Some(&Value::Bool(true)) {
            schema.insert("items".into(), json!({}));
        }
        if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint") || format == "double") {
            schema.remove("format");
        }
        if let Some(Value::String(words)) = schema.get_mut("description") {
            *words = words.replace("[`", "`").replace("`]", "`").replace('\n', " ");
        }
    });
}

/// Visits every object of a schema, the innermost first.
fn each_schema(value: &mut Value, visit: &mut impl FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(object) => {
            object.values_mut().for_each(|inner| each_schema(inner, visit));
            visit(object);
        }
        Value::Array(all) => all.iter_mut().for_each(|inner| each_schema(inner, visit)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
