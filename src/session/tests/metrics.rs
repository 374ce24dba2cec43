//! What is counted of sessions: what is durable, once, and nothing that stays when its holder goes.

use std::time::Duration;

use super::world::{World, settle};
use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calls, text};
use crate::domain::View;
use crate::domain::event::input::Mode;
use crate::domain::toolset::Policy;
use crate::session::command::Queue;

#[tokio::test(start_paused = true)]
async fn what_is_not_on_disk_is_not_counted() {
    let world = World::new(&Script::new(|_, _| answer("hi")), Vec::new()).await;
    world.store.fail_next_append();
    assert!(world.post("lost", Mode::Followup).await.is_err());
    let accepted = "portico_messages_accepted_total{channel=\"web\"}";
    assert_eq!((world.counted(accepted), world.counted("portico_actor_failures_total")), (0.0, 1.0));
    settle().await;
    assert_eq!(
        (world.counted("portico_actors"), world.counted("portico_turns_running")),
        (0.0, 0.0),
        "the failed actor took its part along"
    );
    world.store.hold_appends();
    let post = world.post_aside("held", None);
    world.store.until_held(1).await;
    settle().await;
    assert_eq!(world.counted(accepted), 0.0, "before its commit");
    world.store.release_appends();
    post.await.unwrap().unwrap();
    assert_eq!(world.counted(accepted), 1.0);
    world.done(1).await;
    assert_eq!(world.counted("portico_turns_total{reason=\"completed\"}"), 1.0);
}

#[tokio::test(start_paused = true)]
async fn gauges_follow_what_waits_and_what_runs() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| if count == 0 { vec![text("a"), Act::Wait(held.clone())] } else { answer("b") });
    let mut world = World::new(&script, Vec::new()).await;
    let gauges = |world: &World| ["portico_actors", "portico_turns_running", "portico_inbox_messages"].map(|name| world.counted(name));
    world.ask("one").await;
    gate.reached().await;
    world.ask("two").await;
    world.ask("three").await;
    assert_eq!(gauges(&world), [1.0, 1.0, 2.0]);
    world.cancel(Queue::Remove).await;
    settle().await;
    assert_eq!(gauges(&world), [1.0, 0.0, 0.0]);
    world.stop().await;
    assert_eq!(gauges(&world), [0.0, 0.0, 0.0]);
}

#[tokio::test(start_paused = true)]
async fn the_first_delta_is_timed_once_a_turn_and_from_its_acceptance() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| match count {
        0 => vec![Act::Wait(held.clone())].into_iter().chain(calls(&[("a", "look")])).collect(),
        _ => [vec![text("one"), text("two")], answer("three")].concat(),
    });
    let world = World::new(&script, vec![TestTool::new("look", Policy::Allow)]).await;
    let asked = world.ask("hi").await;
    gate.reached().await;
    tokio::time::advance(Duration::from_secs(3)).await;
    gate.open();
    world.done(asked.seq).await;
    assert_eq!(world.counted("portico_first_delta_seconds_count"), 1.0);
    let waited = world.counted("portico_first_delta_seconds_sum");
    assert!((3.0..4.0).contains(&waited), "{waited}");
    assert_eq!(world.counted("portico_turn_steps_sum"), 2.0);
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_a_model_makes_up_is_no_label() {
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "look"), ("b", "made_up_4711")]) } else { answer("done") });
    let world = World::new(&script, vec![TestTool::new("look", Policy::Allow)]).await;
    world.ask("hi").await;
    world.done(1).await;
    let called = |tool: &str, status: &str| world.counted(&format!("portico_tool_calls_total{{tool=\"{tool}\",status=\"{status}\"}}"));
    assert_eq!((called("look", "ok"), called("other", "error"), called("made_up_4711", "error")), (1.0, 1.0, 0.0));
    assert_eq!(world.counted("portico_tool_seconds_count{tool=\"look\"}"), 1.0);
    assert_eq!(world.counted("portico_tool_seconds_count{tool=\"other\"}"), 0.0, "it had no body");
}

#[tokio::test(start_paused = true)]
async fn a_session_that_sleeps_and_wakes_is_counted() {
    let mut world = World::new(&Script::new(|_, _| answer("hi")), Vec::new()).await;
    world.ask("hi").await;
    world.done(1).await;
    tokio::time::advance(world.passivate + Duration::from_secs(1)).await;
    settle().await;
    assert_eq!((world.counted("portico_passivations_total"), world.counted("portico_actors")), (1.0, 0.0));
    let _reader = world.reader(View::Owner).await;
    assert_eq!(world.counted("portico_actors"), 0.0, "a reader wakes nobody");
    world.store.hold_appends();
    let _never = world.post_aside("again", None);
    world.store.until_held(1).await;
    world.store.commit_held(1);
    settle().await;
    assert_eq!(world.counted("portico_wake_ups_total"), 0.0);
    world.crash().await;
    settle().await;
    assert_eq!(world.counted("portico_wake_ups_total"), 1.0, "what was open woke by itself");
    assert_eq!(world.counted("portico_retries_total{code=\"restart\"}"), 1.0);
}
