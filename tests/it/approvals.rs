//! Approvals as the person who is asked sees them, and what comes of each decision.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::harness::provider::results;
use crate::harness::{Gateway, Provider, Reply, Settings, Sse, kind, list, number, of_kind, text, the};

/// A `cli` session whose model asked for these commands, once all approvals are requested.
async fn asked(provider: &Provider, gateway: &Gateway, commands: &[&str]) -> (String, Vec<Value>) {
    provider.offers(&["ask_user", "bash"]);
    let id = gateway.cli_session().await;
    let mut reply = Reply::stream();
    for (i, command) in commands.iter().enumerate() {
        reply = reply.bash(&format!("c{i}"), command);
    }
    provider.push(reply.calls());
    let mut feed = Sse::open(gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    let mut requests = Vec::new();
    for _ in commands {
        requests.push(feed.event("approval_requested").await);
    }
    (id, requests)
}

async fn decide(gateway: &Gateway, session: &str, request: &Value, decision: &str) -> Value {
    let path = format!("/v1/sessions/{session}/approvals/{}", text(request, "/approval_id"));
    gateway.post_as_owner(&path, &json!({"decision": decision, "note": "as you wish"})).await.expect(200)
}

#[tokio::test]
async fn a_request_says_exactly_what_would_run() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (id, requests) = asked(&provider, &gateway, &["echo one", "echo two"]).await;
    for (i, request) in requests.iter().enumerate() {
        let args = list(the(&gateway.records(&id).await, "message"), "/content")[i]["args"].to_string();
        let digest: String = Sha256::digest(format!("bash\n{args}")).iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!((text(request, "/digest"), text(request, "/tool")), (digest.as_str(), "bash"));
        assert_eq!((request["args"].to_string(), text(request, "/tool_call_id")), (args, format!("c{i}").as_str()));
        let offered: Vec<&str> = list(request, "/decisions").iter().filter_map(Value::as_str).collect();
        assert!(offered.contains(&"allow_once") && offered.contains(&"deny"), "{request}");
        assert!(text(request, "/expires_at") > text(request, "/at") && !text(request, "/reason").is_empty());
    }
    let records = gateway.records(&id).await;
    assert!(of_kind(&records, "tool_start").is_empty(), "bodies start when the last decision is in");
    assert_eq!(gateway.state(&id).await["status"], "waiting");

    let hello = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await.event("hello").await;
    let own = gateway.get(&format!("/v1/sessions/{id}/approvals")).await.expect(200);
    let inbox = gateway.get("/v1/approvals?status=pending").await.expect(200);
    for rows in [list(&hello, "/approvals"), list(&own, "/data"), list(&inbox, "/data")] {
        assert_eq!(rows.len(), 2, "{rows:?}");
        for request in &requests {
            let row = rows.iter().find(|r| r["approval_id"] == request["approval_id"]).expect("a row for each request");
            for field in ["tool", "args", "digest", "reason", "expires_at"] {
                assert_eq!(row[field], request[field], "{field}");
            }
            assert_eq!((&row["session_id"], &row["status"], &row["requested_at"]), (&json!(id), &json!("pending"), &request["at"]));
        }
    }
}

#[tokio::test]
async fn each_decision_does_what_it_says() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (id, requests) = asked(&provider, &gateway, &["echo allowed", "echo forbidden"]).await;
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    decide(&gateway, &id, &requests[1], "deny").await;
    assert!(of_kind(&gateway.records(&id).await, "tool_denied").is_empty(), "one decision is still to come");
    let allowed = decide(&gateway, &id, &requests[0], "allow_once").await;
    assert_eq!((&allowed["decision"], &allowed["approval_id"]), (&json!("allow_once"), &requests[0]["approval_id"]));
    feed.until_kind("done").await;
    let records = gateway.audited(&id).await;
    let outcomes: Vec<&str> = records.iter().map(kind).filter(|k| matches!(*k, "tool_end" | "tool_denied")).collect();
    assert_eq!(outcomes, ["tool_end", "tool_denied"], "in the model's order");
    let decisions: Vec<(&str, &str)> =
        of_kind(&records, "tool_approval").iter().map(|a| (text(a, "/tool_call_id"), text(a, "/decision"))).collect();
    assert_eq!(decisions, [("c1", "deny"), ("c0", "allow_once")], "in the order in which they were taken");
    assert!(of_kind(&records, "tool_approval").iter().all(|a| a["note"] == "as you wish" && a["by"].is_string()));
    assert_eq!(of_kind(&records, "tool_start").len(), 1);
    let shown = results(&provider.request(2).await);
    assert!(shown[0].1.contains("allowed") && !shown[1].1.is_empty(), "a denial is a result too: {shown:?}");
    let statuses: Vec<&str> = list(the(&records, "done"), "/tool_calls").iter().map(|c| text(c, "/status")).collect();
    assert_eq!(statuses, ["ok", "denied"]);
    assert!(list(&gateway.get("/v1/approvals?status=pending").await.expect(200), "/data").is_empty());
    let rows = gateway.get(&format!("/v1/sessions/{id}/approvals")).await.expect(200);
    for (request, decision) in requests.iter().zip(["allow_once", "deny"]) {
        let row = list(&rows, "/data").iter().find(|r| r["approval_id"] == request["approval_id"]);
        assert_eq!(row.map(|r| &r["decision"]), Some(&json!(decision)), "{rows}");
    }
}

