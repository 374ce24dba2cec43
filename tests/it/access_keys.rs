//! With configured auth: a key is the only way in, and it is good for what its scopes name.

use serde_json::{Value, json};

use crate::harness::{Caller, Gateway, Provider, Reply, Settings, Sse, http, kind, list, text};

const READS_AND_WRITES: &str = "sessions:read sessions:write";

#[tokio::test]
async fn without_a_key_nobody_is_let_in_and_with_one_from_anywhere() {
    let provider = Provider::start().await;
    let ann = Caller::new("ann", "acme", READS_AND_WRITES);
    let gateway = Gateway::with_keys(&provider, &[&ann]).await;
    for headers in [
        vec![],
        vec![("Authorization", "Bearer pk_marked-acme-an")],
        vec![("Authorization", "Bearer sk-of-some-sdk")],
        vec![("Authorization", "Bearer ")],
        vec![("Authorization", "Basic cGtfbWFya2Vk")],
        vec![ann.header(), ann.header()],
    ] {
        let answer = gateway.send("GET", "/v1/sessions", &headers, None).await;
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{headers:?}");
        let problem = answer.problem(401, "unauthorized");
        assert!(text(&problem, "/detail").contains("API key"), "{problem}");
    }
    // behind a proxy that ends TLS, on any name
    let forwarded = [ann.header(), ("Host", "portico.example"), ("X-Forwarded-For", "192.0.2.1"), ("Forwarded", "for=192.0.2.1")];
    gateway.send("GET", "/v1/sessions", &forwarded, None).await.expect(200);

    // the local key is the local administrator's as before, and only where that one can be
    let local = gateway.bearer();
    let made = gateway.post_with("/v1/sessions", &[("Authorization", &local)], &json!({"channel": "cli"})).await.expect(201);
    gateway.send("GET", "/v1/sessions", &[("Authorization", &local), forwarded[2]], None).await.problem(401, "unauthorized");
    ann.get(&gateway, &format!("/v1/sessions/{}", text(&made, "/id"))).await.problem(404, "not_found");
    for public in ["/healthz", "/readyz", "/", "/page.js"] {
        assert_eq!(gateway.get(public).await.status, 200, "{public}");
    }
}

#[tokio::test]
async fn what_a_scope_does_not_name_is_refused_by_its_name() {
    let provider = Provider::start().await;
    let reader = Caller::new("reader", "acme", "sessions:read");
    let writer = Caller::new("writer", "acme", "sessions:write");
    let idle = Caller::new("idle", "acme", "tokens");
    let gateway = Gateway::with_keys(&provider, &[&reader, &writer, &idle]).await;
    let lacks = |answer: crate::harness::Answer, scope: &str| {
        let problem = answer.problem(403, "forbidden");
        assert!(text(&problem, "/detail").contains(&format!("scope {scope},")), "{problem}");
    };
    lacks(reader.post(&gateway, "/v1/sessions", &json!({})).await, "sessions:write");
    lacks(writer.get(&gateway, "/v1/sessions").await, "sessions:read");
    for list_of in ["/v1/sessions", "/v1/approvals"] {
        lacks(idle.get(&gateway, list_of).await, "sessions:read");
    }
    lacks(writer.post(&gateway, "/v1/sessions", &json!({"channel": "cli"})).await, "cli");
    let id = writer.session(&gateway, &json!({})).await;
    let of = |rest: &str| format!("/v1/sessions/{id}{rest}");
    for path in ["", "/messages", "/events", "/records", "/capabilities", "/approvals"] {
        lacks(writer.get(&gateway, &of(path)).await, "sessions:read");
    }
    // an answer is read, also where it comes as the answer to a post; nothing is taken in then
    let body = json!({"text": "hi"}).to_string();
    for header in [("Prefer", "wait=5"), ("Accept", "text/event-stream")] {
        lacks(gateway.send("POST", &of("/messages"), &[writer.header(), header], Some(body.as_bytes())).await, "sessions:read");
    }
    lacks(writer.post(&gateway, &of("/approvals/apr_1"), &json!({"decision": "deny"})).await, "approve:own");
    // what is another's is not there, whatever the scopes
    reader.post(&gateway, &of("/messages"), &json!({"text": "hi"})).await.problem(404, "not_found");
    writer.post(&gateway, &of("/messages"), &json!({"text": "hi"})).await.expect(202);
    assert_eq!(writer.send(&gateway, "DELETE", &of(""), None).await.status, 204);
    assert_eq!(provider.requests().len(), 1, "of all of it one message was taken");
}

