//! 13: whatever was open goes on by itself, and whatever is open lets the process end.

use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::peek;
use crate::harness::provider::{last_user, results};
use crate::harness::{Gateway, Provider, Reply, Settings, Sse, http, of_kind, poll, text, the};

#[tokio::test]
async fn i13_nothing_sleeps_for_ever() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    let settings = Settings { tables: "[approvals]\nexpire_s = 2\n", ..Settings::default() };
    let mut gateway = Gateway::with(&provider, settings).await;
    let (open, asking) = (gateway.session().await, gateway.cli_session().await);
    provider.on("to be cut", Reply::stream().say("half").gate("never").stop());
    provider.on("to be asked", Reply::stream().bash("c1", "true").calls());
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{asking}/events"), &[]).await;
    gateway.say(&open, "to be cut").await;
    provider.reached("never").await;
    gateway.say_with(&open, &json!({"text": "to wait", "mode": "followup"})).await;
    gateway.say(&asking, "to be asked").await;
    feed.event("approval_requested").await;
    gateway.crash_and_restart().await;
    // nobody connects, not even to look: the file says when all is at rest
    let at_rest =
        "SELECT count(*) FROM session WHERE json_extract(overview, '$.status') = 'idle' AND json_extract(overview, '$.queued') = 0";
    poll("both sessions at rest", || async { peek::<i64>(&gateway.dir, at_rest).filter(|n| *n == 2) }).await;
    let records = gateway.audited(&open).await;
    let answers: Vec<&str> = of_kind(&records, "done").iter().map(|d| text(d, "/answer")).collect();
    assert_eq!(answers, ["re: to be cut", "re: to wait"], "the open turn, then what was queued");
    let records = gateway.audited(&asking).await;
    assert_eq!(the(&records, "tool_approval")["decision"], "expired");
    assert!(of_kind(&records, "tool_start").is_empty());
    assert_eq!(the(&records, "done")["reason"], "completed");
    let told = provider.requests().into_iter().rfind(|r| last_user(r) == "to be asked").unwrap();
    assert_eq!(results(&told).len(), 1, "the model is told of the denial");
}

#[tokio::test]
async fn i13_every_open_stream_lets_the_process_end() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    let mut gateway = Gateway::with(&provider, Settings { server: "drain_ms = 500", ..Settings::default() }).await;
    let (busy, idle, asking) = (gateway.session().await, gateway.session().await, gateway.cli_session().await);
    let page = "x".repeat(64 * 1024);
    provider.on("much", (0..160).fold(Reply::stream(), |reply, _| reply.say(&page)).gate("much").hang());
    provider.on("ask me", Reply::stream().bash("c1", "true").calls());
    let raw = async |text: String| {
        let mut socket = TcpStream::connect(("127.0.0.1", gateway.port)).await.unwrap();
        socket.write_all(text.as_bytes()).await.unwrap();
        socket
    };
    let host = format!("Host: 127.0.0.1:{}\r\n", gateway.port);
    let never_reads = raw(format!("GET /v1/sessions/{busy}/events HTTP/1.1\r\n{host}\r\n")).await;
    let half_a_head = raw(format!("GET /v1/sessions/{idle} HTTP/1.1\r\n{host}")).await;
    let half_a_body =
        raw(format!("POST /v1/sessions/{idle}/messages HTTP/1.1\r\n{host}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{{"))
            .await;
    let says_nothing = raw(String::new()).await;
    let mut kept_alive = raw(format!("GET /healthz HTTP/1.1\r\n{host}\r\n")).await;
    kept_alive.set_nodelay(true).unwrap();
    tokio::io::AsyncReadExt::read(&mut kept_alive, &mut [0; 64]).await.unwrap();
    let events = |session: &str| format!("/v1/sessions/{session}/events");
    let mut of_idle = Sse::open(&gateway, &events(&idle), &[]).await;
    let mut of_asking = Sse::open(&gateway, &events(&asking), &[]).await;
    gateway.say(&asking, "ask me").await;
    of_asking.until_kind("approval_requested").await;
    let body = json!({"text": "much"}).to_string();
    let mut posted = Sse::request(&gateway, "POST", &format!("/v1/sessions/{busy}/messages"), &[], Some(body.as_bytes())).await;
    posted.until_kind("text_delta").await;
    let drains = tokio::spawn(async move { posted.rest().await });
    provider.reached("much").await;
    let (port, path) = (gateway.port, format!("/v1/sessions/{busy}/messages"));
    let mut of_busy = Sse::open(&gateway, &format!("{}?after=head", events(&busy)), &[]).await;
    let waits = tokio::spawn(async move {
        let body = json!({"text": "wait for me", "mode": "followup"}).to_string();
        http::request(port, "POST", &path, &[("Prefer", "wait=120")], Some(body.as_bytes())).await
    });
    of_busy.until_kind("message_queued").await;

    let told = Instant::now();
    gateway.sigterm().await;
    for feed in [&mut of_idle, &mut of_asking, &mut of_busy] {
        let last = feed.rest().await.pop().unwrap();
        assert_eq!((last.kind(), last.json()["reason"].as_str()), ("closing", Some("draining")), "{last:?}");
    }
    assert_eq!(gateway.ended().await, Some(0));
    assert!(told.elapsed() < Duration::from_secs(8), "{:?}", told.elapsed());
    assert_eq!(drains.await.unwrap().pop().unwrap().kind(), "closing");
    assert_eq!(waits.await.unwrap().unwrap().status, 202, "who waited is told that it is accepted");
    drop((never_reads, half_a_head, half_a_body, says_nothing, kept_alive));
}
