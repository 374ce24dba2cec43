//! A cancel in every phase of a turn: one honest end, each call its result, and a session that works on.

use std::sync::Arc;
use std::time::Duration;

use super::world::{World, assert_sound, settle};
use crate::agent::tests::port::profile;
use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calls, failure, said, text, within};
use crate::domain::event::input::Mode;
use crate::domain::toolset::Policy;
use crate::domain::{Finish, ToolCallId};
use crate::provider::ErrorClass;
use crate::session::SessionError;
use crate::session::command::Queue;

/// Cancels when the gate is reached; the turn ends, and the next message is answered.
async fn cancelled_at(first: impl Fn() -> Vec<Act> + Send + Sync + 'static, gate: Gate, tools: Vec<TestTool>) -> (World, String) {
    let script = Script::new(move |_, count| if count == 0 { first() } else { answer("hi again") });
    let world = World::new(&script, tools).await;
    world.ask("hello").await;
    gate.reached().await;
    settle().await;
    assert_eq!(world.cancel(Queue::Remove).await.turn, Some(1));
    let done = world.done(1).await;
    assert_eq!(done.reason.as_str(), "aborted");
    works_on(&world).await;
    (world, done.answer)
}

async fn works_on(world: &World) {
    let asked = world.ask("still there?").await;
    let done = world.done(asked.seq).await;
    assert_eq!((done.reason.as_str(), done.answer.as_str()), ("completed", "hi again"));
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn before_anything_is_visible() {
    let gate = Gate::new();
    let held = gate.clone();
    let (world, answer) = cancelled_at(move || vec![Act::Wait(held.clone())], gate, Vec::new()).await;
    assert_eq!(answer, "");
    assert_eq!(world.kinds().await.iter().filter(|k| *k == "message").count(), 1, "only the second turn said something");
}

#[tokio::test(start_paused = true)]
async fn where_nobody_watches_its_sender_hears_that_it_was_stopped() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, _| vec![Act::Wait(held.clone())]);
    let mut unwatched = profile();
    unwatched.capabilities.attended = false;
    let world = World::on(unwatched, &script, Vec::new()).await;
    world.ask("hello").await;
    gate.reached().await;
    world.cancel(Queue::Remove).await;
    let done = world.done(1).await;
    assert_eq!((done.reason.as_str(), done.answer.as_str()), ("aborted", "Sorry, this was stopped before I had an answer."));
}

#[tokio::test(start_paused = true)]
async fn after_visible_text() {
    let gate = Gate::new();
    let held = gate.clone();
    let (world, answer) = cancelled_at(move || vec![text("Hel"), text("lo"), Act::Wait(held.clone())], gate, Vec::new()).await;
    assert_eq!(answer, "Hello");
    assert_eq!(world.kinds().await.iter().filter(|k| *k == "message").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn in_the_back_off() {
    let script = Script::new(|_, count| match count {
        0 => vec![text("Hel"), failure(ErrorClass::Retry, Some(Duration::from_secs(60)))],
        _ => answer("hi again"),
    });
    let world = World::new(&script, Vec::new()).await;
    world.ask("hello").await;
    world.until(1, "retry").await;
    world.cancel(Queue::Remove).await;
    assert_eq!((world.done(1).await.reason.as_str(), script.count()), ("aborted", 1));
    works_on(&world).await;
}

#[tokio::test(start_paused = true)]
async fn while_a_person_decides() {
    let tool = TestTool::new("write", Policy::Ask);
    let wrote = tool.ran.clone();
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "write"), ("b", "write")]) } else { answer("hi again") });
    let world = World::new(&script, vec![tool]).await;
    world.ask("hello").await;
    world.until(1, "approval_requested").await;
    world.cancel(Queue::Remove).await;
    let done = world.done(1).await;
    assert_eq!(done.reason.as_str(), "aborted");
    assert_eq!(done.tool_calls.iter().map(|c| c.tool_call_id.clone()).collect::<Vec<_>>(), ["a", "b"].map(ToolCallId::from));
    assert!(wrote.lock().unwrap().is_empty());
    assert_eq!(world.kinds().await.iter().filter(|k| *k == "tool_approval").count(), 2);
    works_on(&world).await;
}