#[tokio::test]
async fn the_view_follows_from_the_scope() {
    let provider = Provider::start().await;
    let ann = Caller::new("ann", "acme", READS_AND_WRITES);
    let boss = Caller::new("boss", "acme", "admin");
    let gateway = Gateway::with_keys(&provider, &[&ann, &boss]).await;
    let id = ann.session(&gateway, &json!({"channel": "web"})).await;
    let path = format!("/v1/sessions/{id}");
    let waited = [ann.header(), ("Prefer", "wait=60")];
    let answer = gateway.post_with(&format!("{path}/messages"), &waited, &json!({"text": "hi"})).await.expect(200);
    assert_eq!(answer["answer"], "re: hi");
    let types = async |who: &Caller, query: &str| {
        let page = who.get(&gateway, &format!("{path}/records{query}")).await.expect(200);
        list(&page, "/data").iter().map(|r| kind(r).to_owned()).collect::<Vec<_>>()
    };
    assert!(types(&boss, "").await.contains(&"request".to_owned()), "an administrator sees everything");
    let own = types(&ann, "").await;
    assert!(own.contains(&"done".to_owned()) && !own.contains(&"request".to_owned()), "{own:?}");
    assert_eq!(types(&boss, "?view=owner").await, own);
    for asked in ["records?view=admin", "events?view=admin"] {
        ann.get(&gateway, &format!("{path}/{asked}")).await.problem(422, "invalid_request");
    }
    let made = ann.get(&gateway, &format!("{path}/records?limit=1")).await.expect(200);
    assert_eq!((&made["data"][0]["principal"], &made["data"][0]["tenant"]), (&json!("key:ann"), &json!("acme")));
    let mut feed = Sse::open(&gateway, &format!("{path}/events"), &[ann.header()]).await;
    let queued = feed.event("message_queued").await;
    assert_eq!(queued["author"], "key:ann");
}

#[tokio::test]
async fn who_may_approve_its_own_decides_there() {
    let provider = Provider::start().await;
    let ann = Caller::new("ann", "acme", "sessions:read sessions:write cli approve:own");
    let bob = Caller::new("bob", "acme", "sessions:read sessions:write cli");
    let gateway = Gateway::with_keys(&provider, &[&ann, &bob]).await;
    provider.offers(&["ask_user", "bash"]);
    for (name, who, may) in [("ann", &ann, true), ("bob", &bob, false)] {
        let id = who.session(&gateway, &json!({"channel": "cli"})).await;
        provider.on(&format!("ask {name}"), Reply::stream().bash(&format!("call-{may}"), "true").calls());
        let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[who.header()]).await;
        who.post(&gateway, &format!("/v1/sessions/{id}/messages"), &json!({"text": format!("ask {name}")})).await.expect(202);
        let asked = feed.event("approval_requested").await;
        let decides = format!("/v1/sessions/{id}/approvals/{}", text(&asked, "/approval_id"));
        let answer = who.post(&gateway, &decides, &json!({"decision": "allow_once"})).await;
        if may { drop(answer.expect(200)) } else { drop(answer.problem(403, "forbidden")) }
    }
}

