//! Who is spoken to in a group.

use serde_json::json;

use super::*;

fn addressed(rest: &serde_json::Value) -> bool {
    let mut rest = rest.clone();
    rest["group_id"] = "GRP1".into();
    message(from_ana("text", &rest)).addressed
}

#[test]
fn a_mention_of_the_number_or_an_answer_to_it_speaks_to_the_account() {
    assert!(addressed(&json!({"text": {"body": "hi @15550109000, what now?"}})));
    assert!(addressed(&json!({"text": {"body": "yes"}, "context": {"from": "15550109000", "id": "wamid.OURS"}})));
}

#[test]
fn other_talk_does_not() {
    assert!(!addressed(&json!({"text": {"body": "hi 15550109000"}})));
    assert!(!addressed(&json!({"text": {"body": "hi @155501090001"}})));
    assert!(!addressed(&json!({"text": {"body": "hi @"}})));
    assert!(!addressed(&json!({"text": {"body": "yes"}, "context": {"from": "15550100002", "id": "wamid.HIS"}})));
}

#[test]
fn the_words_stay_as_they_were_written() {
    let read = message(from_ana("text", &json!({"text": {"body": "hi @15550109000"}, "group_id": "GRP1"})));
    assert_eq!((read.text.as_str(), read.group.as_deref()), ("hi @15550109000", Some("GRP1")));
}

#[test]
fn a_retraction_and_a_press_say_which_group() {
    let body = from_ana("revoke", &json!({"revoke": {"original_message_id": "wamid.0"}, "group_id": "GRP1"}));
    assert!(matches!(one(body), Inbound::Retract { group: Some(group), .. } if group == "GRP1"));
}
