//! What counts as a sign of life, and who is silent while a person is there.

use std::time::Duration;

use super::places::{arrival, phone, user};
use super::world::{World, settle};
use crate::agent::tests::script::{Script, TestTool, answer, calls, within};
use crate::domain::pending::Decision;
use crate::domain::toolset::Policy;
use crate::session::command::{ReplyTo, Resolution, Resolved};
use crate::session::delivery::{Due, PartOutcome};

/// A session whose answer is held until its receiver writes.
async fn held() -> World {
    let world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    world.hears("hi", "wamid.1").await;
    world.done(1).await;
    world.holds().await;
    world
}

impl World {
    async fn holds(&self) {
        self.outcome(&self.part().await, PartOutcome::Held { code: "131047".into() }).await;
        assert_eq!((self.claim().await, self.listed().await.last().unwrap().held), (Due::Nothing, true));
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_frees_what_is_held() {
    let world = held().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(world.notices(phone("1", "wamid.poll"), "I can't read that.").await);
    assert!(!world.listed().await[0].held);
    let part = world.part().await;
    assert_eq!((part.content.text.as_str(), part.last_inbound), ("hello", Some(world.now())));
    world.outcome(&part, PartOutcome::Sent { channel_message_id: "wamid.out".into() }).await;
    assert_eq!(world.send("wamid.out2").await, "I can't read that.");
}

#[tokio::test(start_paused = true)]
async fn a_person_is_heard_under_any_of_his_ids() {
    let world = held().await;
    world.receive(arrival("hi", &user("US.1", "wamid.2"))).await.unwrap();
    assert_eq!(world.part().await.content.text, "hello");
}

#[tokio::test(start_paused = true)]
async fn a_button_frees_what_is_held() {
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "write")]) } else { answer("done") });
    let world = World::empty(&script, vec![TestTool::new("write", Policy::Ask)]);
    world.hears("go", "wamid.1").await;
    let asked: serde_json::Value = serde_json::from_str(&world.until(1, "approval_requested").await.json).unwrap();
    world.holds().await;
    let id = asked["approval_id"].as_str().unwrap().to_owned();
    let press = async || {
        let press = Resolution::Press(Decision::AllowOnce);
        within(world.sessions.resolve(&world.lease().await, id.clone(), press, "1".into())).await.unwrap()
    };
    assert!(matches!(press().await, Resolved::Stands(_)));
    assert!(matches!(press().await, Resolved::Stands(_)), "the same again");
    world.done(1).await;
    assert!(world.listed().await.iter().all(|row| !row.held));
}

#[tokio::test(start_paused = true)]
async fn who_wrote_nothing_readable_can_be_answered_by_a_person() {
    let world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    within(world.sessions.create(&super::world::id(), super::world::created("whatsapp", Some("main")), None)).await.unwrap();
    let nobody = within(world.sessions.reply_to(&world.lease().await)).await.unwrap();
    assert_eq!(nobody, ReplyTo::Unknown);
    world.notices(phone("1", "wamid.poll"), "I can't read that.").await;
    let place = within(world.sessions.reply_to(&world.lease().await)).await.unwrap();
    assert_eq!(place, ReplyTo::Place(phone("1", "wamid.poll")));
}

#[tokio::test(start_paused = true)]
async fn the_gateway_is_silent_while_a_person_is_there() {
    let world = World::empty(&Script::new(|_, _| answer("hello")), Vec::new());
    world.hears("one", "wamid.1").await;
    world.done(1).await;
    world.takes_over(30, None, None, None).await;
    assert!(!world.notices(phone("1", "wamid.poll"), "I can't read that.").await);
    world.takes_over(0, None, None, None).await;
    assert!(world.notices(phone("1", "wamid.poll2"), "I can't read that.").await);
    settle().await;
    assert_eq!(world.said().await, ["1: hello", "1: I can't read that."]);
}