#[tokio::test(start_paused = true)]
async fn while_a_tool_runs() {
    let gate = Gate::new();
    let tool = TestTool { gates: vec![("a", gate.clone())], ..TestTool::new("write", Policy::Allow) };
    let ran = tool.ran.clone();
    let (world, _) = cancelled_at(|| calls(&[("a", "write"), ("b", "write")]), gate, vec![tool]).await;
    assert_eq!(*ran.lock().unwrap(), ["a"]);
    let errors = world.kinds().await.iter().filter(|k| *k == "tool_error").count();
    assert_eq!(errors, 2);
}

#[tokio::test(start_paused = true)]
async fn an_idle_session_is_poisoned_by_nothing() {
    let world = World::new(&Script::new(|_, _| answer("hi again")), Vec::new()).await;
    for _ in 0..3 {
        let cancelled = world.cancel(Queue::Remove).await;
        assert_eq!((cancelled.turn, cancelled.removed.len()), (None, 0));
    }
    assert_eq!(world.kinds().await, ["session_created"]);
    works_on(&world).await;
}

#[tokio::test(start_paused = true)]
async fn kept_input_is_the_next_turn_and_other_input_is_removed() {
    for queue in [Queue::Keep, Queue::Remove] {
        let gate = Gate::new();
        let held = gate.clone();
        let script = Script::new(move |_, count| if count == 0 { vec![Act::Wait(held.clone())] } else { answer("hi again") });
        let world = World::new(&script, Vec::new()).await;
        world.ask("hello").await;
        gate.reached().await;
        let steer = world.post("more", Mode::Steer).await.unwrap();
        let cancelled = world.cancel(queue).await;
        assert_eq!(cancelled.removed.contains(&steer.message_id), queue == Queue::Remove);
        let first = world.until(1, "done").await;
        if queue == Queue::Keep {
            assert_eq!(world.done(first.seq).await.message_ids, [steer.message_id]);
        }
        works_on(&world).await;
    }
}

/// Whatever the instant: a cancel and the end of a turn do not tread on each other.
#[tokio::test(start_paused = true)]
async fn at_any_instant() {
    for instant in 0..60 {
        let tool = TestTool::new("write", Policy::Allow);
        let ran: Arc<_> = tool.ran.clone();
        let script = Script::new(|_, count| match count {
            0 => calls(&[("a", "write")]),
            1 => vec![text("d"), said("done", Finish::Stop)],
            _ => answer("hi again"),
        });
        let world = World::new(&script, vec![tool]).await;
        world.ask("hello").await;
        for _ in 0..instant {
            tokio::task::yield_now().await;
        }
        let cancelled = world.cancel(Queue::Remove).await;
        let done = within(world.done(1)).await;
        assert!(cancelled.turn.is_some() || done.reason.as_str() == "completed", "{instant}");
        assert!(ran.lock().unwrap().len() <= 1);
        let asked = world.ask("still there?").await;
        assert_eq!(world.done(asked.seq).await.reason.as_str(), "completed");
        assert_sound(&world.log().await);
    }
}

/// The stop waits for the turn no longer, and the actor only for its last append: the turn goes on after the restart.
#[tokio::test(start_paused = true)]
async fn a_turn_that_the_stop_has_let_go_is_not_said_to_be_cancelled() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, _| vec![Act::Wait(held.clone())]);
    let world = World::new(&script, Vec::new()).await;
    world.ask("hello").await;
    gate.reached().await;
    settle().await;
    let lease = world.lease().await;
    world.store.hold_appends();
    let steer = world.post_aside("and this", None);
    world.store.until_held(1).await;
    let sessions = world.sessions.clone();
    let stopped = tokio::spawn(async move { sessions.stop().await });
    tokio::time::sleep(Duration::from_secs(6)).await;
    let sessions = world.sessions.clone();
    let cancelled = tokio::spawn(async move { sessions.cancel(&lease, Queue::Keep, "p".into()).await });
    settle().await;
    world.store.release_appends();
    let cancelled = within(cancelled).await.unwrap();
    assert!(matches!(cancelled, Err(SessionError::Stopping)), "{cancelled:?}");
    within(steer).await.unwrap().unwrap();
    within(stopped).await.unwrap();
    assert!(!world.kinds().await.contains(&"done".to_owned()));
}
