//! What servers do otherwise than the protocol says, case by case.

use std::sync::Arc;

use super::*;
use crate::domain::message::{ToolCall, calls_of};
use crate::domain::{Args, SurfaceMessage};

const STOP: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;

fn calls(fragments: &[&str]) -> Vec<(String, String, String)> {
    let mut frames: Vec<String> = fragments.iter().map(|f| format!("{{\"choices\":[{{\"delta\":{{\"tool_calls\":[{f}]}}}}]}}")).collect();
    frames.push(STOP.into());
    let (content, finish, _) = finished(&frames.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(finish, Finish::ToolCalls, "calls are believed before the word stop");
    calls_of(&content).map(|c| (c.id.to_string(), c.tool.clone(), c.args.as_str().to_owned())).collect()
}

fn call(id: &str, tool: &str, args: &str) -> (String, String, String) {
    (id.into(), tool.into(), args.into())
}

#[test]
fn fragments_find_their_call() {
    type Case = (&'static str, &'static [&'static str], &'static [(&'static str, &'static str)]);
    let cases: &[Case] = &[
        (
            "no index: a new id is a new call, no id goes on with the last",
            &[
                r#"{"id":"a","function":{"name":"x","arguments":"{\"k\""}}"#,
                r#"{"function":{"arguments":":1}"}}"#,
                r#"{"id":"b","function":{"name":"y","arguments":"{}"}}"#,
            ],
            &[("x", r#"{"k":1}"#), ("y", "{}")],
        ),
        (
            "index 0 for everything, other ids",
            &[
                r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\""}}"#,
                r#"{"index":0,"function":{"arguments":":1}"}}"#,
                r#"{"index":0,"id":"b","function":{"name":"x","arguments":"{"}}"#,
                r#"{"index":0,"function":{"arguments":"}"}}"#,
            ],
            &[("x", r#"{"k":1}"#), ("x", "{}")],
        ),
        (
            "id and name on every fragment",
            &[
                r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\""}}"#,
                r#"{"index":0,"id":"a","function":{"name":"x","arguments":":1}"}}"#,
            ],
            &[("x", r#"{"k":1}"#)],
        ),
        (
            "id and name on every fragment, no index",
            &[r#"{"id":"a","function":{"name":"x","arguments":"{\"k\""}}"#, r#"{"id":"a","function":{"name":"x","arguments":":1}"}}"#],
            &[("x", r#"{"k":1}"#)],
        ),
        (
            "an empty name later on",
            &[
                r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}"#,
                r#"{"index":0,"id":"","function":{"name":"","arguments":"}"}}"#,
            ],
            &[("x", "{}")],
        ),
        (
            "arguments as an object",
            &[r#"{"index":0,"id":"a","function":{"name":"x","arguments":{"b":1.50,"a":[1, 2]}}}"#],
            &[("x", r#"{"b":1.50,"a":[1,2]}"#)],
        ),
        (
            "one index and one id are one call, whatever is said again",
            &[
                r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}"#,
                r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}"#,
            ],
            &[("x", r#""{}{}""#)],
        ),
        (
            "an empty afterthought with the name again",
            &[r#"{"index":0,"function":{"name":"x","arguments":"{}"}}"#, r#"{"index":0,"function":{"name":"x","arguments":""}}"#],
            &[("x", "{}")],
        ),
        (
            "the first name holds",
            &[
                r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}"#,
                r#"{"index":0,"id":"a","function":{"name":"y","arguments":"}"}}"#,
            ],
            &[("x", "{}")],
        ),
        ("arguments absent", &[r#"{"index":0,"id":"a","function":{"name":"x"}}"#], &[("x", "{}")]),
        ("arguments null", &[r#"{"index":0,"id":"a","type":"function","function":{"name":"x","arguments":null}}"#], &[("x", "{}")]),
        (
            "whole calls without ids and index",
            &[
                r#"{"function":{"name":"x","arguments":{"k":1}}},{"function":{"name":"x","arguments":{"k":2}}},{"function":{"name":"y","arguments":{}}}"#,
            ],
            &[("x", r#"{"k":1}"#), ("x", r#"{"k":2}"#), ("y", "{}")],
        ),
        (
            "whole calls, all with index 0 and no ids",
            &[r#"{"index":0,"function":{"name":"x","arguments":"{}"}}"#, r#"{"index":0,"function":{"name":"x","arguments":"{\"k\":2}"}}"#],
            &[("x", "{}"), ("x", r#"{"k":2}"#)],
        ),
        (
            "interleaved, ids only at first",
            &[
                r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{\"p\":"}},{"index":1,"id":"b","function":{"name":"y","arguments":"{\"q\":"}}"#,
                r#"{"index":1,"function":{"arguments":"2}"}}"#,
                r#"{"index":0,"function":{"arguments":"1}"}}"#,
            ],
            &[("x", r#"{"p":1}"#), ("y", r#"{"q":2}"#)],
        ),
        (
            "arguments before the name",
            &[r#"{"index":0,"id":"a","function":{"arguments":"{"}}"#, r#"{"index":0,"function":{"name":"x","arguments":"}"}}"#],
            &[("x", "{}")],
        ),
        ("a name that never comes", &[r#"{"index":0,"id":"a","function":{"arguments":"{}"}}"#], &[("unnamed", "{}")]),
        (
            "arguments that are no JSON",
            &[r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{\"k\":"}}"#],
            &[("x", r#""{\"k\":""#)],
        ),
    ];
    for (what, fragments, expected) in cases {
        let found = calls(fragments);
        let found: Vec<_> = found.iter().map(|(_, tool, args)| (tool.as_str(), args.as_str())).collect();
        assert_eq!(found, *expected, "{what}");
    }
}

#[test]
fn ids_are_minted_where_missing_and_changed_where_used_twice() {
    let minted =
        calls(&[r#"{"function":{"name":"x","arguments":"{}"}}"#, r#"{"index":1,"id":null,"function":{"name":"y","arguments":"{}"}}"#]);
    assert!(minted.iter().all(|(id, ..)| id.starts_with("call_")), "{minted:?}");
    assert_ne!(minted[0].0, minted[1].0);

    let twice = calls(&[
        r#"{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"x","arguments":"{}"}}"#,
    ]);
    assert_eq!(twice[0], call("a", "x", "{}"));
    assert!(twice[1].0.starts_with("a_"), "{twice:?}");
}

#[test]
fn an_id_of_an_earlier_step_is_not_used_again() {
    let earlier = ToolCall { id: "call_0".into(), tool: "x".into(), args: Args::from_model("") };
    let mut request = request();
    request.messages.push(Arc::new(SurfaceMessage::Assistant { content: vec![Block::ToolCall(earlier)] }));
    let frame = br#"data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_0","function":{"name":"x"}}]}}]}

"#;
    let id = |body: &[u8]| {
        let mut events = Vec::new();
        decode::decoder(&request, body).push(frame, &mut events).unwrap();
        match &events[..] {
            [ModelEvent::ToolInput { id, .. }] => id.clone(),
            other => panic!("{other:?}"),
        }
    };
    assert_ne!(id(b"one").as_str(), "call_0");
    assert_eq!(id(b"one"), id(b"one"), "the same request gives the same ids");
    assert_ne!(id(b"one"), id(b"two"), "another step gives others");
}

#[test]
fn finish_reasons_mean_what_servers_mean() {
    let call = r#"{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{"}}]}}]}"#;
    let end = |reason: &str| format!("{{\"choices\":[{{\"delta\":{{}},\"finish_reason\":{reason}}}]}}");
    for (reason, without, with) in [
        ("\"stop\"", Finish::Stop, Finish::ToolCalls),
        ("\"tool_calls\"", Finish::Stop, Finish::ToolCalls),
        ("\"function_call\"", Finish::Stop, Finish::ToolCalls),
        ("\"length\"", Finish::MaxTokens, Finish::MaxTokens),
        ("\"content_filter\"", Finish::ContentFilter, Finish::ContentFilter),
        ("\"\"", Finish::Stop, Finish::ToolCalls),
        ("null", Finish::Stop, Finish::ToolCalls),
        ("\"eos\"", Finish::Stop, Finish::ToolCalls),
    ] {
        assert_eq!(finished(&[&end(reason), "[DONE]"]).1, without, "{reason}");
        assert_eq!(finished(&[call, &end(reason), "[DONE]"]).1, with, "{reason} after a call");
    }
}

#[test]
fn chunks_without_choices_and_usage_everywhere_are_taken() {
    let (content, finish, usage) = finished(&[
        r#"{"choices":[],"prompt_filter_results":[]}"#,
        r#"{"id":"keep-alive"}"#,
        r#"{"choices":null,"error":null}"#,
        r#"{"choices":[{"delta":{"role":"assistant","content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}"#,
        r#"{"choices":[{"delta":{"role":"assistant","content":"b"}}],"usage":{"prompt_tokens":9,"completion_tokens":2}}"#,
        r#"{"choices":[{"delta":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":4}}"#,
        r#"{"choices":[],"usage":null}"#,
        "[DONE]",
    ]);
    assert_eq!((content, finish), (vec![Block::Text { text: "ab".into() }], Finish::Stop));
    assert_eq!(usage, Usage { input: 5, cache_read: 4, output: 2, ..Usage::default() });
}

#[test]
fn reasoning_under_two_names_is_one() {
    let (content, ..) = finished(&[r#"{"choices":[{"delta":{"reasoning_content":"a","reasoning":"a"}}]}"#, STOP]);
    assert_eq!(content, [Block::reasoning("a")]);
}

#[test]
fn a_refusal_is_text_with_its_own_finish() {
    let (content, finish, _) = finished(&[r#"{"choices":[{"delta":{"refusal":"I won't"}}]}"#, STOP]);
    assert_eq!((content, finish), (vec![Block::Text { text: "I won't".into() }], Finish::Refusal));
}

#[test]
fn an_empty_answer_is_passed_on() {
    assert_eq!(finished(&[STOP, "[DONE]"]), (vec![], Finish::Stop, Usage::default()));
}

#[test]
fn usage_that_leaves_reasoning_out_does_not_go_below_zero() {
    let (.., usage) = finished(&[
        r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":7},"completion_tokens_details":{"reasoning_tokens":50}}}"#,
    ]);
    assert_eq!(usage, Usage { input: 0, cache_read: 3, cache_write: 0, output: 2, reasoning: 50 });
}

#[test]
fn failures_in_a_stream_are_errors() {
    let text = r#"data: {"choices":[{"delta":{"content":"a"}}]}"#;
    for (end, class, code) in [
        (r#"data: {"error":{"message":"Overloaded","type":"overloaded_error"}}"#, ErrorClass::Retry, "overloaded"),
        (
            r#"data: {"error":{"code":402,"message":"no credits"},"choices":[{"delta":{},"finish_reason":"error"}]}"#,
            ErrorClass::Final,
            "billing",
        ),
        (r#"data: {"choices":[{"delta":{},"finish_reason":"error"}]}"#, ErrorClass::Retry, "server_error"),
        (r#"data: {"error":"plain words"}"#, ErrorClass::Retry, "server_error"),
        ("event: error\ndata: {\"message\":\"slow down\",\"code\":\"rate_limit_exceeded\"}", ErrorClass::Retry, "rate_limited"),
        ("event: error\ndata: it broke", ErrorClass::Retry, "server_error"),
        (r#"data: {"error":{"code":"context_length_exceeded","message":"too long"}}"#, ErrorClass::Overflow, "context_overflow"),
        (r#"data: {"choices":[{"delta":{"con"#, ErrorClass::Retry, "invalid_response"),
        (r#"data: {"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]}"#, ErrorClass::Retry, "overloaded"),
        ("", ErrorClass::Retry, "transport_cut"),
    ] {
        assert_eq!(read([format!("{text}\n\n{end}\n\n").as_bytes()]), Err((class, code)), "{end}");
    }
    assert_eq!(read([b"data: [DONE]\n\n".as_slice()]), Err((ErrorClass::Retry, "invalid_response")), "an end without an answer");
    assert_eq!(read([b"".as_slice()]), Err((ErrorClass::Retry, "transport_cut")));
}

#[test]
fn what_follows_the_end_is_not_read() {
    let mut decoder = decoder();
    let frames = format!("data: {STOP}\n\ndata: [DONE]\n\ndata: {{\"error\":\"late\"}}\n\ngarbage");
    let mut events = Vec::new();
    decoder.push(frames.as_bytes(), &mut events).unwrap();
    assert!(decoder.is_finished() && decoder.finish(&mut events).is_ok());
    assert_eq!(events.len(), 1);
}

#[test]
fn a_server_that_does_not_stream_is_understood() {
    let body = br#"{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"hi","tool_calls":[
        {"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}"#;
    let mut events = Vec::new();
    decoder().whole(body, &mut events).unwrap();
    assert_eq!(events.len(), 4);
    let Some(ModelEvent::Finished { content, finish: Finish::ToolCalls, .. }) = events.last() else { panic!("{events:?}") };
    assert_eq!(calls_of(content).count(), 1);
    assert_eq!(decoder().whole(br#"{"error":{"message":"no","code":"invalid_api_key"}}"#, &mut events).unwrap_err().code, "auth");
}
