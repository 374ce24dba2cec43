//! What the log and `/readyz` tell of a platform that does not take what is sent.

use super::{World, ana};
use crate::harness::graph::Mishap;
use crate::harness::poll;

#[tokio::test]
async fn the_second_failure_in_a_row_is_told_and_so_is_its_end() {
    let world = World::new().await;
    world.refuse(429, 130_429);
    world.refuse(429, 130_429);
    world.says(&ana(), "wamid.1", "hello").await;
    world.reads(&ana(), 1).await;
    poll("the end", || async { world.gateway.log().contains("was sent after all").then_some(()) }).await;
    let log = world.gateway.log();
    let told: Vec<&str> = log.lines().filter(|line| line.contains("130429")).collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains("WARN") && told[0].contains("it is tried again at 20") && told[0].contains("Retry"), "{log}");
}

#[tokio::test]
async fn what_is_given_up_is_told() {
    let world = World::new().await;
    world.refuse(400, 131_026);
    world.says(&ana(), "wamid.1", "hello").await;
    world.delivery("dead").await;
    assert!(world.gateway.log().lines().any(|line| line.contains("WARN") && line.contains("given up") && line.contains("131026")));
}

#[tokio::test]
async fn a_stopped_account_says_what_to_do_about_its_code() {
    for (status, code, words) in [(401, 190, "access_token"), (400, 131_031, "blocked"), (400, 131_042, "billing"), (403, 10, "permission")]
    {
        let world = World::new().await;
        world.graph.always(Some(Mishap::Refuses { status, code }));
        world.says(&ana(), "wamid.1", "hello").await;
        let detail = poll("the trouble", || async {
            let ready = world.gateway.get("/readyz").await.expect(200);
            ready["troubles"][0]["detail"].as_str().map(ToOwned::to_owned)
        })
        .await;
        assert!(detail.contains(words) && detail.contains(&code.to_string()), "{detail}");
    }
}
