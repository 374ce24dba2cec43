//! Every sample payload, and what is read from it.

use super::*;
use crate::domain::delivery::DeliveryState;
use crate::domain::{AttachmentKind, Timestamp};

fn texts(name: &str) -> Vec<(String, String)> {
    let line_and_text = |item: Item| match item.inbound {
        Inbound::Message(message) => (item.line, message.text),
        other => panic!("no message: {other:?}"),
    };
    items(sample(name)).into_iter().map(line_and_text).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(line, text)| ((*line).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn sample_01_text() {
    let expected = InboundMessage {
        id: "wamid.SAMPLE01==".into(),
        from: ana(),
        group: None,
        text: "Where is my order?".into(),
        attachments: Vec::new(),
        sent_at: Timestamp(1_790_000_000_000),
        quotes: None,
        replaces: None,
        addressed: true,
    };
    assert_eq!(items(sample("01_text.json")), [Item { line: LINE.into(), inbound: Inbound::Message(expected) }]);
}

#[test]
fn sample_02_batch_of_two_senders() {
    let from: Vec<_> = items(sample("02_batch_three_messages_two_senders.json"))
        .into_iter()
        .map(|item| match item.inbound {
            Inbound::Message(message) => (message.from.name.unwrap(), message.text),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(from, pairs(&[("Ana Example", "first"), ("Bo Sample", "other user"), ("Ana Example", "second")]));
}

#[test]
fn sample_03_batch_of_entries_changes_and_numbers() {
    let expected = [(LINE, "to number one"), ("100000000000002", "to number two"), (LINE, "third")];
    assert_eq!(texts("03_batch_multi_entry_multi_change_multi_number.json"), pairs(&expected));
}

#[test]
fn sample_04_statuses_between_messages() {
    let found = items(sample("04_statuses_mixed_with_messages.json"));
    assert!(matches!(&found[0].inbound, Inbound::Message(message) if message.text == "thanks"));
    let states: Vec<_> = found[1..]
        .iter()
        .map(|item| match &item.inbound {
            Inbound::Status { message, token: None, state, code: None, .. } if message == "wamid.BOTMSG1==" => *state,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(states, [DeliveryState::Sent, DeliveryState::Delivered, DeliveryState::Read]);
}

#[test]
fn samples_05_06_07_48_kinds_that_nobody_can_read() {
    for name in
        ["05_unsupported_poll.json", "06_unsupported_without_subtype.json", "07_legacy_type_unknown.json", "48_future_unknown_type.json"]
    {
        let read = message(sample(name));
        assert_eq!((read.text.as_str(), read.attachments.len(), read.from.name.as_deref()), ("", 0, Some("Ana Example")), "{name}");
    }
}

#[test]
fn samples_08_09_10_reactions() {
    assert_eq!(one(sample("08_reaction_added.json")), Inbound::Ignored { why: "reaction" });
    for name in ["09_reaction_removed_empty_string.json", "10_reaction_removed_missing_emoji.json"] {
        assert_eq!(one(sample(name)), Inbound::Ignored { why: "reaction_removed" }, "{name}");
    }
}

#[test]
fn sample_11_a_number_changes() {
    let new = Person { phone: Some("15550100003".into()), user: Some("US.30000000000000000003".into()), name: None };
    let expected = Inbound::Identity { old: Person { name: None, ..ana() }, new };
    assert_eq!(one(sample("11_system_number_change_no_contacts.json")), expected);
}

#[test]
fn sample_13_a_key_changes() {
    assert_eq!(one(sample("13_system_identity_changed.json")), Inbound::Ignored { why: "identity_key" });
}

#[test]
fn sample_14_empty_contacts() {
    let read = message(sample("14_empty_contacts_array.json"));
    assert_eq!((read.from, read.text), (Person { name: None, ..ana() }, "no contact block".into()));
}

#[test]
fn sample_15_edit() {
    let read = message(sample("15_edit_text.json"));
    assert_eq!(read.text, "Where is my second order?");
    assert_eq!((read.id.as_str(), read.replaces.as_deref()), ("wamid.SAMPLE15==", Some("wamid.SAMPLE01==")));
    assert_eq!(read.quotes.as_deref(), Some("M0"));
}

#[test]
fn sample_17_revoke() {
    let expected = Inbound::Retract { original: "wamid.SAMPLE01==".into(), from: ana(), group: None };
    assert_eq!(one(sample("17_revoke.json")), expected);
}

#[test]
fn sample_19_advertisement() {
    let fact = r#"[Came here by an advertisement: headline "Sample headline"; body "Sample ad body"; source url "https://fb.invalid/ad1"]"#;
    assert_eq!(message(sample("19_ads_referral.json")).text, format!("Hi! I saw your ad\n{fact}"));
}

#[test]
fn samples_20_21_echoes() {
    let text = "A human answered from the phone app".into();
    let expected = Inbound::Echo { id: "wamid.ECHO1==".into(), to: ana(), text, sent_at: Timestamp(1_790_000_000_000) };
    assert_eq!(one(sample("20_message_echo_text.json")), expected);
    let found = items(sample("21_message_echo_edit_and_revoke.json"));
    let expected = [Inbound::Ignored { why: "echo_edit" }, Inbound::Ignored { why: "echo_revoke" }];
    assert_eq!(found.into_iter().map(|item| item.inbound).collect::<Vec<_>>(), expected);
}

#[test]
fn sample_22_group() {
    let read = message(sample("22_group_text.json"));
    assert_eq!((read.group.as_deref(), read.addressed, read.text.as_str()), (Some("GRPsample0000000001"), false, "hello bot"));
}

#[test]
fn samples_24_25_people_with_and_without_a_number() {
    let read = message(sample("24_bsuid_only_username_user.json"));
    assert_eq!(read.from, Person { phone: None, ..ana() });
    assert_eq!(message(sample("25_bsuid_with_parent_and_phone.json")).from, ana());
}

#[test]
fn samples_26_to_30_files() {
    let cases = [
        ("26_image_with_caption.json", AttachmentKind::Image, "image/jpeg", "What is this?"),
        ("27_audio_voice_note.json", AttachmentKind::Voice, "audio/ogg; codecs=opus", ""),
        ("28_video.json", AttachmentKind::Video, "video/mp4", "[Forwarded]"),
        ("29_document.json", AttachmentKind::Document, "application/pdf", ""),
        ("30_sticker_animated.json", AttachmentKind::Sticker, "image/webp", ""),
    ];
    for (name, kind, mime, text) in cases {
        let read = message(sample(name));
        let [file] = &read.attachments[..] else { panic!("{name}: {read:?}") };
        assert_eq!((file.kind, file.mime.as_str(), read.text.as_str()), (kind, mime, text), "{name}");
        assert_eq!((file.media_id.as_str(), &file.sha256), ("700000000000001", &None), "{name}: its hash is none");
        assert_eq!(file.attachment_id, message(sample(name)).attachments[0].attachment_id, "{name}: the same again");
        assert_eq!(file.filename.as_deref(), (kind == AttachmentKind::Document).then_some("passwd.pdf"), "{name}");
    }
}

#[test]
fn samples_31_32_places() {
    assert_eq!(message(sample("31_location_pin_only.json")).text, "[Location: 1.5, -2.25]");
    let named = r#"[Location: 1.5, -2.25; name "Sample Place"; address "1 Example Street"; url "https://maps.invalid/?q=1"]"#;
    assert_eq!(message(sample("32_location_named.json")).text, named);
}

#[test]
fn sample_33_cards() {
    let expected = "[Contact card: \"Cy Placeholder\"; \"+1 555-010-0009\"]\n[Contact card: \"+1 555-010-0010\"]";
    assert_eq!(message(sample("33_contacts_card.json")).text, expected);
}

#[test]
fn samples_34_35_37_38_buttons_of_others() {
    let cases = [
        ("34_interactive_button_reply.json", "Approve", Some("wamid.BOTMSG1==")),
        ("35_interactive_list_reply.json", "Third option", Some("wamid.BOTMSG1==")),
        ("37_template_quick_reply_button.json", "Order again", Some("wamid.BOTMSG1==")),
        ("38_template_button_without_context.json", "Stop promotions", None),
    ];
    for (name, text, quotes) in cases {
        let read = message(sample(name));
        assert_eq!((read.text.as_str(), read.quotes.as_deref()), (text, quotes), "{name}");
    }
}

#[test]
fn sample_40_order() {
    let expected = "[Ordered: product retailer id \"SKU-1\"; quantity 3; item price 30; currency \"EUR\"]\n\
                    [Ordered: product retailer id \"SKU-2\"; quantity 1; item price 9.5; currency \"EUR\"]\n\
                    [Order from a catalogue: catalog id \"600000000000001\"]";
    assert_eq!(message(sample("40_order.json")).text, expected);
}

#[test]
fn samples_41_42_answers_to_something() {
    let read = message(sample("41_reply_with_context.json"));
    assert_eq!((read.text.as_str(), read.quotes.as_deref()), ("yes that one", Some("wamid.BOTMSG1==")));
    let fact = r#"[Asks about a product: product retailer id "SKU-1"; catalog id "600000000000001"]"#;
    assert_eq!(message(sample("42_product_inquiry_context.json")).text, format!("is this in stock?\n{fact}"));
}

#[test]
fn sample_44_a_late_failure() {
    let expected = Inbound::Status {
        message: "wamid.BOTMSG3==".into(),
        token: Some("out:01J0000000000000000000000B".into()),
        state: DeliveryState::Failed,
        code: Some("131047".into()),
        at: Timestamp(1_790_000_005_000),
    };
    assert_eq!(one(sample("44_status_failed_131047_window.json")), expected);
}

#[test]
fn sample_47_another_field() {
    assert_eq!(one(sample("47_other_field_account_update.json")), Inbound::Ignored { why: "account_update" });
}

#[test]
fn sample_50_nothing_to_read() {
    assert_eq!(texts("50_empty_text_and_whitespace.json"), pairs(&[(LINE, ""), (LINE, "")]));
}

#[test]
fn sample_60_escapes_of_the_wire() {
    assert_eq!(message(sample("60_wire_escaped_ascii.raw")).text, "Crème brûlée 😊 100% <b>a@b.example</b> http://x.example/y");
}

#[test]
fn no_sample_is_left_out() {
    let tested = include_str!("samples.rs");
    for file in std::fs::read_dir("tests/samples/whatsapp").unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        assert!(tested.contains(&name) || name == "signature_vectors.json", "{name}");
    }
}