#[tokio::test]
async fn an_idempotency_key_is_its_principals_in_its_tenant() {
    let provider = Provider::start().await;
    let callers = [("ann", "acme"), ("bob", "acme"), ("ann", "globex"), ("local", "default")];
    let callers = callers.map(|(name, tenant)| Caller::new(name, tenant, READS_AND_WRITES));
    let gateway = Gateway::with_keys(&provider, &callers.each_ref()).await;
    let local = gateway.bearer();
    let mut who: Vec<(&str, &str)> = callers.iter().map(Caller::header).collect();
    who.push(("Authorization", &local));
    let mut ids = Vec::new();
    for header in &who {
        let keyed = [*header, ("Idempotency-Key", "one")];
        let first = gateway.post_with("/v1/sessions", &keyed, &json!({})).await;
        assert_eq!(first.header("idempotency-replayed"), None, "{header:?}");
        let again = gateway.post_with("/v1/sessions", &keyed, &json!({})).await;
        assert_eq!((again.header("idempotency-replayed"), again.expect(201)), (Some("true"), first.expect(201)));
        ids.push(text(&first.json(), "/id").to_owned());
    }
    for (n, id) in ids.iter().enumerate() {
        assert!(!ids[..n].contains(id), "{ids:?}");
        let seen: Vec<u16> = {
            let mut seen = Vec::new();
            for header in &who {
                seen.push(gateway.send("GET", &format!("/v1/sessions/{id}"), &[*header], None).await.status);
            }
            seen
        };
        // the local administrator sees the tenant `default`, and so the session of the key that is called as it is; not the other way round
        let expected: Vec<u16> = (0..who.len()).map(|m| if m == n || (m, n) == (4, 3) { 200 } else { 404 }).collect();
        assert_eq!(seen, expected, "session {n}");
    }
}

#[tokio::test]
async fn no_key_is_ever_logged() {
    let provider = Provider::start().await;
    let ann = Caller::new("ann", "acme", "sessions:read sessions:write");
    let tables = Caller::tables(&[&ann]) + "[log]\nlevel = \"trace\"\n";
    let mut gateway = Gateway::with(&provider, Settings { tables: &tables, ..Settings::default() }).await;
    let id = ann.session(&gateway, &json!({})).await;
    let messages = format!("/v1/sessions/{id}/messages");
    let waited = [ann.header(), ("Prefer", "wait=60")];
    gateway.post_with(&messages, &waited, &json!({"text": "hi"})).await.expect(200);
    ann.post(&gateway, &messages, &json!({})).await.problem(422, "invalid_request");
    ann.get(&gateway, "/v1/approvals").await.expect(200);
    ann.post(&gateway, "/v1/sessions", &json!({"channel": "cli"})).await.problem(403, "forbidden");
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[ann.header()]).await;
    feed.event("done").await;
    for wrong in ["Bearer pk_marked-wrong", "Bearer pl_marked-wrong", "Basic marked-wrong", "marked-wrong"] {
        gateway.send("GET", "/v1/sessions", &[("Authorization", wrong)], None).await.problem(401, "unauthorized");
    }
    let query = http::request(gateway.port, "GET", "/v1/sessions?key=marked-query", &[], None).await.unwrap();
    assert_eq!(query.status, 401, "a key in a query is no key");
    let files = || std::fs::read_dir(gateway.dir.join("store")).unwrap().map(|file| std::fs::read(file.unwrap().path()).unwrap());
    assert!(files().all(|bytes| !String::from_utf8_lossy(&bytes).contains("marked-")), "nor kept");
    gateway.sigterm().await;
    assert_eq!(gateway.ended().await, Some(0));
    let log = gateway.log();
    assert!(log.contains("/v1/sessions") && log.lines().count() > 20, "it was logged in full");
    assert!(!log.contains("marked-"), "{}", log.lines().find(|l| l.contains("marked-")).unwrap_or_default());
}

#[tokio::test]
async fn the_administrators_key_is_made_once_and_shown_as_a_path() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::with(&provider, Settings { tables: "[auth]\nadmin_key = true\n", ..Settings::default() }).await;
    let file = gateway.dir.join("store/admin.key");
    let key = std::fs::read_to_string(&file).unwrap();
    assert!(key.starts_with("pk_") && key.len() > 40, "an API key");
    let bearer = format!("Bearer {key}");
    let admin = [("Authorization", bearer.as_str())];
    gateway.get("/v1/sessions").await.problem(401, "unauthorized");
    let made = gateway.post_with("/v1/sessions", &admin, &json!({"channel": "cli"})).await.expect(201);
    let path = format!("/v1/sessions/{}", text(&made, "/id"));
    gateway.crash_and_restart().await;
    let shown: Value = gateway.send("GET", &path, &admin, None).await.expect(200);
    assert_eq!(shown["id"], made["id"], "the key and the session are there after a restart");
    let log = gateway.log();
    assert!(log.contains("admin.key") && !log.contains("pk_") && !log.contains("pl_"), "{log}");
}
