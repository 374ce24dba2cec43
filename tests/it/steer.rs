//! Input that comes while a turn runs: for its next step, or for a turn of its own.

use serde_json::{Value, json};

use crate::harness::provider::last_user;
use crate::harness::{Gateway, Provider, Reply, Settings, list, of_kind, text, the};

#[tokio::test]
async fn a_steer_goes_into_the_next_step_of_the_running_turn() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().gate("hold").say("first").stop());
    provider.push(Reply::text("second"));
    let go = gateway.say(&id, "go").await;
    provider.reached("hold").await;
    let mut ids = vec![go["message_id"].clone()];
    for text in ["no, left", "and slowly"] {
        ids.push(gateway.say_with(&id, &json!({"text": text, "mode": "steer"})).await["message_id"].clone());
    }
    provider.open("hold");
    let records = gateway.audited(&id).await;
    assert_eq!(of_kind(&records, "turn_start").len(), 1, "one turn");
    let drain = the(&records, "queue_drain");
    assert_eq!((&drain["message_ids"], &drain["message_count"]), (&json!(ids[1..]), &json!(2)));
    let merged = text(drain, "/merged_text");
    assert!(merged.contains("no, left") && merged.contains("and slowly"), "{merged}");
    let done = the(&records, "done");
    assert_eq!((&done["message_ids"], &done["answer"], &done["steps"]), (&json!(ids), &json!("second"), &json!(2)));
    assert!(last_user(&provider.request(2).await).contains("no, left"));
}

#[tokio::test]
async fn a_steer_is_read_between_a_tool_and_the_next_request() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().gate("hold").bash("c1", "echo x").calls());
    gateway.say(&id, "go").await;
    provider.reached("hold").await;
    // the terminal's own default
    gateway.say(&id, "stop at the bridge").await;
    provider.open("hold");
    let records = gateway.audited(&id).await;
    assert_eq!(of_kind(&records, "turn_start").len(), 1);
    let second = provider.request(2).await;
    let roles: Vec<&str> = list(&second, "/messages").iter().rev().take(2).map(|m| text(m, "/role")).collect();
    assert_eq!(roles, ["user", "tool"], "behind the results");
    assert_eq!(last_user(&second), "stop at the bridge");
}

#[tokio::test]
async fn a_followup_waits_for_its_own_turn() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.held_session(&provider).await;
    // the default of the channel `api`
    let next = gateway.say(&id, "next").await;
    let records = gateway.records(&id).await;
    assert_eq!(records.last().map(|r| (&r["message_id"], &r["target"])), Some((&next["message_id"], &json!("next_turn"))));
    provider.open("hold");
    let records = gateway.audited(&id).await;
    let done: Vec<(&Value, &Value)> = of_kind(&records, "done").iter().map(|d| (&d["turn"], &d["answer"])).collect();
    assert_eq!(done, [(&json!(1), &json!("first")), (&json!(2), &json!("re: next"))]);
    assert!(of_kind(&records, "queue_drain").is_empty());
}

#[tokio::test]
async fn a_steer_to_an_idle_session_starts_a_turn() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    gateway.say_with(&id, &json!({"text": "hi", "mode": "steer"})).await;
    assert_eq!(the(&gateway.audited(&id).await, "done")["answer"], "re: hi");
}

#[tokio::test]
async fn what_comes_after_max_steps_is_left_to_the_next_turn() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    let gateway = Gateway::with(&provider, Settings { agent: "max_steps = 1", ..Settings::FREE_BASH }).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().bash("c1", "true").calls());
    provider.push(Reply::stream().gate("hold").say("at the limit").stop());
    gateway.say(&id, "go").await;
    provider.reached("hold").await;
    gateway.say_with(&id, &json!({"text": "more", "mode": "steer"})).await;
    provider.open("hold");
    let records = gateway.audited(&id).await;
    let reasons: Vec<&str> = of_kind(&records, "done").iter().map(|d| text(d, "/reason")).collect();
    assert_eq!(reasons, ["max_steps", "completed"]);
}
