//! A thought in several messages is one turn, on a channel where people write so.

use std::time::Duration;

use super::places::{arrival, phone};
use super::world::{World, assert_sound, settle};
use crate::agent::tests::script::{Act, Gate, Script, answer, said, text};
use crate::domain::Finish;
use crate::domain::event::input::Mode;

const DEBOUNCE: Duration = Duration::from_millis(1_500);

#[tokio::test(start_paused = true)]
async fn a_burst_is_one_turn_and_answers_its_newest_message() {
    let world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    world.debounce(DEBOUNCE);
    for (n, text) in ["one", "two", "three"].into_iter().enumerate() {
        world.hears(text, &format!("wamid.{n}")).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    settle().await;
    assert_eq!(world.script.count(), 0);
    let done = world.done(1).await;
    assert_eq!((done.message_ids.len(), world.script.count()), (3, 1));
    assert_eq!(world.deliveries().await[0].to, Some(phone("1", "wamid.2")));
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_burst_outlives_its_process() {
    let mut world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    world.debounce(DEBOUNCE);
    world.hears("one", "wamid.1").await;
    world.crash().await;
    let began = world.now();
    let done = world.done(1).await;
    assert!(world.now().since(began) <= DEBOUNCE && done.message_ids.len() == 1);
}

/// It has waited long enough when its turn comes.
#[tokio::test(start_paused = true)]
async fn what_comes_while_a_turn_runs_is_one_turn_too() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| match count {
        0 => vec![text("fir"), Act::Wait(held.clone()), said("first", Finish::Stop)],
        _ => answer("second"),
    });
    let world = World::empty(&script, Vec::new());
    world.debounce(DEBOUNCE);
    world.hears("one", "wamid.1").await;
    gate.reached().await;
    for n in 2..5 {
        world.hears("more", &format!("wamid.{n}")).await;
    }
    tokio::time::sleep(DEBOUNCE).await;
    gate.open();
    let first = world.until(1, "done").await;
    let ended = world.now();
    let second = world.done(first.seq).await;
    assert_eq!((second.message_ids.len(), second.answer.as_str(), world.now()), (3, "second", ended));
}

#[tokio::test(start_paused = true)]
async fn a_steer_does_not_wait() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| match count {
        0 => vec![text("fir"), Act::Wait(held.clone()), said("first", Finish::Stop)],
        _ => answer("second"),
    });
    let world = World::empty(&script, Vec::new());
    world.debounce(DEBOUNCE);
    world.hears("one", "wamid.1").await;
    gate.reached().await;
    let mut steer = arrival("and this", &phone("2", "wamid.2"));
    steer.post.mode = Some(Mode::Steer);
    world.receive(steer).await.unwrap();
    gate.open();
    let done = world.done(1).await;
    assert_eq!((done.message_ids.len(), done.answer.as_str()), (2, "second"));
    assert_eq!(world.said().await, ["1: second", "2: second"], "each place that the turn took something from");
}
