//! Turns: steps, tools, limits, and one honest end.

use serde_json::{Value, json};

use crate::harness::provider::{results, tools_of};
use crate::harness::{Gateway, Provider, Reply, Settings, Sse, kind, list, number, of_kind, text, the};

#[tokio::test]
async fn a_plain_turn_is_one_step() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().think("hm").say("hello").stop());
    gateway.ask(&id, "hi").await;
    let records = gateway.audited(&id).await;
    let shown: Vec<&str> = records.iter().map(kind).collect();
    let turn = ["message_queued", "turn_start", "step_start", "request", "message", "step_end", "done"];
    assert_eq!(shown[1..], turn);
    let message = the(&records, "message");
    assert_eq!(message["content"], json!([{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "hello"}]));
    assert_eq!(message["finish"], "stop");
    let done = the(&records, "done");
    assert_eq!((&done["reason"], &done["answer"], &done["steps"]), (&json!("completed"), &json!("hello"), &json!(1)));
    assert_eq!(done["message_ids"], the(&records, "turn_start")["message_ids"]);
    let usage = &done["usage"];
    let parts = ["input", "cache_read", "output", "reasoning"].map(|part| number(usage, &format!("/{part}")));
    assert_eq!(parts, [6, 5, 4, 3], "11 in of which 5 from the cache, 7 out of which 3 reasoning, without overlap: {usage}");
    assert!(done["total_time_ms"].is_u64() && done["cost_microusd"].as_f64().is_none_or(|c| c.fract() == 0.0), "{done}");
    for record in &records[2..] {
        assert_eq!(record["turn"], 1, "{record}");
        let in_step = !matches!(kind(record), "turn_start" | "done");
        assert_eq!(record.get("step"), in_step.then_some(&json!(1)), "{record}");
    }
    assert!(records.iter().all(|r| !r.as_object().unwrap().values().any(Value::is_null)), "optional fields are absent, never null");
}

#[tokio::test]
async fn the_conversation_grows_by_what_was_said() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    for text in ["one", "two", "three"] {
        gateway.ask(&id, text).await;
    }
    let requests = provider.requests();
    let said: Vec<(String, String)> = list(&requests[2], "/messages")
        .iter()
        .filter(|m| m["role"] != "system" && m["role"] != "developer")
        .map(|m| (text(m, "/role").to_owned(), crate::harness::provider::plain(&m["content"])))
        .collect();
    let expected = [("user", "one"), ("assistant", "re: one"), ("user", "two"), ("assistant", "re: two"), ("user", "three")];
    assert_eq!(said, expected.map(|(role, text)| (role.to_owned(), text.to_owned())));
    let system = |request: &Value| request["messages"][0].clone();
    assert_eq!(system(&requests[0]), system(&requests[2]), "a stable prefix");
    assert_eq!(requests[0]["stream"], true);
}

