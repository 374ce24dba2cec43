//! What is sent, as files that other people's libraries are compared with: `tests/e2e/whatsapp.mjs`.

use serde_json::{Value, json};

use super::*;
use crate::channel::messenger::Quotes;
use crate::channel::whatsapp::request;
use crate::domain::delivery::{Button, Part};

fn sent() -> Vec<(&'static str, Value)> {
    let text = |text: &str| Part { text: text.into(), buttons: Vec::new() };
    let button = |word: &str, title: &str| Button { id: format!("apr_0123:{word}"), title: title.into() };
    let buttons = vec![button("allow_once", "Allow once"), button("allow_session", "Allow in this chat"), button("deny", "Deny")];
    let asked = Part { text: "May I run it?".into(), buttons };
    let message = |to: Recipient, part: &Part, quotes| request::message(&super::to(to), part, "dlv_1:1", quotes);
    let (ana, user, group) = (Recipient::Phone(ANA.into()), Recipient::User(ANA_ID.into()), Recipient::Group("GRP1".into()));
    vec![
        ("text", message(ana.clone(), &text("Crème brûlée 😊"), Quotes::Nothing)),
        ("text_quoted", message(ana.clone(), &text("yes"), Quotes::Address)),
        ("buttons", message(ana.clone(), &asked, Quotes::Nothing)),
        ("buttons_quoted", message(ana, &asked, Quotes::Address)),
        ("user", message(user, &text("hello"), Quotes::Nothing)),
        ("group", message(group, &text("hello"), Quotes::Nothing)),
        ("typing", request::typing(&phone()).unwrap()),
    ]
}

#[test]
fn what_is_sent_is_what_the_files_say() {
    let read = std::fs::read_to_string("tests/golden/whatsapp/sent.json").unwrap();
    let files: Value = serde_json::from_str(&read).unwrap();
    let ours: Value = sent().into_iter().map(|(name, body)| (name.to_owned(), body)).collect::<serde_json::Map<_, _>>().into();
    assert_eq!(files, ours, "tests/golden/whatsapp/sent.json should be {ours:#}");
    assert_eq!(files["user"].get("to"), None);
    assert_eq!(files["text"]["text"]["preview_url"], json!(false));
}
