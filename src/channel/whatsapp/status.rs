//! What became of a message of ours.

use serde_json::Value;

use super::receive::{text_or_number, time};
use crate::channel::messenger::Inbound;
use crate::domain::delivery::DeliveryState;

/// Unknown words are not guessed at: a status that means nothing here changes nothing.
pub(super) fn read(item: &Value) -> Inbound {
    let Some(message) = text_or_number(&item["id"]) else { return Inbound::Ignored { why: "status_without_id" } };
    let state = match item["status"].as_str() {
        Some("sent") => DeliveryState::Sent,
        Some("delivered") => DeliveryState::Delivered,
        // a voice message that was listened to was read
        Some("read" | "played") => DeliveryState::Read,
        Some("failed") => DeliveryState::Failed,
        _ => return Inbound::Ignored { why: "unknown_status" },
    };
    let code = text_or_number(&item["errors"][0]["code"]).filter(|_| state == DeliveryState::Failed);
    let token = item["biz_opaque_callback_data"].as_str().filter(|token| !token.is_empty()).map(str::to_owned);
    Inbound::Status { message, token, state, code, at: time(item) }
}
