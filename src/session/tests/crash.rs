//! Crashes: at every append boundary of a turn with tools and an approval, one after another, and too many of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;

use super::world::{World, assert_sound, id, settle};
use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calls, text};
use crate::domain::event::turn::CallStatus;
use crate::domain::pending::Decision;
use crate::domain::toolset::Policy;
use crate::domain::{Cursor, SurfaceMessage, View};
use crate::session::Sessions;
use crate::session::command::Resolution;
use crate::session::reader::{Filter, Reader};

/// Calls two tools, and answers when it has their results.
fn script() -> Arc<Script> {
    Script::new(|request, _| match request.messages.last().map(AsRef::as_ref) {
        Some(SurfaceMessage::ToolResult { .. }) => answer("done"),
        _ => calls(&[("look", "look"), ("write", "write")]),
    })
}

/// Somebody who permits whatever is asked, and says it again after each restart.
fn person(sessions: &Sessions) -> JoinHandle<()> {
    let sessions = sessions.clone();
    tokio::spawn(async move {
        while let Ok(lease) = sessions.open(&id()).await {
            if sessions.repair(&lease).await.is_err() {
                return;
            }
            let filter = Filter { view: View::Owner, types: None, may_decide: Arc::new(|_| true) };
            let Ok(mut reader) = Reader::new(lease.feed().clone(), filter, Cursor::default()) else { return };
            while let Ok(Ok(record)) = reader.next_record().await {
                if &*record.kind == "approval_requested" {
                    let asked: serde_json::Value = serde_json::from_str(&record.json).unwrap();
                    let answer = Resolution::Decision { decision: Decision::AllowOnce, note: None, digest: None };
                    // a session whose append fails is asked again by the next process
                    let _ = sessions.resolve(&lease, asked["approval_id"].as_str().unwrap().into(), answer, "p".into()).await;
                }
            }
        }
    })
}

/// Commits at most so many appends; how many there were.
async fn commit(world: &World, most: usize) -> usize {
    for count in 0..most {
        if tokio::time::timeout(Duration::from_secs(20), world.store.until_held(1)).await.is_err() {
            return count;
        }
        world.store.commit_held(1);
    }
    most
}

/// A turn whose process crashes after each of these numbers of appends. How many appends the last process made, and which bodies began.
async fn crashing(after: &[usize]) -> (usize, Arc<Mutex<Vec<String>>>, World) {
    let ran = Arc::new(Mutex::new(Vec::new()));
    // long results, so that each crash may come between what is kept of one and its record
    let says: BTreeMap<_, _> = [("look", 120_000), ("write", 60_000)].map(|(of, long)| (of.to_owned(), of.repeat(long / of.len()))).into();
    let tool = |name, policy| TestTool { ran: ran.clone(), says: says.clone(), ..TestTool::new(name, policy) };
    let mut world = World::new(&script(), vec![tool("look", Policy::Allow), tool("write", Policy::Ask)]).await;
    world.store.hold_appends();
    let mut somebody = person(&world.sessions);
    let post = world.post_aside("go", Some("key"));
    for appends in after {
        commit(&world, *appends).await;
        settle().await;
        somebody.abort();
        world.crash().await;
        world.store.hold_appends();
        somebody = person(&world.sessions);
    }
    let appends = commit(&world, usize::MAX).await;
    world.store.release_appends();
    post.abort();
    if world.store_has_no_message().await {
        world.insist("go", "key").await;
    }
    world.done(1).await;
    somebody.abort();
    (appends, ran, world)
}

impl World {
    async fn store_has_no_message(&self) -> bool {
        !self.kinds().await.iter().any(|k| k == "message_queued")
    }
}

async fn assert_ended_once(after: &[usize]) {
    let (_, ran, world) = crashing(after).await;
    let log = world.log().await;
    assert_sound(&log);
    world.assert_kept(&log).await;
    let kinds = world.kinds().await;
    for kind in ["message_queued", "turn_start", "done", "approval_requested"] {
        let count = kinds.iter().filter(|k| *k == kind).count();
        assert!(count == 1 || (kind == "approval_requested" && count == 0), "{after:?}: {count} of {kind} in {kinds:?}");
    }
    let mut times = BTreeMap::new();
    ran.lock().unwrap().iter().for_each(|of| *times.entry(of.clone()).or_insert(0) += 1);
    assert!(times.values().all(|t| *t == 1), "{after:?}: {times:?}");
    let done = world.done(1).await;
    let may_end = if after.len() > 2 { ["completed", "interrupted"] } else { ["completed"; 2] };
    assert!(may_end.contains(&done.reason.as_str()), "{after:?}: {done:?}");
    assert!(!done.answer.is_empty(), "its sender hears");
    assert!(!after.is_empty() || done.tool_calls.iter().all(|c| c.status == CallStatus::Ok), "{done:?}");
}

