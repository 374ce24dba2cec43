//! What goes to places outside: queued with what it says, sent after its `sending` is durable, and never lost.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::places::{arrival, group, phone};
use super::world::{World, assert_sound, id, settle};
use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calls, said, text, within};
use crate::domain::delivery::DeliveryState::{Dead, Delivered, Failed, Queued, Read, Sending, Sent, Unknown};
use crate::domain::pending::Decision;
use crate::domain::toolset::Policy;
use crate::domain::{Finish, Timestamp};
use crate::session::command::Queue;
use crate::session::delivery::{Due, PartOutcome};
use crate::session::{Retried, SessionError};
use crate::store::Store;

fn says(answer_is: &'static str) -> Arc<Script> {
    Script::new(move |_, _| answer(answer_is))
}

/// A session whose answer of these parts waits to be sent.
async fn answered(parts: &'static str) -> World {
    let world = World::empty(&says(parts), Vec::new());
    world.hears("hi", "wamid.in").await;
    world.done(1).await;
    world
}

fn code(code: &str) -> String {
    code.into()
}

#[tokio::test(start_paused = true)]
async fn a_part_is_handed_out_once_its_sending_is_durable() {
    let world = answered("one|two").await;
    world.told(0).await;
    world.store.hold_appends();
    let (sessions, lease) = (world.sessions.clone(), world.lease().await);
    let claim = tokio::spawn(async move { sessions.claim_part(&lease).await });
    world.store.until_held(1).await;
    settle().await;
    assert!(!claim.is_finished(), "handed out before it is on disk");
    assert_eq!(world.next_append().await, ["delivery"]);
    let Due::Part(claimed) = within(claim).await.unwrap().unwrap() else { panic!() };
    assert_eq!((claimed.content.text.as_str(), claimed.part, claimed.of, claimed.attempt), ("one", 1, 2, 1));
    assert_eq!((claimed.to.message.as_deref(), claimed.last_inbound.is_some()), (Some("wamid.in"), true));
    world.store.release_appends();
    assert_eq!(world.claim().await, Due::Nothing, "the next part waits for it");
    world.outcome(&claimed, PartOutcome::Sent { channel_message_id: "wamid.1".into() }).await;
    let row = world.store.intake("t", "sent:whatsapp:main", "wamid.1").await.unwrap().unwrap();
    assert_eq!((row.session, row.message_id, row.body_hash), (id(), None, format!("{}:1", claimed.delivery_id)));
    assert_eq!(world.listed().await[0].channel_message_ids, ["wamid.1"]);
    assert_eq!((world.states().await, world.listed().await[0].part), (vec![Queued], 2));
    assert_eq!(world.send("wamid.2").await, "two");
    assert_eq!(world.states().await, [Sent]);
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_repeats_its_ids_costs_no_append() {
    let world = answered("one|two").await;
    world.send("wamid.1").await;
    world.send("wamid.1").await;
    assert_eq!(world.states().await, [Sent]);
    assert_eq!(world.counted("portico_actor_failures_total"), 0.0);
}

#[tokio::test(start_paused = true)]
async fn what_a_platform_tells_later_only_goes_forward() {
    let world = answered("one").await;
    world.send("wamid.1").await;
    for (told, shown) in [(Delivered, Delivered), (Sent, Delivered), (Read, Read), (Delivered, Read), (Failed, Read), (Failed, Read)] {
        world.status("wamid.1", told).await;
        assert_eq!(world.states().await, [shown]);
    }
    world.status("wamid.unknown", Read).await;
    let states: Vec<_> = world.deliveries().await.iter().map(|d| d.state).collect();
    assert_eq!(states, [Queued, Sending, Sent, Delivered, Read, Failed], "what changes nothing has no record");
}

#[tokio::test(start_paused = true)]
async fn a_status_may_come_before_the_outcome() {
    let world = answered("one").await;
    let claimed = world.part().await;
    let status = crate::session::DeliveryStatus {
        delivery_id: Some(claimed.delivery_id.clone()),
        part: Some(1),
        channel_message_id: "wamid.1".into(),
        state: Delivered,
        code: None,
        then: None,
    };
    within(world.sessions.delivery_status(&world.lease().await, status)).await.unwrap();
    world.outcome(&claimed, PartOutcome::Unknown { code: code("timeout") }).await;
    assert_eq!((world.states().await, world.claim().await), (vec![Delivered], Due::Nothing));
}

#[tokio::test(start_paused = true)]
async fn a_part_that_failed_is_due_again_at_its_time() {
    let world = answered("one").await;
    let retry_at = world.now() + Duration::from_secs(30);
    world.outcome(&world.part().await, PartOutcome::Failed { code: code("http_503"), retry_at }).await;
    assert_eq!((world.claim().await, world.states().await), (Due::Later(retry_at), vec![Failed]));
    let before = *world.sink.told.borrow();
    world.told(before).await;
    assert!(world.now() >= retry_at);
    assert_eq!(world.part().await.attempt, 2);
}

/// Also where the session sleeps meanwhile.
#[tokio::test(start_paused = true)]
async fn what_is_due_wakes_its_session() {
    let mut world = answered("one").await;
    let retry_at = world.now() + Duration::from_secs(3_000);
    world.outcome(&world.part().await, PartOutcome::Failed { code: code("http_503"), retry_at }).await;
    tokio::time::sleep(Duration::from_secs(700)).await;
    settle().await;
    assert!(world.sessions.awake().iter().all(|(_, awake)| !awake));
    world.crash().await;
    let before = *world.sink.told.borrow();
    let told = world.sink.told.subscribe().wait_for(|told| *told > before).await.map(|told| *told);
    assert!(told.is_ok() && world.now() >= retry_at);
}

#[tokio::test(start_paused = true)]
async fn what_is_held_goes_when_the_receiver_writes() {
    let world = answered("one").await;
    world.outcome(&world.part().await, PartOutcome::Held { code: code("131047") }).await;
    let held = world.listed().await.remove(0);
    assert_eq!((held.state, held.held, held.code.as_deref(), world.claim().await), (Queued, true, Some("131047"), Due::Nothing));
    assert_eq!(world.store.due(Timestamp(u64::MAX), 9).await.unwrap().0, [], "no time wakes it");
    let lease = world.lease().await;
    within(world.sessions.receive(&id(), arrival("hi", &group("g", "wamid.other")))).await.unwrap();
    drop(lease);
    assert!(world.listed().await[0].held, "somebody else");
    world.hears("again", "wamid.in2").await;
    assert!(!world.listed().await[0].held);
    assert_eq!(world.send("wamid.1").await, "one");
}

#[tokio::test(start_paused = true)]
async fn what_nobody_knows_is_given_up_and_the_next_goes_on() {
    let world = answered("one|two").await;
    world.outcome(&world.part().await, PartOutcome::Unknown { code: code("timeout") }).await;
    world.hears("again", "wamid.in2").await;
    let since = world.now();
    world.until(world.log().await.len() as u64 - 1, "delivery").await;
    assert_eq!(world.claim().await, Due::Nothing);
    while world.states().await[0] != Dead {
        let before = *world.sink.told.borrow();
        world.told_slowly(before).await;
    }
    assert_eq!(world.now().since(since).as_secs(), 600);
    assert_eq!(world.listed().await[0].code.as_deref(), Some("outcome_unknown"));
    let next = world.part().await;
    assert_eq!((next.content.text.as_str(), next.to.message.as_deref()), ("one", Some("wamid.in2")));
}

impl World {
    async fn told_slowly(&self, before: usize) {
        let told = self.sink.told.subscribe().wait_for(|told| *told > before).await.map(|told| *told);
        assert!(told.is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn an_operator_tries_again_what_is_dead() {
    let world = answered("one|two").await;
    world.send("wamid.1").await;
    let claimed = world.part().await;
    world.outcome(&claimed, PartOutcome::Dead { code: code("131026") }).await;
    let lease = world.lease().await;
    let retry = async || within(world.sessions.retry_delivery(&lease, &claimed.delivery_id, "ann".into())).await;
    let Retried::Queued(view) = retry().await.unwrap() else { panic!() };
    assert_eq!((view.state, view.part), (Queued, 2));
    assert_eq!(world.send("wamid.2").await, "two");
    assert!(matches!(retry().await.unwrap(), Retried::Standing(view) if view.state == Sent));
    let unknown = within(world.sessions.retry_delivery(&lease, &"dlv_none".into(), "ann".into())).await;
    assert!(matches!(unknown, Err(SessionError::NotFound)), "{unknown:?}");
}

#[tokio::test(start_paused = true)]
async fn a_notice_does_not_come_too_often() {
    let world = answered("one").await;
    let notice = async |id: &str, text: &str| world.notices(phone("1", id), text).await;
    assert_eq!((notice("wamid.n1", "Please write.").await, notice("wamid.n2", "Please write.").await), (true, false));
    assert!(notice("wamid.n3", "Too late.").await, "another sentence is news");
    tokio::time::sleep(Duration::from_secs(61)).await;
    assert!(!notice("wamid.n1", "Please write.").await, "the same message comes again");
    assert!(notice("wamid.n4", "Please write.").await);
    assert_eq!(world.said().await, ["1: one", "1: Please write.", "1: Too late.", "1: Please write."]);
}

#[tokio::test(start_paused = true)]
async fn an_account_that_is_gone_leaves_the_words() {
    let world = World::empty(&says("one|two"), Vec::new());
    world.sink.gone.store(true, Ordering::Relaxed);
    world.hears("hi", "wamid.in").await;
    world.done(1).await;
    let claimed = world.part().await;
    assert_eq!((claimed.content.text.as_str(), claimed.of), ("one|two", 1));
}

#[tokio::test(start_paused = true)]
async fn who_cannot_be_reached_does_not_get_all_of_it_later() {
    let world = answered("one").await;
    for n in 0..70 {
        assert!(world.notices(phone("1", &format!("wamid.n{n}")), &n.to_string()).await);
    }
    let states = world.states().await;
    let dead = states.iter().filter(|state| **state == Dead).count();
    assert_eq!((dead, states.len()), (7, 71));
    assert_eq!(world.part().await.content.text, "6");
}

#[tokio::test(start_paused = true)]
async fn an_approval_is_asked_where_the_turn_came_from() {
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "write")]) } else { answer("done") });
    let world = World::empty(&script, vec![TestTool::new("write", Policy::Ask)]);
    world.hears("go", "wamid.in").await;
    let asked = world.until(1, "approval_requested").await;
    settle().await;
    assert_eq!(world.said().await, ["1: may I write?"]);
    assert!(!world.sink.types(), "it waits for a person");
    let asked: serde_json::Value = serde_json::from_str(&asked.json).unwrap();
    world.decide(asked["approval_id"].as_str().unwrap(), Decision::AllowOnce).await.unwrap();
    world.done(1).await;
    assert_eq!(world.said().await, ["1: may I write?", "1: done"]);
    assert!(!world.sink.types());
}

