//! Messages from places outside: once, with their session, and not before their files.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::places::{arrival, phone};
use super::world::{World, assert_sound, id, settle};
use crate::agent::tests::script::{Script, answer, within};
use crate::domain::event::input::Mode;
use crate::domain::{Attachment, AttachmentKind, View};
use crate::session::SessionError;
use crate::store::Store;

fn hello() -> Arc<Script> {
    Script::new(|_, _| answer("hello"))
}

#[tokio::test(start_paused = true)]
async fn a_first_message_and_its_session_are_one_append() {
    let world = World::empty(&hello(), Vec::new());
    world.store.hold_appends();
    let (sessions, first) = (world.sessions.clone(), arrival("hi", &phone("1", "wamid.1")));
    let received = tokio::spawn(async move { sessions.receive(&id(), first).await });
    assert_eq!(world.next_append().await, ["session_created", "message_queued", "turn_start", "step_start", "request"]);
    received.await.unwrap().unwrap();
    assert_eq!(world.next_append().await, ["message", "step_end", "done", "delivery"]);
    assert_eq!(world.store.alias("t", "whatsapp:main", "phone:1").await.unwrap(), Some(id()));
    assert!(world.store.intake("t", "s", "wamid.1").await.unwrap().is_some());
    world.store.release_appends();
    assert_eq!(world.said().await, ["1: hello"]);
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn twenty_copies_at_once_are_one_message_and_one_session() {
    let world = World::empty(&hello(), Vec::new());
    let copies: Vec<_> = (0..20)
        .map(|_| {
            let (sessions, copy) = (world.sessions.clone(), arrival("hi", &phone("1", "wamid.1")));
            tokio::spawn(async move { sessions.receive(&id(), copy).await })
        })
        .collect();
    let mut fresh = 0;
    for copy in copies {
        fresh += usize::from(!within(copy).await.unwrap().unwrap().replayed);
    }
    world.done(1).await;
    assert!(world.hears("hi", "wamid.1").await.replayed, "and later too");
    let kinds = world.kinds().await;
    let count = |kind| kinds.iter().filter(|k| *k == kind).count();
    assert_eq!((fresh, count("message_queued"), count("delivery")), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn what_a_deleted_session_accepted_is_not_taken_again() {
    let world = World::empty(&hello(), Vec::new());
    world.hears("hi", "wamid.1").await;
    world.done(1).await;
    within(world.sessions.delete(&id())).await.unwrap();
    let again = world.receive(arrival("hi", &phone("1", "wamid.1"))).await;
    assert!(matches!(again, Err(SessionError::NotFound)), "{again:?}");
    assert_eq!(world.store.alias("t", "whatsapp:main", "phone:1").await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_post_that_has_no_address_gets_no_delivery() {
    let world = World::empty(&hello(), Vec::new());
    world.debounce(Duration::from_secs(5));
    world.hears("hi", "wamid.1").await;
    let done = world.until(1, "done").await;
    world.post("and this", Mode::Followup).await.unwrap();
    world.done(done.seq).await;
    assert_eq!(world.said().await, ["1: hello"]);
}

fn photo() -> Attachment {
    let (attachment_id, kind, mime) = ("att_1".into(), AttachmentKind::Image, "image/jpeg".into());
    Attachment { attachment_id, kind, mime, filename: None, sha256: None, media_id: "1".into() }
}

#[tokio::test(start_paused = true)]
async fn a_turn_waits_for_the_file_of_its_message() {
    let mut world = World::empty(&hello(), Vec::new());
    let mut with_file = arrival("[Image]", &phone("1", "wamid.1"));
    with_file.post.attachments = vec![photo()];
    world.receive(with_file).await.unwrap();
    world.told(0).await;
    let before = *world.sink.told.borrow();
    world.crash().await;
    // whoever fetches is told again by the process that wakes
    world.told(before).await;
    let lease = world.lease().await;
    assert_eq!(within(world.sessions.unsettled(&lease)).await.unwrap(), [photo()]);
    assert!(!world.kinds().await.contains(&"turn_start".to_owned()));
    for _ in 0..2 {
        within(world.sessions.settle_attachment(&lease, &"att_1".into(), Ok(Bytes::from_static(b"JPEG")))).await.unwrap();
    }
    world.done(1).await;
    assert_eq!(world.kinds().await.iter().filter(|k| *k == "attachment").count(), 1);
    assert_eq!(world.store.blob(&id(), &"att_1".into()).await.unwrap(), Some(b"JPEG".to_vec()));
    assert_eq!(within(world.sessions.unsettled(&lease)).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_never_comes_is_given_up_after_a_minute() {
    let world = World::empty(&hello(), Vec::new());
    let mut with_file = arrival("[Image]", &phone("1", "wamid.1"));
    with_file.post.attachments = vec![photo()];
    let asked_at = world.now();
    world.receive(with_file).await.unwrap();
    let mut reader = world.reader(View::Admin).await;
    tokio::time::sleep(Duration::from_secs(59)).await;
    settle().await;
    assert_eq!(world.kinds().await, ["session_created", "message_queued"]);
    world.done(1).await;
    assert_eq!(world.now().since(asked_at).as_secs(), 60);
    let settled = loop {
        let record = within(reader.next_record()).await.unwrap().unwrap();
        if &*record.kind == "attachment" {
            break record;
        }
    };
    assert!(settled.json.contains(r#""code":"timeout""#), "{}", settled.json);
}

#[tokio::test(start_paused = true)]
async fn what_its_sender_takes_back_is_removed_as_that() {
    let world = World::empty(&hello(), Vec::new());
    world.debounce(Duration::from_secs(5));
    let posted = world.hears("hi", "wamid.1").await;
    within(world.sessions.retract(&world.lease().await, posted.message_id, "1".into())).await.unwrap();
    let removed = world.until(1, "message_removed").await;
    assert!(removed.json.contains(r#""reason":"retracted""#));
}
