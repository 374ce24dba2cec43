//! The actor's loop: what stands in one append, what waits for it, and that nothing starves.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one event among all")]

use std::time::Duration;

use futures_util::FutureExt;

use super::world::{World, assert_sound, settle};
use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calls, said, text, within};
use crate::domain::event::input::Mode;
use crate::domain::event::model::Model;
use crate::domain::message::text_of;
use crate::domain::toolset::Policy;
use crate::domain::{AgentEvent, Finish, View};
use crate::provider::ModelEvent;
use crate::session::command::Queue;

#[tokio::test(start_paused = true)]
async fn a_turn_without_tools_is_two_appends() {
    let world = World::new(&Script::new(|_, _| answer("hi")), Vec::new()).await;
    for _ in 0..2 {
        world.store.hold_appends();
        let post = world.post_aside("hello", None);
        assert_eq!(world.next_append().await, ["message_queued", "turn_start", "step_start", "request"]);
        assert_eq!(world.next_append().await, ["message", "step_end", "done"]);
        post.await.unwrap().unwrap();
        world.store.release_appends();
    }
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn nothing_has_an_effect_before_it_is_durable() {
    let tool = TestTool::new("write", Policy::Allow);
    let ran = tool.ran.clone();
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "write")]) } else { answer("done") });
    let world = World::new(&script, vec![tool]).await;
    let mut reader = world.reader(View::Admin).await;
    reader.pull().await.unwrap();
    world.store.hold_appends();
    let post = world.post_aside("hello", None);
    world.store.until_held(1).await;
    settle().await;
    assert!(!post.is_finished(), "answered before it is on disk");
    assert!(reader.next_record().now_or_never().is_none(), "shown before it is on disk");
    assert_eq!(script.count(), 1, "a request need not wait");
    world.next_append().await;
    post.await.unwrap().unwrap();
    assert!(reader.next_record().now_or_never().is_some());
    world.store.until_held(1).await;
    settle().await;
    assert!(ran.lock().unwrap().is_empty(), "a body began before its start is on disk");
    assert_eq!(world.next_append().await, ["message", "tool_start"]);
    settle().await;
    assert_eq!(*ran.lock().unwrap(), ["a"]);
    world.store.release_appends();
    world.done(1).await;
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_deltas_starves_nobody() {
    const FLOOD: u32 = 100_000;
    let script = Script::new(|_, count| if count == 0 { vec![Act::Flood(FLOOD)] } else { answer("hi") });
    let world = World::new(&script, Vec::new()).await;
    world.ask("hello").await;
    let mut reader = world.reader(View::Chat).await;
    while reader.cursor().n == 0 {
        reader.pull().await.unwrap();
    }
    let steer = world.post("and this", Mode::Steer).await.unwrap();
    let cancelled = world.cancel(Queue::Remove).await;
    assert_eq!(cancelled.removed, [steer.message_id]);
    let done = world.done(1).await;
    assert_eq!(done.reason.as_str(), "aborted");
    assert!(!done.answer.is_empty() && done.answer.len() < FLOOD as usize, "{}", done.answer.len());
    let kept = world.log().await.iter().find_map(|r| match &r.event {
        AgentEvent::Model(Model::Message(m)) => Some((m.interrupted, text_of(&m.content))),
        _ => None,
    });
    assert_eq!(kept, Some((true, done.answer)));
}

/// The harder case: the turn has its next hundred thousand events in memory, and is ready every time it is asked.
#[tokio::test(start_paused = true)]
async fn a_turn_that_is_always_ready_holds_no_append_up() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, _| {
        let delta = ModelEvent::Text { block: 0, text: "x".into() };
        vec![Act::Wait(held.clone()), Act::Send(vec![delta; 100_000]), said("x", Finish::Stop)]
    });
    let world = World::new(&script, Vec::new()).await;
    world.ask("hello").await;
    gate.reached().await;
    settle().await;
    world.store.hold_appends();
    // both are there when the actor looks next
    gate.open();
    let post = world.post_aside("and this", None);
    assert_eq!(world.next_append().await, ["message_queued"]);
    within(post).await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_steer_goes_to_the_next_step_and_a_followup_to_its_own_turn() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| match count {
        0 => vec![text("fir"), Act::Wait(held.clone()), said("first", Finish::Stop)],
        1 => answer("second"),
        _ => answer("third"),
    });
    let world = World::new(&script, Vec::new()).await;
    let asked = world.ask("one").await;
    gate.reached().await;
    let followup = world.ask("three").await;
    let steer = world.post("two", Mode::Steer).await.unwrap();
    gate.open();
    let first = world.done(1).await;
    assert_eq!((first.message_ids, first.answer.as_str(), first.steps), (vec![asked.message_id, steer.message_id], "second", 2));
    let drain = world.until(1, "queue_drain").await;
    let second = world.done(drain.seq + 8).await;
    assert_eq!((second.message_ids, second.answer.as_str()), (vec![followup.message_id], "third"));
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_message_posted_as_done_appears_gets_its_turn() {
    const TURNS: usize = 500;
    let world = World::new(&Script::new(|_, _| answer("hi")), Vec::new()).await;
    let mut reader = world.reader(View::Admin).await;
    world.ask("first").await;
    for i in 1..TURNS {
        while &*within(reader.next_record()).await.unwrap().unwrap().kind != "done" {}
        let mode = if i % 2 == 0 { Mode::Steer } else { Mode::Followup };
        world.post("next", mode).await.unwrap();
    }
    while &*within(reader.next_record()).await.unwrap().unwrap().kind != "done" {}
    let kinds = world.kinds().await;
    assert_eq!(kinds.iter().filter(|k| *k == "turn_start").count(), TURNS);
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_key_is_one_message_however_often_and_whenever_it_is_posted() {
    let mut world = World::new(&Script::new(|_, _| answer("hi")), Vec::new()).await;
    world.store.hold_appends();
    let posts: Vec<_> = (0..4).map(|_| world.post_aside("once", Some("key"))).collect();
    world.next_append().await;
    let mut ids = Vec::new();
    for (i, post) in posts.into_iter().enumerate() {
        let posted = post.await.unwrap().unwrap();
        assert_eq!((posted.seq, posted.replayed), (2, i > 0));
        ids.push(posted.message_id);
    }
    world.store.release_appends();
    world.done(1).await;
    world.crash().await;
    ids.push(world.insist("once", "key").await.message_id);
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(world.kinds().await.iter().filter(|k| *k == "message_queued").count(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_idle_actor_goes_and_a_reader_keeps_only_the_feed() {
    let mut world = World::new(&Script::new(|_, _| answer("hi")), Vec::new()).await;
    world.passivate = Duration::from_secs(10);
    world.stop().await;
    world.ask("hello").await;
    world.done(1).await;
    let reader = world.reader(View::Chat).await;
    let lease = world.lease().await;
    assert_eq!(world.sessions.awake(), [(super::world::id(), true)]);
    tokio::time::sleep(Duration::from_secs(11)).await;
    settle().await;
    assert_eq!(world.sessions.awake(), [(super::world::id(), false)], "a reader keeps no actor alive");
    drop((reader, lease));
    assert_eq!(world.sessions.awake(), []);
    // and it comes back
    world.ask("again").await;
    let done = world.until(world.log().await.len() as u64 - 4, "done").await;
    assert_eq!(done.turn, Some(2));
    tokio::time::sleep(Duration::from_secs(11)).await;
    settle().await;
    assert_eq!(world.sessions.awake(), [], "an actor that goes takes its entry along");
}
