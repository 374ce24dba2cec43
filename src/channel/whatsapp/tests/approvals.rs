//! Requests for permission, as buttons and back.

use serde_json::json;

use super::*;
use crate::channel::messenger::Say;
use crate::domain::ApprovalId;
use crate::domain::delivery::Part;
use crate::domain::pending::Decision;

const ALL: [Decision; 4] = [Decision::AllowOnce, Decision::AllowSession, Decision::AllowAlways, Decision::Deny];

fn approval(args: &str, decisions: &[Decision], to: &Address) -> Part {
    let id = ApprovalId::from("apr_0123");
    let mut parts = account().render(Say::Approval { approval_id: &id, tool: "demo_booking", args, decisions }, to);
    assert_eq!(parts.len(), 1);
    parts.remove(0)
}

fn pressed(id: &str) -> Inbound {
    one(from_ana("interactive", &json!({"interactive": {"type": "button_reply", "button_reply": {"id": id, "title": "Whatever"}}})))
}

#[test]
fn a_request_shows_what_would_run_and_offers_what_fits_a_phone() {
    let part = approval(r#"{"date":"2026-12-24"}"#, &ALL, &phone());
    assert!(
        part.text.starts_with("May I run `demo_booking`? It would get exactly this:\n\n```{\"date\":\"2026-12-24\"}```\n\n"),
        "{}",
        part.text
    );
    let buttons: Vec<_> = part.buttons.iter().map(|button| (button.id.as_str(), button.title.as_str())).collect();
    let expected = [("apr_0123:allow_once", "Allow once"), ("apr_0123:allow_session", "Allow in this chat"), ("apr_0123:deny", "Deny")];
    assert_eq!(buttons, expected);
    assert!(part.buttons.iter().all(|button| button.title.encode_utf16().count() <= 20));
}

#[test]
fn what_would_deceive_the_eye_is_spelled_out() {
    let part = approval("rm \u{202e}txt\u{200b} ``` *ok*", &ALL, &phone());
    assert!(part.text.contains(r"```rm \u{202e}txt\u{200b} \u{60}\u{60}\u{60} *ok*```"), "{}", part.text);
}

#[test]
fn what_does_not_fit_is_left_out_and_said_to_be() {
    for args in ["x".repeat(5_000), "😀".repeat(5_000), "\u{202e}".repeat(5_000)] {
        let part = approval(&args, &ALL, &phone());
        let units = part.text.encode_utf16().count();
        assert!((1_000..=1_024).contains(&units), "{units}");
        assert!(part.text.contains("This is not all of it"), "{}", part.text);
    }
    assert!(!approval("short", &ALL, &phone()).text.contains("not all"));
}

#[test]
fn only_what_is_offered_has_a_button() {
    let part = approval("{}", &[Decision::Deny, Decision::AllowAlways], &phone());
    assert_eq!(part.buttons.iter().map(|button| button.id.as_str()).collect::<Vec<_>>(), ["apr_0123:deny"]);
}

#[test]
fn a_group_gets_no_buttons_and_is_told_where_it_is_decided() {
    let part = approval("{}", &ALL, &to(Recipient::Group("GRP1".into())));
    assert!(part.buttons.is_empty());
    assert!(part.text.contains("A group cannot decide this."), "{}", part.text);
}

#[test]
fn each_button_comes_back_as_the_decision_that_it_stands_for() {
    for button in approval("{}", &ALL, &phone()).buttons {
        match pressed(&button.id) {
            Inbound::Decision { id, from, group: None, approval_id, decision, .. } => {
                assert_eq!((id.as_str(), from.phone.as_deref(), approval_id.as_str()), ("wamid.1", Some(ANA), "apr_0123"));
                assert!(button.id.ends_with(decision.as_str()));
            }
            other => panic!("{}: {other:?}", button.id),
        }
    }
}

#[test]
fn a_button_that_was_never_offered_is_only_words() {
    for id in ["apr_0123:allow_always", "apr_0123", "apr_0123:", "apr_0123:expired", "other:deny", ""] {
        assert!(matches!(pressed(id), Inbound::Message(message) if message.text == "Whatever"), "{id}");
    }
}
