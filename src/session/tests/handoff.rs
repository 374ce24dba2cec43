//! A person takes over: the agent is silent, and input is answered once.

use std::time::Duration;

use super::places::{arrival, phone};
use super::world::{World, assert_sound, id, settle};
use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calls, said, text, within};
use crate::domain::overview::Status;
use crate::domain::toolset::Policy;
use crate::domain::{Attachment, AttachmentKind, Finish, SurfaceMessage};
use crate::session::TakeOver;
use crate::session::command::{IntakeKey, Queue};
use crate::store::Store;

#[tokio::test(start_paused = true)]
async fn what_comes_while_a_person_is_there_waits_for_the_end() {
    let world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    world.hears("one", "wamid.1").await;
    let first = world.until(1, "done").await;
    let overview = world.takes_over(30, None, None, None).await;
    assert_eq!(overview.status, Status::Paused);
    let began = world.now();
    world.hears("two", "wamid.2").await;
    settle().await;
    assert_eq!(world.script.count(), 1);
    while world.kinds().await.iter().filter(|k| *k == "done").count() < 2 {
        tokio::time::sleep(Duration::from_secs(7)).await;
    }
    let done = world.done(first.seq).await;
    assert_eq!((done.answer.as_str(), world.now().since(began).as_secs() / 60), ("hello", 30));
    assert_eq!(world.lease().await.overview().unwrap().status, Status::Idle);
    assert_sound(&world.log().await);
}

