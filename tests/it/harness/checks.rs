//! The checks of the harness can fail: each is shown what it is there to catch.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Frame;
use super::contract::{judge_answer, judge_event};
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
    for kind in ["thinking", "redacted_thinking"] {
        let answer = says("assistant", json!([{"type": "text", "text": "y"}, {"type": kind}]));
        assert!(wrong(&[user(), answer, user()]), "a thought at the end");
    }
    let mark = json!([{"type": "text", "text": "x", "cache_control": 1}]);
    assert!(
        wrong(&[says("user", mark.clone()), says("assistant", mark.clone()), says("user", json!([mark[0], mark[0], mark[0]]))]),
        "five marks"
    );
}

#[test]
fn an_answer_that_the_document_does_not_have_is_wrong() {
    let headers = |kind: &str| vec![("content-type".to_owned(), kind.to_owned()), ("x-request-id".to_owned(), "req_1".to_owned())];
    let (json_kind, problem_kind) = ("application/json", "application/problem+json");
    let judge =
        |method, target, status, kind, body: &Value| judge_answer(method, target, status, &headers(kind), body.to_string().as_bytes());
    let cancelled = json!({"removed": ["msg_1"]});
    let cancel = "/v1/sessions/ses_1/cancel";
    assert_eq!(judge("POST", cancel, 200, json_kind, &cancelled), Ok(()));
    for (method, target, status, kind, body, what) in [
        ("POST", "/v1/sessions/ses_1/undo", 200, json_kind, json!({}), "a path that is not there"),
        ("PUT", cancel, 200, json_kind, json!({"removed": []}), "a method that is not there"),
        ("POST", cancel, 201, json_kind, json!({"removed": []}), "another status"),
        ("POST", cancel, 200, "text/plain", json!({"removed": []}), "another content type"),
        ("POST", cancel, 200, json_kind, json!({}), "a field that is missing"),
        ("POST", cancel, 200, json_kind, json!({"removed": [], "turn": null}), "a null for what is absent"),
        ("POST", cancel, 200, json_kind, json!({"removed": [], "reason": "x"}), "a field that is not there"),
        ("DELETE", "/v1/sessions/ses_1", 204, json_kind, json!({}), "a body where none is due"),
    ] {
        assert!(judge(method, target, status, kind, &body).is_err(), "{what}");
    }
    let refusal = |code: &str| json!({"type": "urn:portico:problem:x", "title": "Not Found", "status": 404, "detail": "x", "code": code, "request_id": "req_1"});
    assert_eq!(judge("POST", cancel, 404, problem_kind, &refusal("not_found")), Ok(()));
    assert!(judge("POST", cancel, 404, problem_kind, &refusal("gone")).is_err(), "a code that is not the operation's");
    assert!(
        judge_answer("POST", cancel, 200, &headers(json_kind)[..1], cancelled.to_string().as_bytes()).is_err(),
        "without its request id"
    );
}

#[test]
fn an_event_that_the_document_does_not_have_is_wrong() {
    let frame = |event: &str, id: Option<&str>, data: &Value| Frame {
        event: Some(event.into()),
        id: id.map(Into::into),
        data: Some(data.to_string()),
        retry: None,
    };
    let delta = json!({"message_id": "msg_1", "block": 0, "text": "hi"});
    assert_eq!(judge_event(&frame("text_delta", Some("4.1"), &delta)), Ok(()));
    assert!(judge_event(&frame("text_delta", None, &delta)).is_err(), "a delta without an id");
    assert!(judge_event(&frame("text_delta", Some("x"), &delta)).is_err(), "an id that is no cursor");
    assert!(judge_event(&frame("text_delta", Some("4.1"), &json!({"text": "hi"}))).is_err(), "fields are missing");
    assert!(judge_event(&frame("hologram", None, &json!({}))).is_err(), "an event that is not there");
    let at = json!("2026-11-30T21:00:00.000Z");
    assert_eq!(judge_event(&frame("heartbeat", None, &json!({"at": at}))), Ok(()));
    assert!(judge_event(&frame("heartbeat", Some("4"), &json!({"at": at}))).is_err(), "an id where it moves no cursor");
    let step = |kind: &str| json!({"seq": 3, "at": at, "turn": 1, "step": 1, "type": kind});
    assert_eq!(judge_event(&frame("step_start", Some("3"), &step("step_start"))), Ok(()));
    assert!(judge_event(&frame("step_start", Some("3"), &step("step_end"))).is_err(), "a record under another name");
}
