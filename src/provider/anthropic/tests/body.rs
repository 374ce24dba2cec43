//! What is sent.

use std::sync::Arc;

use serde_json::Value;

use crate::domain::event::model::Parameters;
use crate::domain::message::{Opaque, ToolCall};
use crate::domain::{Args, Block, SurfaceMessage, ToolCallId};
use crate::provider::ModelRequest;
use crate::provider::anthropic::body::body;

pub(super) const MODEL: &str = "claude-sonnet-5-5";

pub(super) fn user(text: &str) -> SurfaceMessage {
    SurfaceMessage::user(text)
}

pub(super) fn call(id: &str, args: &str) -> Block {
    Block::ToolCall(ToolCall { id: ToolCallId::from(id), tool: "look".into(), args: Args::from_model(args) })
}

pub(super) fn thought(text: &str, data: &str) -> Block {
    let opaque = Opaque { provider: "anthropic".into(), model: MODEL.into(), data: data.into() };
    Block::Reasoning { text: text.into(), opaque: Some(opaque) }
}

pub(super) fn assistant(content: Vec<Block>) -> SurfaceMessage {
    SurfaceMessage::Assistant { content }
}

pub(super) fn result(id: &str, content: &str, is_error: bool) -> SurfaceMessage {
    SurfaceMessage::ToolResult { tool_call_id: ToolCallId::from(id), tool: "look".into(), content: content.into(), is_error }
}

pub(super) fn request(messages: Vec<SurfaceMessage>) -> ModelRequest {
    let tools = r#"[{"name":"ask","description":"Asks.","schema":{"type":"object"}},{"name":"look","description":"Looks.","schema":{"type":"object","properties":{"z":{},"a":{}}}}]"#;
    ModelRequest {
        model: MODEL.into(),
        system: "be brief".into(),
        tools: Some(tools.into()),
        withheld: None,
        messages: messages.into_iter().map(Arc::new).collect(),
        files: Arc::default(),
        parameters: Parameters::default(),
    }
}

pub(super) fn text(request: &ModelRequest) -> String {
    String::from_utf8(body(request, "anthropic")).unwrap()
}

pub(super) fn json(request: &ModelRequest) -> Value {
    serde_json::from_slice(&body(request, "anthropic")).unwrap()
}

