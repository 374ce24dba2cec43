//! Posting a message: accepted, streamed, waited for, repeated.

use serde_json::{Value, json};

use crate::harness::{Gateway, Provider, Reply, Settings, Sse, View, kind, list, number, of_kind, text, the};

fn path(session: &str) -> String {
    format!("/v1/sessions/{session}/messages")
}

#[tokio::test]
async fn an_accepted_message_is_in_the_ledger() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().gate("hold").say("hello").stop());
    let accepted = gateway.post(&path(&id), &json!({"text": "hi"})).await.expect(202);
    assert_eq!((&accepted["session_id"], &accepted["status"]), (&json!(id), &json!("queued")), "{accepted}");
    gateway.crash_and_restart().await;
    let records = gateway.records(&id).await;
    let queued = the(&records, "message_queued");
    assert_eq!((&queued["message_id"], &queued["seq"], &queued["text"]), (&accepted["message_id"], &accepted["seq"], &json!("hi")));
    assert!(queued.get("turn").is_none() && queued.get("step").is_none(), "input stands outside turns: {queued}");
    provider.open("hold");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn a_post_can_stream_its_own_turn() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    gateway.ask(&id, "an earlier turn").await;
    provider.push(Reply::stream().say("Hel").say("lo").stop());
    let body = json!({"text": "hi"}).to_string();
    let mut sse = Sse::request(&gateway, "POST", &path(&id), &[], Some(body.as_bytes())).await;
    let frames = sse.rest().await;
    assert_eq!(frames[0].kind(), "hello");
    let shown: Vec<&str> = frames.iter().filter(|f| f.is_record()).map(|f| f.kind()).collect();
    assert_eq!(
        shown,
        ["message_queued", "turn_start", "step_start", "request", "message", "step_end", "done"],
        "its own turn, and no more"
    );
    let live: String = frames.iter().filter(|f| f.kind() == "text_delta").map(|f| text(&f.json(), "/text").to_owned()).collect();
    assert_eq!(live, "Hello");
    let mut view = View::default();
    view.fold_all(&frames);
    let records = gateway.audited(&id).await;
    assert_eq!(view.records[..], records[records.len() - 7..], "what was streamed is what the ledger has");
}

#[tokio::test]
async fn a_post_streams_from_the_drain_that_claims_it() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.held_session(&provider).await;
    let body = json!({"text": "and this", "mode": "steer"}).to_string();
    let mut sse = Sse::request(&gateway, "POST", &path(&id), &[], Some(body.as_bytes())).await;
    let mut frames = sse.until_kind("message_queued").await;
    provider.open("hold");
    frames.extend(sse.rest().await);
    let shown: Vec<&str> = frames.iter().filter(|f| f.is_record()).map(|f| f.kind()).collect();
    assert_eq!(shown, ["message_queued", "queue_drain", "step_start", "request", "message", "step_end", "done"]);
    gateway.audited(&id).await;
}

#[tokio::test]
async fn a_caller_can_wait_for_the_answer() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let answer = gateway.post_with(&path(&id), &[("Prefer", "wait=30")], &json!({"text": "hi"})).await;
    assert!(answer.header("preference-applied").is_some_and(|p| p.contains("wait")), "{:?}", answer.headers);
    let body = answer.expect(200);
    let records = gateway.audited(&id).await;
    let done = the(&records, "done");
    assert_eq!((&body["answer"], &body["reason"], &body["turn"]), (&json!("re: hi"), &json!("completed"), &json!(1)), "{body}");
    assert_eq!(body["message_id"], the(&records, "message_queued")["message_id"]);
    assert_eq!((&body["usage"], &body["tool_calls"]), (&done["usage"], &done["tool_calls"]));
}

#[tokio::test]
async fn a_wait_is_clamped_to_what_is_offered() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let body = json!({"text": "hi"});
    for (asked, applied) in [("wait=9999", "wait=120"), ("wait=30", "wait=30"), ("respond-async, wait=10", "wait=10")] {
        let answer = gateway.post_with(&path(&id), &[("Prefer", asked)], &body).await;
        assert_eq!(answer.header("preference-applied"), Some(applied), "{asked}");
        assert_eq!(answer.expect(200)["answer"], "re: hi", "{asked}");
    }
    gateway.audited(&id).await;
}

#[tokio::test]
async fn waiting_ends_with_202_when_the_turn_takes_longer() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().gate("hold").say("late").stop());
    let body = gateway.post_with(&path(&id), &[("Prefer", "wait=1")], &json!({"text": "hi"})).await.expect(202);
    assert_eq!(body["status"], "queued");
    provider.open("hold");
    let records = gateway.audited(&id).await;
    assert_eq!(the(&records, "done")["answer"], "late", "the turn did not end with its waiter");
}

#[tokio::test]
async fn a_repeated_key_is_one_message() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let key = ("Idempotency-Key", "k-1");
    provider.push(Reply::stream().gate("hold").say("once").stop());
    let first = gateway.post_with(&path(&id), &[key], &json!({"text": "hi"})).await.expect(202);
    provider.reached("hold").await;
    let again = gateway.post_with(&path(&id), &[key], &json!({"text": "hi"})).await;
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.expect(202), first, "while it runs");
    gateway.post_with(&path(&id), &[key], &json!({"text": "other"})).await.problem(409, "idempotency_conflict");

    let body = json!({"text": "hi"}).to_string();
    let mut sse = Sse::request(&gateway, "POST", &path(&id), &[key], Some(body.as_bytes())).await;
    let begun = sse.until_kind("turn_start").await;
    provider.open("hold");
    let ended = sse.rest().await;
    assert_eq!(begun.iter().find(|f| f.kind() == "message_queued").unwrap().json()["message_id"], first["message_id"], "attached");
    assert_eq!(ended.last().unwrap().kind(), "done");

    gateway.crash_and_restart().await;
    let waited = gateway.post_with(&path(&id), &[key, ("Prefer", "wait=30")], &json!({"text": "hi"})).await.expect(200);
    assert_eq!((&waited["answer"], &waited["message_id"]), (&json!("once"), &first["message_id"]), "after its turn and a crash");
    let mut sse = Sse::request(&gateway, "POST", &path(&id), &[key], Some(body.as_bytes())).await;
    assert_eq!(sse.rest().await.last().unwrap().kind(), "done");
    let records = gateway.audited(&id).await;
    assert_eq!(of_kind(&records, "message_queued").len(), 1);
    assert_eq!(provider.requests().len(), 1, "a turn ran once");
}

