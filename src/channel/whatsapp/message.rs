//! One message of a person, and one that somebody wrote in the gateway's place.

use serde_json::Value;

use super::content::Content;
use super::receive::{Beside, time};
use super::{content, person};
use crate::channel::messenger::{Inbound, InboundMessage, Person};
use crate::domain::ApprovalId;
use crate::domain::pending::Decision;

/// Whatever it is, it is something: a kind that nobody has heard of is a message without a text, so that its sender can be told.
pub(super) fn read(message: &Value, beside: &Beside) -> Inbound {
    let kind = message["type"].as_str().unwrap_or_default();
    if kind == "system" {
        return person::system(message);
    }
    let Some(id) = text(&message["id"]) else { return Inbound::Ignored { why: "no_id" } };
    let Some(from) = person::sender(message, beside) else { return Inbound::Ignored { why: "no_sender" } };
    let group = text(&message["group_id"]);
    match kind {
        "reaction" if message["reaction"]["emoji"].as_str().is_none_or(str::is_empty) => Inbound::Ignored { why: "reaction_removed" },
        "reaction" => Inbound::Ignored { why: "reaction" },
        "revoke" => match text(&message["revoke"]["original_message_id"]) {
            Some(original) => Inbound::Retract { original, from, group },
            None => Inbound::Ignored { why: "revoke_without_original" },
        },
        _ => match decision(message) {
            Some((approval_id, decision)) => Inbound::Decision { id, from, group, approval_id, decision, sent_at: time(message) },
            None => Inbound::Message(spoken(id, from, group, message, beside)),
        },
    }
}

/// What went out from the account's own phone.
pub(super) fn echo(message: &Value, beside: &Beside) -> Inbound {
    let Some(id) = text(&message["id"]) else { return Inbound::Ignored { why: "no_id" } };
    if text(&message["group_id"]).is_some() {
        return Inbound::Ignored { why: "group_echo" };
    }
    match message["type"].as_str() {
        Some("edit") => return Inbound::Ignored { why: "echo_edit" },
        Some("revoke") => return Inbound::Ignored { why: "echo_revoke" },
        Some("reaction") => return Inbound::Ignored { why: "echo_reaction" },
        _ => {}
    }
    let Some(to) = person::receiver(message, beside) else { return Inbound::Ignored { why: "no_receiver" } };
    let Content { text, .. } = content::read(message, &beside.line, &id);
    Inbound::Echo { id, to, text, sent_at: time(message) }
}

fn spoken(id: String, from: Person, group: Option<String>, message: &Value, beside: &Beside) -> InboundMessage {
    let edit = &message["edit"];
    let edited = (message["type"] == "edit").then_some(&edit["message"]);
    let Content { text: words, attachments } = content::read(edited.unwrap_or(message), &beside.line, &id);
    let context = |key: &str| text(&message["context"][key]).or_else(|| text(&edited?["context"][key]));
    let addressed =
        group.is_none() || speaks_to(&words, beside) || context("from").is_some_and(|from| beside.is_own(&person::digits(&from)));
    InboundMessage {
        id,
        from,
        group,
        attachments,
        sent_at: time(message),
        quotes: context("id"),
        replaces: edited.and_then(|_| text(&edit["original_message_id"])),
        addressed,
        text: words,
    }
}

/// Whether the text has `@` and the account's number in it, as WhatsApp writes a mention.
fn speaks_to(words: &str, beside: &Beside) -> bool {
    words.match_indices('@').any(|(at, _)| {
        let number: String = words[at + 1..].chars().take_while(char::is_ascii_digit).collect();
        beside.is_own(&number)
    })
}

/// The button of an approval, by its id: its title is only what was shown.
fn decision(message: &Value) -> Option<(ApprovalId, Decision)> {
    let id = message["interactive"]["button_reply"]["id"].as_str()?;
    let (approval, word) = id.split_once(':')?;
    let decision = super::render::OFFERED.into_iter().find(|decision| decision.as_str() == word)?;
    approval.starts_with("apr_").then(|| (ApprovalId::from(approval), decision))
}

fn text(value: &Value) -> Option<String> {
    value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}
