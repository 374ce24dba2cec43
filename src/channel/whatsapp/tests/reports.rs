//! What others ran into, replayed at the adapter; named after the numbers under which they are kept.

use axum::http::HeaderValue;
use serde_json::json;

use super::*;
use crate::channel::messenger::{Quotes, Say};
use crate::channel::whatsapp::request;
use crate::domain::delivery::{DeliveryState, Part};

fn markdown(text: &str) -> Vec<Part> {
    account().render(Say::Markdown(text), &phone())
}

#[test]
fn report_01_a_batch_is_read_to_its_end() {
    for (name, count) in [("02_batch_three_messages_two_senders.json", 3), ("03_batch_multi_entry_multi_change_multi_number.json", 3)] {
        let found = items(sample(name));
        assert_eq!(found.iter().filter(|item| matches!(item.inbound, Inbound::Message(_))).count(), count, "{name}");
    }
}

#[test]
fn report_03_04_accents_and_signs_do_not_break_the_signature() {
    let mut request = post(sample("60_wire_escaped_ascii.raw"));
    let signature = "sha256=ceab5d5ff981cf9759746122c7eef821da13e59ddf5e75d4b8f5eeff461678d5";
    request.headers.insert("x-hub-signature-256", HeaderValue::from_static(signature));
    let verified = account().verify(request).unwrap();
    assert_eq!(account().receive(&verified).items.len(), 1);
}

#[test]
fn report_05_06_07_the_handshake_needs_no_signature_and_gives_back_plain_bytes() {
    let request = |challenge: &str| {
        let uri = format!("/?hub.mode=subscribe&hub.verify_token=sample_verify_token&hub.challenge={challenge}");
        WebhookRequest { method: Method::GET, uri: uri.parse().unwrap(), headers: HeaderMap::new(), body: Bytes::new() }
    };
    let verified = account().verify(request("1158201444")).unwrap();
    assert_eq!(account().receive(&verified).reply, crate::channel::messenger::HttpReply::Text("1158201444".into()));
    assert_eq!(account().verify(request("%3Cscript%3E1%3C/script%3E")).unwrap_err(), Refusal::Malformed);
}

#[test]
fn report_08_what_is_not_signed_or_signed_for_another_body_is_refused() {
    assert_eq!(account().verify(post(sample("01_text.json"))).unwrap_err(), Refusal::Unproven);
    let mut request = post(sample("01_text.json"));
    let of_60 = "sha256=ceab5d5ff981cf9759746122c7eef821da13e59ddf5e75d4b8f5eeff461678d5";
    request.headers.insert("x-hub-signature-256", HeaderValue::from_static(of_60));
    assert_eq!(account().verify(request).unwrap_err(), Refusal::Wrong);
}

#[test]
fn report_14_a_person_without_a_number_is_the_person_with_it() {
    let (without, with) = (message(sample("24_bsuid_only_username_user.json")), message(sample("25_bsuid_with_parent_and_phone.json")));
    assert_eq!(without.from.phone, None);
    assert!(without.from.user.is_some() && without.from.user == with.from.user);
}

#[test]
fn report_15_a_scoped_id_is_never_in_the_field_to() {
    let part = Part { text: "hello".into(), buttons: Vec::new() };
    let body = request::message(&to(Recipient::User(ANA_ID.into())), &part, "dlv_1:1", Quotes::Nothing);
    assert_eq!((body.get("to"), &body["recipient"]), (None, &json!(ANA_ID)));
}

#[test]
fn report_17_an_echo_is_no_message() {
    for name in ["20_message_echo_text.json", "21_message_echo_edit_and_revoke.json"] {
        assert!(items(sample(name)).iter().all(|item| !matches!(item.inbound, Inbound::Message(_))), "{name}");
    }
}

#[test]
fn report_12_a_failure_that_is_told_late_is_a_failure() {
    assert!(matches!(one(sample("44_status_failed_131047_window.json")), Inbound::Status { state: DeliveryState::Failed, .. }));
}

#[test]
fn report_20_stars_in_stars_leave_none_over() {
    for nested in ["***launch now***", "**_launch now_**", "__*launch now*__"] {
        assert_eq!(markdown(nested)[0].text, "*_launch now_*", "{nested}");
    }
}

#[test]
fn report_22_no_part_is_longer_than_a_message_may_be() {
    for text in ["😀".repeat(5_000), "word ".repeat(5_000), "x".repeat(20_000)] {
        let parts = markdown(&text);
        assert!(parts.len() > 1);
        for part in &parts {
            assert!((1..=4_000).contains(&part.text.encode_utf16().count()), "{}", part.text.encode_utf16().count());
        }
    }
}

#[test]
fn an_answer_of_nothing_is_still_a_message() {
    for nothing in ["", " \n", "\u{200b}"] {
        let parts = markdown(nothing);
        assert!(parts.len() == 1 && !parts[0].text.trim().is_empty(), "{parts:?}");
    }
}
