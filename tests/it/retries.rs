//! What goes wrong on the way to a model: retried inside the step, or told as it is. Never taken for success.

use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::harness::seed::Dice;
use crate::harness::{Gateway, Provider, Reply, Sse, View, of_kind, text, the};

#[tokio::test]
async fn an_overload_is_waited_out() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::error(429, "rate_limit_exceeded").header("Retry-After", "1"));
    let answer = gateway.ask(&id, "hi").await;
    assert_eq!((&answer["answer"], &answer["reason"]), (&json!("re: hi"), &json!("completed")));
    let records = gateway.audited(&id).await;
    let retry = the(&records, "retry");
    assert_eq!((&retry["attempt"], &retry["discarded"]), (&json!(1), &json!(false)), "{retry}");
    assert!(retry["delay_ms"].as_u64().is_some_and(|ms| (1000..=2000).contains(&ms)), "Retry-After is honoured: {retry}");
    assert_eq!((of_kind(&records, "step_start").len(), of_kind(&records, "request").len()), (1, 2), "one step, two attempts");
    assert_eq!(of_kind(&records, "request")[1]["attempt"], 2);
    let requests = provider.requests();
    assert_eq!(requests[0], requests[1], "the same request again");
}

#[tokio::test]
async fn each_transient_error_is_retried() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (provider, gateway) = (&provider, &gateway);
    let rounds = [408, 409, 500, 503, 529].map(|status| async move {
        let id = gateway.session().await;
        let asked = format!("status {status}");
        provider.on(&asked, Reply::error(status, "server_error"));
        let answer = gateway.ask(&id, &asked).await;
        assert_eq!((&answer["answer"], &answer["reason"]), (&json!(format!("re: {asked}")), &json!("completed")));
        the(&gateway.audited(&id).await, "retry");
    });
    join_all(rounds).await;
}

#[tokio::test]
async fn three_attempts_and_no_more() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    for _ in 0..3 {
        provider.push(Reply::error(500, "server_error"));
    }
    let answer = gateway.ask(&id, "hi").await;
    assert_eq!(answer["reason"], "error", "{answer}");
    let records = gateway.audited(&id).await;
    assert_eq!((of_kind(&records, "request").len(), provider.requests().len()), (3, 3));
    let done = the(&records, "done");
    assert!(!text(done, "/code").is_empty(), "{done}");
    assert!(!text(done, "/answer").is_empty(), "no sender is left with silence: {done}");
    assert_eq!(gateway.ask(&id, "still there?").await["reason"], "completed", "the session stays usable");
}

#[tokio::test]
async fn what_a_retry_cannot_mend_is_not_retried() {
    for (status, code) in
        [(401, "invalid_api_key"), (403, "permission_denied"), (400, "invalid_request_error"), (429, "insufficient_quota")]
    {
        let provider = Provider::start().await;
        let gateway = Gateway::start(&provider).await;
        let id = gateway.session().await;
        provider.push(Reply::error(status, code));
        assert_eq!(gateway.ask(&id, "hi").await["reason"], "error", "{status} {code}");
        let records = gateway.audited(&id).await;
        assert!(of_kind(&records, "retry").is_empty() && provider.requests().len() == 1, "{status} {code}");
        assert!(!gateway.log().contains("Bearer test"), "no secret in the log");
    }
}

#[tokio::test]
async fn a_cut_after_visible_text_voids_it() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut view = View::default();
    let mut feed = view.join(&gateway, &id).await;
    provider.push(Reply::stream().say("Hel").gate("seen").cut());
    provider.push(Reply::stream().say("Hello").stop());
    gateway.say(&id, "hi").await;
    view.read_live(&mut feed, "Hel").await;
    provider.open("seen");
    let frames = feed.until_kind("retry").await;
    view.fold_all(&frames);
    assert_eq!((view.live_text(), &frames.last().unwrap().json()["discarded"]), (String::new(), &json!(true)));
    view.fold_all(&feed.until_kind("done").await);
    let records = gateway.audited(&id).await;
    assert_eq!(the(&records, "message")["content"], json!([{"type": "text", "text": "Hello"}]), "only the second");
    assert_eq!(the(&records, "done")["answer"], "Hello");
    assert_eq!(view.records, records);
}

