//! Files on this wire.

use std::sync::Arc;

use bytes::Bytes;

use super::body::{MODEL, assistant, json, request, result, text, user};
use crate::domain::{Block, File, SurfaceMessage};
use crate::provider::files::tests::{PDF, PNG, image, pdf};
use crate::provider::files::{Files, Sent, Takes};
use crate::provider::http::{CONNECT_TIMEOUT, READ_TIMEOUT, client};
use crate::provider::{ModelRequest, Provider};

fn with(messages: Vec<SurfaceMessage>) -> ModelRequest {
    let mut request = request(messages);
    (request.tools, request.system) = (None, "".into());
    let kept = |file: &File| Some(Bytes::from_static(if file.mime() == "application/pdf" { PDF } else { PNG }));
    request.files = Arc::new(Files::of(&request.messages, Takes::BOTH, Sent::Newest, kept));
    request
}

#[test]
fn the_bytes_of_an_image_and_a_document() {
    let files = vec![image("att_1"), pdf("att_2")];
    let request = with(vec![SurfaceMessage::User { text: "what is \"this\"?".into(), files }]);
    let expected = concat!(
        r#"{"model":"claude-sonnet-5-5","max_tokens":64000,"stream":true,"messages":[{"role":"user","content":["#,
        r#"{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVBORw0KGgouLg=="}},"#,
        r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjc="},"title":"menu.pdf"},"#,
        r#"{"type":"text","text":"what is \"this\"?","cache_control":{"type":"ephemeral"}}]}]}"#,
    );
    assert_eq!(text(&request), expected);
    assert_eq!(request.model, MODEL);
}

#[test]
fn a_file_without_a_word_carries_the_mark() {
    let wordless = || SurfaceMessage::User { text: String::new(), files: vec![image("att_1")] };
    let call = assistant(vec![super::body::call("c1", "{}")]);
    let messages = vec![user("hi"), call, result("c1", "seen", false), wordless()];
    let content = json(&with(messages))["messages"][2]["content"].clone();
    assert_eq!(content[0]["type"], "tool_result", "results stand in front");
    assert_eq!(content[1]["type"], "image");
    assert_eq!(content[1]["cache_control"]["type"], "ephemeral");
    assert_eq!(content.as_array().unwrap().len(), 2);
    let answered = vec![wordless(), assistant(vec![Block::Text { text: "a cat".into() }]), user("sure?")];
    assert_eq!(json(&with(answered))["messages"].as_array().unwrap().len(), 3);
}

/// 5 MiB as the provider counts them.
#[test]
fn an_image_is_measured_as_base64() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = client(CONNECT_TIMEOUT, READ_TIMEOUT).unwrap();
    let config = crate::provider::anthropic::AnthropicConfig {
        id: "anthropic".into(),
        base_url: "http://127.0.0.1:9".into(),
        key: None,
        takes: Takes::BOTH,
        client,
    };
    let takes = crate::provider::anthropic::Anthropic::new(config).takes();
    assert_eq!(takes.image_bytes.div_ceil(3) * 4, 5 << 20);
    assert!(takes.documents && !takes.images.is_empty());
}