/// A turn that stands at a gate, in a session with another message in its inbox.
async fn running() -> (World, Gate) {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| match count {
        0 => vec![Act::Wait(held.clone()), text("par"), said("partial", Finish::Stop)],
        _ => answer("second"),
    });
    let world = World::empty(&script, Vec::new());
    world.hears("one", "wamid.1").await;
    gate.reached().await;
    assert!(world.sink.types());
    world.receive(arrival("two", &phone("2", "wamid.2"))).await.unwrap();
    (world, gate)
}

#[tokio::test(start_paused = true)]
async fn nobody_is_left_with_silence_by_anothers_cancel() {
    let (world, _gate) = running().await;
    world.cancel(Queue::Remove).await;
    let done = world.done(1).await;
    assert_eq!(done.answer, "Sorry, this was stopped before I had an answer.");
    assert_eq!(
        world.said().await,
        ["2: I stopped; your last message was not answered.", "1: Sorry, this was stopped before I had an answer."]
    );
    assert!(!world.sink.types());
}

#[tokio::test(start_paused = true)]
async fn who_stops_his_own_turn_hears_no_more_of_it() {
    let (world, _gate) = running().await;
    within(world.sessions.cancel(&world.lease().await, Queue::Keep, "1".into())).await.unwrap();
    let first = world.until(1, "done").await;
    world.done(first.seq).await;
    assert_eq!(world.said().await, ["2: second"]);
}

