//! What breaks underneath: an append that fails, an answer that is lost, code that panics.

use std::time::Duration;

use super::world::{World, assert_sound, id, settle};
use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calls, text, within};
use crate::domain::event::input::Trust;
use crate::domain::toolset::Policy;
use crate::domain::{SurfaceMessage, View};
use crate::session::SessionError;
use crate::session::command::Resolution;
use crate::session::feed::Closing;
use crate::session::reader::Pulled;

#[derive(Clone, Copy, Debug)]
enum Fault {
    NotWritten,
    AnswerLost,
}

/// A turn with a tool, of which the append of that number goes wrong. False when there are not that many.
async fn with_fault(fault: Fault, at: usize) -> bool {
    let script = Script::new(|request, _| match request.messages.last().map(AsRef::as_ref) {
        Some(SurfaceMessage::ToolResult { .. }) => [vec![text("do")], answer("done")].concat(),
        _ => calls(&[("a", "write")]),
    });
    // what it says counts for nothing here: the second turn calls it without asking
    let tool = TestTool { trust: Trust::Trusted, ..TestTool::new("write", Policy::Allow) };
    let ran = tool.ran.clone();
    let world = World::new(&script, vec![tool]).await;
    let mut reader = world.reader(View::Owner).await;
    world.store.hold_appends();
    let post = world.post_aside("go", Some("key"));
    for _ in 0..at {
        if tokio::time::timeout(Duration::from_secs(5), world.store.until_held(1)).await.is_err() {
            return false;
        }
        world.store.commit_held(1);
    }
    if tokio::time::timeout(Duration::from_secs(5), world.store.until_held(1)).await.is_err() {
        return false;
    }
    match fault {
        Fault::NotWritten => world.store.fail_next_append(),
        Fault::AnswerLost => world.store.lose_next_answer(),
    }
    world.store.commit_held(1);
    // readers are told to come again
    loop {
        match reader.pull().await.unwrap() {
            Pulled::Closing(why) => break assert_eq!(why, Closing::Draining),
            Pulled::Items(_) => {}
        }
    }
    assert_eq!(post.await.unwrap().is_err(), at == 0, "an answer says what is on disk");
    world.store.release_appends();
    world.insist("go", "key").await;
    let done = world.done(1).await;
    assert_eq!(done.reason.as_str(), "completed", "{fault:?} at {at}: {done:?}");
    let log = world.log().await;
    assert_sound(&log);
    let kinds = world.kinds().await;
    for kind in ["message_queued", "done"] {
        assert_eq!(kinds.iter().filter(|k| *k == kind).count(), 1, "{fault:?} at {at}: {kinds:?}");
    }
    assert!(ran.lock().unwrap().len() <= 1);
    // and the session works on
    let asked = world.ask("again").await;
    assert_eq!(world.done(asked.seq).await.reason.as_str(), "completed");
    true
}

#[tokio::test(start_paused = true)]
async fn a_failed_append_drops_the_actor_and_the_turn_goes_on() {
    let mut at = 0;
    while with_fault(Fault::NotWritten, at).await {
        at += 1;
    }
    assert!(at >= 4, "{at}");
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_doubles_nothing() {
    let mut at = 0;
    while with_fault(Fault::AnswerLost, at).await {
        at += 1;
    }
    assert!(at >= 4, "{at}");
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_provider_is_the_turns_end_and_not_the_sessions() {
    for panic in [vec![Act::PanicAtOnce], vec![text("Hel"), Act::Panic]] {
        let script = Script::new(move |request, _| match request.messages.len() {
            1 => panic.clone(),
            _ => answer("hi again"),
        });
        let world = World::new(&script, Vec::new()).await;
        world.ask("hello").await;
        let done = world.done(1).await;
        assert_eq!((done.reason.as_str(), done.code.as_deref()), ("error", Some("internal")));
        assert!(!done.answer.is_empty());
        let asked = world.ask("still there?").await;
        assert_eq!(world.done(asked.seq).await.answer, "hi again");
        assert_sound(&world.log().await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_panic_of_a_tool_is_a_result() {
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "bad"), ("b", "good")]) } else { answer("done") });
    let bad = TestTool { panics: true, ..TestTool::new("bad", Policy::Allow) };
    let world = World::new(&script, vec![bad, TestTool::new("good", Policy::Allow)]).await;
    world.ask("hello").await;
    let done = world.done(1).await;
    settle().await;
    assert_eq!((done.reason.as_str(), done.tool_calls.len()), ("completed", 2));
    assert!(world.kinds().await.contains(&"tool_error".to_owned()));
    assert_sound(&world.log().await);
}

/// It is there, and not to be read now: nobody is told that it does not exist.
#[tokio::test(start_paused = true)]
async fn a_repair_that_is_not_written_leaves_the_session_there() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| if count == 0 { vec![text("Hel"), Act::Wait(held.clone())] } else { answer("hello") });
    let mut world = World::new(&script, Vec::new()).await;
    world.ask("hi").await;
    gate.reached().await;
    settle().await;
    world.crash().await;
    world.store.hold_appends();
    let sessions = world.sessions.clone();
    let opened = tokio::spawn(async move { sessions.repair(&sessions.open(&id()).await?).await });
    world.store.until_held(1).await;
    settle().await;
    assert!(!opened.is_finished(), "served before the repair is on disk");
    world.store.fail_next_append();
    world.store.commit_held(1);
    let opened = within(opened).await.unwrap();
    assert!(matches!(opened, Err(SessionError::Unavailable(_))), "{opened:?}");
    world.store.release_appends();
    assert_eq!(world.done(1).await.answer, "hello");
}

/// An actor that is told nothing but that its senders are gone hears of it also behind a full inbox.
#[tokio::test(start_paused = true)]
async fn a_deleted_session_has_no_actor_however_full_its_inbox() {
    let gate = Gate::new();
    let held = gate.clone();
    let world = World::new(&Script::new(move |_, _| vec![Act::Wait(held.clone())]), Vec::new()).await;
    world.ask("hi").await;
    gate.reached().await;
    settle().await;
    let sessions = world.sessions.clone();
    let deleted = tokio::spawn(async move { sessions.delete(&id()).await });
    // they come before the actor is next polled
    let answers = (0..200).map(|_| {
        let sessions = world.sessions.clone();
        tokio::spawn(async move {
            let lease = sessions.open(&id()).await?;
            sessions.resolve(&lease, "apr_none".into(), Resolution::Answers(None), "p".into()).await
        })
    });
    for answer in answers.collect::<Vec<_>>() {
        // there is no such wait, or no room, or no such session
        let _ = within(answer).await.unwrap();
    }
    within(deleted).await.unwrap().unwrap();
    settle().await;
    assert_eq!(world.sessions.awake(), []);
}
