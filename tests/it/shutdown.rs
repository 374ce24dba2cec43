//! A stop: readers are told, the process ends with 0 in time, and nothing is lost.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{Gateway, Provider, Reply, Settings, Sse, View, number, of_kind, text, the};

/// One second to drain.
const SHORT: Settings = Settings { server: "drain_ms = 1000", ..Settings::FREE_BASH };

#[tokio::test]
async fn an_idle_gateway_stops_at_once_and_tells_its_readers() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    feed.until_kind("session_created").await;
    gateway.sigterm().await;
    assert_eq!(feed.event("closing").await["reason"], "draining");
    assert!(feed.rest().await.is_empty());
    assert_eq!(gateway.ended().await, Some(0));
    gateway.spawn().await;
    assert_eq!(gateway.ask(&id, "hi").await["answer"], "re: hi");
}

#[tokio::test]
async fn a_turn_that_does_not_end_in_time_goes_on_after_the_start() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::with(&provider, SHORT).await;
    let id = gateway.session().await;
    let mut view = View::default();
    (0..4).for_each(|_| provider.push(Reply::stream().say("half").hang()));
    // more often than a turn may crash: a stop does not count
    for round in 1..=4 {
        let mut feed = view.join(&gateway, &id).await;
        if round == 1 {
            gateway.say(&id, "go").await;
        }
        provider.request(round).await;
        let told = Instant::now();
        gateway.sigterm().await;
        let frames = feed.rest().await;
        view.fold_all(&frames);
        assert_eq!(frames.last().map(|f| (f.kind().to_owned(), f.json()["reason"].clone())), Some(("closing".into(), json!("draining"))));
        assert_eq!(gateway.ended().await, Some(0), "round {round}");
        assert!(told.elapsed() < Duration::from_secs(8), "drain_ms is a limit: {:?}", told.elapsed());
        gateway.spawn().await;
    }
    let records = gateway.audited(&id).await;
    let continued = of_kind(&records, "turn_continued");
    assert_eq!(continued.len(), 4);
    for (i, record) in continued.iter().enumerate() {
        assert_eq!((&record["cause"], number(record, "/count")), (&json!("stop"), i as u64 + 1));
    }
    let done = the(&records, "done");
    assert_eq!((&done["reason"], &done["answer"]), (&json!("completed"), &json!("re: go")));
    let mut feed = view.join(&gateway, &id).await;
    view.read_to(&mut feed, records.len() as u64).await;
    assert_eq!(view.records, records);
}

#[tokio::test]
async fn a_stop_in_the_middle_of_a_turn_loses_nothing_of_it() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let ran = gateway.dir.join("ran");
    provider.push(Reply::stream().gate("hold").bash("c1", &format!("echo once >> {}", ran.display())).calls());
    gateway.say(&id, "go").await;
    provider.reached("hold").await;
    gateway.say_with(&id, &json!({"text": "next", "mode": "followup"})).await;
    gateway.sigterm().await;
    provider.open("hold");
    assert_eq!(gateway.ended().await, Some(0));
    gateway.spawn().await;
    // where the stop came before the call was in, the model is asked again and answers without it
    let records = gateway.audited(&id).await;
    assert_eq!(of_kind(&records, "done").len(), 2);
    assert!(of_kind(&records, "done").iter().all(|d| d["reason"] == "completed"));
    let times = std::fs::read_to_string(&ran).unwrap_or_default().lines().count();
    assert_eq!(times, of_kind(&records, "tool_end").len(), "what ran is what is said to have run");
}

#[tokio::test]
async fn a_pending_approval_waits_through_a_stop() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().bash("c1", "echo yes").calls());
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    let asked = feed.event("approval_requested").await;
    let told = Instant::now();
    gateway.sigterm().await;
    assert_eq!(gateway.ended().await, Some(0));
    assert!(told.elapsed() < Duration::from_secs(8), "a wait for a person is a safe point: {:?}", told.elapsed());
    gateway.spawn().await;
    let route = format!("/v1/sessions/{id}/approvals/{}", text(&asked, "/approval_id"));
    gateway.post_as_owner(&route, &json!({"decision": "allow_once"})).await.expect(200);
    let records = gateway.audited(&id).await;
    the(&records, "approval_requested");
    assert!(text(the(&records, "tool_end"), "/content").contains("yes"));
}

#[tokio::test]
async fn a_second_signal_ends_at_once() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::with(&provider, Settings { server: "drain_ms = 60000", ..Settings::default() }).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().say("x").hang());
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    feed.until_kind("text_delta").await;
    gateway.sigterm().await;
    feed.until_kind("closing").await;
    gateway.sigterm().await;
    gateway.ended().await;
    gateway.spawn().await;
    assert_eq!(the(&gateway.audited(&id).await, "done")["answer"], "re: go", "nothing is lost either way");
}
