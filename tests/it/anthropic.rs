//! The Anthropic wire: a whole conversation over it, and the thoughts that a provider wants back.

use serde_json::{Value, json};

use crate::harness::anthropic::Blocks;
use crate::harness::{Gateway, Provider, Reply, Settings, Sse, list, number, of_kind, text, the};

const THINKS: Settings = Settings { server: "", agent: "reasoning_effort = \"low\"\n", tables: "[tools.bash]\npolicy = \"allow\"\n" };
const MODEL: &str = "claude-sonnet-4-5";

async fn ask(gateway: &Gateway, session: &str, message: &str, model: &str) {
    gateway.say_with(session, &json!({"text": message, "model": model})).await;
    gateway.idle(session).await;
}

fn newest(provider: &Provider) -> String {
    String::from_utf8(provider.bodies().pop().unwrap()).unwrap()
}

#[tokio::test]
async fn thoughts_go_back_byte_for_byte_over_a_restart_and_to_no_other_model() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::with(&provider, THINKS).await;
    let id = gateway.cli_session().await;
    let first = Blocks::begin().redacted("Em+/==").think("hm — é \"q\"\n", "Eq+/==").say("I look.").bash("toolu_1", "echo one");
    provider.push(first.stop("tool_use"));
    provider.push(Blocks::begin().think("thought, and cut", "Cut==").gate("hold"));
    provider.push(Blocks::begin().think("", "Er==").redacted("En==").bash("toolu_2", "echo two").stop("tool_use"));
    provider.push(Blocks::begin().say("Done.").stop("end_turn"));
    gateway.say_with(&id, &json!({"text": "go", "model": MODEL})).await;
    provider.reached("hold").await;
    gateway.crash_and_restart().await;
    gateway.idle(&id).await;

    let one = concat!(
        r#"{"role":"assistant","content":[{"type":"redacted_thinking","data":"Em+/=="},"#,
        r#"{"type":"thinking","thinking":"hm — é \"q\"\n","signature":"Eq+/=="},{"type":"text","text":"I look."},"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"bash","input":{"command":"echo one"}}]}"#,
    );
    let two = concat!(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"Er=="},{"type":"redacted_thinking","data":"En=="},"#,
        r#"{"type":"tool_use","id":"toolu_2","name":"bash","input":{"command":"echo two"}}]}"#,
    );
    let bodies = provider.bodies();
    assert_eq!(bodies.len(), 4);
    assert_eq!(String::from_utf8_lossy(&bodies[1]), String::from_utf8_lossy(&bodies[2]), "the same request, also after the restart");
    assert!(String::from_utf8_lossy(&bodies[1]).contains(one), "{}", String::from_utf8_lossy(&bodies[1]));
    let last = newest(&provider);
    assert!(last.contains(one) && last.contains(two) && !last.contains("Cut=="), "{last}");
    assert!(last.contains(r#""thinking":{"type":"enabled","budget_tokens":4096}"#), "{last}");

    gateway.crash_and_restart().await;
    provider.push(Blocks::begin().say("Yes.").stop("end_turn"));
    ask(&gateway, &id, "still there?", MODEL).await;
    assert!(newest(&provider).contains(one) && newest(&provider).contains(two), "{}", newest(&provider));

    for (model, answer) in [("claude-opus-5-5", Blocks::begin().say("Me too.").stop("end_turn")), ("mock", Reply::text("Me too."))] {
        provider.push(answer);
        ask(&gateway, &id, "and you?", model).await;
        let body = newest(&provider);
        assert!(body.contains("echo two") && ["Em+", "Eq+", "Er==", "En==", "hm —"].iter().all(|s| !body.contains(s)), "{model}: {body}");
    }
    provider.push(Blocks::begin().say("Again.").stop("end_turn"));
    ask(&gateway, &id, "back", MODEL).await;
    assert!(newest(&provider).contains(one), "they were kept");

    let records = gateway.audited(&id).await;
    assert_eq!(of_kind(&records, "done").iter().filter(|done| done["reason"] == "completed").count(), 5);
}

#[tokio::test]
async fn an_owner_sees_thoughts_and_nobody_but_an_operator_what_is_only_for_the_provider() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Blocks::begin().redacted("Em+/==").think("hm", "Eq+/==").say("Hi.").stop("end_turn"));
    ask(&gateway, &id, "go", MODEL).await;
    let records = gateway.audited(&id).await;
    let message = the(&records, "message");
    assert_eq!(message["usage"], json!({"input": 6, "cache_read": 5, "cache_write": 2, "output": 4, "reasoning": 3}));
    assert_eq!((text(message, "/content/0/text"), text(message, "/content/1/text"), text(message, "/content/2/text")), ("", "hm", "Hi."));
    assert!(text(message, "/content/0/opaque/data").contains("Em+/=="));
    for (view, thought) in [("owner", true), ("chat", false)] {
        let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?view={view}"), &[]).await;
        let frames = feed.until_kind("done").await;
        let raw = String::from_utf8(feed.raw.clone()).unwrap();
        assert!(!raw.contains("Em+/==") && !raw.contains("Eq+/==") && !raw.contains("opaque"), "{view}: {raw}");
        let shown: Vec<Value> = frames.iter().filter(|frame| frame.is_record()).map(|frame| frame.json()).collect();
        let content = list(the(&shown, "message"), "/content").to_vec();
        assert_eq!((content.len(), &content[2]["text"]), (3, &json!("Hi.")), "each block keeps its place");
        assert_eq!(content[1]["text"] == "hm", thought, "{view}");
    }
}

