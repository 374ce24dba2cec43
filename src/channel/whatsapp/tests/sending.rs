//! Calls to the platform, and what their failures mean.

use std::net::Ipv4Addr;
use std::time::Duration;

use super::*;
use crate::channel::messenger::{DeliveryError, ErrorClass, Quotes, Receipt, Say};
use crate::domain::delivery::{Button, Part};
use crate::test_server::TestServer;

const SENT: &str = r#"{"messaging_product":"whatsapp","contacts":[{"input":"1"}],"messages":[{"id":"wamid.OUT"}]}"#;

async fn answering(answer: impl Into<Vec<u8>>) -> TestServer {
    let answer = answer.into();
    TestServer::on(Ipv4Addr::LOCALHOST, 0, b"}", move |_| answer.clone()).await.unwrap()
}

fn http(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n{body}", body.len())
}

fn hello() -> Part {
    Part { text: "hello".into(), buttons: Vec::new() }
}

async fn sent_to(port: u16) -> Result<Receipt, DeliveryError> {
    account_at(&format!("http://127.0.0.1:{port}/v26.0/")).deliver(&phone(), &hello(), "dlv_1:1", Quotes::Nothing).await
}

async fn class_of(status: u16, headers: &str, body: &str) -> (String, ErrorClass) {
    let server = answering(http(status, headers, body)).await;
    let error = sent_to(server.port).await.unwrap_err();
    (error.code, error.class)
}

fn refused(code: u32) -> String {
    format!(r#"{{"error":{{"message":"(#{code}) words","type":"OAuthException","code":{code},"error_data":{{"details":"more"}}}}}}"#)
}

#[tokio::test]
async fn a_message_is_posted_once_with_the_token_and_gives_its_id() {
    let server = answering(http(200, "", SENT)).await;
    assert_eq!(sent_to(server.port).await, Ok(Receipt { message: "wamid.OUT".into() }));
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with(&format!("POST /v26.0/{LINE}/messages HTTP/1.1\r\n")), "{head}");
    assert!(head.contains("authorization: Bearer EAAsampletoken"), "{head}");
    let expected = crate::channel::whatsapp::request::message(&phone(), &hello(), "dlv_1:1", Quotes::Nothing);
    assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap(), expected);
}

#[test]
fn each_number_of_metas_has_its_class() {
    let retry = ErrorClass::Retry { after: None };
    let cases: [(ErrorClass, &[u32]); 5] = [
        (retry, &[4, 80_007, 130_429, 1, 2, 131_000, 131_016, 135_000, 131_057, 133_016]),
        (ErrorClass::TooFast { after: None }, &[131_056]),
        (ErrorClass::Closed, &[131_047]),
        (ErrorClass::Account, &[0, 190, 3, 10, 200, 299, 131_005, 368, 131_031, 131_042, 131_044, 131_048, 131_064, 131_045, 131_037]),
        (
            ErrorClass::Final,
            &[
                33, 100, 131_008, 131_009, 131_021, 131_026, 131_030, 131_049, 131_051, 131_052, 131_053, 131_062, 130_472, 130_497,
                132_000, 132_016, 132_068, 132_069, 131_200, 131_299, 99_999,
            ],
        ),
    ];
    for (class, codes) in cases {
        for code in codes {
            let error = errors::of_answer(400, &serde_json::from_str(&refused(*code)).unwrap(), None);
            assert_eq!((error.code, error.class), (code.to_string(), class));
        }
    }
}

#[tokio::test]
async fn the_number_decides_and_not_the_status() {
    assert_eq!(class_of(500, "", &refused(131_047)).await.1, ErrorClass::Closed);
    assert_eq!(class_of(200, "", &refused(190)).await.1, ErrorClass::Account);
    assert_eq!(class_of(500, "", &refused(99_999)).await.1, ErrorClass::Retry { after: None });
}

#[tokio::test]
async fn an_answer_without_a_number_goes_by_its_status() {
    let after = Some(Duration::from_secs(7));
    let cases = [
        (429, "retry-after: 7\r\n", ErrorClass::Retry { after }),
        (425, "", ErrorClass::Retry { after: None }),
        (408, "", ErrorClass::Ambiguous),
        (500, "", ErrorClass::Ambiguous),
        (502, "", ErrorClass::Ambiguous),
        (503, "retry-after: 7\r\n", ErrorClass::Ambiguous),
        (504, "", ErrorClass::Ambiguous),
        (401, "", ErrorClass::Account),
        (302, "location: http://127.0.0.1:1/\r\n", ErrorClass::Account),
        (404, "", ErrorClass::Final),
    ];
    for (status, headers, class) in cases {
        assert_eq!(class_of(status, headers, "<html>").await, (format!("http_{status}"), class));
    }
    assert_eq!(class_of(400, "retry-after: 7\r\n", &refused(131_056)).await.1, ErrorClass::TooFast { after });
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = answering(http(200, "", SENT)).await;
    for status in [302, 307, 308] {
        let server = answering(http(status, &format!("location: http://127.0.0.1:{}/\r\n", elsewhere.port), "")).await;
        assert!(sent_to(server.port).await.is_err());
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn nothing_was_sent_where_nobody_listens() {
    let port = answering("").await.port;
    let error = sent_to(port_of_nobody(port).await).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.class), ("connection", ErrorClass::Retry { after: None }));
}