/// A session that sleeps wakes for the end, so that nobody is shown a pause that is over.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_pause_is_known_without_anybody() {
    let mut world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    world.hears("one", "wamid.1").await;
    world.done(1).await;
    world.takes_over(30, None, None, None).await;
    world.crash().await;
    tokio::time::sleep(Duration::from_secs(31 * 60)).await;
    settle().await;
    assert_eq!(world.lease().await.overview().unwrap().status, Status::Idle);
    assert_eq!(world.kinds().await.iter().filter(|k| *k == "handoff").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_a_person_says_answers_the_input_that_waits() {
    let world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    world.debounce(Duration::from_secs(5));
    world.hears("one", "wamid.1").await;
    world.hears("two", "wamid.2").await;
    world.takes_over(30, Some("I am here."), Some(phone("1", "wamid.2")), Some("echo.1")).await;
    let done = world.done(1).await;
    assert_eq!((done.answer.as_str(), done.steps, done.message_ids.len()), ("I am here.", 0, 2));
    assert_eq!(world.said().await, ["1: I am here."], "once, and not as the turn's answer too");
    let before = world.log().await.len();
    world.takes_over(30, Some("I am here."), Some(phone("1", "wamid.2")), Some("echo.1")).await;
    assert_eq!(world.log().await.len(), before, "an echo happens once");
    // nothing waits any more: the words alone
    world.takes_over(30, Some("Still here."), None, None).await;
    let kinds = world.kinds().await;
    assert_eq!(kinds[before..], ["handoff", "message"]);
    assert_eq!(world.script.count(), 0);
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn an_echo_happens_once_across_a_crash() {
    let mut world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    world.hears("one", "wamid.1").await;
    world.done(1).await;
    world.takes_over(30, Some("I am here."), None, Some("echo.1")).await;
    let before = world.log().await.len();
    world.crash().await;
    world.takes_over(30, Some("I am here."), None, Some("echo.1")).await;
    assert_eq!(world.log().await.len(), before);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_runs_ends_without_a_word() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |request, count| match count {
        0 => vec![text("par"), Act::Wait(held.clone()), said("partial", Finish::Stop)],
        _ => {
            let person =
                |m: &SurfaceMessage| matches!(m, SurfaceMessage::Assistant { content } if format!("{content:?}").contains("I am here."));
            answer(if request.messages.iter().any(|m| person(m)) { "I know" } else { "what?" })
        }
    });
    let world = World::empty(&script, Vec::new());
    world.hears("one", "wamid.1").await;
    gate.reached().await;
    world.hears("two", "wamid.2").await;
    world.takes_over(30, Some("I am here."), Some(phone("1", "wamid.2")), None).await;
    let first = world.until(1, "done").await;
    assert!(first.json.contains(r#""reason":"aborted""#));
    let second = world.done(first.seq).await;
    assert_eq!((second.answer.as_str(), second.steps), ("I am here.", 0));
    assert_eq!(world.said().await, ["1: I am here."]);
    // given back: what comes now is the agent's again, and it knows what was said
    let given = world.takes_over(0, None, None, None).await;
    assert_eq!(given.status, Status::Idle);
    let after = world.log().await.len() as u64;
    world.hears("three", "wamid.3").await;
    assert_eq!(world.done(after).await.answer, "I know");
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_leaves_it_to_the_person_to_tell() {
    let world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    world.hears("one", "wamid.1").await;
    world.done(1).await;
    world.takes_over(30, None, None, None).await;
    within(world.sessions.receive(&id(), arrival("two", &phone("1", "wamid.2")))).await.unwrap();
    world.cancel(Queue::Remove).await;
    assert_eq!(world.said().await, ["1: hello"]);
}

/// What a turn that does not end at once was cancelled for is not done yet.
#[tokio::test(start_paused = true)]
async fn a_crash_before_a_turns_end_loses_no_word_and_starts_no_other() {
    let gate = Gate::new();
    let tool = TestTool { gates: vec![("a", gate.clone())], obeys: false, ..TestTool::new("write", Policy::Allow) };
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "write")]) } else { answer("from the agent") });
    let mut world = World::empty(&script, vec![tool]);
    world.hears("one", "wamid.1").await;
    gate.reached().await;
    let key = IntakeKey { tenant: "t".into(), scope: "s".into(), external_id: "echo.1".into(), body_hash: String::new() };
    let until = world.now() + Duration::from_secs(1_800);
    let wish = TakeOver { by: "ann".into(), until, text: Some("I am here.".into()), send_to: None, key: Some(key) };
    let (sessions, lease) = (world.sessions.clone(), world.lease().await);
    let taking: Vec<_> = (0..2)
        .map(|_| {
            let (sessions, wish) = (sessions.clone(), wish.clone());
            tokio::spawn(async move { sessions.take_over(&sessions.open(&id()).await?, wish).await })
        })
        .collect();
    world.until(1, "handoff").await;
    settle().await;
    assert!(taking.iter().all(|taking| !taking.is_finished()), "nor is it answered when it comes again");
    assert!(world.store.intake("t", "s", "echo.1").await.unwrap().is_none());
    world.crash().await;
    taking.iter().for_each(tokio::task::JoinHandle::abort);
    drop(lease);
    // the turn that was to end does, and nothing is sent of it
    let first = world.until(1, "done").await;
    assert!(first.json.contains(r#""reason":"aborted""#), "{}", first.json);
    world.takes_over(30, Some("I am here."), None, Some("echo.1")).await;
    assert!(world.store.intake("t", "s", "echo.1").await.unwrap().is_some());
    let kinds = world.kinds().await;
    let people = world.log().await.iter().filter(|r| format!("{:?}", r.event).contains("I am here.")).count();
    assert_eq!((people, kinds.contains(&"delivery".to_owned()), world.script.count()), (1, false, 1), "{kinds:?}");
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_message_whose_file_is_on_its_way_is_not_answered_by_a_person() {
    let world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    let mut with_file = arrival("[Image]", &phone("1", "wamid.1"));
    let (attachment_id, kind, mime) = ("att_1".into(), AttachmentKind::Image, "image/jpeg".into());
    with_file.post.attachments = vec![Attachment { attachment_id, kind, mime, filename: None, sha256: None, media_id: "1".into() }];
    world.receive(with_file).await.unwrap();
    world.takes_over(30, Some("I am here."), None, None).await;
    assert!(!world.kinds().await.contains(&"turn_start".to_owned()));
    let file = Ok(bytes::Bytes::from_static(b"JPEG"));
    within(world.sessions.settle_attachment(&world.lease().await, &"att_1".into(), file)).await.unwrap();
    world.takes_over(0, None, None, None).await;
    assert_eq!(world.done(1).await.answer, "hello");
}
