//! Views: of any record that can be read, each shows well-formed JSON, no more than the wider one, and never what it must hide.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portico::domain::view::May;
use portico::domain::{Record, View};
use serde_json::{Map, Value};

/// What nobody but an administrator sees of a record, by its type.
const OWNER_HIDES: &[(&str, &str)] = &[("message_queued", "reply_to"), ("tool_end", "content")];
/// What a page's visitor does not see of any record.
const CHAT_HIDES: &[&str] = &["usage", "author", "trust", "by", "detail", "reply_to"];

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let Ok(record) = Record::from_json(text) else { return };
    // as it stands in a ledger
    let (kind, text) = (record.event.kind().to_owned(), record.to_json().unwrap());
    for may in [May::Look, May::Decide] {
        assert_eq!(View::Admin.project(&kind, &text, may).as_deref(), Some(text.as_str()));
        let owner = projected(View::Owner, &kind, &text, may);
        let chat = projected(View::Chat, &kind, &text, may);
        if let Some(chat) = &chat {
            let owner = owner.as_ref().unwrap_or_else(|| panic!("{kind} is hidden from its owner and not from a visitor"));
            assert!(chat.keys().all(|field| owner.contains_key(field)), "{chat:?} shows more than {owner:?}");
            if !(kind == "approval_requested" && may == May::Decide) {
                assert!(!CHAT_HIDES.iter().any(|field| chat.contains_key(*field)), "{chat:?}");
            }
        }
        if let Some(owner) = &owner {
            assert!(!OWNER_HIDES.iter().any(|(of, field)| *of == kind && owner.contains_key(*field)), "{owner:?}");
        }
        if kind == "message" {
            blocks(owner.as_ref()).for_each(|block| assert!(!block.contains_key("opaque"), "{block:?}"));
            let visible = |block: &Map<String, Value>| block.get("type") == Some(&"text".into());
            let hidden = |block: &Map<String, Value>| !block.contains_key("text") && !block.contains_key("args");
            blocks(chat.as_ref()).for_each(|block| assert!(visible(block) || hidden(block), "{block:?}"));
            assert_eq!(blocks(owner.as_ref()).count(), blocks(chat.as_ref()).count(), "a hidden block keeps its place");
        }
    }
});

fn projected(view: View, kind: &str, text: &str, may: May) -> Option<Map<String, Value>> {
    let shown = view.project(kind, text, may)?;
    let again = view.project(kind, &shown, may);
    assert_eq!(again.as_deref(), Some(&*shown), "what is projected twice stays");
    Some(serde_json::from_str(&shown).unwrap_or_else(|e| panic!("{e}: {shown}")))
}

fn blocks(record: Option<&Map<String, Value>>) -> impl Iterator<Item = &Map<String, Value>> {
    record.and_then(|record| record.get("content")).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object)
}
