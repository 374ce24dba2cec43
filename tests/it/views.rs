//! What each view shows of the same ledger.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Frame, Gateway, Provider, Reply, Settings, Sse, kind, list, text};

/// A session of which the ledger has reasoning, a call with its result, an error and an answer.
async fn told(provider: &Provider, gateway: &Gateway) -> String {
    provider.offers(&["ask_user", "bash"]);
    let id = gateway.cli_session().await;
    provider.push(
        Reply::stream().think("hidden thought").say("Looking.").bash("c1", "echo hidden-result").call("c2", "nope", &json!({})).calls(),
    );
    provider.push(Reply::text("Here."));
    gateway.ask(&id, "go").await;
    id
}

async fn feed(gateway: &Gateway, session: &str, view: &str) -> Vec<Frame> {
    let mut sse = Sse::open(gateway, &format!("/v1/sessions/{session}/events?view={view}"), &[]).await;
    sse.until_kind("done").await
}

fn records(frames: &[Frame]) -> Vec<Value> {
    frames.iter().filter(|f| f.is_record()).map(Frame::json).collect()
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

#[tokio::test]
async fn the_admin_view_is_the_whole_ledger() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = told(&provider, &gateway).await;
    let admin = records(&feed(&gateway, &id, "admin").await);
    assert_eq!(admin, gateway.audited(&id).await);
    assert!(admin.iter().any(|r| kind(r) == "request"));
}

#[tokio::test]
async fn the_owner_sees_how_but_not_the_requests() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = told(&provider, &gateway).await;
    let all = gateway.audited(&id).await;
    let owner = records(&feed(&gateway, &id, "owner").await);
    let shown: Vec<&Value> = all.iter().filter(|r| kind(r) != "request").collect();
    assert_eq!(owner.len(), shown.len());
    for (mine, whole) in owner.iter().zip(shown) {
        let mut without = whole.clone();
        if kind(whole) == "tool_end" {
            without.as_object_mut().unwrap().remove("content");
        }
        assert_eq!(*mine, without);
    }
}

#[tokio::test]
async fn the_chat_sees_the_conversation_only() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = told(&provider, &gateway).await;
    let all = gateway.audited(&id).await;
    let frames = feed(&gateway, &id, "chat").await;
    let raw: String = frames.iter().filter_map(|f| f.data.clone()).collect();
    for hidden in ["hidden thought", "hidden-result", "usage", "cost_microusd", "\"author\"", "\"trust\"", "\"by\"", "\"detail\""] {
        assert!(!raw.contains(hidden), "{hidden} is shown in the chat: {raw}");
    }
    let chat = records(&frames);
    for record in &chat {
        let seq = usize::try_from(record["seq"].as_u64().unwrap()).unwrap();
        assert_eq!(kind(record), kind(&all[seq - 1]), "a record keeps its id");
        let envelope = ["seq", "at", "turn", "step", "type"];
        let own: BTreeSet<&str> = keys(record).into_iter().filter(|k| !envelope.contains(k)).collect();
        match kind(record) {
            "session_created" => assert!(own.is_subset(&BTreeSet::from(["channel", "title"])), "{record}"),
            "tool_start" => assert_eq!(own, BTreeSet::from(["tool_call_id", "tool"]), "{record}"),
            "tool_end" => assert_eq!(own, BTreeSet::from(["tool_call_id", "tool", "duration_ms"]), "{record}"),
            "tool_error" => assert!(own.contains("code") && !own.contains("error"), "{record}"),
            other => assert_ne!(other, "request"),
        }
    }
    let message = chat.iter().find(|r| kind(r) == "message").unwrap();
    let blocks = list(message, "/content");
    assert_eq!(blocks[0], json!({"type": "reasoning"}), "a hidden block keeps its place");
    assert_eq!(blocks[1], json!({"type": "text", "text": "Looking."}));
    assert_eq!(blocks[2], json!({"type": "tool_call", "id": text(&blocks[2], "/id"), "tool": "bash"}));
}

#[tokio::test]
async fn live_events_of_the_chat_are_text_only() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    provider.offers(&["ask_user", "bash"]);
    let id = gateway.cli_session().await;
    let mut chat = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?view=chat"), &[]).await;
    let mut admin = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    provider.push(Reply::stream().think("thought").say("text ").bash("c1", "true").calls());
    gateway.say(&id, "go").await;
    let chat = chat.until_kind("done").await;
    let admin = admin.until_kind("done").await;
    let live = |frames: &[Frame]| frames.iter().filter(|f| f.kind().ends_with("_delta")).map(|f| f.kind().to_owned()).collect();
    let (seen, all): (BTreeSet<String>, BTreeSet<String>) = (live(&chat), live(&admin));
    assert_eq!(seen, BTreeSet::from(["text_delta".to_owned()]));
    assert!(all.contains("reasoning_delta") && all.contains("tool_input_delta"));
    let first = |frames: &[Frame]| frames.iter().find(|f| f.kind() == "text_delta").unwrap().clone();
    assert_eq!(first(&chat).id, first(&admin).id, "deltas that are hidden count as well");
    assert_eq!(first(&chat).json()["block"], first(&admin).json()["block"]);
    gateway.audited(&id).await;
}
