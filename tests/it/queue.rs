//! The inbox: taking back, waiting for what is taken back, and a full queue.

use serde_json::json;

use crate::harness::{Gateway, Provider, Settings, Sse, http, of_kind, text, the};

fn path(session: &str) -> String {
    format!("/v1/sessions/{session}/messages")
}

#[tokio::test]
async fn what_no_turn_has_claimed_can_be_taken_back() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.held_session(&provider).await;
    let waiting = gateway.say_with(&id, &json!({"text": "wait", "mode": "followup"})).await;
    let records = gateway.records(&id).await;
    let claimed = text(&records[1], "/message_id").to_owned();
    gateway.delete(&format!("{}/{claimed}", path(&id))).await.problem(409, "already_claimed");
    gateway.delete(&format!("{}/no-such-message", path(&id))).await.problem(404, "not_found");
    let taken = gateway.delete(&format!("{}/{}", path(&id), text(&waiting, "/message_id"))).await;
    assert_eq!(taken.status, 204);
    provider.open("hold");
    let records = gateway.audited(&id).await;
    let removed = the(&records, "message_removed");
    assert_eq!((&removed["message_id"], &removed["reason"]), (&waiting["message_id"], &json!("taken_back")));
    assert_eq!(of_kind(&records, "turn_start").len(), 1);
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test]
async fn who_waits_for_a_message_that_is_removed_hears_so() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.held_session(&provider).await;
    let body = json!({"text": "streamed", "mode": "followup"}).to_string();
    let mut sse = Sse::request(&gateway, "POST", &path(&id), &[], Some(body.as_bytes())).await;
    let streamed = text(&sse.event("message_queued").await, "/message_id").to_owned();
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await;
    feed.until_kind("hello").await;
    let url = path(&id);
    let waiter = json!({"text": "waited", "mode": "followup"});
    let (answer, ()) = tokio::join!(gateway.post_with(&url, &[("Prefer", "wait=60")], &waiter), async {
        let waited = text(&feed.event("message_queued").await, "/message_id").to_owned();
        for message in [&waited, &streamed] {
            assert_eq!(gateway.delete(&format!("{}/{message}", path(&id))).await.status, 204);
        }
    });
    answer.problem(409, "message_removed");
    let rest = sse.rest().await;
    assert_eq!(rest.last().unwrap().kind(), "message_removed");
    assert_eq!(rest.last().unwrap().json()["message_id"], streamed);
    provider.open("hold");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn a_full_queue_is_refused_and_loses_nothing_it_took() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings { agent: "max_queue = 3", ..Settings::default() }).await;
    let id = gateway.held_session(&provider).await;
    let mut taken = 0;
    let refused = loop {
        let body = json!({"text": format!("number {taken}"), "mode": "followup"});
        let answer = gateway.post(&path(&id), &body).await;
        if answer.status != 202 {
            break answer;
        }
        taken += 1;
        assert!(taken <= 3, "max_queue holds");
    };
    assert_eq!(taken, 3, "three may wait");
    refused.problem(429, "queue_full");
    assert!(refused.header("retry-after").is_some_and(|s| s.parse::<u64>().is_ok()), "{:?}", refused.headers);
    provider.open("hold");
    let records = gateway.audited(&id).await;
    let asked: Vec<String> = provider.requests().iter().map(crate::harness::provider::last_user).collect();
    assert_eq!(asked, ["go", "number 0", "number 1", "number 2"], "in their order, each in a turn of its own");
    assert_eq!(of_kind(&records, "done").len(), 4);
    gateway.post(&path(&id), &json!({"text": "room again"})).await.expect(202);
    gateway.audited(&id).await;
}

#[tokio::test]
async fn a_message_posted_the_instant_a_turn_is_done_gets_its_turn() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let url = path(&id);
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    for round in 1..=100 {
        let body = json!({"text": format!("round {round}")}).to_string();
        let posted = http::request(gateway.port, "POST", &url, &[], Some(body.as_bytes())).await.unwrap().expect(202);
        let done = feed.event("done").await;
        assert_eq!(done["message_ids"], json!([posted["message_id"]]), "round {round}: {done}");
        assert_eq!(done["answer"], format!("re: round {round}"));
    }
    assert_eq!(of_kind(&gateway.audited(&id).await, "done").len(), 100);
}
