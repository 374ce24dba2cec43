//! What Meta's pages say of a request, and one thing that they do not say.

use std::collections::BTreeSet;

use serde_json::Value;

type Refused = Result<(), (u32, String)>;

/// Meta's number and what is wrong.
pub(super) fn check(body: &Value) -> Refused {
    must(body["messaging_product"] == "whatsapp", 100, "messaging_product")?;
    if body["status"] == "read" {
        must(is_text(&body["message_id"], 1, 512), 100, "message_id")?;
        return must(body.get("typing_indicator").is_none_or(|sign| sign["type"] == "text"), 100, "typing_indicator");
    }
    let group = match body["recipient_type"].as_str() {
        Some("individual") => false,
        Some("group") => true,
        _ => return Err((100, "recipient_type".into())),
    };
    must(body.get("to").is_some() != body.get("recipient").is_some(), 100, "either to or recipient")?;
    must(!group || is_text(&body["to"], 1, 512), 100, "a group is in `to`")?;
    must(body.get("recipient").is_none_or(|id| is_scoped(id.as_str())), 100, "recipient takes a business-scoped id")?;
    must(body.get("context").is_none_or(|context| is_text(&context["message_id"], 1, 512)), 100, "context")?;
    must(body.get("biz_opaque_callback_data").is_none_or(|data| is_text(data, 1, 512)), 100, "biz_opaque_callback_data")?;
    match body["type"].as_str() {
        Some("text") => must(is_text(&body["text"]["body"], 1, 4_096), 100, "text.body has 1 to 4096 characters"),
        Some("interactive") if group => Err((131_215, "groups take no interactive messages".into())),
        Some("interactive") => buttons(&body["interactive"]),
        _ => Err((131_009, "type".into())),
    }
}

/// Whether the platform takes a message that nobody ever gets: a business-scoped id where a number belongs.
pub(super) fn vanishes(body: &Value) -> bool {
    is_scoped(body["to"].as_str())
}

fn buttons(interactive: &Value) -> Refused {
    must(interactive["type"] == "button", 131_009, "interactive.type")?;
    must(is_text(&interactive["body"]["text"], 1, 1_024), 131_009, "interactive.body.text has 1 to 1024 characters")?;
    let buttons = interactive["action"]["buttons"].as_array().map(Vec::as_slice).unwrap_or_default();
    must((1..=3).contains(&buttons.len()), 131_009, "1 to 3 buttons")?;
    for button in buttons {
        must(button["type"] == "reply" && is_text(&button["reply"]["id"], 1, 256), 131_009, "a button's id has 1 to 256 characters")?;
        must(is_text(&button["reply"]["title"], 1, 20), 131_009, "a button's title has 1 to 20 characters")?;
    }
    for part in ["id", "title"] {
        let distinct: BTreeSet<_> = buttons.iter().filter_map(|button| button["reply"][part].as_str()).collect();
        must(distinct.len() == buttons.len(), 131_009, "buttons differ in id and title")?;
    }
    Ok(())
}

fn must(holds: bool, code: u32, why: &str) -> Refused {
    if holds { Ok(()) } else { Err((code, why.to_owned())) }
}

fn is_text(value: &Value, least: usize, most: usize) -> bool {
    value.as_str().is_some_and(|text| (least..=most).contains(&text.encode_utf16().count()))
}

/// Two letters, a point, and at most 128 letters, digits and points.
fn is_scoped(id: Option<&str>) -> bool {
    let Some((country, rest)) = id.and_then(|id| id.split_once('.')) else { return false };
    let rest_fits = (1..=128).contains(&rest.len()) && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    country.len() == 2 && country.chars().all(|c| c.is_ascii_uppercase()) && rest_fits
}
