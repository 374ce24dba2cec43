//! What a request asks a model to think, and who gets thoughts back.

use serde_json::{Value, json};

use super::body::{MODEL, assistant, call, json as sent, request, result, text, thought, user};
use crate::domain::{Block, SurfaceMessage};

fn asked(model: &str, effort: Option<&str>, max_tokens: Option<u64>) -> (Value, Value) {
    let mut request = request(vec![user("a")]);
    request.model = model.into();
    request.parameters.reasoning_effort = effort.map(str::to_owned);
    request.parameters.max_output_tokens = max_tokens;
    let body = sent(&request);
    (body["thinking"].clone(), body["output_config"].clone())
}

#[test]
fn each_model_is_asked_as_it_takes_it() {
    let adaptive = json!({"type": "adaptive", "display": "summarized"});
    let budget = |tokens: u64| json!({"type": "enabled", "budget_tokens": tokens});
    let effort = |word: &str| json!({"effort": word});
    for (model, word, thinking, config) in [
        ("claude-3-5-haiku-20241022", "high", Value::Null, Value::Null),
        ("claude-3-7-sonnet-20250219", "low", budget(4_096), Value::Null),
        ("claude-sonnet-4-5-20250929", "minimal", budget(1_024), Value::Null),
        ("claude-opus-4-1", "max", budget(24_000), Value::Null),
        ("claude-haiku-4-5", "none", Value::Null, Value::Null),
        ("claude-opus-4-6", "xhigh", adaptive.clone(), effort("high")),
        ("claude-opus-4-7", "xhigh", adaptive.clone(), effort("xhigh")),
        ("claude-opus-4-7", "none", Value::Null, Value::Null),
        ("claude-sonnet-5-5", "minimal", adaptive.clone(), effort("low")),
        ("claude-sonnet-5-5", "none", json!({"type": "between_tools"}), Value::Null),
        ("claude-haiku-5-5", "none", json!({"type": "disabled"}), Value::Null),
        ("claude-opus-5-5", "none", Value::Null, effort("low")),
        ("claude-fable-5-1", "max", adaptive.clone(), effort("max")),
        ("eu.anthropic.claude-opus-4-1-v1:0", "high", budget(16_384), Value::Null),
        ("minimax-m3", "high", budget(6_144), Value::Null),
        ("claude-sonnet-5-5", "enormous", Value::Null, Value::Null),
    ] {
        assert_eq!(asked(model, Some(word), None), (thinking, config), "{model} {word}");
        assert_eq!(asked(model, None, None), (Value::Null, Value::Null), "{model} by itself");
    }
}

#[test]
fn a_budget_leaves_room_for_the_answer_or_is_not_asked_for() {
    for max_tokens in 1..5_000 {
        let thinking = asked("claude-sonnet-4-5", Some("max"), Some(max_tokens)).0;
        match thinking["budget_tokens"].as_u64() {
            None => assert!(max_tokens < 1_366 && thinking.is_null(), "{max_tokens}"),
            Some(tokens) => assert!((1_024..max_tokens).contains(&tokens), "{max_tokens}: {tokens}"),
        }
    }
}

/// A tool loop whose answer begins with this block.
fn within_a_loop(first: Option<Block>) -> Vec<SurfaceMessage> {
    vec![user("a"), assistant(first.into_iter().chain([call("c", "{}")]).collect()), result("c", "r", false)]
}

/// What may stand first in a loop: the model's own thought, and what is none.
fn firsts() -> [(Option<Block>, bool); 4] {
    let foreign = thought("x", r#"{"signature":"s"}"#);
    let mut own = foreign.clone();
    if let Block::Reasoning { opaque: Some(opaque), .. } = &mut own {
        opaque.model = "claude-sonnet-4-5".into();
    }
    [(Some(own), true), (Some(foreign), false), (Some(Block::reasoning("x")), false), (None, false)]
}

fn thinks(messages: Vec<SurfaceMessage>) -> bool {
    let mut request = request(messages);
    request.model = "claude-sonnet-4-5".into();
    request.parameters.reasoning_effort = Some("low".into());
    sent(&request)["thinking"].is_object()
}

#[test]
fn a_model_with_a_budget_is_asked_within_a_loop_only_if_the_loop_began_with_a_thought() {
    for (first, began) in firsts() {
        let mut messages = within_a_loop(first.clone());
        assert_eq!(thinks(messages.clone()), began, "{first:?}");
        // a steer, or a new question after a cancelled call, joins the results
        assert_eq!(thinks([messages.clone(), vec![user("a steer")]].concat()), began, "{first:?}");
        for id in ["c2", "c3"] {
            messages.extend([assistant(vec![call(id, "{}")]), result(id, "r", false)]);
            assert_eq!(thinks(messages.clone()), began, "such a model thinks once in a loop: {first:?}");
        }
        messages.extend([assistant(vec![Block::Text { text: "done".into() }]), user("b")]);
        assert!(thinks(messages.clone()), "a new round may begin with a thought");
        messages.extend([assistant(vec![call("c4", "{}")]), result("c4", "r", false)]);
        assert!(!thinks(messages), "the loop before is over");
    }
}

#[test]
fn thoughts_go_back_to_the_provider_and_model_that_had_them_and_to_nobody_else() {
    let first = thought("secret", r#"{"signature":"Sig"}"#);
    let second = thought("", r#"{"redacted":"Red"}"#);
    let mut request = request(vec![user("a"), assistant(vec![first, second, call("c", "{}")]), result("c", "r", false)]);
    assert!(
        text(&request)
            .contains(r#"[{"type":"thinking","thinking":"secret","signature":"Sig"},{"type":"redacted_thinking","data":"Red"},{"#)
    );
    let none = |text: &str| !["secret", "Sig", "Red", "thinking"].iter().any(|word| text.contains(word));
    let other_provider = crate::provider::anthropic::body::body(&request, "minimax");
    assert!(none(&String::from_utf8(other_provider).unwrap()));
    request.model = "claude-opus-5-5".into();
    assert!(none(&text(&request)));
    request.model = MODEL.into();
    let unread = thought("secret", "not what this wire keeps");
    request.messages[1] = std::sync::Arc::new(assistant(vec![unread, Block::reasoning("secret"), call("c", "{}")]));
    assert!(none(&text(&request)), "a thought that was cut has no signature");
}
