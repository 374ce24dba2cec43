//! Payloads that are wrong somewhere.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Every place in a value, as the keys that lead there.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    if let Value::Object(object) = value {
        for (key, value) in object {
            places(value, &format!("{at}/{key}"), found);
        }
    }
    if let Value::Array(array) = value {
        for (index, value) in array.iter().enumerate() {
            places(value, &format!("{at}/{index}"), found);
        }
    }
}

fn junk() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        Just(json!([])),
        Just(json!({})),
        Just(json!([[], null, {"id": 7}])),
        Just(json!({"id": [], "type": {}, "body": 3})),
    ]
}

fn sample_values() -> &'static [Value] {
    static ONCE: std::sync::OnceLock<Vec<Value>> = std::sync::OnceLock::new();
    ONCE.get_or_init(read_samples)
}

fn read_samples() -> Vec<Value> {
    let files = std::fs::read_dir("tests/samples/whatsapp").unwrap().map(|file| file.unwrap().path());
    let mut paths: Vec<_> = files.filter(|path| !path.ends_with("signature_vectors.json")).collect();
    paths.sort();
    paths.iter().map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()).collect()
}

/// Two messages that nothing is done to, before and behind whatever is.
fn siblings() -> [Value; 2] {
    ["before", "behind"]
        .map(|name| json!({"from": ANA, "id": format!("wamid.{name}"), "timestamp": "1790000000", "type": "text", "text": {"body": name}}))
}

fn siblings_in(found: &[Item]) -> usize {
    let is_one =
        |item: &&Item| matches!(&item.inbound, Inbound::Message(m) if m.text == "before" && m.id == "wamid.before" || m.text == "behind");
    found.iter().filter(is_one).count()
}

proptest! {
    #[test]
    fn a_wrong_value_anywhere_is_read_without_a_panic(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), junk in junk()) {
        let samples = sample_values();
        let mut payload = which.get(samples).clone();
        let mut found = Vec::new();
        places(&payload, "", &mut found);
        *payload.pointer_mut(at.get(&found[..]).as_str()).unwrap() = junk;
        items(payload.to_string());
    }

    #[test]
    fn a_wrong_item_costs_no_sibling(which in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(), junk in junk()) {
        let messages: Vec<Value> = sample_values().iter().filter_map(|sample| sample.pointer("/entry/0/changes/0/value/messages/0").cloned()).collect();
        let mut item = which.get(&messages).clone();
        let mut found = Vec::new();
        places(&item, "", &mut found);
        *item.pointer_mut(at.get(&found[..]).as_str()).unwrap() = junk.clone();
        let [before, behind] = siblings();
        let value = json!({"contacts": junk, "messages": [before, item, behind], "statuses": junk, "errors": junk});
        prop_assert_eq!(siblings_in(&items(payload(&value))), 2);
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), cut in 0usize..605) {
        items(bytes);
        let whole = sample("60_wire_escaped_ascii.raw");
        items(whole.slice(..cut));
    }
}

fn beside_this(raw: &str) -> Vec<Item> {
    let [before, behind] = siblings().map(|sibling| sibling.to_string());
    let value = format!(r#"{{"metadata":{{"phone_number_id":"{LINE}"}},"messages":[{before},{raw},{behind}]}}"#);
    items(format!(r#"{{"entry":[null,{{"changes":[7,{{"field":"messages","value":{value}}}]}}]}}"#))
}

#[test]
fn an_item_nested_without_end_costs_no_sibling() {
    let deep = format!(r#"{{"id":"wamid.deep","from":"1","type":"text","text":{}{}}}"#, "[".repeat(50_000), "]".repeat(50_000));
    let found = beside_this(&deep);
    assert_eq!(siblings_in(&found), 2);
    assert!(found.iter().any(|item| item.inbound == Inbound::Ignored { why: "unreadable" }));
}

#[test]
fn half_an_emoji_costs_itself_alone() {
    let found = beside_this(
        r#"{"id":"wamid.half","from":"1","type":"text","text":{"body":"a \ud83d \ude0a\\ud83d \ud83d\ude0a"},"timestamp":"1790000000"}"#,
    );
    assert_eq!(siblings_in(&found), 2);
    let text = "a \u{fffd} \u{fffd}\\ud83d 😊";
    assert!(found.iter().any(|item| matches!(&item.inbound, Inbound::Message(m) if m.text == text)), "{found:?}");
}

#[test]
fn bytes_that_are_no_utf8_cost_themselves_alone() {
    let text = beside_this_bytes();
    assert!(text.contains("a \u{fffd} b"), "{text}");
}

fn beside_this_bytes() -> String {
    let body = from_ana("text", &json!({"text": {"body": "a ? b"}}));
    let broken: Vec<u8> = body.into_iter().map(|byte| if byte == b'?' { 0xff } else { byte }).collect();
    message(broken).text
}

#[test]
fn what_is_no_payload_holds_nothing() {
    assert_eq!(one("not json"), Inbound::Ignored { why: "no_json" });
    assert_eq!(one(r#"{"object":"page","entry":[]}"#), Inbound::Ignored { why: "other_object" });
    assert_eq!(items("{}"), []);
    let other = json!({"entry": [{"changes": [{"field": "brand_new", "value": {"messages": siblings()}}]}]});
    assert_eq!(one(other.to_string()), Inbound::Ignored { why: "unknown_field" });
}

#[test]
fn a_payload_is_read_by_time_and_then_by_place() {
    let mut later = siblings();
    later[0]["timestamp"] = "1790000009".into();
    let texts: Vec<_> = items(payload(&json!({"messages": later})))
        .into_iter()
        .map(|item| match item.inbound {
            Inbound::Message(message) => message.text,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(texts, ["behind", "before"]);
}