#[tokio::test]
async fn the_last_request_has_the_tools_of_those_before_it_and_forbids_them() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    let gateway = Gateway::with(&provider, Settings { agent: "max_steps = 1", ..THINKS }).await;
    let id = gateway.cli_session().await;
    provider.push(Blocks::begin().bash("c1", "true").stop("tool_use"));
    provider.push(Blocks::begin().say("What I know.").stop("end_turn"));
    ask(&gateway, &id, "go", MODEL).await;
    let [first, last] = &provider.requests()[..] else { panic!("two requests") };
    assert_eq!(first["tools"], last["tools"]);
    assert_eq!((&first["tool_choice"], &last["tool_choice"]), (&Value::Null, &json!({"type": "none"})));
    let records = gateway.audited(&id).await;
    let sent = of_kind(&records, "request");
    assert_eq!(sent[0]["tools_digest"], sent[1]["withheld_digest"]);
    assert!(sent[0]["withheld_digest"].is_null() && sent[1]["tools_digest"].is_null(), "{sent:?}");
    assert_eq!(text(the(&records, "done"), "/reason"), "max_steps");
}

#[tokio::test]
async fn a_model_that_said_all_beside_its_calls_may_end_without_a_word() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, THINKS).await;
    let id = gateway.cli_session().await;
    for (model, call, silence) in [
        (
            MODEL,
            Blocks::begin().think("hm", "Eq+/==").say("It is done.").bash("c1", "true").stop("tool_use"),
            Blocks::begin().stop("end_turn"),
        ),
        ("mock", Reply::stream().say("It is done.").bash("c2", "true").calls(), Reply::stream().stop()),
    ] {
        provider.push(call);
        provider.push(silence);
        ask(&gateway, &id, "go", model).await;
        provider.push(if model == MODEL { Blocks::begin().say("Yes.").stop("end_turn") } else { Reply::text("Yes.") });
        ask(&gateway, &id, "really?", model).await;
    }
    let records = gateway.audited(&id).await;
    assert!(of_kind(&records, "retry").is_empty());
    let done = of_kind(&records, "done");
    let ends: Vec<_> = done.iter().map(|done| (text(done, "/reason"), text(done, "/answer"), number(done, "/usage/input"))).collect();
    let (silent, said) = (|input| ("completed", "It is done.", input), |input| ("completed", "Yes.", input));
    assert_eq!(ends, [silent(12), said(6), silent(12), said(6)], "both requests are paid");
}