#[tokio::test]
async fn an_equal_call_is_allowed_for_the_session_but_another_is_asked() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (id, requests) = asked(&provider, &gateway, &["echo same"]).await;
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    decide(&gateway, &id, &requests[0], "allow_session").await;
    feed.until_kind("done").await;
    provider.push(Reply::stream().bash("again", "echo same").bash("new", "echo other").calls());
    gateway.say(&id, "again").await;
    let asked = feed.event("approval_requested").await;
    assert_eq!(asked["tool_call_id"], "new", "changed arguments need a new approval");
    decide(&gateway, &id, &asked, "deny").await;
    feed.until_kind("done").await;
    let records = gateway.audited(&id).await;
    assert_eq!(of_kind(&records, "approval_requested").len(), 2);
    assert_eq!(list(of_kind(&records, "done")[1], "/tool_calls").iter().map(|c| text(c, "/status")).collect::<Vec<_>>(), ["ok", "denied"]);
}

#[tokio::test]
async fn an_approval_that_expires_is_a_denial() {
    let provider = Provider::start().await;
    let settings = Settings { tables: "[approvals]\nexpire_s = 1\n", ..Settings::default() };
    let gateway = Gateway::with(&provider, settings).await;
    let (id, requests) = asked(&provider, &gateway, &["echo late"]).await;
    let records = gateway.audited(&id).await;
    assert_eq!(the(&records, "tool_approval")["decision"], "expired");
    the(&records, "tool_denied");
    assert!(of_kind(&records, "tool_start").is_empty());
    assert_eq!(the(&records, "done")["reason"], "completed", "the model was told and answered");
    assert_eq!(results(&provider.request(2).await).len(), 1);
    let path = format!("/v1/sessions/{id}/approvals/{}", text(&requests[0], "/approval_id"));
    gateway.post_as_owner(&path, &json!({"decision": "allow_once"})).await.problem(410, "expired");
}

#[tokio::test]
async fn who_may_decide_sees_what_he_decides_in_every_view() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (id, requests) = asked(&provider, &gateway, &["echo one"]).await;
    for view in ["chat", "owner", "admin"] {
        let headers = [("Authorization", &*gateway.bearer())];
        let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?view={view}"), &headers).await;
        let hello = feed.event("hello").await;
        let event = feed.event("approval_requested").await;
        for shown in [&hello["approvals"][0], &event] {
            for field in ["tool", "args", "digest", "reason", "expires_at"] {
                assert_eq!(shown[field], requests[0][field], "{view}: {field}");
            }
        }
    }
    // without the key nobody decides on the shell, and the chat does not show what it would run
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?view=chat"), &[]).await;
    let hello = feed.event("hello").await;
    let event = feed.event("approval_requested").await;
    for shown in [&hello["approvals"][0], &event] {
        assert!(shown.get("args").is_none() && shown.get("digest").is_none(), "{shown}");
        assert_eq!((&shown["tool"], &shown["expires_at"]), (&requests[0]["tool"], &requests[0]["expires_at"]));
    }
}

#[tokio::test]
async fn a_message_while_an_approval_waits_is_not_lost() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (id, requests) = asked(&provider, &gateway, &["echo one"]).await;
    let steer = gateway.say(&id, "and hurry").await;
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after={}", number(&steer, "/seq")), &[]).await;
    decide(&gateway, &id, &requests[0], "allow_once").await;
    feed.until_kind("done").await;
    let records = gateway.audited(&id).await;
    assert_eq!(the(&records, "queue_drain")["message_ids"], json!([steer["message_id"]]));
}
