//! What a reader may see of a ledger: `chat`, `owner`, `admin`, each wider than the one before.
//!
//! A view leaves out records, and fields of records; it never changes what it keeps, and a record keeps its id. It is a table over the
//! record's own text, so the bytes that stay are the ledger's.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// How much a reader sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum View {
    /// A visitor's: the conversation.
    Chat,
    /// The session's owner's: how the agent came to it.
    Owner,
    /// An operator's: everything but secrets.
    Admin,
}

/// What a reader may do about the approval that a record asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum May {
    Look,
    Decide,
}

impl FromStr for View {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let there = || Self::ALL.map(Self::as_str).join(", ");
        Self::ALL.into_iter().find(|view| view.as_str() == text).ok_or_else(|| format!("{text:?} is no view; there are: {}", there()))
    }
}

impl View {
    /// The narrowest first.
    pub const ALL: [Self; 3] = [Self::Chat, Self::Owner, Self::Admin];
    pub const COUNT: usize = Self::ALL.len();

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Owner => "owner",
            Self::Admin => "admin",
        }
    }

    pub fn index(self) -> usize {
        self as usize
    }

    /// Whether a live event of that name is shown.
    pub fn shows_live(self, event: &str) -> bool {
        self > View::Chat || !matches!(event, "reasoning_delta" | "tool_input_delta" | "tool_progress")
    }

    /// Whether it shows that a result is kept as an artifact: whoever does not see the id has no use for the artifact.
    pub fn shows_artifacts(self) -> bool {
        self > View::Chat
    }

    /// The record as this view shows it, or `None` where it does not show it.
    ///
    /// Whoever may decide an approval sees what he decides, in every view.
    pub fn project<'a>(self, kind: &str, record: &'a str, may: May) -> Option<Cow<'a, str>> {
        let rule = match self {
            View::Admin => Rule::All,
            View::Owner => owner(kind),
            View::Chat => chat(kind, may),
        };
        match rule {
            Rule::All => Some(Cow::Borrowed(record)),
            Rule::Nothing => None,
            Rule::Without(fields) => Some(Cow::Owned(filter(record, self, |name| !fields.contains(&name)))),
            Rule::Only(fields) => Some(Cow::Owned(filter(record, self, |name| ENVELOPE.contains(&name) || fields.contains(&name)))),
        }
    }
}

const ENVELOPE: [&str; 6] = ["seq", "at", "turn", "step", "type", "v"];

enum Rule {
    All,
    Nothing,
    Without(&'static [&'static str]),
    Only(&'static [&'static str]),
}

fn owner(kind: &str) -> Rule {
    match kind {
        "request" => Rule::Nothing,
        "message_queued" => Rule::Without(&["reply_to"]),
        "tool_end" => Rule::Without(&["content"]),
        // its blocks lose their opaque parts
        "message" => Rule::Without(&[]),
        "session_created" | "session_updated" | "message_removed" | "turn_start" | "queue_drain" | "step_start" | "step_end" => Rule::All,
        "turn_continued" | "retry" | "thinking" | "done" | "tool_start" | "tool_error" | "tool_denied" | "tool_limit" => Rule::All,
        "approval_requested" | "tool_approval" | "question_asked" | "question_answered" => Rule::All,
        "client_call_requested" | "client_call_result" => Rule::All,
        "delivery" => Rule::Without(&["to"]),
        "attachment" | "handoff" => Rule::All,
        _ => Rule::Nothing,
    }
}

fn chat(kind: &str, may: May) -> Rule {
    match kind {
        "session_created" | "session_updated" => Rule::Only(&["channel", "title"]),
        "message_queued" => Rule::Only(&["message_id", "target", "mode", "text", "attachments"]),
        "message" | "retry" => Rule::Without(&["usage"]),
        "tool_start" => Rule::Only(&["tool_call_id", "tool"]),
        "tool_end" => Rule::Only(&["tool_call_id", "tool", "duration_ms"]),
        "tool_error" => Rule::Only(&["tool_call_id", "tool", "code"]),
        "tool_denied" => Rule::Only(&["tool_call_id", "tool"]),
        "approval_requested" if may == May::Decide => Rule::All,
        "approval_requested" => Rule::Only(&["approval_id", "tool_call_id", "tool", "expires_at"]),
        "done" => Rule::Without(&["usage", "tokens_per_second", "cost_microusd", "detail"]),
        "message_removed" | "tool_approval" | "question_answered" | "client_call_result" => Rule::Without(&["by"]),
        "turn_start" | "queue_drain" | "step_start" | "step_end" | "turn_continued" | "thinking" => Rule::All,
        "question_asked" | "client_call_requested" => Rule::All,
        _ => Rule::Nothing,
    }
}

