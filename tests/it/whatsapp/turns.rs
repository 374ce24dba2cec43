//! However a turn ends, its sender hears of it; while it runs he sees that somebody writes; what comes in a burst is one turn.

use serde_json::json;

use super::{World, ana};
use crate::harness::hook::MAIN;
use crate::harness::{Reply, of_kind, poll};

#[tokio::test]
async fn a_turn_that_fails_says_so_in_a_sentence() {
    let world = World::new().await;
    world.provider.push(Reply::error(400, "invalid_request_error"));
    world.says(&ana(), "wamid.1", "hello").await;
    let read = world.reads(&ana(), 1).await;
    assert!(!read[0].trim().is_empty() && read[0].len() < 300, "{read:?}");
}

#[tokio::test]
async fn a_turn_that_is_cancelled_or_has_no_time_left_says_so() {
    let world = World::new().await;
    world.provider.push(Reply::stream().gate("never").stop());
    world.says(&ana(), "wamid.1", "hello").await;
    world.provider.reached("never").await;
    let session = world.session().await;
    world.gateway.post(&format!("/v1/sessions/{session}/cancel"), &json!({})).await.expect(200);
    let read = world.reads(&ana(), 1).await;
    assert!(read[0].contains("stopped"), "{read:?}");
}

#[tokio::test]
async fn an_answer_that_came_too_early_says_so_in_its_last_line() {
    let world = World::new().await;
    world.provider.push(Reply::stream().say("and then").finish("length"));
    world.says(&ana(), "wamid.1", "tell me everything").await;
    assert_eq!(world.reads(&ana(), 1).await, ["and then\n\nMy answer was cut off here."]);
    let records = world.gateway.audited(&world.session().await).await;
    assert_eq!(of_kind(&records, "done")[0]["answer"], "and then", "the model's own words are kept as they are");
}

#[tokio::test]
async fn a_turn_that_crashes_cut_too_often_says_so() {
    let mut world = World::new().await;
    world.provider.otherwise(|_| Reply::stream().hang());
    world.says(&ana(), "wamid.1", "hello").await;
    let session = world.session().await;
    for crash in 0..3 {
        poll("a request", || async { (of_kind(&world.gateway.records(&session).await, "request").len() > crash).then_some(()) }).await;
        world.gateway.crash_and_restart().await;
    }
    let read = world.reads(&ana(), 1).await;
    assert_eq!(read.len(), 1, "{read:?}");
    let records = world.gateway.audited(&session).await;
    assert_eq!(of_kind(&records, "done")[0]["reason"], "interrupted");
}

#[tokio::test]
async fn a_burst_is_one_turn_and_one_answer() {
    let world = World::with("debounce_ms = 700", "").await;
    for (id, words) in [("wamid.1", "I wonder"), ("wamid.2", "where my order"), ("wamid.3", "is")] {
        world.says(&ana(), id, words).await;
    }
    world.reads(&ana(), 1).await;
    let session = world.session().await;
    world.gateway.idle(&session).await;
    let records = world.gateway.audited(&session).await;
    assert_eq!(of_kind(&records, "turn_start")[0]["message_ids"].as_array().map(Vec::len), Some(3));
    assert_eq!((world.turns(&session).await, world.read_by(&ana()).len()), (1, 1));
}

#[tokio::test]
async fn while_a_turn_runs_its_sender_sees_that_somebody_writes() {
    let world = World::new().await;
    world.provider.push(Reply::stream().gate("hold").say("done").stop());
    world.says(&ana(), "wamid.1", "think").await;
    let sign = poll("the sign", || async { world.graph.receipts().into_iter().next() }).await;
    assert_eq!((&sign["status"], &sign["message_id"]), (&json!("read"), &json!("wamid.1")));
    assert_eq!(sign["typing_indicator"]["type"], "text");
    world.provider.open("hold");
    world.reads(&ana(), 1).await;
}

#[tokio::test]
async fn sessions_of_a_messenger_are_its_own_to_make() {
    let world = World::new().await;
    let refused = world.gateway.post("/v1/sessions", &json!({"channel": "whatsapp"})).await.problem(422, "invalid_request");
    assert_eq!(refused["errors"][0]["pointer"], "/channel");
    MAIN.one(&world.gateway, &ana(), ana().says("wamid.1", "hello")).await;
    world.reads(&ana(), 1).await;
    assert_eq!(world.sessions().await.len(), 1);
}
