//! The feed: what a reader gets, in which order, and how it narrows it.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::json;

use crate::harness::{Frame, Gateway, Provider, Reply, Sse, View, kind, list, number, text};

fn path(session: &str) -> String {
    format!("/v1/sessions/{session}/events")
}

/// Every kind of live event: reasoning, text, a call in pieces.
fn rich() -> Reply {
    Reply::stream().think("hm ").think("so").say("I ").say("look").calls_in_pieces(&[("c1", "bash", r#"{"command":"true"}"#)], 4).calls()
}

#[tokio::test]
async fn hello_comes_first_and_says_where_the_session_stands() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut sse = Sse::open(&gateway, &path(&id), &[]).await;
    let hello = sse.next().await.unwrap();
    assert_eq!((hello.kind(), &hello.id), ("hello", &None));
    let idle = hello.json();
    assert_eq!((&idle["session_id"], number(&idle, "/head")), (&json!(id), 1), "{idle}");
    assert!(idle.get("turn").is_none() && idle.get("live").is_none(), "{idle}");
    for waits in ["/approvals", "/questions", "/client_calls"] {
        assert!(list(&idle, waits).is_empty(), "{idle}");
    }
    provider.push(Reply::stream().say("half").gate("hold").stop());
    gateway.say(&id, "go").await;
    sse.until_kind("text_delta").await;
    let busy = Sse::open(&gateway, &path(&id), &[]).await.event("hello").await;
    assert_eq!(busy["turn"], 1, "{busy}");
    assert!(busy.pointer("/live/message_id").is_some(), "{busy}");
    provider.open("hold");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn ids_increase_and_the_feed_is_the_ledger() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, crate::harness::Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let mut sse = Sse::open(&gateway, &path(&id), &[]).await;
    provider.push(rich());
    provider.push(Reply::text("fine"));
    gateway.say(&id, "go").await;
    let frames = sse.until_kind("done").await;
    let mut view = View::default();
    view.fold_all(&frames);
    assert_eq!(view.records, gateway.audited(&id).await);
    let live: BTreeSet<&str> = frames.iter().map(Frame::kind).filter(|k| k.ends_with("_delta")).collect();
    assert_eq!(live, BTreeSet::from(["reasoning_delta", "text_delta", "tool_input_delta"]));
    let ids: Vec<(u64, u64)> = frames.iter().filter_map(Frame::cursor).collect();
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
    let message = frames.iter().find(|f| f.kind() == "message").unwrap().json();
    for delta in frames.iter().take_while(|f| f.kind() != "message").filter(|f| f.kind() == "text_delta") {
        assert_eq!(delta.json()["message_id"], message["message_id"]);
        let block = delta.json()["block"].as_u64().unwrap();
        assert_eq!(message.pointer(&format!("/content/{block}/type")), Some(&json!("text")), "block is the index in content");
    }
    assert_eq!(message["content"][0], json!({"type": "reasoning", "text": "hm so"}));
    assert_eq!(message["content"][1], json!({"type": "text", "text": "I look"}));
}

#[tokio::test]
async fn a_start_at_head_is_told_its_cursor_first() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    gateway.ask(&id, "old").await;
    let head = gateway.audited(&id).await.len() as u64;
    let mut sse = Sse::open(&gateway, &format!("{}?after=head", path(&id)), &[]).await;
    assert_eq!(sse.event("hello").await["head"], head);
    let start = sse.next().await.unwrap();
    assert_eq!((&start.event, &start.data, start.cursor()), (&None, &None, Some((head, 0))), "an id-only frame");
    gateway.say(&id, "new").await;
    let first = sse.until("a record", Frame::is_record).await.pop().unwrap();
    assert_eq!((first.kind(), first.cursor()), ("message_queued", Some((head + 1, 0))));
    gateway.audited(&id).await;
}

#[tokio::test]
async fn the_last_event_id_wins_over_after() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    gateway.ask(&id, "hi").await;
    let mut sse = Sse::open(&gateway, &format!("{}?after=head", path(&id)), &[("Last-Event-ID", "3")]).await;
    let first = sse.until("a record", Frame::is_record).await.pop().unwrap();
    assert_eq!(first.cursor(), Some((4, 0)));
    let mut sse = Sse::open(&gateway, &format!("{}?after=5", path(&id)), &[]).await;
    let first = sse.until("a record", Frame::is_record).await.pop().unwrap();
    assert_eq!(first.cursor(), Some((6, 0)));
}

