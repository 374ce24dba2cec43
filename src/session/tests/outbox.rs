//! What a session remembers of what it sends, and what it takes for the end of it.

use std::sync::Arc;

use super::world::World;
use crate::agent::tests::script::{Script, answer, within};
use crate::domain::delivery::DeliveryState::{Read, Sent};
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
    assert!(!within(world.sessions.is_sending(&world.lease().await)).await.unwrap());
    world.status("wamid.out", Read).await;
    assert_eq!(world.states().await[39], Read);
}
