//! The first minute: no key, no network, and still something that answers, calls tools and asks.

use std::collections::BTreeSet;

use serde_json::json;

use crate::harness::{Frame, Gateway, Provider, Sse, of_kind, text, the};

#[tokio::test]
async fn without_a_key_the_demo_answers_and_says_what_it_is() {
    let gateway = Gateway::bare().await;
    let id = gateway.session().await;
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "Hello, who are you?").await;
    let frames = feed.until_kind("done").await;
    let kinds: BTreeSet<&str> = frames.iter().map(Frame::kind).collect();
    assert!(kinds.contains("text_delta"), "it streams: {kinds:?}");
    let records = gateway.audited(&id).await;
    let done = the(&records, "done");
    assert_eq!(done["reason"], "completed");
    assert!(text(done, "/answer").to_lowercase().contains("demo"), "it says plainly that it is a demo: {done}");
    assert_eq!(of_kind(&records, "request")[0]["provider"], "demo");
}

#[tokio::test]
async fn the_page_suggests_bookings_only_where_the_demo_can_book() {
    let page = |body: Vec<u8>| String::from_utf8(body).unwrap();
    let demo = page(Gateway::bare().await.get("/").await.body);
    assert!(demo.contains("<body class=\"with-demo\">") && demo.contains("class=\"demo\""), "{demo}");
    let provider = Provider::start().await;
    let other = page(Gateway::start(&provider).await.get("/").await.body);
    assert!(other.contains("<body>") && other.contains("class=\"no-demo\""), "{other}");
}

#[tokio::test]
async fn the_demo_tools_are_there_with_the_demo_model() {
    let gateway = Gateway::bare().await;
    let made = gateway.post("/v1/sessions", &json!({"channel": "web"})).await.expect(201);
    let capabilities = gateway.get(&format!("/v1/sessions/{}/capabilities", text(&made, "/id"))).await.expect(200);
    let shown = capabilities["tools"].to_string();
    assert!(shown.contains("demo_lookup") && shown.contains("demo_booking"), "{capabilities}");
}
