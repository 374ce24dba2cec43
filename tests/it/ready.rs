//! `GET /readyz`: whether the gateway takes input, and, for its administrator, why not.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::harness::disk::{refuse_writes, take_writes};
use crate::harness::{Gateway, Provider, Settings, Sse, list, poll, soon, text};

/// Not from this machine alone: anonymous.
const PROXIED: (&str, &str) = ("X-Forwarded-For", "10.0.0.1");

async fn unready(gateway: &Gateway) -> Vec<Value> {
    let body = gateway.get("/readyz").await.expect(503);
    assert_eq!(body["status"], "unready");
    list(&body, "/reasons").to_vec()
}

#[tokio::test]
async fn a_gateway_that_works_is_ready_and_says_no_more_to_strangers() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    assert_eq!(gateway.get("/readyz").await.expect(200), json!({"status": "ready", "reasons": []}));
    assert_eq!(gateway.send("GET", "/readyz", &[PROXIED], None).await.expect(200), json!({"status": "ready"}));
}

#[tokio::test]
async fn a_store_that_fails_makes_it_unready_until_the_disk_is_well() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let shell = gateway.database();
    refuse_writes(&shell);
    let messages = format!("/v1/sessions/{id}/messages");
    gateway.post(&messages, &json!({"text": "hi"})).await.problem(503, "store_unavailable");
    for _ in 0..3 {
        let reasons = unready(&gateway).await;
        assert_eq!((reasons.len(), text(&reasons[0], "/code")), (1, "store_failing"));
        assert!(text(&reasons[0], "/detail").contains("the disk is on fire"), "{reasons:?}");
    }
    assert_eq!(gateway.send("GET", "/readyz", &[PROXIED], None).await.expect(503), json!({"status": "unready"}));
    gateway.get("/healthz").await.expect(200);
    // nobody posts to a gateway that is not ready: it finds out by itself
    take_writes(&shell);
    assert_eq!(gateway.get("/readyz").await.expect(200)["status"], "ready");
    assert_eq!(gateway.ask(&id, "again").await["answer"], "re: again");
}

#[tokio::test]
async fn a_disk_that_hangs_does_not_hang_the_probe() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let shell = gateway.database();
    refuse_writes(&shell);
    gateway.post(&format!("/v1/sessions/{id}/messages"), &json!({"text": "hi"})).await.problem(503, "store_unavailable");
    // the gateway's own write waits for this one
    shell.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(text(&unready(&gateway).await[0], "/code"), "store_stalled");
    shell.execute_batch("DROP TRIGGER no_record; DROP TRIGGER no_meta; COMMIT").unwrap();
    let ready = async || (gateway.get("/readyz").await.status == 200).then_some(());
    poll("a gateway that is ready again", ready).await;
}

#[tokio::test]
async fn a_gateway_that_stops_says_so_to_whoever_still_asks() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::with(&provider, Settings { server: "drain_ms = 60000", ..Settings::default() }).await;
    let id = gateway.held_session(&provider).await;
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    // a stop lets nobody new in: the question comes on a connection that is there
    let mut probe = TcpStream::connect(("127.0.0.1", gateway.port)).await.unwrap();
    assert!(ask(&mut probe, gateway.port).await.contains("\"status\":\"ready\""));
    gateway.sigterm().await;
    feed.event("closing").await;
    let answer = ask(&mut probe, gateway.port).await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("\"code\":\"draining\""), "{answer}");
    provider.open("hold");
    assert_eq!(gateway.ended().await, Some(0));
}

/// Asks on a connection that stays open; the answer, head and body.
async fn ask(connection: &mut TcpStream, port: u16) -> String {
    let request = format!("GET /readyz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    soon("the answer of the probe", async {
        while !answer.ends_with(b"}") {
            assert!(connection.read_buf(&mut answer).await.unwrap() > 0, "{}", String::from_utf8_lossy(&answer));
        }
    })
    .await;
    String::from_utf8(answer).unwrap()
}