#[tokio::test(start_paused = true)]
async fn at_every_append_boundary() {
    let (appends, ran, _) = crashing(&[]).await;
    assert!(appends >= 5, "{appends}");
    assert_eq!(*ran.lock().unwrap(), ["look", "write"]);
    assert_ended_once(&[]).await;
    for first in 0..=appends {
        assert_ended_once(&[first]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn at_every_two_append_boundaries() {
    let (appends, ..) = crashing(&[]).await;
    for first in 0..appends {
        for second in 0..5 {
            assert_ended_once(&[first, second]).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn at_three() {
    for boundaries in [[1, 0, 0], [1, 1, 1], [2, 1, 1], [2, 2, 2], [1, 2, 3], [3, 1, 2]] {
        assert_ended_once(&boundaries).await;
    }
}

/// A turn that never ends by itself.
fn endless() -> (Arc<Script>, Gate) {
    let gate = Gate::new();
    let held = gate.clone();
    (Script::new(move |_, _| [vec![text("I am"), Act::Wait(held.clone())], answer("back")].concat()), gate)
}

#[tokio::test(start_paused = true)]
async fn after_two_continuations_the_third_crash_ends_the_turn() {
    let (script, gate) = endless();
    let mut world = World::new(&script, Vec::new()).await;
    world.ask("hello").await;
    for crash in 0..3 {
        gate.reached().await;
        settle().await;
        world.crash().await;
        if crash < 2 {
            let continued = world.kinds_after_restart("turn_continued", crash + 1).await;
            assert!(continued.json.contains(&format!("\"count\":{},\"cause\":\"crash\"", crash + 1)), "{}", continued.json);
        }
    }
    let done = world.done(1).await;
    assert_eq!(done.reason.as_str(), "interrupted");
    assert!(!done.answer.is_empty());
    assert_eq!(script.count(), 3);
    assert_sound(&world.log().await);
}

impl World {
    /// The `count`th record of that kind.
    async fn kinds_after_restart(&self, kind: &str, count: usize) -> Arc<crate::session::record::FeedRecord> {
        let mut after = 0;
        for _ in 1..count {
            after = self.until(after, kind).await.seq;
        }
        self.until(after, kind).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_graceful_stop_does_not_count() {
    let (script, gate) = endless();
    let mut world = World::new(&script, Vec::new()).await;
    world.ask("hello").await;
    for stop in 1..=5 {
        gate.reached().await;
        settle().await;
        world.stop().await;
        let continued = world.kinds_after_restart("turn_continued", stop).await;
        assert!(continued.json.contains("\"cause\":\"stop\""), "{}", continued.json);
    }
    gate.reached().await;
    (0..10).for_each(|_| gate.open());
    assert_eq!(world.done(1).await.reason.as_str(), "completed");
    assert_eq!(world.kinds().await.iter().filter(|k| *k == "retry").count(), 5, "each restart voids what was live");
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_stop_lets_a_turn_reach_its_end_and_takes_no_more() {
    let (script, gate) = endless();
    let mut world = World::new(&script, Vec::new()).await;
    world.ask("hello").await;
    gate.reached().await;
    let (sessions, lease) = (world.sessions.clone(), world.lease().await);
    let stopping = tokio::spawn(async move { sessions.stop().await });
    settle().await;
    assert!(world.ask_refused(&lease).await);
    gate.open();
    stopping.await.unwrap();
    assert_eq!(world.kinds().await.last().unwrap(), "done");
    world.store = Arc::new(world.store.reopen());
    world.start().await;
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn the_time_without_a_process_is_no_part_of_the_turns() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| match count {
        0 => vec![text("Hel"), Act::Wait(held.clone())],
        _ => answer("hello"),
    });
    let mut world = World::new(&script, Vec::new()).await;
    world.limit(|limits| limits.deadline = Duration::from_secs(600));
    world.ask("hi").await;
    gate.reached().await;
    settle().await;
    world.store = Arc::new(world.store.reopen());
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    world.start().await;
    let done = world.done(1).await;
    assert_eq!((done.reason.as_str(), done.answer.as_str()), ("completed", "hello"));
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_process_that_stops_before_it_has_come_to_all_that_is_due_has_not_woken() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, _| vec![Act::Wait(held.clone())]);
    let mut world = World::new(&script, Vec::new()).await;
    world.ask("hi").await;
    gate.reached().await;
    settle().await;
    world.crash().await;
    world.sessions.stop().await;
    assert!(!world.sessions.has_woken(), "the next start would take the crash for a graceful stop");
}
