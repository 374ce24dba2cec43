//! What a session remembers of what it sends, and what it takes for the end of it.

use std::sync::Arc;
use std::time::Duration;

use super::world::World;
use crate::agent::tests::script::{Script, TestTool, answer, calls, within};
use crate::domain::delivery::DeliveryState::{Dead, Read, Sent};
use crate::domain::delivery::Purpose;
use crate::domain::toolset::Policy;
use crate::session::command::Queue;
use crate::session::delivery::PartOutcome;

fn says(answer_is: &'static str) -> Arc<Script> {
    Script::new(move |_, _| answer(answer_is))
}

fn code(code: &str) -> String {
    code.into()
}

/// However many are remembered: the list never shows as on its way what is over.
#[tokio::test(start_paused = true)]
async fn the_list_has_the_end_of_each_delivery() {
    let world = World::empty(&says("one"), Vec::new());
    for n in 0..40 {
        let posted = world.hears("hi", &format!("wamid.in{n}")).await;
        world.done(posted.seq).await;
        let outcome = match n {
            39 => PartOutcome::Sent { channel_message_id: "wamid.out".into() },
            _ => PartOutcome::Dead { code: code("131026") },
        };
        world.outcome(&world.part().await, outcome).await;
    }
    assert_eq!(world.states().await[39], Sent);
    assert!(!within(world.sessions.may_be_sending(&world.lease().await)).await.unwrap());
    world.status("wamid.out", Read).await;
    assert_eq!(world.states().await[39], Read);
}

#[tokio::test(start_paused = true)]
async fn what_the_account_is_refused_for_is_no_attempt() {
    let world = World::empty(&says("one"), Vec::new());
    world.hears("hi", "wamid.in").await;
    world.done(1).await;
    for _ in 0..3 {
        let part = world.part().await;
        assert_eq!(part.attempt, 1);
        world.outcome(&part, PartOutcome::Refused { code: code("190"), retry_at: world.now() }).await;
    }
    let part = world.part().await;
    world.outcome(&part, PartOutcome::Failed { code: code("503"), retry_at: world.now() }).await;
    assert_eq!(world.part().await.attempt, 2);
}

/// A button whose question is over is not sent any more.
#[tokio::test(start_paused = true)]
async fn an_approval_that_is_not_sent_yet_goes_with_its_wait() {
    for cancelled in [true, false] {
        let script = Script::new(|_, count| if count == 0 { calls(&[("a", "write")]) } else { answer("done") });
        let world = World::empty(&script, vec![TestTool::new("write", Policy::Ask)]);
        world.hears("go", "wamid.in").await;
        world.until(1, "approval_requested").await;
        let part = world.part().await;
        let retry_at = world.now() + Duration::from_secs(86_400);
        world.outcome(&part, PartOutcome::Failed { code: code("503"), retry_at }).await;
        match cancelled {
            true => drop(world.cancel(Queue::Keep).await),
            false => tokio::time::sleep(Duration::from_secs(3_601)).await,
        }
        world.done(1).await;
        let row = world.listed().await.remove(0);
        assert_eq!((row.purpose, row.state, row.code.as_deref()), (Purpose::Approval, Dead, Some("withdrawn")));
    }
}

#[tokio::test(start_paused = true)]
async fn the_sign_that_somebody_writes_begins_once_a_turn() {
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "write")]) } else { answer("done") });
    let world = World::empty(&script, vec![TestTool::new("write", Policy::Allow)]);
    world.hears("go", "wamid.in").await;
    world.done(1).await;
    assert_eq!((world.script.count(), world.sink.typing.lock().unwrap().len()), (2, 1));
}
