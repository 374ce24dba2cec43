//! The requests to Meta, as JSON.

use std::time::Duration;

use serde_json::{Value, json};

use crate::channel::messenger::{Pace, Quotes};
use crate::domain::delivery::{Button, Part};
use crate::domain::{Address, Recipient};

/// A person may be answered for 24 hours. Meta lets one message to the same person through every 6 seconds and lends up to about 45 more,
/// which later ones pay back; a burst of 10 stays far from the end of the loan. The sign of writing goes out after 25 seconds.
pub(super) const PACE: Pace =
    Pace { window: Some(Duration::from_secs(24 * 3600)), spacing: Duration::from_secs(6), burst: 10, typing: Duration::from_secs(20) };

/// What a message is sent with. `token` comes back in its statuses.
pub(super) fn message(to: &Address, part: &Part, token: &str, quotes: Quotes) -> Value {
    let mut body = json!({"messaging_product": "whatsapp", "biz_opaque_callback_data": token});
    let (kind, key) = match &to.to {
        Recipient::Phone(_) => ("individual", "to"),
        // in `to`, Meta answers that it took the message, and nobody ever gets it
        Recipient::User(_) => ("individual", "recipient"),
        Recipient::Group(_) => ("group", "to"),
    };
    body["recipient_type"] = kind.into();
    body[key] = to.to.id().into();
    // groups take no buttons
    if part.buttons.is_empty() || to.is_group() {
        body["type"] = "text".into();
        body["text"] = json!({"body": part.text, "preview_url": false});
    } else {
        body["type"] = "interactive".into();
        body["interactive"] = json!({
            "type": "button",
            "body": {"text": part.text},
            "action": {"buttons": part.buttons.iter().map(button).collect::<Vec<_>>()},
        });
    }
    if let (Quotes::Address, Some(message)) = (quotes, &to.message) {
        body["context"] = json!({"message_id": message});
    }
    body
}

fn button(button: &Button) -> Value {
    json!({"type": "reply", "reply": {"id": button.id, "title": button.title}})
}

/// The receipt for the message that the address was captured with, and the sign of writing; both in one. Groups have neither.
pub(super) fn typing(to: &Address) -> Option<Value> {
    let message = to.message.as_ref().filter(|_| !to.is_group())?;
    Some(json!({"messaging_product": "whatsapp", "status": "read", "message_id": message, "typing_indicator": {"type": "text"}}))
}
