//! Payloads as Meta posts them.

use serde_json::{Value, json};

use super::{DISPLAY_PHONE, PHONE_NUMBER_ID};

/// Who writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Somebody {
    pub(crate) phone: Option<&'static str>,
    pub(crate) user: Option<&'static str>,
    pub(crate) name: &'static str,
}

pub(crate) const ANA: Somebody = Somebody { phone: Some("15550100001"), user: Some("US.30000000000000000001"), name: "Ana Example" };
pub(crate) const BO: Somebody = Somebody { phone: Some("15550100002"), user: Some("US.30000000000000000002"), name: "Bo Sample" };
/// Ana, who shows her number no more.
pub(crate) const ANA_UNSEEN: Somebody = Somebody { phone: None, ..ANA };

/// The exact bytes of a sample.
pub(crate) fn sample(name: &str) -> Vec<u8> {
    std::fs::read(format!("tests/samples/whatsapp/{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A message of whatever kind, with what it has beside what every message has.
pub(crate) fn message(from: Somebody, id: &str, kind: &str, body: Value) -> Value {
    let mut message = json!({"id": id, "timestamp": now(), "type": kind});
    message[kind] = body;
    for (key, value) in [("from", from.phone), ("from_user_id", from.user)] {
        if let Some(value) = value {
            message[key] = value.into();
        }
    }
    message
}

pub(crate) fn text(from: Somebody, id: &str, body: &str) -> Vec<u8> {
    of(from, &message(from, id, "text", json!({"body": body})))
}

pub(crate) fn in_group(from: Somebody, group: &str, id: &str, body: &str) -> Vec<u8> {
    let mut message = message(from, id, "text", json!({"body": body}));
    message["group_id"] = group.into();
    of(from, &message)
}

pub(crate) fn image(from: Somebody, id: &str, media_id: &str, caption: &str) -> Vec<u8> {
    of(from, &message(from, id, "image", json!({"id": media_id, "mime_type": "image/png", "caption": caption})))
}

/// A button that was pressed, by its id and title.
pub(crate) fn pressed(from: Somebody, id: &str, button: &str, title: &str) -> Vec<u8> {
    of(from, &message(from, id, "interactive", json!({"type": "button_reply", "button_reply": {"id": button, "title": title}})))
}

/// What became of a message of the gateway's; `code` where it failed.
pub(crate) fn status(sent: &super::Sent, status: &str, code: Option<u32>) -> Vec<u8> {
    let mut item = json!({"id": sent.id, "status": status, "timestamp": now(), "recipient_id": sent.body["to"]});
    if let Some(token) = sent.body.get("biz_opaque_callback_data") {
        item["biz_opaque_callback_data"] = token.clone();
    }
    if let Some(code) = code {
        item["errors"] = json!([{"code": code, "title": "sample", "message": "sample"}]);
    }
    change("messages", json!({"statuses": [item]}))
}

/// A person answered from the account's own phone.
pub(crate) fn echo(to: Somebody, id: &str, body: &str) -> Vec<u8> {
    let mut item = json!({"from": DISPLAY_PHONE, "id": id, "timestamp": now(), "type": "text", "text": {"body": body}});
    for (key, value) in [("to", to.phone), ("to_user_id", to.user)] {
        if let Some(value) = value {
            item[key] = value.into();
        }
    }
    change("smb_message_echoes", json!({"message_echoes": [item]}))
}

/// One message and its sender's contact.
pub(crate) fn of(from: Somebody, message: &Value) -> Vec<u8> {
    let mut contact = json!({"profile": {"name": from.name}});
    for (key, value) in [("wa_id", from.phone), ("user_id", from.user)] {
        if let Some(value) = value {
            contact[key] = value.into();
        }
    }
    change("messages", json!({"contacts": [contact], "messages": [message]}))
}

/// A payload of one change, to the account's number.
pub(crate) fn change(field: &str, mut value: Value) -> Vec<u8> {
    value["messaging_product"] = "whatsapp".into();
    value["metadata"] = json!({"display_phone_number": DISPLAY_PHONE, "phone_number_id": PHONE_NUMBER_ID});
    let entry = json!({"id": "200000000000001", "changes": [{"field": field, "value": value}]});
    json!({"object": "whatsapp_business_account", "entry": [entry]}).to_string().into_bytes()
}

fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("a clock after 1970");
    since.as_secs().to_string()
}
