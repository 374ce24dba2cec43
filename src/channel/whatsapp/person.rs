//! Who wrote, and who has become whom. The same person is known by a telephone number, by Meta's business-scoped id, or by both, and either
//! may be missing.

use serde_json::Value;

use super::facts::clean;
use super::receive::Beside;
use crate::channel::messenger::{Inbound, Person};

/// Far above the 131 that Meta's ids have at most.
const LONGEST_ID: usize = 256;
/// Of what somebody calls himself, characters.
const LONGEST_NAME: usize = 100;

/// What a payload tells of somebody in it.
#[derive(Debug)]
pub(super) struct Contact {
    phone: Option<String>,
    user: Option<String>,
    name: Option<String>,
}

impl Contact {
    pub(super) fn read(contact: &Value) -> Self {
        let name = [&contact["profile"]["name"], &contact["profile"]["username"]];
        Self {
            phone: phone(&contact["wa_id"]),
            user: user(&contact["user_id"]),
            name: name.into_iter().filter_map(Value::as_str).map(|name| clean(name, LONGEST_NAME)).find(|name| !name.is_empty()),
        }
    }
}

/// Who sent this message. `None` where it does not say.
pub(super) fn sender(message: &Value, beside: &Beside) -> Option<Person> {
    ids(&message["from"], &message["from_user_id"]).map(|person| with_contact(person, beside))
}

/// Whom this echo went to.
pub(super) fn receiver(message: &Value, beside: &Beside) -> Option<Person> {
    ids(&message["to"], &message["to_user_id"]).map(|person| with_contact(person, beside))
}

/// A message of type `system`: a person has another number, or another id.
pub(super) fn system(message: &Value) -> Inbound {
    let system = &message["system"];
    let ids_there = ids(&message["from"], &message["from_user_id"]);
    let new_phone = phone(&system["wa_id"]).or_else(|| phone(&system["new_wa_id"]));
    let new = Person { phone: new_phone, user: user(&system["user_id"]), name: None };
    match (system["type"].as_str(), ids_there) {
        (Some("user_changed_number"), Some(old)) => changed(old, new),
        (Some("user_changed_user_id"), old) => {
            let mut old = old.unwrap_or_default();
            old.user = user(&system["previous_user_id"]).or(old.user);
            changed(old, new)
        }
        (Some("customer_identity_changed"), _) => Inbound::Ignored { why: "identity_key" },
        _ => Inbound::Ignored { why: "system" },
    }
}

/// An item of the field `user_id_update`: `user_id {previous, current}`, flat in some descriptions of it.
pub(super) fn update(item: &Value) -> Inbound {
    let either = |nested: &str, flat: &str| user(&item["user_id"][nested]).or_else(|| user(&item[flat]));
    let old = Person { phone: phone(&item["wa_id"]), user: either("previous", "previous_user_id"), name: None };
    let new = Person { phone: old.phone.clone(), user: either("current", "user_id"), name: None };
    changed(old, new)
}

fn changed(old: Person, new: Person) -> Inbound {
    if !is_known(&old) || !is_known(&new) || old == new {
        return Inbound::Ignored { why: "system" };
    }
    Inbound::Identity { old, new }
}

fn is_known(person: &Person) -> bool {
    person.phone.is_some() || person.user.is_some()
}

fn ids(phone_id: &Value, user_id: &Value) -> Option<Person> {
    // some senders are named by their id where a number is expected
    let person = Person { phone: phone(phone_id), user: user(user_id).or_else(|| user(phone_id)), name: None };
    is_known(&person).then_some(person)
}

/// Never by position: a payload of two senders lists two contacts in any order, or one, or none.
fn with_contact(mut person: Person, beside: &Beside) -> Person {
    let same = |a: &Option<String>, b: &Option<String>| a.is_some() && a == b;
    if let Some(contact) = beside.contacts.iter().find(|c| same(&c.phone, &person.phone) || same(&c.user, &person.user)) {
        person.phone = person.phone.or_else(|| contact.phone.clone());
        person.user = person.user.or_else(|| contact.user.clone());
        person.name.clone_from(&contact.name);
    }
    person
}

/// Digits alone, of a number however it is written; `None` for what is no number.
fn phone(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let written = |c: char| c.is_ascii_digit() || matches!(c, '+' | ' ' | '-' | '(' | ')');
    Some(digits(text)).filter(|digits| !digits.is_empty() && text.len() <= LONGEST_ID && text.chars().all(written))
}

/// `US.1349`: a country, a point, and what nobody looks into.
fn user(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let is_id = text.len() <= LONGEST_ID && text.contains('.') && text.chars().all(|c| c.is_ascii_graphic());
    is_id.then(|| text.to_owned())
}

pub(super) fn digits(text: &str) -> String {
    text.chars().filter(char::is_ascii_digit).collect()
}
