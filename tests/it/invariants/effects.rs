//! 7: what was accepted is in one turn, and what a tool did it did once.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::harness::{Gateway, Provider, http, list, of_kind, text};

/// A post whose sender may never hear the answer.
async fn keyed(port: u16, path: String, key: String, body: Value) -> Option<(u16, Value)> {
    let headers = [("Idempotency-Key", key.as_str())];
    let answer = http::request(port, "POST", &path, &headers, Some(body.to_string().as_bytes())).await.ok()?;
    Some((answer.status, serde_json::from_slice(&answer.body).ok()?))
}

#[tokio::test]
async fn i07_exactly_once_in() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let make = |port| keyed(port, "/v1/sessions".into(), "the session".into(), json!({"title": "one"}));
    let (_, made) = make(gateway.port).await.unwrap();
    let id = text(&made, "/id").to_owned();
    let path = format!("/v1/sessions/{id}/messages");
    let post = |port, n: usize| keyed(port, path.clone(), format!("k{n}"), json!({"text": format!("message {n}."), "mode": "followup"}));
    let mut known: BTreeMap<usize, Value> = BTreeMap::new();
    // every message thrice, at once, while the process dies under them; then all again, to a new process
    for round in 0..4 {
        let posts: Vec<_> = (0..24).map(|i| (i % 8, tokio::spawn(post(gateway.port, i % 8)))).collect();
        let mut posts = posts.into_iter();
        let mut answers = Vec::new();
        for (n, posted) in posts.by_ref().take(if round == 3 { 24 } else { 1 + round * 4 }) {
            answers.push((n, posted.await.unwrap()));
        }
        if round < 3 {
            gateway.kill9().await;
        }
        for (n, posted) in posts {
            answers.push((n, posted.await.unwrap()));
        }
        for (n, (status, body)) in answers.into_iter().filter_map(|(n, answer)| Some((n, answer?))) {
            assert_eq!(status, 202, "round {round}, message {n}: {body}");
            assert_eq!(known.entry(n).or_insert_with(|| body.clone())["message_id"], body["message_id"], "round {round}, message {n}");
        }
        if round < 3 {
            gateway.spawn().await;
            assert_eq!(make(gateway.port).await.unwrap().1["id"], made["id"], "the session's key");
        }
    }
    assert_eq!(known.len(), 8);
    let records = gateway.audited(&id).await;
    let mut claims: BTreeMap<&str, usize> = BTreeMap::new();
    for claim in records.iter().filter(|r| ["turn_start", "queue_drain"].contains(&text(r, "/type"))) {
        list(claim, "/message_ids").iter().for_each(|id| *claims.entry(id.as_str().unwrap()).or_default() += 1);
    }
    let accepted: BTreeMap<&str, usize> = known.values().map(|body| (text(body, "/message_id"), 1)).collect();
    assert_eq!(claims, accepted, "each in exactly one turn, and nothing else");
    assert_eq!(of_kind(&records, "done").len(), 8);
    let last = provider.requests().pop().unwrap().to_string();
    // the mock model repeats what it is asked: once as said, once as answered
    (0..8).for_each(|n| {
        assert_eq!(last.matches(&format!("message {n}.")).count(), if last.contains(&format!("re: message {n}.")) { 2 } else { 1 })
    });

    // a deleted session keeps its keys: a late repeat is a duplicate, and makes and runs nothing
    gateway.delete(&format!("/v1/sessions/{id}")).await;
    let asked = provider.requests().len();
    for restarted in [false, true] {
        assert_eq!(make(gateway.port).await.unwrap().0, 404, "restarted {restarted}");
        assert_eq!(post(gateway.port, 0).await.unwrap().0, 404, "restarted {restarted}");
        gateway.crash_and_restart().await;
    }
    assert!(list(&gateway.get("/v1/sessions").await.expect(200), "/data").is_empty());
    assert_eq!(provider.requests().len(), asked);
}
