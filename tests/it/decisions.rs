//! The decision route: checked in one order, idempotent, and a tool runs once however often it is allowed.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::{Answer, Gateway, Provider, Reply, Sse, of_kind, text, the};

/// A session that waits for the approval of one command; its id, and the route that decides.
async fn waiting(provider: &Provider, gateway: &Gateway, command: &str) -> (String, String, Value) {
    provider.offers(&["ask_user", "bash"]);
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().bash("c1", command).calls());
    let mut feed = Sse::open(gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    let asked = feed.event("approval_requested").await;
    let route = format!("/v1/sessions/{id}/approvals/{}", text(&asked, "/approval_id"));
    (id, route, asked)
}

#[tokio::test]
async fn the_checks_come_in_their_order() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (id, route, asked) = waiting(&provider, &gateway, "true").await;
    let bearer = gateway.bearer();
    let owner = [("Authorization", bearer.as_str())];
    let (nowhere, nothing) = ("/v1/sessions/nobody/approvals/none".to_owned(), format!("/v1/sessions/{id}/approvals/none"));
    let (bad, good) = (json!({"decision": "maybe"}), json!({"decision": "allow_once"}));

    // 401 before 404: a caller that is nobody learns nothing
    gateway.post_with(&nowhere, &[("X-Forwarded-For", "10.0.0.1")], &bad).await.problem(401, "unauthorized");
    // 404 of the session before 422
    gateway.post_with(&nowhere, &owner, &bad).await.problem(404, "not_found");
    // 403 before 422
    gateway.post(&route, &bad).await.problem(403, "local_key_required");
    gateway.post(&route, &good).await.problem(403, "local_key_required");
    // 422 before 404 of the approval
    gateway.post_with(&nothing, &owner, &bad).await.problem(422, "invalid_request");
    for wrong in [json!({"decision": "expired"}), json!({"decision": "cancelled"}), json!({}), json!({"decision": "deny", "note": 1})] {
        gateway.post_with(&route, &owner, &wrong).await.problem(422, "invalid_request");
    }
    gateway.post_with(&nothing, &owner, &good).await.problem(404, "not_found");
    // what was shown is not what waits
    let stale = json!({"decision": "allow_once", "digest": "0".repeat(64)});
    gateway.post_with(&route, &owner, &stale).await.problem(409, "digest_mismatch");
    assert!(of_kind(&gateway.records(&id).await, "tool_approval").is_empty(), "nothing of it decided anything");

    let exact = json!({"decision": "allow_once", "digest": asked["digest"]});
    let first = gateway.post_with(&route, &owner, &exact).await.expect(200);
    assert_eq!(gateway.post_with(&route, &owner, &good).await.expect(200), first, "an equal decision again");
    gateway.post_with(&route, &owner, &json!({"decision": "deny"})).await.problem(409, "already_decided");
    gateway.audited(&id).await;
    assert_eq!(gateway.post_with(&route, &owner, &good).await.expect(200), first, "also after the turn");
    gateway.post_with(&route, &owner, &json!({"decision": "deny"})).await.problem(409, "already_decided");
    assert_eq!(of_kind(&gateway.audited(&id).await, "tool_approval").len(), 1);
}

#[tokio::test]
async fn an_approval_of_another_session_is_unknown_here() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (_, route, asked) = waiting(&provider, &gateway, "true").await;
    let other = gateway.cli_session().await;
    let foreign = format!("/v1/sessions/{other}/approvals/{}", text(&asked, "/approval_id"));
    gateway.post_as_owner(&foreign, &json!({"decision": "allow_once"})).await.problem(404, "not_found");
    gateway.post_as_owner(&route, &json!({"decision": "deny"})).await.expect(200);
}

#[tokio::test]
async fn twenty_equal_decisions_run_the_tool_once() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let ran = gateway.dir.join("ran");
    let (id, route, _) = waiting(&provider, &gateway, &format!("echo ran >> {}", ran.display())).await;
    let decision = json!({"decision": "allow_once"});
    let answers: Vec<Answer> = join_all((0..20).map(|_| gateway.post_as_owner(&route, &decision))).await;
    let bodies: Vec<Value> = answers.iter().map(|a| a.expect(200)).collect();
    assert!(bodies.iter().all(|b| *b == bodies[0]), "{bodies:?}");
    let records = gateway.audited(&id).await;
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "ran\n");
    the(&records, "tool_approval");
    the(&records, "tool_start");
}

#[tokio::test]
async fn of_two_different_decisions_one_stands() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (id, route, _) = waiting(&provider, &gateway, "true").await;
    let decisions = ["allow_once", "deny"].repeat(6);
    let posts = decisions.iter().map(|decision| {
        let (gateway, route) = (&gateway, &route);
        async move { gateway.post_as_owner(route, &json!({"decision": decision})).await }
    });
    let answers = join_all(posts).await;
    let records = gateway.audited(&id).await;
    let stands = text(the(&records, "tool_approval"), "/decision");
    for (decision, answer) in decisions.iter().zip(answers) {
        if *decision == stands {
            answer.expect(200);
        } else {
            answer.problem(409, "already_decided");
        }
    }
}
