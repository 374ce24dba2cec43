//! What is not a good request is answered with a problem that says what and where.

use serde_json::json;

use crate::harness::{Gateway, Provider, Sse, list, text};

#[tokio::test]
async fn each_bad_request_has_its_status_and_code() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let messages = format!("/v1/sessions/{id}/messages");
    let cancel = format!("/v1/sessions/{id}/cancel");
    let (plain, none) = ([("Content-Type", "text/plain")], [("Content-Type", "")]);
    let patch = [("Content-Type", "application/merge-patch+json")];
    type Row<'r> = (&'r str, &'r str, &'r [(&'r str, &'r str)], &'r str, u16, &'r str);
    let table: Vec<Row<'_>> = vec![
        ("POST", "/v1/sessions", &[], "{", 400, "invalid_json"),
        ("POST", &messages, &[], "{\"text\":\"\u{1}\"}", 400, "invalid_json"),
        ("POST", &messages, &[], "{\"text\":\"a\"} x", 400, "invalid_json"),
        ("POST", &messages, &plain, "{\"text\":\"a\"}", 415, "unsupported_media_type"),
        ("POST", &messages, &patch, "{\"text\":\"a\"}", 415, "unsupported_media_type"),
        ("POST", &messages, &none, "{\"text\":\"a\"}", 415, "unsupported_media_type"),
        ("POST", &cancel, &plain, "{}", 415, "unsupported_media_type"),
        ("POST", "/v1/sessions/nobody/messages", &[], "{\"text\":\"a\"}", 404, "not_found"),
        ("GET", "/v1/sessions/nobody", &[], "", 404, "not_found"),
        ("GET", "/v1/sessions/nobody/events", &[], "", 404, "not_found"),
        ("GET", "/v1/sessions/%00/records", &[], "", 404, "not_found"),
        ("GET", "/v1/sessions/..%2f..%2fetc/records", &[], "", 404, "not_found"),
        ("POST", "/v1/sessions/nobody/approvals/a", &[], "{\"decision\":\"deny\"}", 404, "not_found"),
        ("GET", "/v1/no-such-route", &[], "", 404, "not_found"),
    ];
    for (method, path, headers, body, status, code) in table {
        let body = (method == "POST").then_some(body.as_bytes());
        eprintln!("{method} {path} {headers:?} {:?}", body.map(String::from_utf8_lossy));
        gateway.send(method, path, headers, body).await.problem(status, code);
    }
    assert_eq!(gateway.audited(&id).await.len(), 1, "nothing of it came into the ledger");
}

#[tokio::test]
async fn a_wrong_field_is_pointed_at() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let messages = format!("/v1/sessions/{id}/messages");
    for (path, body, pointer) in [
        (messages.as_str(), json!({"text": 5}), "/text"),
        (&messages, json!({}), "/text"),
        (&messages, json!({"text": "a", "mode": "shout"}), "/mode"),
        (&messages, json!({"text": "a", "mode": 3}), "/mode"),
        (&messages, json!({"text": "a", "mode": {}}), "/mode"),
        (&messages, json!({"text": "a", "model": 7}), "/model"),
        ("/v1/sessions", json!({"title": []}), "/title"),
        ("/v1/sessions", json!({"metadata": "x"}), "/metadata"),
        ("/v1/sessions", json!({"channel": "fax"}), "/channel"),
        ("/v1/sessions", json!({"agent": "nobody"}), "/agent"),
    ] {
        let problem = gateway.post(path, &body).await.problem(422, "invalid_request");
        let pointers: Vec<&str> = list(&problem, "/errors").iter().map(|e| text(e, "/pointer")).collect();
        // a missing field may be named, or the object that lacks it
        assert!(pointers.contains(&pointer) || (body == json!({}) && pointers.contains(&"")), "{body}: {problem}");
        assert!(list(&problem, "/errors").iter().all(|e| !text(e, "/detail").is_empty()), "{problem}");
    }
    for (body, names) in [(json!({"channel": "fax"}), "cli, web, api"), (json!({"agent": "nobody"}), "default")] {
        let problem = gateway.post("/v1/sessions", &body).await.problem(422, "invalid_request");
        assert!(text(&problem, "/detail").ends_with(&format!("there are: {names}")), "{problem}");
    }
    for body in ["[]", "7", "null", "\"text\""] {
        gateway.send("POST", &messages, &[], Some(body.as_bytes())).await.problem(422, "invalid_request");
    }
}

