//! For every record and view: valid JSON, nothing added, what is to be hidden is hidden, and blocks keep their places.

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::Value;

use super::walk::ledger;
use crate::domain::View;
use crate::domain::view::May;

/// The words of the design, by view: `(kind, field)`; `*` is every kind.
const HIDDEN_FROM_OWNERS: [(&str, &str); 3] = [("message_queued", "reply_to"), ("tool_end", "content"), ("delivery", "to")];
const HIDDEN_FROM_CHATS: [(&str, &str); 22] = [
    ("*", "usage"),
    ("*", "cost_microusd"),
    ("*", "detail"),
    ("*", "trust"),
    ("*", "by"),
    ("*", "reply_to"),
    ("message_queued", "author"),
    ("message_queued", "model"),
    ("message_queued", "instructions"),
    ("session_created", "metadata"),
    ("session_created", "principal"),
    ("session_created", "tenant"),
    ("session_created", "agent"),
    ("session_created", "parent"),
    ("session_updated", "metadata"),
    ("tool_start", "args"),
    ("tool_end", "content"),
    ("tool_end", "preview"),
    ("tool_end", "bytes"),
    ("tool_error", "error"),
    ("tool_denied", "reason"),
    ("tool_end", "artifact_id"),
];
const ABSENT_FROM_CHATS: [&str; 6] = ["request", "tool_limit", "hologram", "delivery", "attachment", "handoff"];
const ABSENT_FROM_OWNERS: [&str; 2] = ["request", "hologram"];

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_view_only_leaves_out(bytes in vec(any::<u8>(), 0..400)) {
        for record in ledger(&bytes) {
            let (kind, text) = (record.event.kind().to_owned(), record.to_json().unwrap());
            let whole: Value = serde_json::from_str(&text).unwrap();
            for (view, may) in [(View::Chat, May::Look), (View::Chat, May::Decide), (View::Owner, May::Look), (View::Admin, May::Look)] {
                let Some(shown) = view.project(&kind, &text, may) else {
                    let absent: &[&str] = if view == View::Chat { &ABSENT_FROM_CHATS } else { &ABSENT_FROM_OWNERS };
                    prop_assert!(view != View::Admin && absent.contains(&kind.as_str()), "{} is not shown to {:?}", kind, view);
                    continue;
                };
                prop_assert!(!shown.contains('\n'));
                assert_view(&kind, view, may, &whole, &serde_json::from_str(&shown).unwrap());
            }
        }
    }
}

fn assert_view(kind: &str, view: View, may: May, whole: &Value, shown: &Value) {
    let context = format!("{kind} in {view:?}: {shown}");
    for field in ["seq", "at", "turn", "step", "type"] {
        assert_eq!(whole.get(field), shown.get(field), "{context}");
    }
    for (name, value) in shown.as_object().unwrap() {
        match kind == "message" && name == "content" {
            true => assert_blocks(view, &whole[name], value),
            false => assert_eq!(&whole[name], value, "{context}"),
        }
    }
    let (hidden, absent): (&[_], &[&str]) = match view {
        View::Admin => (&[], &[]),
        View::Owner => (&HIDDEN_FROM_OWNERS, &ABSENT_FROM_OWNERS),
        View::Chat => (&HIDDEN_FROM_CHATS, &ABSENT_FROM_CHATS),
    };
    assert!(!absent.contains(&kind), "{context}");
    for (of, field) in hidden.iter().filter(|(of, _)| *of == "*" || *of == kind) {
        assert!(shown.get(field).is_none(), "{of}.{field}: {context}");
    }
    if kind == "approval_requested" {
        for field in ["args", "digest", "reason", "decisions"] {
            assert_eq!(shown.get(field).is_some(), view != View::Chat || may == May::Decide, "{field}: {context}");
        }
        for field in ["approval_id", "tool_call_id", "tool", "expires_at"] {
            assert!(shown.get(field).is_some(), "{field}: {context}");
        }
    }
    if view == View::Admin {
        assert_eq!(whole, shown);
    }
}

fn assert_blocks(view: View, whole: &Value, shown: &Value) {
    let (whole, shown) = (whole.as_array().unwrap(), shown.as_array().unwrap());
    assert_eq!(whole.len(), shown.len());
    for (block, seen) in whole.iter().zip(shown) {
        assert_eq!(block["type"], seen["type"]);
        let fields: Vec<&str> = seen.as_object().unwrap().keys().map(String::as_str).collect();
        match (view, block["type"].as_str().unwrap()) {
            (View::Chat, "reasoning") => assert_eq!(fields, ["type"]),
            (View::Chat, "tool_call") => assert_eq!((fields.len(), &seen["id"], &seen["tool"]), (3, &block["id"], &block["tool"])),
            _ => assert_eq!(block, seen),
        }
    }
}