#[tokio::test]
async fn types_filter_and_bring_what_closes_live_text() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut turns = Sse::open(&gateway, &format!("{}?types=turn_start,done", path(&id)), &[]).await;
    let mut text = Sse::open(&gateway, &format!("{}?types=text_delta", path(&id)), &[]).await;
    provider.push(Reply::stream().think("hm").say("a").say("b").stop());
    gateway.say(&id, "go").await;
    let named = |frames: Vec<Frame>| frames.into_iter().filter(|f| f.id.is_some()).filter_map(|f| f.event).collect::<Vec<_>>();
    assert_eq!(named(turns.until_kind("done").await), ["turn_start", "done"]);
    let mut seen = named(text.until_kind("done").await);
    seen.dedup();
    assert_eq!(seen, ["text_delta", "message", "done"]);
    gateway.audited(&id).await;
}

#[tokio::test]
async fn a_type_that_is_none_is_refused_and_told_what_there_is() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let refused = gateway.get(&format!("{}?types=done,foo", path(&id))).await;
    let problem = refused.problem(422, "invalid_request");
    assert_eq!(text(&problem, "/errors/0/pointer"), "types");
    let detail = text(&problem, "/errors/0/detail");
    assert!(["\"foo\"", "message", "text_delta", "heartbeat"].iter().all(|name| detail.contains(name)), "{detail}");
    for taken in ["turn_start, done", "tool_progress", "hello", "", ",", "done,delivery"] {
        let taken = taken.replace(' ', "%20");
        Sse::open(&gateway, &format!("{}?types={taken}", path(&id)), &[]).await.event("hello").await;
    }
}

#[tokio::test]
async fn many_readers_see_the_same_and_a_gone_one_costs_nothing() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut first = Sse::open(&gateway, &path(&id), &[]).await;
    let mut second = Sse::open(&gateway, &path(&id), &[]).await;
    let stalled = Sse::open(&gateway, &path(&id), &[]).await;
    drop(Sse::open(&gateway, &path(&id), &[]).await);
    provider.push(Reply::stream().say("a").gate("hold").say("b").stop());
    gateway.say(&id, "go").await;
    first.until_kind("text_delta").await;
    let mut late = View::default();
    let mut third = late.join(&gateway, &id).await;
    late.read_live(&mut third, "a").await;
    provider.open("hold");
    late.fold_all(&third.until_kind("done").await);
    let mut view = View::default();
    view.fold_all(&second.until_kind("done").await);
    assert_eq!(view, late);
    assert_eq!(view.records, gateway.audited(&id).await);
    drop(stalled);
}

#[tokio::test]
async fn a_stalled_reader_holds_nobody_up_and_misses_nothing() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut slow = View::default();
    let mut stalled = slow.join(&gateway, &id).await;
    let mut reader = Sse::open(&gateway, &path(&id), &[]).await;
    let page = "x".repeat(64 * 1024);
    for turn in 0..4 {
        let reply = (0..40).fold(Reply::stream(), |reply, i| reply.say(&format!("{turn}.{i} {page}")));
        provider.push(reply.stop());
        gateway.say(&id, "more").await;
        reader.until_kind("done").await;
    }
    let records = gateway.audited(&id).await;
    // it may have been let go, with a word; then it comes back with its last id
    let mut closed = 0;
    while slow.records.len() < records.len() {
        match stalled.next().await {
            Some(frame) => slow.fold(&frame),
            None => {
                closed += 1;
                assert!(closed < 5, "a reader that reads is not let go");
                stalled = slow.join(&gateway, &id).await;
            }
        }
    }
    assert_eq!((slow.records, slow.live.is_empty()), (records, true));
}

#[tokio::test]
async fn a_heartbeat_comes_and_moves_no_cursor() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut sse = Sse::open(&gateway, &path(&id), &[]).await;
    sse.until_kind("session_created").await;
    let beat = sse.within(Duration::from_secs(19)).await.expect("one in 15 s");
    assert_eq!((beat.kind(), &beat.id), ("heartbeat", &None));
    assert!(!text(&beat.json(), "/at").is_empty());
}

#[tokio::test]
async fn records_page_as_the_feed_does() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    gateway.ask(&id, "hi").await;
    let all = gateway.audited(&id).await;
    let page = gateway.get(&format!("/v1/sessions/{id}/records?after=2&limit=3")).await.expect(200);
    assert_eq!(list(&page, "/data"), &all[2..5]);
    assert!(page.get("next_cursor").is_some());
    let last = gateway.get(&format!("/v1/sessions/{id}/records?after={}", all.len() - 1)).await.expect(200);
    assert_eq!(list(&last, "/data").iter().map(kind).collect::<Vec<_>>(), ["done"]);
    assert!(last.get("next_cursor").is_none(), "absent on the last page: {last}");
}