#[tokio::test]
async fn parallel_calls_have_their_results_in_the_models_order() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let calls = [
        ("c1", "bash", r#"{"command":"sleep 0.3; echo first"}"#),
        ("c2", "bash", r#"{"command":"echo second"}"#),
        ("c3", "nonesuch", "{}"),
        ("c4", "bash", "{not json"),
    ];
    provider.push(Reply::stream().say("Working.").calls_in_pieces(&calls, 5).calls());
    provider.push(Reply::text("Done."));
    let answer = gateway.ask(&id, "go").await;
    assert_eq!((&answer["answer"], &answer["reason"]), (&json!("Done."), &json!("completed")));
    let shown = results(&provider.request(2).await);
    assert_eq!(shown.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["c1", "c2", "c3", "c4"]);
    assert!(shown[0].1.contains("first") && shown[1].1.contains("second"), "{shown:?}");
    let records = gateway.audited(&id).await;
    let calls: Vec<(&str, &str, &str)> = list(the(&records, "done"), "/tool_calls")
        .iter()
        .map(|c| (text(c, "/tool_call_id"), text(c, "/tool"), text(c, "/status")))
        .collect();
    assert_eq!(calls, [("c1", "bash", "ok"), ("c2", "bash", "ok"), ("c3", "nonesuch", "error"), ("c4", "bash", "error")]);
    assert_eq!(the(&records, "thinking")["message"], "Working.", "the text beside the calls");
    for error in of_kind(&records, "tool_error") {
        assert!(!text(error, "/code").is_empty() && !text(error, "/error").is_empty());
    }
    let end = of_kind(&records, "tool_end")[0];
    assert_eq!(text(end, "/content"), shown[0].1, "what the model sees");
    assert!(text(end, "/content").starts_with(text(end, "/preview")) || text(end, "/preview").len() <= 2000);
    assert!(number(end, "/duration_ms") >= 300 && number(end, "/bytes") >= 6, "{end}");
}

#[tokio::test]
async fn arguments_keep_the_models_spelling() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let args = "{ \"z\": 1.50, \"command\": \"echo a  b\", \"a\": [1e2, 1E2] }";
    provider.push(Reply::stream().calls_in_pieces(&[("c1", "bash", args)], 3).calls());
    gateway.ask(&id, "go").await;
    let path = format!("/v1/sessions/{id}/records");
    let raw = String::from_utf8(gateway.get(&path).await.body).unwrap();
    let kept = r#"{"z":1.50,"command":"echo a  b","a":[1e2,1E2]}"#;
    assert!(raw.matches(kept).count() >= 1, "only insignificant whitespace goes: {raw}");
    let replayed = provider.request(2).await;
    let message = list(&replayed, "/messages").iter().find(|m| m.get("tool_calls").is_some()).unwrap();
    assert_eq!(text(message, "/tool_calls/0/function/arguments"), kept, "the bytes are replayed");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn after_max_steps_one_request_without_tools_answers() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    let settings = Settings { agent: "max_steps = 2", ..Settings::FREE_BASH };
    let gateway = Gateway::with(&provider, settings).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().bash("c1", "echo 1").calls());
    provider.push(Reply::stream().bash("c2", "echo 2").calls());
    provider.push(Reply::text("What I know."));
    let answer = gateway.ask(&id, "go").await;
    assert_eq!((&answer["answer"], &answer["reason"]), (&json!("What I know."), &json!("max_steps")));
    let offered: Vec<bool> = provider.requests().iter().map(|r| tools_of(r).is_empty()).collect();
    assert_eq!(offered, [false, false, true]);
    gateway.audited(&id).await;
    gateway.ask(&id, "again").await;
    assert!(!tools_of(&provider.request(4).await).is_empty(), "the next turn has its tools again");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn nothing_of_a_truncated_answer_is_run() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let ran = gateway.dir.join("ran");
    let command = json!({"command": format!("touch {}", ran.display())});
    provider.push(Reply::stream().say("I will").call("c1", "bash", &command).finish("length"));
    gateway.say(&id, "go").await;
    let records = gateway.audited(&id).await;
    assert!(!ran.exists());
    assert!(of_kind(&records, "tool_start").is_empty());
    assert_eq!(of_kind(&records, "message")[0]["finish"], "max_tokens");
    the(&records, "done");
}

#[tokio::test]
async fn an_answer_cut_at_the_limit_says_so() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().say("and then").finish("length"));
    let answer = gateway.ask(&id, "go").await;
    assert_eq!((&answer["answer"], &answer["reason"]), (&json!("and then"), &json!("max_tokens")));
    gateway.audited(&id).await;
}

#[tokio::test]
async fn a_huge_result_is_capped_for_the_model() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().bash("c1", "yes 'é' | head -n 100000").calls());
    gateway.ask(&id, "go").await;
    let records = gateway.audited(&id).await;
    let end = the(&records, "tool_end");
    let content = text(end, "/content");
    assert!(content.chars().count() <= 52_000, "50k characters and a marker: {}", content.chars().count());
    assert!(text(end, "/preview").chars().count() <= 2_000);
    assert_eq!(results(&provider.request(2).await)[0].1, content);
}

#[tokio::test]
async fn past_its_deadline_a_turn_answers_with_what_is_known() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    let gateway = Gateway::with(&provider, Settings { agent: "turn_deadline_s = 1", ..Settings::FREE_BASH }).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().bash("c1", "sleep 60").calls());
    provider.push(Reply::text("What I know."));
    let answer = gateway.ask(&id, "go").await;
    assert_eq!((&answer["answer"], &answer["reason"]), (&json!("What I know."), &json!("budget")));
    assert!(tools_of(&provider.request(2).await).is_empty(), "one last request without tools");
    let records = gateway.audited(&id).await;
    assert_eq!(the(&records, "done")["code"], "deadline");
    let call = &the(&records, "done")["tool_calls"][0];
    assert!(
        call["status"] == "error" && (500..30_000).contains(&call["duration_ms"].as_u64().unwrap()),
        "no body outlives its turn: {call}"
    );
    assert_eq!(gateway.ask(&id, "and now?").await["reason"], "completed");
}

#[tokio::test]
async fn sessions_do_not_hold_each_other_up() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (slow, fast) = (gateway.session().await, gateway.session().await);
    provider.on("slow", Reply::stream().say("slow").gate("hold").stop());
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{slow}/events"), &[]).await;
    gateway.say(&slow, "slow").await;
    feed.until_kind("text_delta").await;
    for round in 0..5 {
        assert_eq!(gateway.ask(&fast, &format!("quick {round}")).await["answer"], format!("re: quick {round}"));
    }
    provider.open("hold");
    feed.until_kind("done").await;
    let (slow, fast) = (gateway.audited(&slow).await, gateway.audited(&fast).await);
    assert_eq!((of_kind(&slow, "done").len(), of_kind(&fast, "done").len()), (1, 5));
}
