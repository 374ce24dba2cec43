//! Files that came with a message.

use std::net::Ipv4Addr;

use super::*;
use crate::channel::messenger::FetchFailure;
use crate::channel::whatsapp::media::trusted;
use crate::domain::digest::sha256;
use crate::domain::{Attachment, AttachmentId, AttachmentKind};
use crate::test_server::{HEAD, TestServer};

fn sticker() -> Attachment {
    Attachment {
        attachment_id: AttachmentId::from("att_1"),
        kind: AttachmentKind::Sticker,
        mime: "image/webp".into(),
        filename: None,
        sha256: None,
        media_id: "700000000000001".into(),
    }
}

fn ok(body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Gives where the file lies, then `file`.
async fn graph(media: impl Fn(u16) -> serde_json::Value + Send + 'static, file: Vec<u8>) -> TestServer {
    let asked = std::sync::atomic::AtomicBool::new(false);
    let answer = move |port| match asked.swap(true, std::sync::atomic::Ordering::SeqCst) {
        false => ok(media(port).to_string().as_bytes()),
        true => file.clone(),
    };
    TestServer::on(Ipv4Addr::LOCALHOST, 0, HEAD, answer).await.unwrap()
}

async fn fetched(server: &TestServer, attachment: Attachment) -> Result<Bytes, FetchFailure> {
    account_at(&format!("http://127.0.0.1:{}/v26.0", server.port)).fetch(&attachment).await
}

fn lies_there(port: u16) -> serde_json::Value {
    serde_json::json!({"url": format!("http://127.0.0.1:{port}/file?mid=7"), "mime_type": "image/webp", "id": "7"})
}

#[tokio::test]
async fn a_file_is_asked_for_and_fetched_with_the_token() {
    let server = graph(lies_there, ok(b"abc")).await;
    let attachment = Attachment { sha256: Some(sha256("abc")), ..sticker() };
    assert_eq!(fetched(&server, attachment).await.unwrap(), "abc");
    let requests = server.requests();
    assert!(requests[0].starts_with("GET /v26.0/700000000000001 HTTP/1.1"), "{}", requests[0]);
    assert!(requests[1].starts_with("GET /file?mid=7 HTTP/1.1"), "{}", requests[1]);
    assert!(requests.iter().all(|request| request.contains("authorization: Bearer EAAsampletoken")));
}

#[tokio::test]
async fn another_file_than_was_named_is_refused() {
    let server = graph(lies_there, ok(b"abd")).await;
    let attachment = Attachment { sha256: Some(sha256("abc")), ..sticker() };
    assert_eq!(fetched(&server, attachment).await, Err(FetchFailure::HashMismatch));
    let says = |port| {
        let mut media = lies_there(port);
        media["sha256"] = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=".into();
        media
    };
    assert_eq!(fetched(&graph(says, ok(b"abd")).await, sticker()).await, Err(FetchFailure::HashMismatch));
    assert_eq!(fetched(&graph(says, ok(b"abc")).await, sticker()).await.unwrap(), "abc");
}

#[tokio::test]
async fn a_file_that_is_too_large_is_given_up_whether_it_says_so_or_not() {
    let large = vec![0; 1024 * 1024 + 1];
    assert_eq!(fetched(&graph(lies_there, ok(&large)).await, sticker()).await, Err(FetchFailure::TooLarge));
    let unsaid = [b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", &large[..]].concat();
    assert_eq!(fetched(&graph(lies_there, unsaid).await, sticker()).await, Err(FetchFailure::TooLarge));
    let says = |port| {
        let mut media = lies_there(port);
        media["file_size"] = (1024 * 1024 + 1).into();
        media
    };
    let server = graph(says, ok(b"abc")).await;
    assert_eq!(fetched(&server, sticker()).await, Err(FetchFailure::TooLarge));
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn the_token_goes_nowhere_but_to_meta() {
    let elsewhere = TestServer::on(Ipv4Addr::LOCALHOST, 0, HEAD, |_| ok(b"abc")).await.unwrap();
    let port = elsewhere.port;
    let server = graph(move |_| lies_there(port), ok(b"abc")).await;
    assert_eq!(fetched(&server, sticker()).await, Err(FetchFailure::Unavailable));
    let moved = format!("HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:{port}/\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
    assert_eq!(fetched(&graph(lies_there, moved.into_bytes()).await, sticker()).await, Err(FetchFailure::Unavailable));
    assert_eq!(elsewhere.connections(), 0);
}

#[test]
fn only_metas_hosts_are_trusted() {
    let base = "https://graph.facebook.com/v26.0";
    for right in ["https://lookaside.fbsbx.com/a?b=1", "https://graph.facebook.com/x", "https://mmg.whatsapp.net/x", "https://FBSBX.com/"] {
        assert!(trusted(right, base).is_some(), "{right}");
    }
    for wrong in [
        "http://lookaside.fbsbx.com/",
        "https://lookaside.fbsbx.com:8443/",
        "https://evilfbsbx.com/",
        "https://fbsbx.com.evil.invalid/",
        "https://evil.invalid/?.fbsbx.com",
        "https://user@lookaside.fbsbx.com/",
        "https://evil.invalid\\@lookaside.fbsbx.com/",
        "file:///etc/passwd",
        "data:text/plain,x",
        "/relative",
        "",
    ] {
        assert!(trusted(wrong, base).is_none(), "{wrong}");
    }
    assert!(trusted("http://127.0.0.1:90/file", "http://127.0.0.1:90/v26.0").is_some());
    assert!(trusted("http://127.0.0.1:91/file", "http://127.0.0.1:90/v26.0").is_none());
}

#[tokio::test]
async fn what_is_gone_is_not_what_is_late() {
    let status =
        |status: u16, body: &str| format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    let gone = r#"{"error":{"code":100,"error_subcode":33,"message":"no such object"}}"#;
    for (answer, failure) in [(status(400, gone), FetchFailure::Unavailable), (status(500, ""), FetchFailure::Later)] {
        let server = TestServer::on(Ipv4Addr::LOCALHOST, 0, HEAD, move |_| answer.clone().into_bytes()).await.unwrap();
        assert_eq!(fetched(&server, sticker()).await, Err(failure));
    }
    for (code, failure) in [(404, FetchFailure::Unavailable), (503, FetchFailure::Later)] {
        assert_eq!(fetched(&graph(lies_there, status(code, "").into_bytes()).await, sticker()).await, Err(failure));
    }
    let hostile = Attachment { media_id: "../me".into(), ..sticker() };
    let server = graph(lies_there, ok(b"abc")).await;
    assert_eq!(fetched(&server, hostile).await, Err(FetchFailure::Unavailable));
    assert_eq!(server.connections(), 0);
}