#[tokio::test]
async fn a_bad_address_is_a_problem_too() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut wrong = Vec::new();
    for path in [
        "/v1/sessions/%ff".to_owned(),
        "/v1/sessions/%ff/events".to_owned(),
        "/v1/sessions?limit=many".to_owned(),
        format!("/v1/sessions/{id}/records?limit=-1"),
        format!("/v1/sessions/{id}/records?after=x"),
        format!("/v1/sessions/{id}/events?view=everything"),
    ] {
        let answer = gateway.get(&path).await;
        let problem = answer.header("content-type").is_some_and(|t| t.starts_with("application/problem+json"));
        if !problem || !(400..=422).contains(&answer.status) {
            wrong.push(format!("{path}: {} {}", answer.status, String::from_utf8_lossy(&answer.body)));
        } else {
            answer.any_problem(answer.status);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn an_unknown_channel_is_refused() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    for channel in ["pigeon", "schedule", "whatsapp", "", "CLI"] {
        let refused = gateway.post_as_owner("/v1/sessions", &json!({"channel": channel})).await;
        assert!(matches!(refused.status, 403 | 404 | 422), "{channel:?}: {}", refused.status);
        refused.any_problem(refused.status);
    }
    assert!(list(&gateway.get("/v1/sessions").await.expect(200), "/data").is_empty());
}

#[tokio::test]
async fn bodies_have_a_limit() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let path = format!("/v1/sessions/{id}/messages");
    let frame = json!({"text": ""}).to_string().len();
    let fits = "x".repeat(64 * 1024 - frame);
    gateway.post(&path, &json!({"text": fits})).await.expect(202);
    gateway.post(&path, &json!({"text": format!("{fits}x")})).await.problem(413, "body_too_large");
    let huge = vec![b'x'; 3 << 20];
    gateway.send("POST", &path, &[], Some(&huge)).await.problem(413, "body_too_large");
    let decision = json!({"decision": "deny", "note": "n".repeat(4096)});
    gateway.post_as_owner(&format!("/v1/sessions/{id}/approvals/a"), &decision).await.problem(413, "body_too_large");
    gateway.audited(&id).await;
}

#[tokio::test]
async fn a_cursor_that_cannot_be_honoured_resets_the_reader() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    gateway.ask(&id, "hi").await;
    let count = gateway.audited(&id).await.len();
    let ahead = (count + 1).to_string();
    for (cursor, reason) in [
        ("x", "malformed"),
        ("-1", "malformed"),
        ("1.2.3", "malformed"),
        ("1.", "malformed"),
        ("+1", "malformed"),
        ("99999999999999999999999", "malformed"),
        (ahead.as_str(), "ahead"),
        ("999999.5", "ahead"),
    ] {
        let (path, header) = (format!("/v1/sessions/{id}/events"), [("Last-Event-ID", cursor)]);
        let mut sse = match cursor.len() {
            1 => Sse::open(&gateway, &format!("{path}?after={cursor}"), &[]).await,
            _ => Sse::open(&gateway, &path, &header).await,
        };
        assert_eq!(sse.next().await.unwrap().kind(), "hello", "{cursor}");
        let reset = sse.next().await.unwrap();
        assert_eq!((reset.kind(), &reset.id), ("reset", &None), "{cursor}");
        assert_eq!(reset.json()["from_seq"], 1, "{cursor}");
        let told = reset.json()["reason"].clone();
        assert!(told == reason || cursor.len() > 20, "{cursor}: {told}");
        let replay = sse.until_kind("done").await;
        assert_eq!(replay.iter().filter(|f| f.is_record()).count(), count, "{cursor}: a full replay");
    }
}

/// It may be a secret that went into the wrong header, and would stand in the log.
#[tokio::test]
async fn a_request_has_an_id_of_the_gateways_own() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (secret, other) = (("X-Request-Id", "pk_a-secret"), ("x-request-id", "another"));
    for headers in [&[secret][..], &[secret, other]] {
        let answer = gateway.send("GET", "/v1/sessions/ses_none", headers, None).await;
        let ids: Vec<_> = answer.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("x-request-id")).collect();
        assert!(ids.len() == 1 && ids[0].1.starts_with("req_"), "{ids:?}");
        assert_eq!(answer.problem(404, "not_found")["request_id"], ids[0].1.as_str());
    }
    assert!(!gateway.log().contains("pk_a-secret"), "{}", gateway.log());
}