/// Thoughts of all kinds, parallel calls one of which fails, a steer behind the results.
fn conversation() -> Vec<SurfaceMessage> {
    vec![
        user("hi \"you\""),
        assistant(vec![
            thought("", r#"{"redacted":"Em+/=="}"#),
            thought("hm — é", r#"{"signature":"Eq+/=="}"#),
            thought("", r#"{"signature":"Er=="}"#),
            Block::Text { text: "I look.".into() },
            call("c1", "{\"z\":1.0, \"a\":2}"),
            call("c2", ""),
        ]),
        result("c1", "seen", false),
        result("c2", "nothing there", true),
        user("and quickly"),
    ]
}

#[test]
fn the_bytes_are_stable() {
    let expected = concat!(
        r#"{"model":"claude-sonnet-5-5","max_tokens":64000,"stream":true,"#,
        r#""tools":[{"name":"ask","description":"Asks.","input_schema":{"type":"object"}},"#,
        r#"{"name":"look","description":"Looks.","input_schema":{"type":"object","properties":{"z":{},"a":{}}},"cache_control":{"type":"ephemeral"}}],"#,
        r#""system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],"#,
        r#""messages":[{"role":"user","content":[{"type":"text","text":"hi \"you\"","cache_control":{"type":"ephemeral"}}]},"#,
        r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"Em+/=="},{"type":"thinking","thinking":"hm — é","signature":"Eq+/=="},"#,
        r#"{"type":"thinking","thinking":"","signature":"Er=="},{"type":"text","text":"I look."},"#,
        r#"{"type":"tool_use","id":"c1","name":"look","input":{"z":1.0,"a":2}},{"type":"tool_use","id":"c2","name":"look","input":{}}]},"#,
        r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"seen"},"#,
        r#"{"type":"tool_result","tool_use_id":"c2","content":"nothing there","is_error":true},"#,
        r#"{"type":"text","text":"and quickly","cache_control":{"type":"ephemeral"}}]}]}"#,
    );
    assert_eq!(text(&request(conversation())), expected);
}

#[test]
fn a_longer_conversation_keeps_the_bytes_in_front_but_for_the_marks() {
    let unmarked = |request: &ModelRequest| text(request).replace(r#","cache_control":{"type":"ephemeral"}"#, "");
    let shorter = unmarked(&request(conversation()));
    let longer = [conversation(), vec![assistant(vec![Block::Text { text: "done".into() }]), user("more")]].concat();
    assert!(unmarked(&request(longer)).starts_with(shorter.strip_suffix("]}").unwrap()));
}

#[test]
fn there_are_never_more_than_four_marks_and_each_on_what_may_carry_one() {
    for turns in 0..6 {
        let all: Vec<_> = (0..turns).flat_map(|_| conversation().into_iter().chain([assistant(vec![thought("x", "{}")])])).collect();
        let request = request([all, vec![user("end")]].concat());
        assert!(text(&request).matches("cache_control").count() <= 4, "{turns}");
        let body = json(&request);
        let last = body["messages"].as_array().unwrap().last().unwrap()["content"].as_array().unwrap().last().unwrap().clone();
        assert!(last["cache_control"].is_object(), "{last}");
    }
}

/// `(role, types of its blocks)` of each message.
fn shape(request: &ModelRequest) -> Vec<(String, Vec<String>)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let kinds = |message: &Value| message["content"].as_array().unwrap().iter().map(|part| text(&part["type"])).collect();
    json(request)["messages"].as_array().unwrap().iter().map(|message| (text(&message["role"]), kinds(message))).collect()
}

#[test]
fn roles_alternate_and_a_user_begins_and_ends() {
    let said = |text: &str| Block::Text { text: text.into() };
    for messages in [
        vec![],
        vec![user("  \n")],
        vec![assistant(vec![said("a person wrote first")]), user("hi")],
        vec![user("a"), user("b"), assistant(vec![said("x")]), assistant(vec![said("y")])],
        vec![user("a"), assistant(vec![said(" "), Block::reasoning("cut")]), user("b")],
        vec![user("a"), assistant(vec![call("c", "{}")]), result("c", "", false), assistant(vec![said("by hand")])],
    ] {
        let shape = shape(&request(messages.clone()));
        let roles: Vec<&str> = shape.iter().map(|(role, _)| role.as_str()).collect();
        assert_eq!((roles.first(), roles.last()), (Some(&"user"), Some(&"user")), "{messages:?}");
        assert!(roles.windows(2).all(|pair| pair[0] != pair[1]), "{messages:?}: {roles:?}");
        assert!(shape.iter().all(|(_, kinds)| !kinds.is_empty()), "{messages:?}");
        assert!(!text(&request(messages)).contains(r#""text":" "#), "no blank text");
    }
}

#[test]
fn no_message_of_the_model_ends_with_a_thought() {
    let said = |text: &str| Block::Text { text: text.into() };
    let (thinks, redacted) = (|| thought("hm", r#"{"signature":"s"}"#), || thought("", r#"{"redacted":"r"}"#));
    for (content, kinds) in [
        (vec![said("x"), thinks()], vec!["text"]),
        (vec![thinks(), said("x"), redacted(), thinks(), said("")], vec!["thinking", "text"]),
        (vec![thinks(), said("\n\n")], vec![]),
        (vec![redacted()], vec![]),
        (vec![thinks(), said("x")], vec!["thinking", "text"]),
    ] {
        let shape = shape(&request(vec![user("a"), assistant(content.clone()), user("b")]));
        let answers: Vec<_> = shape.into_iter().filter(|(role, _)| role == "assistant").map(|(_, kinds)| kinds).collect();
        let expected = if kinds.is_empty() { vec![] } else { vec![kinds] };
        assert_eq!(answers, expected, "{content:?}");
    }
    let by_hand = vec![user("a"), assistant(vec![said("x"), thinks()]), assistant(vec![said("a person's")]), user("b")];
    assert_eq!(shape(&request(by_hand))[1].1, ["text", "text"]);
    let calls = vec![user("a"), assistant(vec![thinks(), call("c", "{}")]), result("c", "r", false)];
    assert_eq!(shape(&request(calls))[1].1, ["thinking", "tool_use"], "in a tool loop nothing is taken away");
}

#[test]
fn results_stand_before_text_and_a_failure_says_something() {
    let request = request(vec![
        user("a"),
        assistant(vec![call("c1", "{}"), call("c2", "{}")]),
        result("c1", "", false),
        result("c2", "", true),
        user("b"),
        user("c"),
    ]);
    assert_eq!(shape(&request)[2].1, ["tool_result", "tool_result", "text", "text"]);
    let body = text(&request);
    assert!(body.contains(r#"{"type":"tool_result","tool_use_id":"c1"},{"type":"tool_result","tool_use_id":"c2","content":"("#), "{body}");
}

#[test]
fn arguments_that_are_no_object_become_one() {
    for (args, input) in [
        ("{\"a\":", r#"{"unparsed":"{\"a\":"}"#),
        ("[1, 2]", r#"{"unparsed":[1,2]}"#),
        ("7", r#"{"unparsed":7}"#),
        ("null", r#"{"unparsed":null}"#),
        (r#"{"a":"\ud83d"}"#, r#"{"unparsed":"{\"a\":\"\\ud83d\"}"}"#),
        ("{\"b\":1e3,\"b\":2}", r#"{"b":1e3,"b":2}"#),
    ] {
        let request = request(vec![user("a"), assistant(vec![call("c", args)]), result("c", "no", true)]);
        assert!(text(&request).contains(&format!("\"input\":{input}}}")), "{args}: {}", text(&request));
    }
}

#[test]
fn names_that_the_wire_does_not_take_are_rewritten_the_same_everywhere() {
    let long = "n".repeat(200);
    for id in ["functions.bash:0", "é", "", &long] {
        let request = request(vec![user("a"), assistant(vec![call(id, "{}")]), result(id, "r", false)]);
        let body = json(&request);
        let sent = body["messages"][1]["content"][0]["id"].as_str().unwrap().to_owned();
        assert_eq!(body["messages"][2]["content"][0]["tool_use_id"], *sent, "{id}");
        let fits = sent.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) && (1..=128).contains(&sent.len());
        assert!(fits, "{id}: {sent}");
    }
    let two = request(vec![user("a"), assistant(vec![call("a.b", "{}"), call("a:b", "{}")])]);
    let content = json(&two)["messages"][1]["content"].clone();
    assert_ne!(content[0]["id"], content[1]["id"]);
}

#[test]
fn no_tools_and_no_system_leave_no_trace_and_the_operators_limit_holds() {
    let mut request = request(vec![user("a")]);
    (request.tools, request.system) = (None, "\n".into());
    request.parameters.max_output_tokens = Some(99);
    let expected = r#"{"model":"claude-sonnet-5-5","max_tokens":99,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}"#;
    assert_eq!(text(&request), expected);
}

#[test]
fn the_last_answer_may_call_nothing_and_still_names_what_was_called() {
    let mut request =
        request(vec![user("a"), assistant(vec![call("c1", "{}"), call("c2", "{}")]), result("c1", "r", false), result("c2", "r", false)]);
    request.tools = None;
    let expected = r#""tools":[{"name":"look","input_schema":{"type":"object"}}],"tool_choice":{"type":"none"},"system""#;
    assert!(text(&request).contains(expected), "{}", text(&request));
}

#[test]
fn withheld_tools_are_the_same_bytes_and_none_may_be_called() {
    let mut request = request(conversation());
    let before = text(&request);
    request.withheld = request.tools.take();
    let (head, tail) = before.split_once(r#""system":"#).unwrap();
    assert_eq!(text(&request), format!(r#"{head}"tool_choice":{{"type":"none"}},"system":{tail}"#));
    request.messages.truncate(1);
    assert!(text(&request).contains(r#""tool_choice":{"type":"none"}"#), "also where nothing was called yet");
}
