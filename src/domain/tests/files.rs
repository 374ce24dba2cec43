//! What came with messages, on the surface.

use crate::domain::event::delivery::AttachmentSettled;
use crate::domain::event::input::{MessageQueued, Mode, QueueDrain, Target, Trust, TurnStart};
use crate::domain::event::session::{Metadata, SessionCreated};
use crate::domain::record::Head;
use crate::domain::{AgentEvent, Attachment, AttachmentKind, File, Record, SessionState, SurfaceMessage, Timestamp};

fn attachment(id: &str, kind: AttachmentKind) -> Attachment {
    let (mime, media_id) = ("image/jpeg; x=y".into(), format!("media of {id}"));
    Attachment { attachment_id: id.into(), kind, mime, filename: Some("a.jpg".into()), sha256: None, media_id }
}

fn queued(id: &str, target: Target, text: &str, attachments: Vec<Attachment>) -> AgentEvent {
    MessageQueued {
        message_id: id.into(),
        target,
        mode: Mode::Followup,
        text: text.into(),
        author: "p".into(),
        trust: Trust::User,
        reply_to: None,
        attachments,
        model: None,
        instructions: None,
    }
    .into()
}

fn settled(id: &str, bytes: Option<u64>, code: Option<&str>) -> AgentEvent {
    AttachmentSettled { attachment_id: id.into(), bytes, code: code.map(str::to_owned) }.into()
}

/// The surface behind these records of a session, the ones of its first turn last.
fn surface(outside: Vec<AgentEvent>, turn: Vec<AgentEvent>) -> Vec<SurfaceMessage> {
    let text = |text: &str| text.to_owned();
    let (channel, agent, tenant, principal) = (text("whatsapp"), text("default"), text("t"), text("p"));
    let created = SessionCreated { channel, agent, tenant, principal, account: None, parent: None, title: None, metadata: Metadata::new() };
    let outside = std::iter::once(created.into()).chain(outside).map(|event| (None, event));
    let mut state = SessionState::default();
    for ((turn, event), seq) in outside.chain(turn.into_iter().map(|event| (Some(1), event))).zip(1..) {
        state.apply(&Record { head: Head { seq, at: Timestamp(1), turn, step: None }, event }).unwrap();
        let again: SessionState = serde_json::from_slice(&serde_json::to_vec(&state).unwrap()).unwrap();
        assert_eq!(again, state);
    }
    state.surface.messages.iter().map(|message| (**message).clone()).collect()
}

#[test]
fn what_is_kept_stands_beside_the_text_and_what_is_not_in_it() {
    let first = vec![attachment("att_1", AttachmentKind::Image), attachment("att_2", AttachmentKind::Voice)];
    let outside = vec![
        queued("msg_1", Target::NextTurn, "", first),
        settled("att_2", None, Some("timeout")),
        settled("att_1", Some(5), None),
        queued("msg_2", Target::NextStep, "what is it?", Vec::new()),
        queued("msg_3", Target::NextStep, "", vec![attachment("att_3", AttachmentKind::Sticker)]),
    ];
    let turn = vec![
        TurnStart { message_ids: vec!["msg_1".into(), "msg_2".into()] }.into(),
        QueueDrain { message_ids: vec!["msg_3".into()], message_count: 1, merged_text: String::new() }.into(),
    ];
    let kept = |file: &File| (file.attachment_id.to_string(), file.bytes, file.mime(), file.blob().to_string());
    let [SurfaceMessage::User { text, files }, steer] = &surface(outside, turn)[..] else { panic!("two messages") };
    assert_eq!(text, "[A voice message \"a.jpg\" came with this; it could not be fetched in time.]\n\nwhat is it?");
    assert_eq!(files.iter().map(kept).collect::<Vec<_>>(), [("att_1".into(), 5, "image/jpeg".into(), "att_1".into())]);
    assert_eq!(*steer, SurfaceMessage::user("[A sticker \"a.jpg\" came with this; it could not be kept.]"), "nobody has settled it");
}

#[test]
fn an_image_without_a_word_is_a_message() {
    let outside =
        vec![queued("msg_1", Target::NextTurn, "", vec![attachment("att_1", AttachmentKind::Image)]), settled("att_1", Some(5), None)];
    let surface = surface(outside, vec![TurnStart { message_ids: vec!["msg_1".into()] }.into()]);
    assert!(matches!(&surface[..], [SurfaceMessage::User { text, files }] if text.is_empty() && files.len() == 1));
}
