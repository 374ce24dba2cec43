//! Cancelling: at any point, with one honest end, and a conversation that goes on.

use serde_json::{Value, json};

use crate::harness::{Gateway, Provider, Reply, Settings, Sse, View, list, of_kind, poll, text, the};

async fn cancel(gateway: &Gateway, session: &str, body: Value) -> Value {
    gateway.post(&format!("/v1/sessions/{session}/cancel"), &body).await.expect(200)
}

fn assert_aborted(records: &[Value]) {
    let done = the(records, "done");
    assert_eq!((&done["reason"], &done["cause"]), (&json!("aborted"), &json!("user")), "{done}");
}

#[tokio::test]
async fn in_mid_stream_the_visible_prefix_is_kept() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::start(&provider).await;
    let id = gateway.cli_session().await;
    let half = Reply::stream().think("hm").say("Once upon").call("c1", "bash", &json!({"command": "true"})).gate("never").calls();
    provider.push(half);
    let mut view = View::default();
    let mut feed = view.join(&gateway, &id).await;
    gateway.say(&id, "go").await;
    feed.until_kind("tool_input_delta").await;
    let cancelled = cancel(&gateway, &id, json!({})).await;
    assert_eq!((&cancelled["turn"], &cancelled["removed"]), (&json!(1), &json!([])), "{cancelled}");
    feed.until_kind("done").await;
    provider.abandoned(1).await;
    let records = gateway.audited(&id).await;
    assert_aborted(&records);
    let message = the(&records, "message");
    assert_eq!((&message["interrupted"], &message["finish"]), (&json!(true), &json!("cancelled")), "{message}");
    let blocks = list(message, "/content");
    assert!(blocks.contains(&json!({"type": "text", "text": "Once upon"})), "{message}");
    assert!(!blocks.iter().any(|b| b["type"] == "tool_call"), "half-received calls are dropped: {message}");
    assert_eq!(gateway.ask(&id, "and?").await["reason"], "completed");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn before_the_first_token() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().gate("never").say("x").stop());
    gateway.say(&id, "go").await;
    provider.reached("never").await;
    cancel(&gateway, &id, json!({})).await;
    provider.abandoned(1).await;
    assert_aborted(&gateway.audited(&id).await);
    assert_eq!(gateway.ask(&id, "and?").await["answer"], "re: and?");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn while_it_waits_to_try_again() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::error(429, "rate_limit_exceeded").header("Retry-After", "50"));
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    feed.until_kind("retry").await;
    cancel(&gateway, &id, json!({})).await;
    feed.until_kind("done").await;
    assert_aborted(&gateway.audited(&id).await);
    assert_eq!(provider.requests().len(), 1);
}

#[tokio::test]
async fn during_a_tool_its_processes_end_too() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let pids = gateway.dir.join("pids");
    let command = format!("sleep 600 & echo $! >> {0}; sleep 601 & echo $! >> {0}; wait", pids.display());
    provider.push(Reply::stream().bash("c1", &command).bash("c2", "echo never").calls());
    gateway.say(&id, "go").await;
    let started = poll("the tool's processes", || async {
        let text = std::fs::read_to_string(&pids).unwrap_or_default();
        let pids: Vec<String> = text.lines().map(str::to_owned).collect();
        (pids.len() == 2).then_some(pids)
    })
    .await;
    cancel(&gateway, &id, json!({})).await;
    let records = gateway.audited(&id).await;
    assert_aborted(&records);
    let codes: Vec<(&str, &str)> = of_kind(&records, "tool_error").iter().map(|e| (text(e, "/tool_call_id"), text(e, "/code"))).collect();
    assert_eq!(codes, [("c1", "TOOL_OUTCOME_UNKNOWN"), ("c2", "ABORTED_BEFORE_DISPATCH")]);
    for pid in started {
        poll("the end of the tool's processes", || async {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
            stat.is_none_or(|s| s.contains(") Z ")).then_some(())
        })
        .await;
    }
    assert_eq!(gateway.ask(&id, "and?").await["reason"], "completed", "the model is told, the history is whole");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn while_an_approval_waits() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::start(&provider).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().bash("c1", "true").calls());
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    let asked = feed.event("approval_requested").await;
    cancel(&gateway, &id, json!({})).await;
    assert_eq!(feed.event("tool_approval").await["decision"], "cancelled");
    feed.until_kind("done").await;
    let records = gateway.audited(&id).await;
    assert_aborted(&records);
    assert!(of_kind(&records, "tool_start").is_empty());
    let path = format!("/v1/sessions/{id}/approvals/{}", text(&asked, "/approval_id"));
    gateway.post_as_owner(&path, &json!({"decision": "allow_once"})).await.any_problem(410);
    assert!(list(&gateway.get("/v1/approvals?status=pending").await.expect(200), "/data").is_empty());
    let hello = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await.event("hello").await;
    assert!(list(&hello, "/approvals").is_empty(), "no card stays behind: {hello}");
}

#[tokio::test]
async fn an_idle_cancel_is_nothing_and_poisons_nothing() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    for round in 0..3 {
        let nothing = cancel(&gateway, &id, json!({})).await;
        assert!(nothing.get("turn").is_none(), "{nothing}");
        assert_eq!(nothing["removed"], json!([]), "{nothing}");
        assert_eq!(gateway.ask(&id, &format!("{round}")).await["answer"], format!("re: {round}"));
    }
    let records = gateway.audited(&id).await;
    assert!(of_kind(&records, "done").iter().all(|d| d["reason"] == "completed"));
}

#[tokio::test]
async fn queued_input_goes_or_is_kept_as_asked() {
    for keep in [false, true] {
        let provider = Provider::start().await;
        let gateway = Gateway::start(&provider).await;
        let id = gateway.session().await;
        provider.push(Reply::stream().gate("never").stop());
        gateway.say(&id, "go").await;
        provider.reached("never").await;
        let mut queued = Vec::new();
        for text in ["a", "b"] {
            queued.push(gateway.say_with(&id, &json!({"text": text, "mode": "followup"})).await["message_id"].clone());
        }
        let cancelled = cancel(&gateway, &id, json!({"keep_queue": keep})).await;
        let records = gateway.audited(&id).await;
        let removed = of_kind(&records, "message_removed");
        let done = of_kind(&records, "done");
        assert_eq!(done[0]["reason"], "aborted");
        if keep {
            assert_eq!(cancelled["removed"], json!([]));
            assert!(removed.is_empty());
            let claimed: Vec<&Value> = done[1..].iter().flat_map(|d| list(d, "/message_ids")).collect();
            assert_eq!(claimed, queued.iter().collect::<Vec<_>>(), "kept input runs next");
        } else {
            assert_eq!(cancelled["removed"], json!(queued));
            assert!(removed.len() == 2 && removed.iter().all(|r| r["reason"] == "cancelled"), "{removed:?}");
            assert_eq!(done.len(), 1);
        }
    }
}

#[tokio::test]
async fn a_post_right_after_a_cancel_wakes_the_next_turn() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    for round in 0..20 {
        provider.push(Reply::stream().say("x").hang());
        let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await;
        gateway.say(&id, "go").await;
        feed.until_kind("text_delta").await;
        cancel(&gateway, &id, json!({})).await;
        assert_eq!(gateway.ask(&id, &format!("next {round}")).await["answer"], format!("re: next {round}"));
    }
    let records = gateway.audited(&id).await;
    assert_eq!(of_kind(&records, "done").len(), 40);
}
