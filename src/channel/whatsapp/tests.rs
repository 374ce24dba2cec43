#![expect(clippy::wildcard_enum_match_arm, reason = "a test that wants one kind fails for every other")]

use std::path::PathBuf;

use axum::http::{HeaderMap, Method};
use bytes::Bytes;
use secrecy::SecretString;

use super::*;
use crate::channel::messenger::{Inbound, InboundMessage, Item, Messenger, Person, Refusal, WebhookRequest};
use crate::domain::{Address, Recipient};

mod approvals;
mod facts;
mod fetching;
mod goldens;
mod groups;
mod mutations;
mod people;
mod proof;
mod reports;
mod samples;
mod sending;

const LINE: &str = "100000000000001";
const ANA: &str = "15550100001";
const ANA_ID: &str = "US.30000000000000000001";

fn account_at(graph_url: &str) -> WhatsApp {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let secret = |text: &str| SecretString::from(text.to_owned());
    let settings = Settings {
        account: "main".into(),
        phone_number_id: LINE.into(),
        app_secret: secret("sample_app_secret"),
        verify_token: secret("sample_verify_token"),
        access_token: secret("EAAsampletoken"),
        graph_url: graph_url.into(),
    };
    WhatsApp::new(settings, client().unwrap())
}

fn account() -> WhatsApp {
    account_at("http://127.0.0.1:9/v26.0")
}

fn sample(name: &str) -> Bytes {
    std::fs::read(PathBuf::from("tests/samples/whatsapp").join(name)).unwrap().into()
}

fn post(body: impl Into<Bytes>) -> WebhookRequest {
    let uri = "/channels/whatsapp/main".parse().unwrap();
    WebhookRequest { method: Method::POST, uri, headers: HeaderMap::new(), body: body.into() }
}

fn items(body: impl Into<Bytes>) -> Vec<Item> {
    receive::items(&body.into())
}

/// What a payload of one item holds.
#[track_caller]
fn one(body: impl Into<Bytes>) -> Inbound {
    let mut found = items(body);
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0).inbound
}

#[track_caller]
fn message(body: impl Into<Bytes>) -> InboundMessage {
    match one(body) {
        Inbound::Message(message) => message,
        other => panic!("no message: {other:?}"),
    }
}

/// A payload of Ana's, with whatever her one message has beside what every message has.
fn from_ana(kind: &str, rest: &serde_json::Value) -> Vec<u8> {
    let mut message = serde_json::json!({"from": ANA, "from_user_id": ANA_ID, "id": "wamid.1", "timestamp": "1790000000", "type": kind});
    message.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
    payload(&serde_json::json!({"messages": [message]}))
}

/// One change of the field `messages`, to our number.
fn payload(value: &serde_json::Value) -> Vec<u8> {
    let mut value = value.clone();
    value["metadata"] = serde_json::json!({"display_phone_number": "+1 555-010-9000", "phone_number_id": LINE});
    let change = serde_json::json!({"field": "messages", "value": value});
    serde_json::json!({"object": "whatsapp_business_account", "entry": [{"id": "2", "changes": [change]}]}).to_string().into_bytes()
}

fn ana() -> Person {
    Person { phone: Some(ANA.into()), user: Some(ANA_ID.into()), name: Some("Ana Example".into()) }
}

fn to(recipient: Recipient) -> Address {
    Address { channel: "whatsapp".into(), account: "main".into(), to: recipient, message: Some("wamid.ASKED".into()) }
}

fn phone() -> Address {
    to(Recipient::Phone(ANA.into()))
}

#[test]
fn no_secret_is_shown() {
    let shown = format!("{:?}", account());
    assert!(shown.contains(LINE));
    for secret in ["sample_app_secret", "sample_verify_token", "EAAsampletoken"] {
        assert!(!shown.contains(secret), "{shown}");
    }
}

#[test]
fn numbers_of_one_app_know_each_other_by_its_secrets_hash() {
    let (one, other) = (account(), account_at("http://elsewhere.invalid"));
    assert_eq!(one.app(), other.app());
    assert_eq!(one.app().as_str().len(), 64);
    assert!(!one.app().as_str().contains("sample"));
}
