//! Files on this wire.

use std::sync::Arc;

use bytes::Bytes;

use crate::domain::event::model::Parameters;
use crate::domain::{File, SurfaceMessage};
use crate::provider::ModelRequest;
use crate::provider::files::tests::{PDF, PNG, image, pdf};
use crate::provider::files::{Files, Sent, Takes};
use crate::provider::openai_chat::body::body;
use crate::provider::table::Quirks;

fn bytes(messages: Vec<SurfaceMessage>, takes: Takes) -> String {
    let messages: Vec<_> = messages.into_iter().map(Arc::new).collect();
    let kept = |file: &File| Some(Bytes::from_static(if file.mime() == "application/pdf" { PDF } else { PNG }));
    let files = Arc::new(Files::of(&messages, takes, Sent::Newest, kept));
    let (system, parameters) = ("".into(), Parameters::default());
    let request = ModelRequest { model: "m".into(), system, tools: None, withheld: None, messages, files, parameters };
    String::from_utf8(body(&request, &Quirks::COMPATIBLE)).unwrap()
}

fn asked(text: &str, files: Vec<File>) -> SurfaceMessage {
    SurfaceMessage::User { text: text.into(), files }
}

#[test]
fn the_bytes_of_an_image_and_a_document() {
    let messages = vec![SurfaceMessage::user("hi"), asked("what is \"this\"?", vec![image("att_1"), pdf("att_2")])];
    let expected = concat!(
        r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"},{"role":"user","content":["#,
        r#"{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw0KGgouLg=="}},"#,
        r#"{"type":"file","file":{"filename":"menu.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjc="}},"#,
        r#"{"type":"text","text":"what is \"this\"?"}]}]}"#,
    );
    assert_eq!(bytes(messages, Takes::BOTH), expected);
}

#[test]
fn a_file_without_a_word_or_a_name() {
    let unnamed = File { filename: None, ..pdf("att_1") };
    let body = bytes(vec![asked("", vec![unnamed])], Takes::BOTH);
    let expected =
        r#""content":[{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjc="}}]}]}"#;
    assert!(body.ends_with(expected), "{body}");
}

/// Not every server takes parts.
#[test]
fn a_message_that_shows_nothing_is_a_plain_text() {
    let body = bytes(vec![asked("what is this?", vec![image("att_1")])], Takes::NOTHING);
    assert!(body.contains(r#""content":"what is this?\n\n[An image came with this. You cannot see it:"#), "{body}");
}