#[tokio::test(start_paused = true)]
async fn a_stop_hands_out_nothing_and_waits_for_what_is_on_its_way() {
    let mut world = answered("one|two").await;
    let (claimed, lease) = (world.part().await, world.lease().await);
    let sessions = world.sessions.clone();
    let stopping = tokio::spawn(async move { sessions.stop().await });
    settle().await;
    assert!(!stopping.is_finished(), "whoever sends it may still say what came of it");
    let outcome = PartOutcome::Sent { channel_message_id: "wamid.1".into() };
    within(world.sessions.part_outcome(&lease, &claimed.delivery_id, 1, outcome)).await.unwrap();
    let refused = within(world.sessions.claim_part(&lease)).await;
    assert!(matches!(refused, Err(SessionError::Stopping)), "{refused:?}");
    within(stopping).await.unwrap();
    drop(lease);
    world.store = Arc::new(world.store.reopen());
    world.start().await;
    assert_eq!(world.send("wamid.2").await, "two");
}

#[tokio::test(start_paused = true)]
async fn a_stop_does_not_wait_for_ever() {
    let world = answered("one").await;
    world.part().await;
    let began = world.now();
    within(world.sessions.stop()).await;
    assert_eq!(world.now().since(began).as_secs(), 5);
    assert_eq!(world.states().await, [Sending]);
}

