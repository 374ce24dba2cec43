//! Takes a payload apart: entries of changes of lists. Each level and each item is read on its own, so that one that makes no sense costs
//! nothing but itself.

use std::collections::HashMap;

use serde_json::Value;
use serde_json::value::RawValue;

use super::person::{Contact, digits};
use super::{message, person, status};
use crate::channel::messenger::{Inbound, Item};
use crate::domain::Timestamp;

/// Fields of a change that are known and that hold nothing for an agent; each is its own word.
const OTHER_FIELDS: [&str; 16] = [
    "account_alerts",
    "account_update",
    "calls",
    "flows",
    "group_lifecycle_update",
    "group_participants_update",
    "group_settings_update",
    "group_status_update",
    "history",
    "message_template_quality_update",
    "message_template_status_update",
    "phone_number_name_update",
    "phone_number_quality_update",
    "security",
    "smb_app_state_sync",
    "user_preferences",
];

/// What stands beside an item and helps to read it.
#[derive(Debug)]
pub(super) struct Beside {
    /// Meta's id of the number.
    pub(super) line: String,
    /// The number's own digits, for mentions: each payload names them.
    pub(super) own: Option<String>,
    pub(super) contacts: Vec<Contact>,
}

impl Beside {
    pub(super) fn is_own(&self, digits: &str) -> bool {
        self.own.as_deref() == Some(digits)
    }
}

/// Everything that a payload holds: by time, and of one second in the payload's order.
pub(super) fn items(body: &[u8]) -> Vec<Item> {
    let text = String::from_utf8_lossy(body);
    let Ok(payload) = serde_json::from_str::<&RawValue>(&text) else { return vec![ignored("no_json")] };
    let payload = object(payload);
    if payload.get("object").is_some_and(|object| string(object).as_deref() != Some("whatsapp_business_account")) {
        return vec![ignored("other_object")];
    }
    let mut found = Vec::new();
    for entry in list(payload.get("entry")) {
        for change in list(object(entry).get("changes")) {
            of_change(&object(change), &mut found);
        }
    }
    // a stable sort; what has no time comes first, as an identity must be known before its messages
    found.sort_by_key(|(at, _)| *at);
    found.into_iter().map(|(_, item)| item).collect()
}

fn of_change(change: &Object<'_>, found: &mut Vec<(Timestamp, Item)>) {
    let field = change.get("field").and_then(|field| string(field));
    let value = change.get("value").map(|value| object(value)).unwrap_or_default();
    let beside = beside(&value);
    let mut add = |at: Timestamp, inbound: Inbound| found.push((at, Item { line: beside.line.clone(), inbound }));
    match field.as_deref() {
        None | Some("messages" | "smb_message_echoes") => {
            each(&value, "messages", &mut add, |item| message::read(item, &beside));
            each(&value, "message_echoes", &mut add, |item| message::echo(item, &beside));
            each(&value, "statuses", &mut add, status::read);
            each(&value, "errors", &mut add, |_| Inbound::Ignored { why: "platform_error" });
        }
        Some("user_id_update") => each(&value, "user_id_update", &mut add, person::update),
        Some(other) => {
            let why = OTHER_FIELDS.into_iter().find(|known| *known == other).unwrap_or("unknown_field");
            add(Timestamp::default(), Inbound::Ignored { why });
        }
    }
}

/// Reads the items of one list.
fn each(value: &Object<'_>, name: &str, add: &mut impl FnMut(Timestamp, Inbound), read: impl Fn(&Value) -> Inbound) {
    for raw in list(value.get(name)) {
        match parsed(raw) {
            Some(item @ Value::Object(_)) => add(time(&item), read(&item)),
            _ => add(Timestamp::default(), Inbound::Ignored { why: "unreadable" }),
        }
    }
}

fn beside(value: &Object<'_>) -> Beside {
    let metadata = value.get("metadata").and_then(|raw| parsed(raw)).unwrap_or_default();
    Beside {
        line: text_or_number(&metadata["phone_number_id"]).unwrap_or_default(),
        own: metadata["display_phone_number"].as_str().map(digits).filter(|digits| !digits.is_empty()),
        contacts: list(value.get("contacts")).into_iter().filter_map(parsed).map(|contact| Contact::read(&contact)).collect(),
    }
}

/// When an item was made; the beginning of time where it does not say.
pub(super) fn time(item: &Value) -> Timestamp {
    /// Seconds as large as this are thousandths: no year has five digits yet.
    const MILLISECONDS: u64 = 100_000_000_000;
    let timestamp = &item["timestamp"];
    let number = timestamp.as_u64().or_else(|| timestamp.as_str()?.trim().parse().ok()).unwrap_or(0);
    Timestamp(if number < MILLISECONDS { number * 1_000 } else { number })
}

/// Ids are strings, and now and then numbers.
pub(super) fn text_or_number(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if !text.is_empty() => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

type Object<'a> = HashMap<String, &'a RawValue>;

/// Nothing, where it is none. Its values are only bounded here, whatever is in them.
fn object(raw: &RawValue) -> Object<'_> {
    serde_json::from_str(raw.get()).unwrap_or_default()
}

fn list<'a>(raw: Option<&&'a RawValue>) -> Vec<&'a RawValue> {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

fn string(raw: &RawValue) -> Option<String> {
    serde_json::from_str(raw.get()).ok()
}

/// `None` where it is nested too deeply. Half of an emoji, where somebody cut a text in its middle, costs that half only.
fn parsed(raw: &RawValue) -> Option<Value> {
    serde_json::from_str(raw.get()).or_else(|_| serde_json::from_str(&whole_characters(raw.get()))).ok()
}

/// The same JSON with each escape of half a character as that of U+FFFD.
fn whole_characters(json: &str) -> String {
    let unit = |at: usize| json.get(at..at + 6).filter(|e| e.starts_with("\\u")).and_then(|e| u16::from_str_radix(&e[2..], 16).ok());
    let (mut whole, mut at) = (String::with_capacity(json.len()), 0);
    while let Some(c) = json[at..].chars().next() {
        let length = match (c, unit(at), unit(at + 6)) {
            ('\\', Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            ('\\', Some(0xd800..=0xdfff), _) => {
                whole.push_str("\\ufffd");
                at += 6;
                continue;
            }
            ('\\', ..) => 1 + json[at + 1..].chars().next().map_or(0, char::len_utf8),
            _ => c.len_utf8(),
        };
        whole.push_str(&json[at..at + length]);
        at += length;
    }
    whole
}

fn ignored(why: &'static str) -> Item {
    Item { line: String::new(), inbound: Inbound::Ignored { why } }
}