/// A port that was free a moment ago.
async fn port_of_nobody(not: u16) -> u16 {
    let port = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    assert_ne!(port, not);
    port
}

#[tokio::test]
async fn a_cut_after_the_request_leaves_it_open_what_became_of_it() {
    let whole = http(200, "", SENT);
    for cut in ["H", &whole[..20], &whole[..whole.len() - 3]] {
        let server = answering(cut).await;
        let error = sent_to(server.port).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.class), ("connection", ErrorClass::Ambiguous), "{cut}");
    }
    for odd in ["", "<html>", "{}", r#"{"messages":[]}"#, r#"{"messages":[{"id":""}]}"#] {
        let server = answering(http(200, "", odd)).await;
        assert_eq!(sent_to(server.port).await.unwrap_err().class, ErrorClass::Ambiguous, "{odd}");
    }
}

#[tokio::test]
async fn an_errors_words_are_bounded_and_without_the_token() {
    let words = format!("Bearer EAAsampletoken {}", "x".repeat(5_000));
    let server = answering(http(400, "", &format!(r#"{{"error":{{"code":190,"message":"{words}"}}}}"#))).await;
    let detail = sent_to(server.port).await.unwrap_err().detail;
    assert!(detail.starts_with("Bearer [token] x") && detail.chars().count() < 310, "{detail}");
}

#[tokio::test]
async fn typing_is_one_call_and_none_in_a_group() {
    let server = answering(http(200, "", r#"{"success":true}"#)).await;
    let account = account_at(&format!("http://127.0.0.1:{}", server.port));
    account.typing(&to(Recipient::Group("GRP1".into()))).await.unwrap();
    account.typing(&Address { message: None, ..phone() }).await.unwrap();
    assert_eq!(server.connections(), 0);
    account.typing(&phone()).await.unwrap();
    assert!(server.requests()[0].contains(r#""message_id":"wamid.ASKED""#));
}

#[test]
fn a_group_is_never_sent_buttons() {
    let part = Part { text: "x".into(), buttons: vec![Button { id: "apr_1:deny".into(), title: "Deny".into() }] };
    let body = crate::channel::whatsapp::request::message(&to(Recipient::Group("GRP1".into())), &part, "t", Quotes::Nothing);
    assert_eq!((body["type"].as_str(), body["recipient_type"].as_str(), body.get("interactive")), (Some("text"), Some("group"), None));
}

#[test]
fn its_pace_is_metas() {
    let pace = account().pace();
    assert_eq!((pace.window, pace.spacing, pace.burst), (Some(Duration::from_secs(86_400)), Duration::from_secs(6), 10));
}

/// No request can be made with such a token, for anybody.
#[tokio::test]
async fn what_cannot_be_asked_at_all_is_the_accounts_fault() {
    let server = answering(http(200, "", SENT)).await;
    let graph = crate::channel::whatsapp::graph::Graph::new(
        client().unwrap(),
        &format!("http://127.0.0.1:{}/v26.0", server.port),
        LINE,
        "two\nlines".to_owned().into(),
    );
    let error = graph.send(&serde_json::json!({})).await.unwrap_err();
    assert_eq!((error.code.as_str(), error.class, server.connections()), ("bad_request", ErrorClass::Account, 0));
}

#[test]
fn an_answer_without_an_end_ends_honestly() {
    let of = |messages: usize| account().render(Say::Markdown(&"word ".repeat(800 * messages)), &phone());
    let (fits, cut) = (of(11), of(40));
    assert!(fits.len() <= 12 && fits.iter().all(|part| part.text.starts_with("word")), "{}", fits.len());
    assert_eq!(cut.len(), 12);
    assert!(cut[..11].iter().all(|part| part.text.starts_with("word") && part.text.ends_with("word")));
    assert!(cut[11].text.contains("longer than can be sent here") && cut[11].text.contains("Ask me for the next part"));
}