#[tokio::test]
async fn a_cut_at_any_byte_leaves_no_trace_in_the_answer() {
    let mut dice = Dice::new("a_cut_at_any_byte_leaves_no_trace_in_the_answer");
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (provider, gateway) = (&provider, &gateway);
    let half = Reply::stream().think("思").say("Wrong ").say("🙂");
    // up to some way into the frame that has the finish reason: behind that an answer may count as whole
    let length = half.length() + 40;
    let first = half.stop();
    let mut cuts: Vec<usize> = (0..40).map(|_| dice.below(length + 1)).collect();
    cuts.extend([1, length]);
    let rounds = cuts.into_iter().enumerate().map(|(i, cut)| {
        let first = first.clone().cut_after(cut.max(1));
        async move {
            let asked = format!("<{i}>");
            provider.on(&asked, first);
            provider.on(&asked, Reply::text("Right"));
            let id = gateway.session().await;
            let answer = gateway.ask(&id, &asked).await;
            assert_eq!((&answer["answer"], &answer["reason"]), (&json!("Right"), &json!("completed")), "cut after {cut} bytes");
            let records = gateway.audited(&id).await;
            assert_eq!(the(&records, "message")["content"], json!([{"type": "text", "text": "Right"}]), "cut after {cut} bytes");
            let view = gateway.fresh_view(&id).await;
            assert!(view.live.is_empty() && view.records == records);
        }
    });
    join_all(rounds).await;
}

#[tokio::test]
async fn each_attempt_has_a_message_id_of_its_own() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    provider.push(Reply::stream().say("one").cut());
    provider.push(Reply::stream().say("two").stop());
    gateway.say(&id, "hi").await;
    let frames = feed.until_kind("done").await;
    let ids: Vec<Value> = frames.iter().filter(|f| f.kind() == "text_delta").map(|f| f.json()["message_id"].clone()).collect();
    let message = frames.iter().find(|f| f.kind() == "message").unwrap().json();
    assert_eq!(ids.last(), Some(&message["message_id"]));
    assert!(ids.len() < 2 || ids[0] != ids[1], "{ids:?}");
    gateway.audited(&id).await;
}

/// Ends of a stream that are no end of an answer.
#[tokio::test]
async fn a_stream_without_its_terminal_event_is_never_success() {
    let error = json!({"error": {"message": "overloaded", "type": "server_error", "code": "server_error"}});
    let broken = [
        ("silence", Reply::stream()),
        ("text, then the end", Reply::stream().say("half an ans")),
        ("text, then a cut", Reply::stream().say("half an ans").cut()),
        ("half a call", Reply::stream().calls_in_pieces(&[("c1", "bash", "{\"com")], 2)),
        ("an error in the stream", Reply::stream().say("half an ans").data(&error)),
        ("an error at once", Reply::stream().data(&error)),
    ];
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (provider, gateway) = (&provider, &gateway);
    let rounds = broken.map(|(what, reply)| async move {
        let id = gateway.session().await;
        for _ in 0..3 {
            provider.on(what, reply.clone());
        }
        let answer = gateway.ask(&id, what).await;
        assert_eq!(answer["reason"], "error", "{what}: {answer}");
        let records = gateway.audited(&id).await;
        assert_eq!(of_kind(&records, "request").len(), 3, "{what}");
        assert!(of_kind(&records, "message").is_empty(), "{what}: half an answer is none");
        assert!(!text(the(&records, "done"), "/answer").is_empty(), "{what}: the sender hears of it");
        provider.on(what, Reply::text("well again"));
        assert_eq!(gateway.ask(&id, what).await["answer"], "well again", "{what}");
        gateway.audited(&id).await;
    });
    join_all(rounds).await;
    assert!(provider.requests().iter().all(|r| !r["messages"].to_string().contains("half an ans")), "void text is not replayed");
}

#[tokio::test]
async fn a_model_that_is_not_there_is_an_error() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    drop(provider);
    let answer = gateway.ask(&id, "hi").await;
    assert_eq!(answer["reason"], "error", "{answer}");
    let records = gateway.audited(&id).await;
    assert_eq!(of_kind(&records, "request").len(), 3, "connect errors are retried");
}
