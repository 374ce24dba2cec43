//! Nobody else's, on every route: a session of one tenant's key, asked for with a key of another tenant and with one of the same tenant
//! that is no administrator.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::disk::{refuse_writes, take_writes};
use crate::harness::routes::routes;
use crate::harness::{Caller, Gateway, Provider, Reply, Sse, list, poll, text};

/// Method, path, and a body that the session's own caller could send. A route that the router has and this table has not fails the test.
fn table() -> Vec<(&'static str, &'static str, Option<Value>)> {
    vec![
        ("GET", "/v1/sessions/{id}", None),
        ("PATCH", "/v1/sessions/{id}", Some(json!({"title": "mine now"}))),
        ("DELETE", "/v1/sessions/{id}", None),
        ("POST", "/v1/sessions/{id}/messages", Some(json!({"text": "for you"}))),
        ("GET", "/v1/sessions/{id}/messages", None),
        ("DELETE", "/v1/sessions/{id}/messages/{message_id}", None),
        ("GET", "/v1/sessions/{id}/events", None),
        ("GET", "/v1/sessions/{id}/records", None),
        ("GET", "/v1/sessions/{id}/capabilities", None),
        ("GET", "/v1/sessions/{id}/artifacts/{artifact_id}", None),
        ("GET", "/v1/sessions/{id}/export", None),
        ("GET", "/v1/sessions/{id}/approvals", None),
        ("POST", "/v1/sessions/{id}/approvals/{approval_id}", Some(json!({"decision": "allow_once"}))),
        ("POST", "/v1/sessions/{id}/questions/{question_id}", Some(json!({"declined": true}))),
        ("POST", "/v1/sessions/{id}/client_calls/{tool_call_id}", Some(json!({"content": "x"}))),
        ("POST", "/v1/sessions/{id}/cancel", Some(json!({}))),
        ("POST", "/v1/sessions/{id}/handoff", Some(json!({"action": "take"}))),
    ]
}

/// Routes that name no session: the list shows nothing of others, and what is made is the maker's. Deliveries and pairings come from
/// messaging channels alone: `whatsapp_routes.rs` tries them.
const WITHOUT_SESSION: [(&str, &str); 8] = [
    ("POST", "/v1/sessions"),
    ("GET", "/v1/sessions"),
    ("GET", "/v1/approvals"),
    ("GET", "/v1/deliveries"),
    ("POST", "/v1/deliveries/{delivery_id}/retry"),
    ("GET", "/v1/pairings"),
    ("POST", "/v1/pairings/{code}"),
    ("DELETE", "/v1/pairings/{code}"),
];

const ALL: &str = "sessions:read sessions:write cli approve approve:own tokens admin";
const ALL_BUT_THE_TENANTS: &str = "sessions:read sessions:write cli approve:own tokens";

#[test]
fn the_table_has_every_route() {
    let known = table().into_iter().map(|(method, path, _)| (method, path)).chain(WITHOUT_SESSION);
    let known: BTreeSet<(String, String)> = known.map(|(method, path)| (method.to_owned(), path.to_owned())).collect();
    assert_eq!(routes().into_iter().collect::<BTreeSet<_>>(), known);
}

