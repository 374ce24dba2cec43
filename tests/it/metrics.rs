//! `GET /metrics`: what happened is counted exactly, gauges come back to where they were, and nothing there tells who or what.

use futures_util::future::join_all;
use serde_json::json;

use crate::harness::{Caller, Gateway, Provider, Reply, Settings, Sse, list, poll, text};

mod exposition;

use exposition::Exposition;

async fn scrape(gateway: &Gateway) -> Exposition {
    let answer = gateway.get("/metrics").await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    Exposition::parse(std::str::from_utf8(&answer.body).unwrap())
}

/// Waits until a gauge or counter has that value.
async fn until(gateway: &Gateway, name: &str, labels: &[(&str, &str)], wanted: f64) {
    let reached = async || (scrape(gateway).await.value(name, labels) == wanted).then_some(());
    poll(&format!("{name}{labels:?} at {wanted}"), reached).await;
}

/// A `cli` session, an `api` session, and a model that may be asked with and without tools.
async fn busy(provider: &Provider, gateway: &Gateway) -> (String, String) {
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    (gateway.cli_session().await, gateway.session().await)
}

#[tokio::test]
async fn values_change_by_exactly_what_happened() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let (cli, api) = busy(&provider, &gateway).await;
    let before = scrape(&gateway).await;

    assert_eq!(gateway.ask(&api, "one").await["reason"], "completed");
    provider.push(Reply::error(503, "overloaded"));
    assert_eq!(gateway.ask(&api, "two").await["reason"], "completed");
    provider.push(Reply::error(401, "invalid_api_key"));
    assert_eq!(gateway.ask(&api, "three").await["reason"], "error");
    provider.push(Reply::stream().bash("c1", "true").call("c2", "made_up_4711", &json!({})).calls());
    assert_eq!(gateway.ask(&cli, "four").await["reason"], "completed");
    provider.push(Reply::stream().say("half").hang());
    gateway.say(&api, "five").await;
    Sse::open(&gateway, &format!("/v1/sessions/{api}/events?after=head"), &[]).await.until_kind("text_delta").await;
    gateway.post(&format!("/v1/sessions/{api}/cancel"), &json!({})).await.expect(200);
    until(&gateway, "portico_provider_requests_total", &[("provider", "openai"), ("outcome", "given_up")], 1.0).await;
    gateway.get("/nowhere").await.problem(404, "not_found");

    let after = scrape(&gateway).await;
    let changed = |name: &str, labels: &[(&str, &str)], by: f64| {
        let change = after.value(name, labels) - before.value(name, labels);
        assert_eq!(change, by, "{name}{labels:?}");
    };
    changed("portico_messages_accepted_total", &[("channel", "api")], 4.0);
    changed("portico_messages_accepted_total", &[("channel", "cli")], 1.0);
    for (reason, turns) in [("completed", 3.0), ("error", 1.0), ("aborted", 1.0)] {
        changed("portico_turns_total", &[("reason", reason)], turns);
    }
    changed("portico_turn_seconds_count", &[], 5.0);
    // one each, and two where tools ran
    changed("portico_turn_steps_sum", &[], 6.0);
    changed("portico_first_delta_seconds_count", &[], 4.0);
    changed("portico_accept_seconds_count", &[], 5.0);
    changed("portico_tool_calls_total", &[("tool", "bash"), ("status", "ok")], 1.0);
    changed("portico_tool_calls_total", &[("tool", "other"), ("status", "error")], 1.0);
    changed("portico_tool_seconds_count", &[("tool", "bash")], 1.0);
    let openai = |label, value| [("provider", "openai"), (label, value)];
    for (outcome, requests) in [("ok", 4.0), ("error", 2.0), ("given_up", 1.0)] {
        changed("portico_provider_requests_total", &openai("outcome", outcome), requests);
    }
    changed("portico_provider_request_seconds_count", &[("provider", "openai")], 7.0);
    changed("portico_provider_first_delta_seconds_count", &[("provider", "openai")], 5.0);
    changed("portico_provider_errors_total", &openai("code", "auth"), 1.0);
    changed("portico_provider_errors_total", &openai("code", "overloaded"), 1.0);
    changed("portico_retries_total", &[("code", "overloaded")], 1.0);
    // four whole answers of 11 tokens in, 5 of them from the cache, and 7 out, 3 of them reasoning
    for (kind, tokens) in [("input", 6.0), ("cache_read", 5.0), ("cache_write", 0.0), ("output", 4.0), ("reasoning", 3.0)] {
        changed("portico_tokens_total", &openai("kind", kind), 4.0 * tokens);
    }
    let route = |method, route, status| [("method", method), ("route", route), ("status", status)];
    changed("portico_http_requests_total", &route("POST", "/v1/sessions/{id}/messages", "200"), 4.0);
    changed("portico_http_requests_total", &route("POST", "/v1/sessions/{id}/messages", "202"), 1.0);
    changed("portico_http_requests_total", &route("GET", "/v1/sessions/{id}/events", "200"), 1.0);
    changed("portico_http_requests_total", &route("GET", "none", "404"), 1.0);
    let appends = after.value("portico_store_append_seconds_count", &[]) - before.value("portico_store_append_seconds_count", &[]);
    assert!(appends >= 10.0, "a turn is two appends or more: {appends}");
    assert_eq!(after.sum("portico_store_failures_total"), 0.0);
    assert_eq!((after.value("portico_actors", &[]), after.value("portico_turns_running", &[])), (2.0, 0.0));
    assert_eq!(after.value("portico_build_info", &[("version", env!("CARGO_PKG_VERSION"))]), 1.0);
    assert!(after.value("portico_process_resident_memory_bytes", &[]) > 1e6);
    assert!(after.value("portico_process_open_fds", &[]) > 5.0);
}