/// The record's text with the fields that `keep` names, in their order; content blocks lose what the view hides but keep their place.
fn filter(record: &str, view: View, keep: impl Fn(&str) -> bool) -> String {
    let Ok(Fields(fields)) = serde_json::from_str::<Fields<'_>>(record) else {
        return "{}".into();
    };
    let is_message = fields.iter().any(|(name, value)| name == "type" && value.get() == "\"message\"");
    let mut out = String::with_capacity(record.len());
    for (name, value) in fields.iter().filter(|(name, _)| keep(name)) {
        out.push_str(if out.is_empty() { "{\"" } else { ",\"" });
        out.push_str(name);
        out.push_str("\":");
        if is_message && name == "content" {
            blocks(value.get(), view, &mut out);
        } else {
            out.push_str(value.get());
        }
    }
    out.push('}');
    out
}

fn blocks(content: &str, view: View, out: &mut String) {
    let blocks: Vec<Fields<'_>> = serde_json::from_str(content).unwrap_or_default();
    out.push('[');
    for (i, Fields(block)) in blocks.iter().enumerate() {
        let is_text = block.iter().any(|(name, value)| name == "type" && value.get() == "\"text\"");
        let shown = |name: &str| match view {
            View::Admin => true,
            View::Owner => name != "opaque",
            View::Chat => is_text || matches!(name, "type" | "id" | "tool"),
        };
        out.push_str(if i == 0 { "{" } else { ",{" });
        for (j, (name, value)) in block.iter().filter(|(name, _)| shown(name)).enumerate() {
            out.push_str(if j == 0 { "\"" } else { ",\"" });
            out.push_str(name);
            out.push_str("\":");
            out.push_str(value.get());
        }
        out.push('}');
    }
    out.push(']');
}

/// The fields of a JSON object, in order, their values as raw text. Names of our own fields need no escaping.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some(entry) = map.next_entry::<&'de str, &'de RawValue>()? {
                    fields.push((Cow::Borrowed(entry.0), entry.1));
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(InOrder).map(Fields)
    }
}

#[cfg(test)]
mod tests {
    use super::{May, View};

    const MESSAGE: &str = r#"{"seq":4,"at":"2026-11-30T21:00:00.000Z","turn":1,"step":1,"type":"message","message_id":"m","content":[{"type":"reasoning","text":"secret","opaque":{"s":1}},{"type":"text","text":"hi"},{"type":"tool_call","id":"c","tool":"t","args":{"a":1.0}}],"finish":"stop","usage":{"input":1}}"#;

    #[test]
    fn a_hidden_block_keeps_its_place() {
        let chat = View::Chat.project("message", MESSAGE, May::Look).unwrap();
        assert!(chat.contains(r#""content":[{"type":"reasoning"},{"type":"text","text":"hi"},{"type":"tool_call","id":"c","tool":"t"}]"#));
        assert!(!chat.contains("usage") && !chat.contains("secret"));
        let owner = View::Owner.project("message", MESSAGE, May::Look).unwrap();
        assert!(owner.contains("secret") && owner.contains(r#""args":{"a":1.0}"#) && !owner.contains("opaque"));
        assert_eq!(View::Admin.project("message", MESSAGE, May::Look).unwrap(), MESSAGE);
    }

    #[test]
    fn who_may_decide_sees_what_he_decides() {
        let asked = r#"{"seq":4,"at":"2026-11-30T21:00:00.000Z","turn":1,"step":1,"type":"approval_requested","approval_id":"a","tool_call_id":"c","tool":"bash","args":{"command":"ls"},"digest":"d","reason":"r","decisions":["deny"],"expires_at":"2026-11-30T22:00:00.000Z"}"#;
        assert!(View::Chat.project("approval_requested", asked, May::Decide).unwrap().contains("ls"));
        let blind = View::Chat.project("approval_requested", asked, May::Look).unwrap();
        assert!(!blind.contains("ls") && !blind.contains("digest") && blind.contains("expires_at"));
    }

    #[test]
    fn types_that_a_view_does_not_know_are_hidden() {
        let record = r#"{"seq":4,"at":"2026-11-30T21:00:00.000Z","type":"hologram"}"#;
        assert!(View::Chat.project("hologram", record, May::Decide).is_none());
        assert!(View::Owner.project("request", record, May::Decide).is_none());
        assert!(View::Admin.project("hologram", record, May::Look).is_some());
    }
}