/// A path may be spelt in many ways; its session is one.
#[tokio::test]
async fn a_key_is_the_same_however_its_path_is_spelt() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let (key, body) = (("Idempotency-Key", "k-1"), json!({"text": "hi"}));
    let first = gateway.post_with(&path(&id), &[key], &body).await.expect(202);
    for spelt in [id.replacen('s', "%73", 1), id.replacen('_', "%5F", 1), id.replacen('_', "%5f", 1)] {
        let again = gateway.post_with(&path(&spelt), &[key], &body).await;
        assert_eq!(again.header("idempotency-replayed"), Some("true"), "{spelt}");
        assert_eq!(again.expect(202), first, "{spelt}");
    }
    assert_eq!(of_kind(&gateway.audited(&id).await, "message_queued").len(), 1);
}

#[tokio::test]
async fn equal_posts_at_the_same_time_are_one_message() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let url = path(&id);
    let body = json!({"text": "hi"});
    let post = || gateway.post_with(&url, &[("Idempotency-Key", "same")], &body);
    let answers = tokio::join!(post(), post(), post(), post(), post(), post());
    let ids = [&answers.0, &answers.1, &answers.2, &answers.3, &answers.4, &answers.5].map(|a| a.expect(202)["message_id"].clone());
    assert!(ids.iter().all(|i| *i == ids[0]), "{ids:?}");
    assert_eq!(of_kind(&gateway.audited(&id).await, "message_queued").len(), 1);
}

#[tokio::test]
async fn the_transcript_shows_the_conversation_and_where_it_ends() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::default()).await;
    let id = gateway.session().await;
    gateway.ask(&id, "one").await;
    provider.push(Reply::stream().gate("hold").say("two!").stop());
    gateway.say(&id, "two").await;
    provider.reached("hold").await;
    let waiting = gateway.say_with(&id, &json!({"text": "three", "mode": "followup"})).await;
    let removed = gateway.say_with(&id, &json!({"text": "never", "mode": "followup"})).await;
    assert_eq!(gateway.delete(&format!("{}/{}", path(&id), text(&removed, "/message_id"))).await.status, 204);

    let page = gateway.get(&path(&id)).await.expect(200);
    let rows: Vec<(Value, &str, &str)> =
        list(&page, "/data").iter().map(|r| (r["turn"].clone(), text(r, "/role"), text(r, "/text"))).collect();
    let expected =
        [(json!(1), "user", "one"), (json!(1), "assistant", "re: one"), (json!(2), "user", "two"), (Value::Null, "user", "three")];
    assert_eq!(rows, expected);
    assert_eq!(list(&page, "/data")[3]["message_id"], waiting["message_id"]);
    let cursor = page["cursor"].as_str().map_or_else(|| page["cursor"].to_string(), str::to_owned);
    let seq: u64 = cursor.parse().expect("a bare seq");

    let mut sse = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after={cursor}"), &[]).await;
    provider.open("hold");
    let mut frames = sse.until_kind("done").await;
    frames.extend(sse.until_kind("done").await);
    let seqs: Vec<u64> = frames.iter().filter(|f| f.is_record()).map(|f| f.cursor().unwrap().0).collect();
    assert_eq!(seqs[0], seq + 1, "the feed goes on where the page is complete to");
    let said: Vec<String> =
        frames.iter().filter(|f| f.kind() == "message").map(|f| text(&f.json(), "/content/0/text").to_owned()).collect();
    assert_eq!(said, ["two!", "re: three"]);
    gateway.audited(&id).await;
}

#[tokio::test]
async fn a_message_may_choose_its_model_and_instructions() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    gateway.say_with(&id, &json!({"text": "hi", "model": "other-model", "instructions": "Speak like a sailor."})).await;
    let request = provider.request(1).await;
    assert_eq!(request["model"], "other-model");
    assert!(request["messages"].to_string().contains("Speak like a sailor."), "{request}");
    gateway.idle(&id).await;
    gateway.say(&id, "again").await;
    let request = provider.request(2).await;
    assert_eq!(request["model"], "mock", "the choice was of one turn");
    assert!(!request["messages"].to_string().contains("Speak like a sailor."), "{request}");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn a_gone_client_does_not_end_its_turn() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().say("a").gate("hold").say("b").stop());
    let body = json!({"text": "hi"}).to_string();
    let mut sse = Sse::request(&gateway, "POST", &path(&id), &[], Some(body.as_bytes())).await;
    sse.until_kind("text_delta").await;
    drop(sse);
    let mut other = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await;
    provider.open("hold");
    assert_eq!(other.event("done").await["answer"], "ab");
    let records = gateway.audited(&id).await;
    assert_eq!(kind(records.last().unwrap()), "done");
    assert_eq!(number(the(&records, "done"), "/turn"), 1);
}