#[tokio::test]
async fn a_cancel_does_not_forget_what_was_paid() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    for (answer, visible) in [(Blocks::begin().say("half"), 1), (Blocks::begin().think("hm", "Eq+/=="), 0)] {
        let id = gateway.session().await;
        let gate = format!("hold {visible}");
        provider.push(answer.gate(&gate));
        gateway.say_with(&id, &json!({"text": "go", "model": MODEL})).await;
        let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
        feed.until_kind(if visible == 1 { "text_delta" } else { "reasoning_delta" }).await;
        gateway.post(&format!("/v1/sessions/{id}/cancel"), &json!({})).await;
        gateway.idle(&id).await;
        let records = gateway.audited(&id).await;
        let begun = json!({"input": 6, "cache_read": 5, "cache_write": 2, "output": 1, "reasoning": 0});
        assert_eq!(the(&records, "done")["usage"], begun);
        let messages = of_kind(&records, "message");
        assert_eq!(messages.len(), visible);
        assert!(messages.iter().all(|message| message["usage"] == begun && message["interrupted"] == true), "{messages:?}");
    }
}

#[tokio::test]
async fn an_error_in_mid_stream_is_asked_again_and_a_refusal_is_no_success() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Blocks::begin().say("void").fail("overloaded_error"));
    provider.push(Blocks::begin().say("Whole.").stop("end_turn"));
    ask(&gateway, &id, "go", MODEL).await;
    provider.push(Blocks::begin().say("I will tell you how").stop("refusal"));
    ask(&gateway, &id, "a bad thing", MODEL).await;
    provider.push(Blocks::begin().say("never shown as an answer").fail("invalid_request_error"));
    ask(&gateway, &id, "again", MODEL).await;
    let records = gateway.audited(&id).await;
    let retry = the(&records, "retry");
    assert_eq!((text(retry, "/code"), &retry["discarded"]), ("overloaded", &json!(true)));
    let begun = json!({"input": 6, "cache_read": 5, "cache_write": 2, "output": 1, "reasoning": 0});
    assert_eq!(retry["usage"], begun);
    let done = of_kind(&records, "done");
    assert_eq!(done[0]["usage"], json!({"input": 12, "cache_read": 10, "cache_write": 4, "output": 5, "reasoning": 3}), "both attempts");
    assert_eq!(done[2]["usage"], begun, "no record but this one tells of it");
    let ends: Vec<_> = done.iter().map(|done| text(done, "/reason")).collect();
    assert_eq!(ends, ["completed", "blocked", "error"]);
    assert_eq!(text(done[0], "/answer"), "Whole.");
    assert_eq!(text(of_kind(&records, "message")[1], "/finish"), "refusal");
    assert!(!text(done[2], "/answer").is_empty(), "nobody is left with silence");
}

#[tokio::test]
async fn a_thought_that_nothing_followed_does_not_end_its_session() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let thinks = |blocks: Blocks| blocks.think("hm", "Eq+/==");
    for (answer, reason) in [
        (thinks(Blocks::begin().say("Some.")), "end_turn"),
        (thinks(Blocks::begin().say("Some.")), "max_tokens"),
        (thinks(Blocks::begin()).say(""), "max_tokens"),
        (thinks(Blocks::begin()).say("\n\n"), "max_tokens"),
    ] {
        let id = gateway.session().await;
        provider.push(answer.stop(reason));
        provider.push(Blocks::begin().say("Whole.").stop("end_turn"));
        ask(&gateway, &id, "go", MODEL).await;
        ask(&gateway, &id, "and?", MODEL).await;
        let records = gateway.audited(&id).await;
        assert_eq!(text(of_kind(&records, "done")[1], "/reason"), "completed");
    }
}
