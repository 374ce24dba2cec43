//! The bytes of a stream: headers, lines, and text that arrives cut at any byte.

use crate::harness::{Gateway, Provider, Reply, Sse, View, text, the};

#[tokio::test]
async fn a_stream_has_the_headers_that_proxies_heed() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let sse = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[("Accept-Encoding", "gzip, br, zstd")]).await;
    assert_eq!(sse.header("content-type").map(|t| t.split(';').next().unwrap()), Some("text/event-stream"));
    assert_eq!(sse.header("cache-control"), Some("no-cache, no-transform"));
    assert_eq!(sse.header("x-accel-buffering"), Some("no"));
    assert_eq!(sse.header("content-encoding"), None);
}

#[tokio::test]
async fn each_event_is_lines_of_name_id_and_one_line_of_json() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut sse = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    let hard = "line\nbreak\r\n, \u{2028} and \u{0085}, a NUL-free 你好🙂é \"quoted\" data: x";
    provider.push(Reply::stream().say(hard).stop());
    gateway.say(&id, hard).await;
    sse.until_kind("done").await;
    assert!(!sse.raw.contains(&b'\r'), "LF only");
    let raw = String::from_utf8(sse.raw.clone()).unwrap();
    for block in raw.split("\n\n").filter(|b| !b.is_empty()) {
        let fields: Vec<(&str, &str)> = block.lines().filter(|l| !l.starts_with(':')).filter_map(|l| l.split_once(": ")).collect();
        let count = |name: &str| fields.iter().filter(|(n, _)| *n == name).count();
        let value = |name: &str| fields.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
        assert!(count("event") <= 1 && count("id") <= 1 && count("data") <= 1, "{block:?}");
        let Some(event) = value("event") else { continue };
        let data = value("data").unwrap_or_else(|| panic!("no data: {block:?}"));
        let json: serde_json::Value = serde_json::from_str(data).unwrap_or_else(|e| panic!("{e}: {block:?}"));
        let no_id = ["hello", "heartbeat", "reset", "closing", "stream_progress", "tool_progress"];
        assert_eq!(value("id").is_none(), no_id.contains(&event), "{block:?}");
        assert_ne!(event, "error", "native EventSource has an event of that name");
        assert!(!data.contains("\": ") || json.to_string().contains("\": "), "compact: {data}");
    }
    let records = gateway.audited(&id).await;
    assert_eq!(the(&records, "message_queued")["text"], hard);
    assert_eq!(text(the(&records, "message"), "/content/0/text"), hard);
}

#[tokio::test]
async fn a_model_stream_may_be_cut_into_pieces_of_any_size() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, crate::harness::Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let words = "你好🙂é — \"done\"\n";
    for size in [1, 2, 3, 7, 64] {
        let calls = [(format!("a{size}"), "echo '你🙂'"), (format!("b{size}"), "echo \"é\"")];
        let args = calls.clone().map(|(_, command)| serde_json::json!({"command": command}).to_string());
        let pieces = [(calls[0].0.as_str(), "bash", args[0].as_str()), (calls[1].0.as_str(), "bash", args[1].as_str())];
        provider.push(Reply::stream().think("思").say(words).calls_in_pieces(&pieces, size).calls().split(size));
        provider.push(Reply::stream().say(words).say(words).stop().split(size));
        let answer = gateway.ask(&id, &format!("by {size}")).await;
        assert_eq!(text(&answer, "/answer").trim(), format!("{words}{words}").trim(), "by {size}");
        let asked = provider.requests().pop().unwrap();
        let results = crate::harness::provider::results(&asked);
        let last: Vec<_> = results.iter().rev().take(2).map(|(id, content)| (id.as_str(), content.clone())).collect();
        assert_eq!((last[1].0, last[0].0), (calls[0].0.as_str(), calls[1].0.as_str()));
        assert!(last[1].1.contains("你🙂") && last[0].1.contains('é'), "{last:?}");
    }
    let records = gateway.audited(&id).await;
    let view: View = gateway.fresh_view(&id).await;
    assert_eq!(view.records, records);
}
