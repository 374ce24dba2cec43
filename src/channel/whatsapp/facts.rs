//! What else a message says of itself, one line in brackets each: a place, a card, an order, where it came from.
//!
//! All of it is the sender's data, or that of whoever wrote the advertisement. It stands in quotation marks, on one line and bounded, so that
//! it can neither look like a line of somebody else's nor fill the model's sight.

use serde_json::Value;

use crate::domain::visible::is_stray;

/// Characters of one value.
const LONGEST: usize = 200;
/// Characters of a form's answers.
const LONGEST_FORM: usize = 2_000;
/// Items of a list; how many more there are is said.
const MOST_ITEMS: usize = 20;

/// What the body of this kind holds beside words and files.
pub(super) fn of_body(kind: &str, body: &Value) -> Vec<String> {
    match kind {
        "location" => location(body).into_iter().collect(),
        "contacts" => some(body, "card", card),
        "order" => order(body),
        "interactive" if body["type"] == "nfm_reply" => form(&body["nfm_reply"]).into_iter().collect(),
        _ => Vec::new(),
    }
}

/// How the message came here.
pub(super) fn of_message(message: &Value) -> Vec<String> {
    let context = &message["context"];
    let mut facts = Vec::new();
    if context["frequently_forwarded"] == true {
        facts.push("[Forwarded many times]".into());
    } else if context["forwarded"] == true {
        facts.push("[Forwarded]".into());
    }
    let product = &context["referred_product"];
    facts.extend(line("Asks about a product", product, &["product_retailer_id", "catalog_id"]));
    facts.extend(line("Came here by an advertisement", &message["referral"], &["headline", "body", "source_url"]));
    facts
}

fn location(body: &Value) -> Option<String> {
    let (latitude, longitude) = (body["latitude"].as_f64()?, body["longitude"].as_f64()?);
    let named = pairs(body, &["name", "address", "url"]);
    Some(format!("[Location: {latitude}, {longitude}{}{named}]", if named.is_empty() { "" } else { "; " }))
}

fn card(card: &Value) -> Option<String> {
    let name = ["formatted_name", "first_name", "last_name"].into_iter().find_map(|key| quoted(&card["name"][key]));
    let of = |list: &Value, key: &str| {
        let found: Vec<String> = list.as_array().into_iter().flatten().take(MOST_ITEMS).filter_map(|item| quoted(&item[key])).collect();
        found.join(", ")
    };
    let (phones, emails) = (of(&card["phones"], "phone"), of(&card["emails"], "email"));
    let parts: Vec<String> = [name.unwrap_or_default(), phones, emails].into_iter().filter(|part| !part.is_empty()).collect();
    (!parts.is_empty()).then(|| format!("[Contact card: {}]", parts.join("; ")))
}

fn order(body: &Value) -> Vec<String> {
    let mut facts = some(&body["product_items"], "ordered item", |item| {
        line("Ordered", item, &["product_retailer_id", "quantity", "item_price", "currency"])
    });
    facts.extend(line("Order from a catalogue", body, &["catalog_id"]));
    facts
}

fn form(reply: &Value) -> Option<String> {
    let answers = clean(reply["response_json"].as_str()?, LONGEST_FORM);
    let name = quoted(&reply["name"]).map(|name| format!(" {name}")).unwrap_or_default();
    Some(format!("[Answers to the form{name}: {}]", in_quotes(&answers)))
}

/// One fact for each item of a list, as far as it is not too long.
fn some(items: &Value, what: &str, fact: impl Fn(&Value) -> Option<String>) -> Vec<String> {
    let items = items.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut facts: Vec<String> = items.iter().take(MOST_ITEMS).filter_map(fact).collect();
    if items.len() > MOST_ITEMS {
        facts.push(format!("[And {} more of these: {what}]", items.len() - MOST_ITEMS));
    }
    facts
}

/// `[Ordered: quantity 3; currency "EUR"]`; nothing where none of the keys has a value.
fn line(label: &str, object: &Value, keys: &[&str]) -> Option<String> {
    let pairs = pairs(object, keys);
    (!pairs.is_empty()).then(|| format!("[{label}: {pairs}]"))
}

fn pairs(object: &Value, keys: &[&str]) -> String {
    let pairs: Vec<String> = keys.iter().filter_map(|key| Some(format!("{} {}", key.replace('_', " "), quoted(&object[*key])?))).collect();
    pairs.join("; ")
}

/// A number as it is, a text between quotation marks that it has none of itself.
fn quoted(value: &Value) -> Option<String> {
    match value {
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(clean(text, LONGEST)).filter(|text| !text.is_empty()).map(|text| in_quotes(&text)),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

fn in_quotes(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "'"))
}

/// One line of at most so many characters, without control and direction characters and without those that only a machine reads.
pub(super) fn clean(text: &str, max: usize) -> String {
    let spaced = text.chars().map(|c| if c.is_control() || c.is_whitespace() { ' ' } else { c }).filter(|c| !is_stray(*c));
    let mut line = String::new();
    for (count, c) in spaced.skip_while(|c| *c == ' ').enumerate() {
        if count >= max {
            line.push('…');
            break;
        }
        line.push(c);
    }
    line.truncate(line.trim_end().len());
    line
}
