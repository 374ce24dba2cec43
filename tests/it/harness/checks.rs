//! The checks of the harness can fail: each is shown what it is there to catch.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::ledger::books_of;
use super::provider::check;

fn ledger() -> Vec<Value> {
    let call = json!([{"type": "tool_call", "id": "c1", "tool": "t", "args": {}}]);
    let mut records = vec![
        json!({"type": "session_created"}),
        json!({"type": "message_queued", "message_id": "m1"}),
        json!({"type": "turn_start", "turn": 1, "message_ids": ["m1"]}),
        json!({"type": "step_start", "turn": 1, "step": 1}),
        json!({"type": "request", "turn": 1, "step": 1}),
        json!({"type": "message", "turn": 1, "step": 1, "content": call}),
        json!({"type": "tool_start", "turn": 1, "step": 1, "tool_call_id": "c1"}),
        json!({"type": "tool_end", "turn": 1, "step": 1, "tool_call_id": "c1"}),
        json!({"type": "step_end", "turn": 1, "step": 1}),
        json!({"type": "done", "turn": 1, "steps": 1, "message_ids": ["m1"]}),
    ];
    number_from_one(&mut records);
    records
}

fn number_from_one(records: &mut [Value]) {
    records.iter_mut().enumerate().for_each(|(i, r)| r["seq"] = json!(i + 1));
}

#[test]
fn the_audit_misses_no_record_that_is_left_out_or_told_twice() {
    assert_eq!(books_of(&ledger()), Ok(()));
    // `session_created` and `tool_start` may be missing as far as the books go; their seq tells
    for i in (0..ledger().len()).filter(|i| !matches!(i, 0 | 6)) {
        let mut short = ledger();
        short.remove(i);
        assert!(books_of(&short).is_err(), "a hole at {i}");
        number_from_one(&mut short);
        assert!(books_of(&short).is_err(), "without record {i}");
        let mut twice = ledger();
        twice.insert(i, twice[i].clone());
        number_from_one(&mut twice);
        assert!(books_of(&twice).is_err(), "record {i} twice");
    }
}

#[test]
fn a_request_with_unpaired_calls_or_other_tools_is_wrong() {
    let (none, call, result) = (BTreeSet::new(), json!({"id": "c1"}), json!({"role": "tool", "tool_call_id": "c1"}));
    let (user, asks) = (json!({"role": "user", "content": "x"}), json!({"role": "assistant", "tool_calls": [call]}));
    let wrong = |messages: &[&Value]| !check(&json!({"messages": messages}), &none, false).is_empty();
    assert!(!wrong(&[&user, &asks, &result, &user]));
    assert!(wrong(&[&user, &asks, &user]), "no result");
    assert!(wrong(&[&user, &asks]), "no result at the end");
    assert!(wrong(&[&user, &result, &asks, &result]), "a result before its call");
    assert!(wrong(&[&user, &asks, &result, &result]), "two results");
    assert!(wrong(&[&user, &asks, &result, &asks, &result]), "one id twice");
    let bash = BTreeSet::from(["bash".to_owned()]);
    let offers = json!({"messages": [], "tools": [{"type": "function", "function": {"name": "bash"}}]});
    assert!(check(&offers, &bash, false).is_empty() && !check(&offers, &none, false).is_empty());
    assert!(!check(&json!({"messages": []}), &bash, false).is_empty());
}

#[test]
fn so_is_one_of_the_anthropic_wire() {
    let none = BTreeSet::new();
    let says = |role: &str, content: Value| json!({"role": role, "content": content});
    let text = |text: &str| json!([{"type": "text", "text": text}]);
    let call = || says("assistant", json!([{"type": "tool_use", "id": "c1"}]));
    let result = || json!({"type": "tool_result", "tool_use_id": "c1"});
    let wrong = |messages: &[Value]| !check(&json!({"max_tokens": 9, "messages": messages}), &none, false).is_empty();
    let user = || says("user", text("x"));
    assert!(!wrong(&[user(), call(), says("user", json!([result(), {"type": "text", "text": "y"}]))]));
    assert!(wrong(&[user(), call(), user()]), "no result");
    assert!(wrong(&[user(), call()]), "no result at the end");
    assert!(wrong(&[user(), call(), says("user", json!([{"type": "text", "text": "y"}, result()]))]), "text in front of a result");
    assert!(wrong(&[user(), call(), says("user", json!([result(), result()]))]), "two results");
    assert!(wrong(&[user(), call(), says("user", json!([result()])), call(), says("user", json!([result()]))]), "one id twice");
    assert!(wrong(&[user(), user(), says("assistant", text("y"))]), "roles do not alternate");
    assert!(wrong(&[says("user", text(" "))]), "blank");
    let mark = json!([{"type": "text", "text": "x", "cache_control": 1}]);
    assert!(
        wrong(&[says("user", mark.clone()), says("assistant", mark.clone()), says("user", json!([mark[0], mark[0], mark[0]]))]),
        "five marks"
    );
}
