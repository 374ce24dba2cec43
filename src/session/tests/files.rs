//! Files that came with messages, through the whole of a session: kept, shown, and shown again after a restart.

use bytes::Bytes;

use super::rebuild::assert_rebuilds;
use super::world::{World, id, settle};
use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calls, failure, text, within};
use crate::domain::event::input::{Mode, Trust};
use crate::domain::event::model::Model;
use crate::domain::event::turn::DoneReason;
use crate::domain::toolset::Policy;
use crate::domain::{AgentEvent, Attachment, AttachmentKind};
use crate::provider::{ErrorClass, ModelError};
use crate::session::Posted;
use crate::session::command::Post;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n0123";
const PDF: &[u8] = b"%PDF-1.7 0123";
const IMAGE: &str = "data:image/png;base64,iVBORw0KGgowMTIz";

fn attachment(id: &str, kind: AttachmentKind, mime: &str) -> Attachment {
    Attachment { attachment_id: id.into(), kind, mime: mime.into(), filename: None, sha256: None, media_id: "m".into() }
}

fn image(id: &str) -> Attachment {
    attachment(id, AttachmentKind::Image, "image/png")
}

impl World {
    async fn share(&self, text: &str, mode: Mode, attachments: Vec<Attachment>) -> Posted {
        let post = Post {
            text: text.into(),
            mode: Some(mode),
            model: None,
            instructions: None,
            author: "p".into(),
            trust: Trust::User,
            reply_to: None,
            attachments,
            key: None,
        };
        within(self.sessions.post(&self.sessions.open(&id()).await.unwrap(), post)).await.unwrap()
    }

    async fn keep(&self, attachment: &str, file: Result<&'static [u8], &'static str>) {
        let lease = self.sessions.open(&id()).await.unwrap();
        within(self.sessions.settle_attachment(&lease, &attachment.into(), file.map(Bytes::from_static))).await.unwrap();
    }

    fn bodies(&self) -> Vec<String> {
        self.script.requests.lock().unwrap().iter().map(|(_, body)| String::from_utf8(body.clone()).unwrap()).collect()
    }
}

/// A retry, tools, a restart in mid-stream, a steer that brings another, a second turn.
#[tokio::test(start_paused = true)]
async fn every_request_with_files_rebuilds_byte_for_byte() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| match count {
        0 => vec![failure(ErrorClass::Retry, None)],
        1 => calls(&[("a", "look")]),
        2 => vec![text("I s"), Act::Wait(held.clone())],
        3 => vec![text("I see "), Act::Wait(held.clone()), calls(&[("b", "look")]).remove(0)],
        4 => answer("two cats"),
        _ => answer("as I said"),
    });
    // what it says asks nobody's permission of the call behind it
    let look = TestTool { trust: Trust::User, ..TestTool::new("look", Policy::Allow) };
    let mut world = World::new(&script, vec![look]).await;
    let first = vec![
        image("att_1"),
        attachment("att_2", AttachmentKind::Voice, "audio/ogg"),
        attachment("att_3", AttachmentKind::Document, "application/pdf"),
    ];
    world.share("", Mode::Followup, first).await;
    world.keep("att_1", Ok(PNG)).await;
    world.keep("att_2", Err("too_large")).await;
    assert_eq!(script.count(), 0, "the turn waits for what came with its message");
    world.keep("att_3", Ok(PDF)).await;
    gate.reached().await;
    settle().await;
    world.crash().await;
    gate.reached().await;
    world.share("and this?", Mode::Steer, vec![image("att_4")]).await;
    world.keep("att_4", Ok(PNG)).await;
    (0..4).for_each(|_| gate.open());
    assert_eq!(world.done(1).await.answer, "two cats");
    let second = world.share("sure?", Mode::Followup, Vec::new()).await;
    world.done(second.seq).await;

    let bodies = world.bodies();
    let images: Vec<usize> = bodies.iter().map(|body| body.matches(IMAGE).count()).collect();
    assert_eq!(images, [1, 1, 1, 1, 2, 2]);
    assert!(bodies.iter().all(|body| body.contains("[A voice message came with this; it was too large to be kept.]")));
    assert!(bodies.iter().all(|body| body.contains(r#""filename":"document.pdf""#)));
    assert_rebuilds(&world, 6).await;
}

/// What a provider refused is named in the requests of that turn; the next one tries again.
#[tokio::test(start_paused = true)]
async fn also_where_the_provider_refused_them() {
    let script = Script::new(|request, _| {
        if request.files.any_sent() {
            let message = "could not process image".into();
            return vec![Act::Fail(ModelError { class: ErrorClass::Final, code: "bad_request", message, retry_after: None })];
        }
        answer("I cannot see it")
    });
    let world = World::new(&script, Vec::new()).await;
    world.share("look", Mode::Followup, vec![image("att_1")]).await;
    world.keep("att_1", Ok(PNG)).await;
    assert_eq!(world.done(1).await.reason, DoneReason::Completed);
    let second = world.share("what now?", Mode::Followup, Vec::new()).await;
    assert_eq!(world.done(second.seq).await.answer, "I cannot see it");
    let sent: Vec<bool> = world.bodies().iter().map(|body| body.contains(IMAGE)).collect();
    assert_eq!(sent, [true, false, true, false]);
    let told = world.log().await.into_iter().filter_map(|record| match record.event {
        AgentEvent::Model(Model::Request(request)) => Some(request.without_files),
        AgentEvent::Model(_)
        | AgentEvent::Session(_)
        | AgentEvent::Input(_)
        | AgentEvent::Turn(_)
        | AgentEvent::Tool(_)
        | AgentEvent::Pending(_)
        | AgentEvent::Outside(_)
        | AgentEvent::Unknown(_) => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [false, true, false, true]);
    assert_rebuilds(&world, 4).await;
}

/// Bytes that are not what they were said to be end no turn.
#[tokio::test(start_paused = true)]
async fn a_file_that_is_none_is_named() {
    let world = World::new(&Script::new(|_, _| answer("I cannot read it")), Vec::new()).await;
    world.share("look", Mode::Followup, vec![image("att_1")]).await;
    world.keep("att_1", Ok(b"<html>expired</html>")).await;
    assert_eq!(world.done(1).await.reason, DoneReason::Completed);
    let [body] = &world.bodies()[..] else { panic!("one request") };
    assert!(body.contains("[An image came with this. It could not be read:") && !body.contains("base64"), "{body}");
    assert_rebuilds(&world, 1).await;
}