#[tokio::test(start_paused = true)]
async fn what_was_being_sent_when_the_process_ended_is_unknown() {
    let mut world = answered("one").await;
    let claimed = world.part().await;
    world.crash().await;
    within(async {
        while world.states().await != [Unknown] {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    assert_eq!((world.listed().await[0].code.as_deref(), world.claim().await), (Some("restart"), Due::Nothing));
    // the platform's word for it decides
    let status = crate::session::DeliveryStatus {
        delivery_id: Some(claimed.delivery_id),
        part: Some(1),
        channel_message_id: "wamid.1".into(),
        state: Sent,
        code: None,
        then: None,
    };
    within(world.sessions.delivery_status(&world.lease().await, status)).await.unwrap();
    assert_eq!(world.states().await, [Sent]);
}

/// Crashes at every append boundary of a message's life, from its arrival until its answer of two parts is sent: no part is sent twice unless
/// nobody knows that it was, the answer is one delivery, and it ends.
#[tokio::test(start_paused = true)]
async fn a_crash_at_any_append_loses_no_delivery() {
    for crash_after in 0..9 {
        let mut world = World::empty(&says("one|two"), Vec::new());
        world.store.hold_appends();
        let mut sent: Vec<(u32, bool)> = Vec::new();
        let life = {
            let sessions = world.sessions.clone();
            tokio::spawn(async move {
                sessions.receive(&id(), arrival("hi", &phone("1", "wamid.in"))).await?;
                let lease = sessions.open(&id()).await?;
                for n in 1.. {
                    let claimed = loop {
                        if let Due::Part(claimed) = sessions.claim_part(&lease).await? {
                            break claimed;
                        }
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    };
                    let outcome = PartOutcome::Sent { channel_message_id: format!("wamid.{n}") };
                    sessions.part_outcome(&lease, &claimed.delivery_id, claimed.part, outcome).await?;
                }
                Ok::<_, SessionError>(())
            })
        };
        for _ in 0..crash_after {
            if tokio::time::timeout(Duration::from_secs(1), world.store.until_held(1)).await.is_err() {
                break;
            }
            world.store.commit_held(1);
            settle().await;
        }
        world.crash().await;
        life.abort();
        world.receive(arrival("hi", &phone("1", "wamid.in"))).await.unwrap();
        world.done(1).await;
        within(async {
            while world.states().await.iter().any(|state| matches!(state, Queued | Sending)) && !sent.iter().any(|(_, last)| *last) {
                if let Due::Part(claimed) = world.claim().await {
                    sent.push((claimed.part, claimed.part == claimed.of));
                    let outcome = PartOutcome::Sent { channel_message_id: format!("wamid.again{}", claimed.part) };
                    world.outcome(&claimed, outcome).await;
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
        let deliveries = world.deliveries().await;
        let starts = deliveries.iter().filter(|d| d.parts.is_some()).count();
        let states = world.states().await;
        assert_eq!((starts, states.len()), (1, 1), "after {crash_after}");
        assert!(matches!(states[0], Sent | Unknown), "after {crash_after}: {states:?}");
        for part in [1, 2] {
            let begun = deliveries.iter().filter(|d| d.state == Sending && d.part == part).count();
            assert!(begun <= 1, "after {crash_after}: part {part} was sent {begun} times");
        }
        assert_sound(&world.log().await);
    }
}
