//! The whole ledger as lines: what pages of records give, to the head that it began with, and never a part that looks like a whole.

use serde_json::{Value, json};

use crate::harness::http::Exchange;
use crate::harness::{Answer, Gateway, Provider, Reply, Settings, kind, list, number, poll, soon};

fn lines(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200);
    let text = std::str::from_utf8(&answer.body).unwrap();
    assert!(text.ends_with('\n') && !text.contains("\n\n"), "{text}");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn it_is_what_the_pages_of_records_give_in_each_view() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    provider.offers(&["ask_user", "bash"]);
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().think("hm").bash("c1", "echo hidden-result").calls());
    // more than one page
    for n in 0..12 {
        gateway.ask(&id, &format!("message {n}")).await;
    }
    let whole = gateway.audited(&id).await;
    assert!(whole.len() > 64);
    for view in ["admin", "owner", "chat"] {
        let page = gateway.get(&format!("/v1/sessions/{id}/records?view={view}&limit=1000")).await.expect(200);
        let export = gateway.get(&format!("/v1/sessions/{id}/export?view={view}")).await;
        assert_eq!(lines(&export), list(&page, "/data"), "{view}");
        let text = String::from_utf8(export.body.clone()).unwrap();
        assert_eq!(text.contains("hidden-result"), view != "chat", "{view}: in the preview or the arguments");
        assert_eq!(text.contains("\"content\":\"Exit code"), view == "admin", "{view}");
    }
    let export = gateway.get(&format!("/v1/sessions/{id}/export")).await;
    assert_eq!(lines(&export), whole, "the caller's own view where none is asked for");
    for (name, value) in [
        ("content-type", "application/x-ndjson"),
        ("content-disposition", &format!("attachment; filename=\"{id}.jsonl\"")),
        ("content-security-policy", "default-src 'none'; sandbox"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(export.header(name), Some(value), "{name}");
    }
    gateway.get(&format!("/v1/sessions/{id}/export?view=x")).await.problem(422, "invalid_request");
    gateway.get("/v1/sessions/ses_none/export").await.problem(404, "not_found");
    assert_eq!(gateway.delete(&format!("/v1/sessions/{id}")).await.status, 204);
    gateway.get(&format!("/v1/sessions/{id}/export")).await.problem(404, "not_found");
}

#[tokio::test]
async fn a_running_turn_does_not_hold_it_up() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.held_session(&provider).await;
    let request_on_disk = || async { (number(&gateway.state(&id).await, "/head") == 5).then_some(()) };
    poll("the request's record", request_on_disk).await;
    let exported = lines(&gateway.get(&format!("/v1/sessions/{id}/export")).await);
    assert_eq!(exported.iter().map(|r| number(r, "/seq")).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    assert_eq!(kind(&exported[4]), "request");
    provider.open("hold");
    gateway.audited(&id).await;
}

/// A session of more records than the sockets between hold, of which nobody has read any.
async fn stalled(gateway: &Gateway, provider: &Provider) -> (String, Exchange) {
    let id = gateway.held_session(provider).await;
    let text = "x".repeat(60_000);
    for _ in 0..300 {
        gateway.say_with(&id, &json!({"text": text, "mode": "followup"})).await;
    }
    let export = soon("the head", Exchange::open(gateway.port, "GET", &format!("/v1/sessions/{id}/export"), &[], None)).await.unwrap();
    assert_eq!(export.status, 200);
    (id, export)
}

const LONG_QUEUE: Settings = Settings { server: "", agent: "max_queue = 1000", tables: "" };

#[tokio::test]
async fn it_ends_at_the_head_that_it_began_with() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, LONG_QUEUE).await;
    let (id, mut export) = stalled(&gateway, &provider).await;
    let head = number(&gateway.state(&id).await, "/head");
    gateway.say(&id, "after it began").await;
    let mut body = Vec::new();
    while let Some(piece) = soon("the export", export.piece()).await {
        body.extend(piece);
    }
    assert!(export.ended(), "it is whole");
    let last = String::from_utf8(body).unwrap();
    let last: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!(number(&last, "/seq"), head);
}

#[tokio::test]
async fn a_session_that_is_deleted_meanwhile_does_not_look_exported() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, LONG_QUEUE).await;
    let (id, mut export) = stalled(&gateway, &provider).await;
    assert_eq!(gateway.delete(&format!("/v1/sessions/{id}")).await.status, 204);
    while soon("the export", export.piece()).await.is_some() {}
    assert!(!export.ended(), "it is cut off");
}
