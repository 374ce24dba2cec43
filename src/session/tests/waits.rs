//! Waits for a person: they outlive their actor and their process, end at their own time, and the very call that was approved runs once.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::world::{World, assert_sound, id, settle};
use crate::agent::tests::script::{Script, TestTool, answer, calls, within};
use crate::domain::event::pending::{ApprovalRequested, Pending};
use crate::domain::event::tool::Tool;
use crate::domain::pending::Decision;
use crate::domain::toolset::{CallKind, Policy};
use crate::domain::{AgentEvent, Record};
use crate::session::command::{Resolved, SessionPatch};

/// A session whose turn waits for a decision.
async fn waiting() -> (World, ApprovalRequested, Arc<Mutex<Vec<String>>>) {
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "write")]) } else { answer("done") });
    let tool = TestTool::new("write", Policy::Ask);
    let ran = tool.ran.clone();
    let mut world = World::new(&script, vec![tool]).await;
    world.passivate = Duration::from_secs(10);
    world.stop().await;
    world.ask("go").await;
    let asked = world.until(1, "approval_requested").await;
    let AgentEvent::Pending(Pending::ApprovalRequested(asked)) = Record::from_json(&asked.json).unwrap().event else { panic!() };
    (world, asked, ran)
}

async fn assert_approved_once(world: &World, ran: &Mutex<Vec<String>>) {
    let done = world.done(1).await;
    assert_eq!((done.reason.as_str(), done.answer.as_str()), ("completed", "done"));
    assert_eq!(*ran.lock().unwrap(), ["a"]);
    assert!(!world.kinds().await.contains(&"turn_continued".to_owned()), "a turn that only waited was not interrupted");
    assert_eq!(world.script.count(), 2, "the model is not asked again for what it said");
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_decision_wakes_a_passivated_turn() {
    let (world, asked, ran) = waiting().await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    settle().await;
    assert!(world.sessions.awake().iter().all(|(_, awake)| !awake), "it waits without an actor");
    assert!(ran.lock().unwrap().is_empty());
    let resolved = world.decide(asked.approval_id.as_str(), Decision::AllowOnce).await.unwrap();
    assert!(matches!(resolved, Resolved::Stands(_)));
    assert_approved_once(&world, &ran).await;
}

#[tokio::test(start_paused = true)]
async fn a_decision_wakes_a_turn_of_another_process() {
    for graceful in [true, false] {
        let (mut world, asked, ran) = waiting().await;
        for _ in 0..4 {
            match graceful {
                true => world.stop().await,
                false => world.crash().await,
            }
            settle().await;
        }
        let id = asked.approval_id.as_str();
        assert!(matches!(world.decide(id, Decision::AllowOnce).await.unwrap(), Resolved::Stands(_)));
        assert_approved_once(&world, &ran).await;
        // said again, and otherwise
        assert!(matches!(world.decide(id, Decision::AllowOnce).await.unwrap(), Resolved::Stands(_)));
        assert!(matches!(world.decide(id, Decision::Deny).await.unwrap(), Resolved::Conflict));
    }
}

#[tokio::test(start_paused = true)]
async fn a_wait_expires_at_its_own_time_whatever_happened_meanwhile() {
    let mut ends = Vec::new();
    for restarts in [0, 3] {
        let (mut world, asked, ran) = waiting().await;
        for _ in 0..restarts {
            tokio::time::sleep(Duration::from_secs(600)).await;
            world.crash().await;
            settle().await;
        }
        tokio::time::sleep(Duration::from_secs(3_600)).await;
        let expired = world.until(1, "tool_approval").await;
        let record = Record::from_json(&expired.json).unwrap();
        assert!(expired.json.contains("\"decision\":\"expired\""));
        let late = record.head.at.since(asked.expires_at);
        assert!(record.head.at >= asked.expires_at && late < Duration::from_secs(1), "{late:?} late");
        ends.push(late);
        let done = world.done(1).await;
        assert_eq!((done.reason.as_str(), done.tool_calls.len()), ("completed", 1));
        assert!(ran.lock().unwrap().is_empty());
        assert!(matches!(world.decide(asked.approval_id.as_str(), Decision::AllowOnce).await.unwrap(), Resolved::Gone(_)));
        assert_sound(&world.log().await);
    }
    assert_eq!(ends.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_decision_is_answered_when_it_is_on_disk() {
    let (world, asked, ran) = waiting().await;
    world.store.hold_appends();
    let (sessions, approval) = (world.sessions.clone(), asked.approval_id.to_string());
    let decided = tokio::spawn(async move {
        let lease = sessions.open(&id()).await.unwrap();
        let answer = crate::session::command::Resolution::Decision { decision: Decision::AllowOnce, note: None, digest: None };
        sessions.resolve(&lease, approval, answer, "p".into()).await
    });
    world.store.until_held(1).await;
    settle().await;
    assert!(!decided.is_finished() && ran.lock().unwrap().is_empty());
    assert_eq!(world.next_append().await[0], "tool_approval");
    assert!(matches!(decided.await.unwrap().unwrap(), Resolved::Stands(_)));
    world.store.release_appends();
    assert_approved_once(&world, &ran).await;
}

#[tokio::test(start_paused = true)]
async fn a_wait_without_an_actor_is_no_part_of_the_turns_time() {
    let (world, asked, ran) = waiting().await;
    world.limit(|limits| limits.deadline = Duration::from_secs(600));
    tokio::time::sleep(Duration::from_secs(3_000)).await;
    assert!(world.sessions.awake().iter().all(|(_, awake)| !awake), "it waits without an actor");
    world.decide(asked.approval_id.as_str(), Decision::AllowOnce).await.unwrap();
    assert_approved_once(&world, &ran).await;
}

/// The settings changed while somebody was asked.
#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_outlives_a_lower_limit_of_steps() {
    let (mut world, asked, ran) = waiting().await;
    world.stop().await;
    world.limit(|limits| limits.max_steps = 0);
    assert!(matches!(world.decide(asked.approval_id.as_str(), Decision::AllowOnce).await.unwrap(), Resolved::Stands(_)));
    let done = world.done(1).await;
    assert_eq!((done.reason.as_str(), done.answer.as_str()), ("max_steps", "done"));
    assert_eq!(*ran.lock().unwrap(), ["a"]);
    assert_sound(&world.log().await);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_can_no_longer_run_closes_its_wait() {
    for decided in [false, true] {
        let script = Script::new(|_, count| if count == 0 { calls(&[("a", "write")]) } else { answer("done") });
        let tool = TestTool::new("write", Policy::Ask);
        let (ran, refuses) = (tool.ran.clone(), tool.refuses.clone());
        let mut world = World::new(&script, vec![tool]).await;
        world.ask("go").await;
        let asked = world.until(1, "approval_requested").await;
        if decided {
            let asked: serde_json::Value = serde_json::from_str(&asked.json).unwrap();
            world.store.hold_appends();
            let (sessions, id) = (world.sessions.clone(), asked["approval_id"].as_str().unwrap().to_owned());
            tokio::spawn(async move {
                let lease = sessions.open(&super::world::id()).await.unwrap();
                let answer = crate::session::command::Resolution::Decision { decision: Decision::AllowOnce, note: None, digest: None };
                sessions.resolve(&lease, id, answer, "p".into()).await
            });
            assert_eq!(world.next_append().await[0], "tool_approval");
        }
        refuses.store(true, std::sync::atomic::Ordering::Relaxed);
        world.crash().await;
        // a wait alone wakes nobody
        within(world.sessions.update(&world.lease().await, SessionPatch::default())).await.unwrap();
        let done = world.done(1).await;
        assert_eq!((done.reason.as_str(), done.answer.as_str(), done.tool_calls.len()), ("completed", "done", 1), "decided: {decided}");
        assert!(ran.lock().unwrap().is_empty());
        assert_sound(&world.log().await);
    }
}

/// The third kind of wait: the client runs the call. The same mechanism, the same restart, the same answer again.
#[tokio::test(start_paused = true)]
async fn a_clients_result_is_the_calls_result_also_after_a_crash() {
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "screen")]) } else { answer("seen") });
    let tool = TestTool { kind: CallKind::Client, ..TestTool::new("screen", Policy::Allow) };
    let ran = tool.ran.clone();
    let mut world = World::new(&script, vec![tool]).await;
    world.ask("look").await;
    world.until(1, "client_call_requested").await;
    world.crash().await;
    settle().await;
    assert!(matches!(world.give("a", "a red door").await.unwrap(), Resolved::Stands(_)));
    let done = world.done(1).await;
    assert_eq!((done.reason.as_str(), done.answer.as_str()), ("completed", "seen"));
    assert!(ran.lock().unwrap().is_empty(), "it has no body here");
    let log = world.log().await;
    let given = |record: &Record| matches!(&record.event, AgentEvent::Tool(Tool::ToolEnd(end)) if end.content == "a red door");
    assert_eq!(log.iter().filter(|record| given(record)).count(), 1);
    assert_sound(&log);
    assert!(matches!(world.give("a", "a red door").await.unwrap(), Resolved::Stands(_)));
    assert!(matches!(world.give("a", "a blue one").await.unwrap(), Resolved::Conflict));
}