#[tokio::test]
async fn readers_go_up_and_come_back_to_none() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.held_session(&provider).await;
    let events = format!("/v1/sessions/{id}/events");
    let mut streams = join_all((0..20).map(|_| Sse::open(&gateway, &events, &[]))).await;
    assert_eq!(scrape(&gateway).await.value("portico_readers", &[]), 20.0);
    // some read and some do not, and then they are all cut
    for stream in streams.iter_mut().step_by(2) {
        stream.event("turn_start").await;
    }
    drop(streams);
    until(&gateway, "portico_readers", &[], 0.0).await;

    let messages = format!("/v1/sessions/{id}/messages");
    let body = json!({"text": "and then"}).to_string();
    let mut turn = Sse::request(&gateway, "POST", &messages, &[], Some(body.as_bytes())).await;
    assert_eq!(scrape(&gateway).await.value("portico_readers", &[]), 1.0, "a turn's own stream is one too");
    provider.open("hold");
    turn.rest().await;
    until(&gateway, "portico_readers", &[], 0.0).await;

    // a storm of joins and resets leaves nobody behind
    join_all((0..50).map(|_| async { drop(Sse::open(&gateway, &events, &[]).await) })).await;
    until(&gateway, "portico_readers", &[], 0.0).await;
    let asked = scrape(&gateway)
        .await
        .value("portico_http_requests_total", &[("method", "GET"), ("route", "/v1/sessions/{id}/events"), ("status", "200")]);
    assert_eq!(asked, 70.0);
}

#[tokio::test]
async fn what_waits_is_counted_over_a_restart() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::start(&provider).await;
    let pending = async |gateway: &Gateway| {
        let scrape = scrape(gateway).await;
        ["approval", "question", "client_call"].map(|kind| scrape.value("portico_pending", &[("kind", kind)]))
    };
    assert_eq!(pending(&gateway).await, [0.0, 0.0, 0.0]);
    let (first, second) = (gateway.cli_session().await, gateway.cli_session().await);
    let question = json!({"questions": [{"id": "q", "text": "Which?"}]});
    provider.on("run", Reply::stream().bash("c1", "echo 1").bash("c2", "echo 2").calls());
    provider.on("ask", Reply::stream().call("c3", "ask_user", &question).calls());
    for (session, message, event, count) in [(&first, "run", "approval_requested", 2), (&second, "ask", "question_asked", 1)] {
        let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{session}/events"), &[]).await;
        gateway.say(session, message).await;
        for _ in 0..count {
            feed.event(event).await;
        }
    }
    assert_eq!(pending(&gateway).await, [2.0, 1.0, 0.0]);
    gateway.crash_and_restart().await;
    assert_eq!(pending(&gateway).await, [2.0, 1.0, 0.0], "right after the start, whoever is awake");

    let rows = gateway.get("/v1/approvals?status=pending").await.expect(200);
    for row in list(&rows, "/data") {
        let path = format!("/v1/sessions/{first}/approvals/{}", text(row, "/approval_id"));
        gateway.post_as_owner(&path, &json!({"decision": "deny"})).await.expect(200);
    }
    assert_eq!(pending(&gateway).await, [0.0, 1.0, 0.0]);
    gateway.delete(&format!("/v1/sessions/{second}")).await.expect(204);
    assert_eq!(pending(&gateway).await, [0.0, 0.0, 0.0], "what is deleted waits for nobody");
}

