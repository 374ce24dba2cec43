//! Who wrote, and who has become whom.

use serde_json::json;

use super::*;

fn sent_by(sender: &serde_json::Value, contacts: &serde_json::Value) -> Inbound {
    let mut message = json!({"id": "wamid.1", "timestamp": "1790000000", "type": "text", "text": {"body": "x"}});
    message.as_object_mut().unwrap().extend(sender.as_object().unwrap().clone());
    one(payload(&json!({"contacts": contacts, "messages": [message]})))
}

fn person(inbound: Inbound) -> Person {
    match inbound {
        Inbound::Message(message) => message.from,
        other => panic!("no message: {other:?}"),
    }
}

#[test]
fn a_contact_belongs_to_an_id_and_never_to_a_place() {
    let contacts = json!([
        {"wa_id": "15550100002", "user_id": "US.2", "profile": {"name": "Bo"}},
        {"wa_id": ANA, "user_id": ANA_ID, "profile": {"name": "Ana Example"}},
    ]);
    assert_eq!(person(sent_by(&json!({"from": ANA}), &contacts)), ana());
    assert_eq!(person(sent_by(&json!({"from_user_id": ANA_ID}), &contacts)), ana());
    let stranger = person(sent_by(&json!({"from": "15550100007"}), &contacts));
    assert_eq!(stranger, Person { phone: Some("15550100007".into()), user: None, name: None });
}

#[test]
fn a_message_of_nobody_is_not_given_to_somebody() {
    let contacts = json!([{"wa_id": ANA, "profile": {"name": "Ana Example"}}]);
    for nobody in [json!({}), json!({"from": "", "from_user_id": ""}), json!({"from": null}), json!({"from": {"a": 1}})] {
        assert_eq!(sent_by(&nobody, &contacts), Inbound::Ignored { why: "no_sender" });
        assert_eq!(sent_by(&nobody, &json!([])), Inbound::Ignored { why: "no_sender" });
    }
}

#[test]
fn an_id_where_a_number_belongs_is_still_an_id() {
    let expected = Person { phone: None, user: Some("US.9".into()), name: None };
    assert_eq!(person(sent_by(&json!({"from": "US.9"}), &json!([]))), expected);
}

#[test]
fn a_name_draws_nothing_but_itself() {
    let contacts = json!([{"wa_id": ANA, "profile": {"name": "A\u{202e}na\n\u{1b}[2J"}}]);
    assert_eq!(person(sent_by(&json!({"from": ANA}), &contacts)).name.as_deref(), Some("Ana  [2J"));
}

#[test]
fn an_id_changes_by_a_system_message_in_either_spelling() {
    let old = Person { phone: None, user: Some("US.1".into()), name: None };
    let new = Person { phone: None, user: Some("US.2".into()), name: None };
    let expected = Inbound::Identity { old, new };
    let system = |from: &str, system: serde_json::Value| {
        let message = json!({"id": "wamid.1", "timestamp": "1790000000", "type": "system", "from_user_id": from, "system": system});
        one(payload(&json!({"messages": [message]})))
    };
    assert_eq!(system("US.1", json!({"type": "user_changed_user_id", "user_id": "US.2"})), expected);
    let named = json!({"type": "user_changed_user_id", "user_id": "US.2", "previous_user_id": "US.1"});
    assert_eq!(system("US.2", named), expected);
    assert_eq!(system("US.1", json!({"type": "user_changed_user_id"})), Inbound::Ignored { why: "system" });
    assert_eq!(system("US.1", json!({"type": "something_new"})), Inbound::Ignored { why: "system" });
}

#[test]
fn an_id_changes_by_a_field_of_its_own() {
    let update = json!({"wa_id": ANA, "user_id": {"previous": "US.1", "current": "US.2"}, "timestamp": "1790000000"});
    let value = json!({"metadata": {"phone_number_id": LINE}, "user_id_update": [update]});
    let body = json!({"entry": [{"changes": [{"field": "user_id_update", "value": value}]}]}).to_string();
    let person = |user: &str| Person { phone: Some(ANA.into()), user: Some(user.into()), name: None };
    let expected = Item { line: LINE.into(), inbound: Inbound::Identity { old: person("US.1"), new: person("US.2") } };
    assert_eq!(items(body), [expected]);
}
