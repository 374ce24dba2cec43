//! Sessions: created, listed, read, changed, erased.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Gateway, Provider, Reply, Sse, kind, list, number, text};

#[tokio::test]
async fn a_session_is_created_read_changed_and_erased() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let made = gateway.post("/v1/sessions", &json!({"title": "First", "metadata": {"a": 1, "b": {"x": 1, "y": 2}}})).await.expect(201);
    let id = text(&made, "/id").to_owned();
    assert_eq!((&made["channel"], &made["agent"], &made["title"]), (&json!("api"), &json!("default"), &json!("First")), "{made}");
    assert_eq!((&made["status"], &made["queued"]), (&json!("idle"), &json!(0)), "{made}");
    assert_eq!(made["metadata"], json!({"a": 1, "b": {"x": 1, "y": 2}}));
    for field in ["/created_at", "/updated_at"] {
        let time = text(&made, field);
        assert!(time.len() == 24 && time.ends_with('Z') && time.as_bytes()[19] == b'.', "{field} is RFC 3339 in milliseconds: {time}");
    }
    assert!(number(&made, "/head") >= 1);
    let path = format!("/v1/sessions/{id}");
    assert_eq!(gateway.get(&path).await.expect(200), made);

    let patch = json!({"title": "Second", "metadata": {"a": null, "b": {"x": 3}, "c": [1]}});
    let changed = gateway.send("PATCH", &path, &[], Some(patch.to_string().as_bytes())).await.expect(200);
    assert_eq!(changed["title"], "Second");
    assert_eq!(changed["metadata"], json!({"b": {"x": 3, "y": 2}, "c": [1]}), "merge patch");
    let says_so = [("Content-Type", "application/merge-patch+json")];
    let untitled = gateway.send("PATCH", &path, &says_so, Some(br#"{"title":null}"#)).await.expect(200);
    assert!(untitled.get("title").is_none(), "optional fields are absent: {untitled}");
    assert_eq!(gateway.get(&path).await.expect(200), untitled);
    let records = gateway.audited(&id).await;
    assert_eq!(records.iter().map(kind).collect::<Vec<_>>(), ["session_created", "session_updated", "session_updated"]);

    let gone = gateway.delete(&path).await;
    assert_eq!((gone.status, gone.body.len()), (204, 0));
    for (method, path, body) in [
        ("GET", path.clone(), None),
        ("PATCH", path.clone(), Some(r#"{"title":"x"}"#)),
        ("DELETE", path.clone(), None),
        ("GET", format!("{path}/events"), None),
        ("GET", format!("{path}/records"), None),
        ("GET", format!("{path}/messages"), None),
        ("POST", format!("{path}/messages"), Some(r#"{"text":"hi"}"#)),
        ("POST", format!("{path}/cancel"), Some("{}")),
    ] {
        gateway.send(method, &path, &[], body.map(str::as_bytes)).await.problem(404, "not_found");
    }
}

#[tokio::test]
async fn the_list_pages_through_every_session_once() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let mut made = BTreeSet::new();
    for _ in 0..5 {
        made.insert(gateway.session().await);
    }
    let cli = gateway.cli_session().await;
    made.insert(cli.clone());
    let mut seen = Vec::new();
    let mut path = "/v1/sessions?limit=2".to_owned();
    loop {
        let page = gateway.get(&path).await.expect(200);
        let rows = list(&page, "/data");
        assert!(rows.len() <= 2);
        seen.extend(rows.iter().map(|r| text(r, "/id").to_owned()));
        match page.get("next_cursor") {
            Some(cursor) => path = format!("/v1/sessions?limit=2&after={}", cursor.as_str().map_or(cursor.to_string(), str::to_owned)),
            None => break,
        }
    }
    assert_eq!(seen.len(), made.len(), "each once: {seen:?}");
    assert_eq!(seen.iter().cloned().collect::<BTreeSet<_>>(), made);
    let only = gateway.get("/v1/sessions?channel=cli").await.expect(200);
    assert_eq!(list(&only, "/data").iter().map(|r| text(r, "/id")).collect::<Vec<_>>(), [cli]);
    let problem = gateway.get("/v1/sessions?channel=foo").await.problem(422, "invalid_request");
    assert_eq!(text(&problem, "/errors/0/pointer"), "channel");
    assert!(text(&problem, "/detail").contains("there are: cli, web, api"), "an empty list would hide the mistake: {problem}");
}

#[tokio::test]
async fn a_repeated_key_creates_one_session_also_after_a_crash() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let key = [("Idempotency-Key", "order 66")];
    let first = gateway.post_with("/v1/sessions", &key, &json!({"title": "one"})).await;
    assert_eq!(first.header("idempotency-replayed"), None);
    let made = first.expect(201);
    for round in 0..2 {
        let again = gateway.post_with("/v1/sessions", &key, &json!({"title": "one"})).await;
        assert_eq!(again.header("idempotency-replayed"), Some("true"), "round {round}");
        assert_eq!(again.expect(201)["id"], made["id"], "round {round}");
        gateway.post_with("/v1/sessions", &key, &json!({"title": "two"})).await.problem(409, "idempotency_conflict");
        gateway.crash_and_restart().await;
    }
    assert_eq!(list(&gateway.get("/v1/sessions").await.expect(200), "/data").len(), 1);
    for bad in ["k".repeat(256), "ké".to_owned()] {
        let refused = gateway.post_with("/v1/sessions", &[("Idempotency-Key", &bad)], &json!({})).await;
        assert!((400..=422).contains(&refused.status), "a key of 1..255 printable ASCII: {}", refused.status);
    }
    gateway.post_with("/v1/sessions", &[("Idempotency-Key", &"k".repeat(255))], &json!({})).await.expect(201);
}

#[tokio::test]
async fn erasing_a_busy_session_tells_its_readers_and_stays_erased() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().say("half").gate("never").stop());
    let mut reader = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    reader.until_kind("text_delta").await;
    assert_eq!(gateway.delete(&format!("/v1/sessions/{id}")).await.status, 204);
    assert_eq!(reader.event("closing").await["reason"], "deleted");
    assert!(reader.rest().await.is_empty(), "closing is the last that a reader hears");
    provider.abandoned(1).await;
    gateway.crash_and_restart().await;
    gateway.get(&format!("/v1/sessions/{id}")).await.problem(404, "not_found");
    assert_eq!(list(&gateway.get("/v1/sessions").await.expect(200), "/data"), [] as [Value; 0]);
}

#[tokio::test]
async fn a_session_shows_what_it_is_doing() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().gate("hold").say("done").stop());
    gateway.say(&id, "go").await;
    provider.reached("hold").await;
    gateway.say_with(&id, &json!({"text": "next", "mode": "followup"})).await;
    let busy = gateway.state(&id).await;
    assert_eq!((&busy["status"], &busy["queued"], &busy["turn"]), (&json!("running"), &json!(1), &json!(1)), "{busy}");
    provider.open("hold");
    let idle = gateway.idle(&id).await;
    assert!(idle.get("turn").is_none(), "{idle}");
    assert_eq!(number(&idle, "/head"), gateway.audited(&id).await.len() as u64);
}