/// A session that has an artifact and waits for an approval, a message behind it in the queue; the session, and a path's parameters with its
/// values.
async fn waiting(provider: &Provider, gateway: &Gateway, owner: &Caller) -> (String, Vec<(&'static str, String)>) {
    provider.offers(&["ask_user", "bash"]);
    let id = owner.session(gateway, &json!({"channel": "cli", "title": "private"})).await;
    provider.push(Reply::stream().bash("call-0", "seq 1 40000").calls());
    provider.push(Reply::stream().bash("call-1", "true").calls());
    let mut feed = Sse::open(gateway, &format!("/v1/sessions/{id}/events"), &[owner.header()]).await;
    let messages = format!("/v1/sessions/{id}/messages");
    owner.post(gateway, &messages, &json!({"text": "go"})).await.expect(202);
    let asked = feed.event("approval_requested").await;
    let long = format!("/v1/sessions/{id}/approvals/{}", text(&asked, "/approval_id"));
    owner.post(gateway, &long, &json!({"decision": "allow_once"})).await.expect(200);
    let ended = feed.event("tool_end").await;
    let asked = feed.event("approval_requested").await;
    let queued = owner.post(gateway, &messages, &json!({"text": "then", "mode": "followup"})).await.expect(202);
    let ids = vec![
        ("{id}", id.clone()),
        ("{message_id}", text(&queued, "/message_id").to_owned()),
        ("{approval_id}", text(&asked, "/approval_id").to_owned()),
        ("{question_id}", "qst_1".to_owned()),
        ("{artifact_id}", text(&ended, "/artifact_id").to_owned()),
        ("{tool_call_id}", text(&asked, "/tool_call_id").to_owned()),
    ];
    (id, ids)
}

fn filled(path: &str, ids: &[(&str, String)]) -> String {
    let path = ids.iter().fold(path.to_owned(), |path, (name, id)| path.replace(name, id));
    assert!(!path.contains('{'), "an id that this test does not know: {path}");
    path
}

#[tokio::test]
async fn another_tenants_key_and_another_principals_get_404_everywhere() {
    let provider = Provider::start().await;
    let owner = Caller::new("ann", "acme", ALL_BUT_THE_TENANTS);
    let neighbour = Caller::new("bob", "acme", ALL_BUT_THE_TENANTS);
    let stranger = Caller::new("ann", "globex", ALL);
    let admin = Caller::new("boss", "acme", "admin");
    let gateway = Gateway::with_keys(&provider, &[&owner, &neighbour, &stranger, &admin]).await;
    let (id, ids) = waiting(&provider, &gateway, &owner).await;
    let records = format!("/v1/sessions/{id}/records");
    let before = admin.get(&gateway, &records).await.expect(200);
    let nobodys: Vec<_> = ids.iter().map(|(name, id)| (*name, if *name == "{id}" { "ses_none".into() } else { id.clone() })).collect();
    for (method, path, body) in table() {
        for other in [&neighbour, &stranger] {
            let theirs = other.send(&gateway, method, &filled(path, &ids), body.as_ref()).await.problem(404, "not_found");
            let none = other.send(&gateway, method, &filled(path, &nobodys), body.as_ref()).await.problem(404, "not_found");
            assert_eq!(theirs["detail"], none["detail"], "{method} {path}: as if it never was");
        }
        gateway
            .send(method, &filled(path, &ids), &[], body.map(|b| b.to_string()).as_ref().map(|b| b.as_bytes()))
            .await
            .problem(401, "unauthorized");
    }
    for other in [&neighbour, &stranger] {
        for path in ["/v1/sessions", "/v1/approvals", "/v1/approvals?status=pending", "/v1/sessions?channel=cli"] {
            let rows = other.get(&gateway, path).await.expect(200);
            assert!(list(&rows, "/data").is_empty(), "{path}: {rows}");
        }
        // a cursor that is another's begins nowhere
        let after = other.get(&gateway, &format!("/v1/sessions?after={id}")).await.expect(200);
        assert!(list(&after, "/data").is_empty(), "{after}");
        other.session(&gateway, &json!({})).await;
        assert_eq!(list(&other.get(&gateway, "/v1/sessions").await.expect(200), "/data").len(), 1, "its own");
    }
    assert_eq!(admin.get(&gateway, &records).await.expect(200), before, "nothing of it touched the session");

    // and the paths are the right ones: its own caller finds them
    for (method, path, body) in table() {
        if path.ends_with("/events") || ["{question_id}", "{tool_call_id}"].iter().any(|name| path.ends_with(name)) || method == "DELETE" {
            continue;
        }
        let answer = owner.send(&gateway, method, &filled(path, &ids), body.as_ref()).await;
        assert!((200..300).contains(&answer.status), "{method} {path}: {} {}", answer.status, String::from_utf8_lossy(&answer.body));
    }
    assert_eq!(owner.send(&gateway, "DELETE", &format!("/v1/sessions/{id}"), None).await.status, 204);
}

#[tokio::test]
async fn an_approver_finds_what_waits_in_its_tenant_and_nothing_else() {
    let provider = Provider::start().await;
    let owner = Caller::new("ann", "acme", ALL_BUT_THE_TENANTS);
    let approver = Caller::new("eve", "acme", "approve");
    let reading = Caller::new("rex", "acme", "approve sessions:read sessions:write");
    let foreign = Caller::new("eve", "globex", "approve");
    let gateway = Gateway::with_keys(&provider, &[&owner, &approver, &reading, &foreign]).await;
    let (id, ids) = waiting(&provider, &gateway, &owner).await;
    for (method, path, body) in table() {
        let asked = filled(path, &ids);
        for who in [&approver, &reading] {
            if !path.contains("/approvals") {
                who.send(&gateway, method, &asked, body.as_ref()).await.problem(404, "not_found");
            }
        }
        foreign.send(&gateway, method, &asked, body.as_ref()).await.problem(404, "not_found");
    }
    approver.get(&gateway, "/v1/sessions").await.problem(403, "forbidden");
    assert!(list(&reading.get(&gateway, "/v1/sessions").await.expect(200), "/data").is_empty());
    assert!(list(&foreign.get(&gateway, "/v1/approvals").await.expect(200), "/data").is_empty());
    for path in ["/v1/approvals?status=pending".to_owned(), format!("/v1/sessions/{id}/approvals")] {
        let rows = approver.get(&gateway, &path).await.expect(200);
        let waits = list(&rows, "/data").iter().find(|row| row["status"] == "pending").unwrap();
        assert_eq!((text(waits, "/session_id"), &waits["args"]), (id.as_str(), &json!({"command": "true"})));
    }
    let decides = filled("/v1/sessions/{id}/approvals/{approval_id}", &ids);
    approver.post(&gateway, &decides, &json!({"decision": "maybe"})).await.problem(422, "invalid_request");
    let decided = approver.post(&gateway, &decides, &json!({"decision": "deny"})).await.expect(200);
    assert_eq!((&decided["status"], &decided["decision"]), (&json!("decided"), &json!("deny")));
    let told = owner.get(&gateway, &format!("/v1/sessions/{id}/records")).await.expect(200);
    let by = list(&told, "/data").iter().rfind(|r| r["type"] == "tool_approval").map(|r| r["by"].clone());
    assert_eq!(by, Some(json!("key:eve")));
}

/// Of a session whose attempt was open when its process ended, and which cannot be repaired now.
#[tokio::test]
async fn nobody_elses_is_not_worked_on_either() {
    let provider = Provider::start().await;
    let owner = Caller::new("ann", "acme", ALL_BUT_THE_TENANTS);
    let stranger = Caller::new("ann", "globex", ALL);
    let mut gateway = Gateway::with_keys(&provider, &[&owner, &stranger]).await;
    let id = owner.session(&gateway, &json!({})).await;
    provider.push(Reply::stream().say("half").gate("never").stop());
    owner.post(&gateway, &format!("/v1/sessions/{id}/messages"), &json!({"text": "go"})).await.expect(202);
    provider.reached("never").await;
    let open = async || (owner.get(&gateway, &format!("/v1/sessions/{id}")).await.json()["status"] == "running").then_some(());
    poll("the request's record", open).await;
    gateway.kill9().await;
    let database = gateway.database();
    refuse_writes(&database);
    gateway.spawn().await;
    let dropped = |log: String| log.matches("the session's actor is dropped").count();
    poll("the repair that fails", || async { (dropped(gateway.log()) > 0).then_some(()) }).await;
    let before = dropped(gateway.log());
    for (method, path, body) in table() {
        let path = path.replace("{id}", &id).replace(['{', '}'], "");
        stranger.send(&gateway, method, &path, body.as_ref()).await.problem(404, "not_found");
    }
    assert_eq!(dropped(gateway.log()), before, "nobody repaired it for a stranger");
    owner.post(&gateway, &format!("/v1/sessions/{id}/messages"), &json!({"text": "go"})).await.problem(503, "store_unavailable");
    take_writes(&database);
}
