//! Questions that the model asks the person.

use serde_json::{Value, json};

use crate::harness::provider::results;
use crate::harness::{Gateway, Provider, Reply, Sse, list, of_kind, text, the};

/// A session that waits for answers; its id, and the `question_asked` record.
async fn asked(provider: &Provider, gateway: &Gateway) -> (String, Value) {
    provider.offers(&["ask_user", "bash"]);
    let id = gateway.cli_session().await;
    let questions = json!({"questions": [
        {"id": "colour", "text": "Which colour?", "options": [{"label": "red"}, {"label": "blue", "description": "as the sea"}]},
        {"id": "why", "text": "And why?", "free_text": true},
    ]});
    provider.push(Reply::stream().call("c1", "ask_user", &questions).calls());
    let mut feed = Sse::open(gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    (id, feed.event("question_asked").await)
}

fn route(session: &str, asked: &Value) -> String {
    format!("/v1/sessions/{session}/questions/{}", text(asked, "/question_id"))
}

#[tokio::test]
async fn answers_are_the_calls_result() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let (id, asked) = asked(&provider, &gateway).await;
    let first = &list(&asked, "/questions")[0];
    assert_eq!((text(first, "/id"), text(first, "/text")), ("colour", "Which colour?"));
    assert_eq!((text(first, "/options/1/label"), text(first, "/options/1/description")), ("blue", "as the sea"));
    assert_eq!((&first["multiple"], &first["free_text"]), (&json!(false), &json!(false)));
    assert_eq!(gateway.state(&id).await["status"], "waiting");

    gateway.crash_and_restart().await;
    let hello = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await.event("hello").await;
    let card = &list(&hello, "/questions")[0];
    assert_eq!(
        (&card["question_id"], &card["questions"], &card["expires_at"]),
        (&asked["question_id"], &asked["questions"], &asked["expires_at"])
    );

    let good = json!({"answers": [{"id": "colour", "selected": ["blue"]}, {"id": "why", "selected": [], "text": "the sea"}]});
    for (bad, pointer) in [
        (json!({"answers": [{"id": "colour", "selected": ["green"]}, {"id": "why", "selected": [], "text": "x"}]}), "/answers/0/selected"),
        (json!({"answers": [{"id": "shape", "selected": []}]}), "/answers/0/id"),
        (json!({"answers": 5}), "/answers"),
        (json!({"answers": [["colour", ["blue"]], ["why", [], "the sea"]]}), "/answers/0"),
    ] {
        let problem = gateway.post_as_owner(&route(&id, &asked), &bad).await.problem(422, "invalid_request");
        assert!(list(&problem, "/errors").iter().any(|e| text(e, "/pointer").starts_with(pointer)), "{problem}");
    }
    gateway.post_as_owner(&format!("/v1/sessions/{id}/questions/none"), &good).await.problem(404, "not_found");
    let body = gateway.post_as_owner(&route(&id, &asked), &good).await.expect(200);
    assert_eq!(gateway.post_as_owner(&route(&id, &asked), &good).await.expect(200), body, "the same again");
    gateway.post_as_owner(&route(&id, &asked), &json!({"declined": true})).await.problem(409, "already_decided");

    let records = gateway.audited(&id).await;
    assert_eq!(list(the(&records, "question_answered"), "/answers")[0]["selected"], json!(["blue"]));
    assert_eq!(of_kind(&records, "tool_start").len(), 1, "written with its result, when the answer is in");
    let start = the(&records, "tool_start")["seq"].as_u64();
    assert!(start > the(&records, "question_answered")["seq"].as_u64());
    let shown = results(&provider.request(2).await);
    assert!(shown[0].0 == "c1" && shown[0].1.contains("blue") && shown[0].1.contains("the sea"), "{shown:?}");
}

#[tokio::test]
async fn a_declined_question_is_a_result_too() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (id, asked) = asked(&provider, &gateway).await;
    gateway.post_as_owner(&route(&id, &asked), &json!({"declined": true})).await.expect(200);
    let records = gateway.audited(&id).await;
    assert_eq!(the(&records, "question_answered")["declined"], true);
    assert_eq!(the(&records, "done")["reason"], "completed");
    assert_eq!(results(&provider.request(2).await).len(), 1);
}

#[tokio::test]
async fn a_cancel_ends_the_question() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (id, asked) = asked(&provider, &gateway).await;
    gateway.post(&format!("/v1/sessions/{id}/cancel"), &json!({})).await.expect(200);
    let records = gateway.audited(&id).await;
    assert_eq!(the(&records, "done")["reason"], "aborted");
    gateway.post_as_owner(&route(&id, &asked), &json!({"declined": true})).await.any_problem(410);
    assert_eq!(gateway.ask(&id, "and?").await["reason"], "completed");
    gateway.audited(&id).await;
}
