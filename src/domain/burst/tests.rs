use std::time::Duration;

use super::{ATTACHMENT_WAIT, Claim, MOST};
use crate::domain::event::delivery::AttachmentSettled;
use crate::domain::event::input::{MessageQueued, Mode, Target, Trust};
use crate::domain::state::Inbox;
use crate::domain::{Address, Attachment, AttachmentKind, Recipient, Timestamp};

const DEBOUNCE: Duration = Duration::from_millis(1_500);

/// A message of `author` at so many milliseconds; `name` is its id.
fn message(name: &str, author: &str, at: u64) -> (Timestamp, MessageQueued) {
    let to = Recipient::Phone(author.into());
    let queued = MessageQueued {
        message_id: name.into(),
        target: Target::NextTurn,
        mode: Mode::Followup,
        text: name.into(),
        author: author.into(),
        trust: Trust::User,
        reply_to: Some(Address { channel: "whatsapp".into(), account: "main".into(), to, message: Some(format!("wamid.{name}")) }),
        attachments: Vec::new(),
        model: None,
        instructions: None,
    };
    (Timestamp(at), queued)
}

fn inbox(messages: Vec<(Timestamp, MessageQueued)>) -> Inbox {
    let mut inbox = Inbox::default();
    for (seq, (at, queued)) in messages.into_iter().enumerate() {
        inbox.push(seq as u64 + 2, at, queued);
    }
    inbox
}

fn claim(inbox: &Inbox, now: u64) -> Result<String, Option<u64>> {
    match inbox.next_turn(DEBOUNCE, Timestamp(now)) {
        Claim::Now(ids) => Ok(ids.iter().map(ToString::to_string).collect::<Vec<_>>().concat()),
        Claim::At(at) => Err(Some(at.0)),
        Claim::Nothing => Err(None),
    }
}

#[test]
fn a_burst_is_one_entry_once_it_is_quiet() {
    let burst = inbox(vec![message("a", "1", 0), message("b", "1", 1_000), message("c", "1", 2_500), message("d", "1", 4_001)]);
    assert_eq!(claim(&burst, 3_999), Err(Some(4_000)), "d is no part of it, and does not put it off");
    assert_eq!(claim(&burst, 4_000), Ok("abc".into()));
    assert_eq!(claim(&inbox(vec![]), 0), Err(None));
}

#[test]
fn somebody_else_does_not_break_it_and_has_his_own() {
    let both = inbox(vec![message("a", "1", 0), message("x", "2", 500), message("b", "1", 1_000)]);
    assert_eq!(claim(&both, 2_499), Err(Some(2_500)));
    assert_eq!(claim(&both, 2_500), Ok("ab".into()));
}

#[test]
fn a_burst_that_does_not_end_begins_its_turn() {
    let endless: Vec<_> = (0..12).map(|n| message("m", "1", n * 1_000)).collect();
    assert_eq!(claim(&inbox(endless[..7].to_vec()), 6_100), Err(Some(7_500)));
    assert_eq!(claim(&inbox(endless[..8].to_vec()), 7_500), Ok("m".repeat(8)));
    let many: Vec<_> = (0..MOST as u64 + 3).map(|_| message("m", "1", 0)).collect();
    assert_eq!(claim(&inbox(many), 0), Ok("m".repeat(MOST)));
}

#[test]
fn what_has_waited_longer_begins_at_once() {
    let waited = inbox(vec![message("a", "1", 0), message("b", "1", 1_000), message("c", "1", 60_000)]);
    assert_eq!(claim(&waited, 60_000), Ok("ab".into()));
    let future = inbox(vec![message("a", "1", 60_000)]);
    assert_eq!(claim(&future, 0), Ok("a".into()), "the clock was set back");
}

#[test]
fn without_a_debounce_or_an_address_nothing_waits() {
    let burst = inbox(vec![message("a", "1", 0), message("b", "1", 1)]);
    assert_eq!(burst.next_turn(Duration::ZERO, Timestamp(1)), Claim::Now(vec!["a".into()]));
    let mut posted = [message("a", "1", 0), message("b", "1", 1)];
    posted.iter_mut().for_each(|(_, queued)| queued.reply_to = None);
    assert_eq!(claim(&inbox(posted.to_vec()), 1), Ok("a".into()));
}

#[test]
fn a_steer_that_no_turn_has_taken_waits_for_nobody() {
    let mut steer = message("s", "2", 10);
    steer.1.target = Target::NextStep;
    let both = inbox(vec![message("a", "1", 0), steer]);
    assert_eq!(claim(&both, 20), Ok("s".into()));
    assert_eq!(claim(&both, 1_500), Ok("as".into()));
}

#[test]
fn a_message_waits_for_its_file_and_not_for_ever() {
    let mut photo = message("p", "1", 1_000);
    let (attachment_id, kind, mime) = ("att_1".into(), AttachmentKind::Image, "image/jpeg".into());
    photo.1.attachments = vec![Attachment { attachment_id, kind, mime, filename: None, sha256: None, media_id: "1".into() }];
    let mut both = inbox(vec![message("a", "1", 0), photo]);
    let last = 1_000 + u64::try_from(ATTACHMENT_WAIT.as_millis()).unwrap();
    assert_eq!(claim(&both, 5_000), Err(Some(last)), "its burst waits with it");
    assert_eq!(claim(&both, last), Ok("ap".into()));
    let settled = AttachmentSettled { attachment_id: "att_1".into(), bytes: Some(1), code: None };
    assert!(both.settle(&settled));
    assert!(!both.settle(&settled), "once");
    assert_eq!(claim(&both, 5_000), Ok("ap".into()));
}
