//! Without configured auth: only this machine, only directly, and the terminal only with the key in its file.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::harness::{Gateway, Provider, http, list};

#[tokio::test]
async fn only_a_direct_local_request_is_the_administrator() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let port = gateway.port;
    let (own, localhost, v6) = (format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}"));
    let (origin, local_origin) = (format!("http://{own}"), format!("http://{localhost}"));
    let other_port = format!("127.0.0.1:{}", port - 1);
    let other_origin = format!("http://{other_port}");
    let table: Vec<(Vec<(&str, &str)>, bool)> = vec![
        (vec![], true),
        (vec![("Host", &localhost)], true),
        (vec![("Host", &v6)], true),
        (vec![("Origin", &origin)], true),
        (vec![("Host", &localhost), ("Origin", &local_origin)], true),
        (vec![("Sec-Fetch-Site", "same-origin")], true),
        (vec![("Sec-Fetch-Site", "none")], true),
        (vec![("Authorization", "Bearer sk-some-sdk-always-sends-one")], true),
        (vec![("Host", "evil.example")], false),
        (vec![("Host", "127.0.0.1.evil.example")], false),
        (vec![("Host", "127.0.0.1")], false),
        (vec![("Host", &other_port)], false),
        (vec![("Host", "0.0.0.0")], false),
        (vec![("Origin", "https://evil.example")], false),
        (vec![("Origin", &other_origin)], false),
        (vec![("Origin", &local_origin)], false),
        (vec![("Origin", "null")], false),
        (vec![("Sec-Fetch-Site", "cross-site")], false),
        (vec![("Sec-Fetch-Site", "same-site")], false),
        (vec![("Forwarded", "for=10.0.0.1")], false),
        (vec![("X-Forwarded-For", "127.0.0.1")], false),
        (vec![("X-Forwarded-Host", &own)], false),
        (vec![("X-Forwarded-Proto", "http")], false),
        (vec![("Via", "1.1 proxy")], false),
        (vec![("CF-Connecting-IP", "127.0.0.1")], false),
        (vec![("CF-Ray", "x")], false),
    ];
    for (headers, let_in) in &table {
        for path in ["/v1/sessions", "/v1/approvals?status=pending"] {
            let answer = gateway.send("GET", path, headers, None).await;
            eprintln!("{path} {headers:?}: {}", answer.status);
            if *let_in {
                answer.expect(200);
            } else {
                answer.problem(401, "unauthorized");
            }
        }
    }
    for (headers, _) in table.iter().filter(|(_, let_in)| !let_in) {
        gateway.post_with("/v1/sessions", headers, &json!({})).await.problem(401, "unauthorized");
    }
    assert!(list(&gateway.get("/v1/sessions").await.expect(200), "/data").is_empty());
    let id = gateway.session().await;
    let feed = gateway.send("GET", &format!("/v1/sessions/{id}/events"), &[("Origin", "https://evil.example")], None).await;
    feed.problem(401, "unauthorized");
}

#[tokio::test]
async fn health_is_for_everyone() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let answer = http::request(gateway.port, "GET", "/healthz", &[("Host", "anything"), ("X-Forwarded-For", "1.1.1.1")], None).await;
    assert_eq!(answer.unwrap().status, 200);
}

#[tokio::test]
async fn the_terminal_needs_the_key_of_its_file() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let key = gateway.bearer();
    assert!(key.starts_with("Bearer pl_"), "the local key is told by its beginning");
    let mode = std::fs::metadata(gateway.dir.join("store/local.key")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let body = json!({"channel": "cli"});
    gateway.post("/v1/sessions", &body).await.problem(403, "local_key_required");
    gateway.post_with("/v1/sessions", &[("Authorization", "Bearer something-else")], &body).await.problem(403, "local_key_required");
    provider.offers(&["ask_user", "bash"]);
    let id = gateway.cli_session().await;
    let messages = format!("/v1/sessions/{id}/messages");
    gateway.post(&messages, &json!({"text": "hi"})).await.problem(403, "local_key_required");
    assert_eq!(gateway.audited(&id).await.len(), 1);
    gateway.crash_and_restart().await;
    assert_eq!(gateway.bearer(), key, "made once");
    assert_eq!(gateway.ask(&id, "hi").await["answer"], "re: hi");
    let shown = key.trim_start_matches("Bearer ").to_owned();
    let at_start =
        gateway.log().lines().filter(|l| l.contains(&shown)).all(|l| l.contains(&format!("#{shown}")) || l.contains(&format!("={shown}")));
    assert!(at_start, "the key is shown in the link of the start line only");
}