#[tokio::test]
async fn a_restart_shows_what_woke_by_itself() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.held_session(&provider).await;
    gateway.session().await;
    gateway.crash_and_restart().await;
    gateway.idle(&id).await;
    let scrape = scrape(&gateway).await;
    assert_eq!(scrape.value("portico_wake_ups_total", &[]), 1.0);
    assert_eq!(scrape.value("portico_activation_seconds_count", &[]), 1.0, "the other session sleeps");
    assert_eq!(scrape.value("portico_retries_total", &[("code", "restart")]), 1.0);
    assert_eq!(scrape.value("portico_turns_total", &[("reason", "completed")]), 1.0);
}

#[tokio::test]
async fn labels_tell_nobody_who_or_what() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let (cli, api) = busy(&provider, &gateway).await;
    provider.push(Reply::stream().bash("call_secret", "true").call("c2", "tool_of_a_message", &json!({})).calls());
    gateway.ask(&cli, "secret words").await;
    let chosen = json!({"text": "secret words", "model": "gpt-of-a-message"});
    gateway.say_with(&api, &chosen).await;
    gateway.idle(&api).await;
    for path in [format!("/v1/sessions/{api}"), "/secret_path".into(), "/v1/sessions/ses_secret/events".into()] {
        gateway.get(&path).await;
    }
    gateway.send("SECRET", "/v1/sessions", &[], None).await;
    let exposition = scrape(&gateway).await;
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/OPERATIONS.md")).unwrap();
    let key = gateway.bearer().replace("Bearer ", "");
    for (name, family) in &exposition.families {
        let row = page.lines().find(|line| line.starts_with(&format!("| `{name}` | {} |", family.kind)));
        let row = row.unwrap_or_else(|| panic!("docs/OPERATIONS.md does not list {name}"));
        assert!(row.ends_with(&format!("| {} |", family.help)), "{name}: {row}");
        for (sample, labels) in family.samples.keys() {
            for (label, value) in labels {
                assert!(label == "le" || row.contains(&format!("`{label}`")), "{sample} has a label {label} that is not listed");
                let told = [&api, &cli, "ses_", "msg_", "secret", "SECRET", "of_a_message", "of-a-message", &key];
                assert!(!told.iter().any(|word| value.contains(*word)), "{sample} tells {label}={value:?}");
            }
        }
    }
}

#[tokio::test]
async fn metrics_are_for_administrators() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    for header in [("Host", "evil.example"), ("X-Forwarded-For", "10.0.0.1"), ("Origin", "https://evil.example")] {
        let refused = gateway.send("GET", "/metrics", &[header], None).await;
        refused.problem(401, "unauthorized");
    }
    gateway.send("POST", "/metrics", &[], None).await.any_problem(405);
}

#[tokio::test]
async fn among_keys_they_are_for_the_scope_admin() {
    let provider = Provider::start().await;
    let (boss, ann) = (Caller::new("boss", "acme", "admin"), Caller::new("ann", "acme", "sessions:read sessions:write approve"));
    let gateway = Gateway::with_keys(&provider, &[&boss, &ann]).await;
    let told = boss.get(&gateway, "/metrics").await;
    assert_eq!(told.status, 200);
    Exposition::parse(std::str::from_utf8(&told.body).unwrap());
    ann.get(&gateway, "/metrics").await.problem(403, "forbidden");
    gateway.get("/metrics").await.problem(401, "unauthorized");
    assert_eq!(boss.get(&gateway, "/readyz").await.expect(200), json!({"status": "ready", "reasons": []}));
    for stranger in [ann.get(&gateway, "/readyz").await, gateway.get("/readyz").await] {
        assert_eq!(stranger.expect(200), json!({"status": "ready"}));
    }
}
