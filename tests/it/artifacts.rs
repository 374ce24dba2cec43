//! A result that is too long for the model is kept whole: the model reads on in it, and so does whoever may see it.

use serde_json::{Value, json};

use crate::harness::provider::results;
use crate::harness::{Gateway, Provider, Reply, Settings, kind, list, number, of_kind, text, the};

/// 300 KB and more on the standard output, each line another.
const COMMAND: &str = "seq 1 52000";

/// What bash makes of it.
fn whole() -> String {
    let lines: String = (1..=52_000).map(|n| format!("{n}\n")).collect();
    format!("Exit code 0.\n\nstdout ({} bytes):\n{}\n\nstderr: empty", lines.len(), lines.trim_end())
}

/// The first artifact that a text names.
fn named(text: &str) -> String {
    let at = text.find("art_").unwrap_or_else(|| panic!("no artifact in {text}"));
    text[at..at + 36].to_owned()
}

/// A session whose model ran [`COMMAND`] and then read a page of what was kept; the artifact's id.
async fn told(provider: &Provider, gateway: &Gateway) -> (String, String) {
    provider.offers(&["ask_user", "bash"]);
    provider.otherwise(|body| match &results(body)[..] {
        [] => Reply::stream().bash("c1", COMMAND).calls(),
        [(_, shown)] => {
            let args = json!({"artifact_id": named(shown), "offset": 150_000, "limit": 30_000});
            Reply::stream().call("c2", "read_artifact", &args).calls()
        }
        _ => Reply::text("done"),
    });
    let id = gateway.cli_session().await;
    assert_eq!(gateway.ask(&id, "go").await["answer"], "done");
    let records = gateway.audited(&id).await;
    let artifact = text(of_kind(&records, "tool_end")[0], "/artifact_id").to_owned();
    (id, artifact)
}

#[tokio::test]
async fn the_model_sees_its_beginning_and_reads_on() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let (id, artifact) = told(&provider, &gateway).await;
    let whole = whole();
    assert!(whole.len() > 300_000);
    let records = gateway.audited(&id).await;
    let [long, page] = of_kind(&records, "tool_end")[..] else { panic!("two results") };
    assert_eq!(number(long, "/bytes"), whole.len() as u64);
    assert_eq!(text(long, "/preview"), &whole[..2_000]);
    let shown = text(long, "/content");
    let (beginning, line) = shown.rsplit_once('\n').unwrap();
    assert_eq!(beginning, &whole[..2_000]);
    for part in [&whole.len().to_string(), &artifact, "read_artifact"] {
        assert!(line.contains(part), "{line}");
    }
    assert!(page.get("artifact_id").is_none(), "a page is not kept again");
    assert_eq!((&page["trust"], &page["tool"]), (&long["trust"], &json!("read_artifact")));
    let (head, body) = text(page, "/content").split_once('\n').unwrap();
    assert_eq!(body, &whole[150_000..180_000]);
    assert!(head.contains("150000 to 180000") && head.contains("next: offset 180000"), "{head}");
    let last = provider.requests().pop().unwrap();
    assert_eq!(results(&last).iter().map(|(_, content)| content.as_str()).collect::<Vec<_>>(), [shown, text(page, "/content")]);
    let asked = of_kind(&records, "approval_requested");
    assert!(asked.is_empty(), "reading on asks nobody");
}

#[tokio::test]
async fn it_is_served_whole_also_after_a_restart() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let (id, artifact) = told(&provider, &gateway).await;
    let path = format!("/v1/sessions/{id}/artifacts/{artifact}");
    for _ in 0..2 {
        let answer = gateway.get(&path).await;
        assert_eq!((answer.status, String::from_utf8(answer.body.clone()).unwrap()), (200, whole()));
        for (name, value) in [
            ("content-type", "text/plain; charset=utf-8"),
            ("content-disposition", &format!("attachment; filename=\"{artifact}.txt\"")),
            ("content-security-policy", "default-src 'none'; sandbox"),
            ("x-content-type-options", "nosniff"),
            ("cache-control", "private, no-cache"),
            ("etag", &format!("\"{artifact}\"")),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}");
        }
        gateway.crash_and_restart().await;
    }
    for (held, status) in [
        (format!("\"{artifact}\""), 304),
        (format!("\"other\", W/\"{artifact}\""), 304),
        ("*".to_owned(), 304),
        ("\"other\"".to_owned(), 200),
    ] {
        let answer = gateway.send("GET", &path, &[("If-None-Match", &held)], None).await;
        assert_eq!((answer.status, answer.body.is_empty()), (status, status == 304), "{held}");
    }
    assert_eq!(gateway.ask(&id, "once more").await["answer"], "done", "the conversation goes on");
}

#[tokio::test]
async fn nothing_else_is_served_by_that_path() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let (id, artifact) = told(&provider, &gateway).await;
    let records = gateway.audited(&id).await;
    let request = of_kind(&records, "request")[0];
    let (system, tools) = (text(request, "/system_digest"), text(request, "/tools_digest"));
    let other = gateway.cli_session().await;
    for path in [
        format!("{id}/artifacts/{system}"),
        format!("{id}/artifacts/art_{system}"),
        format!("{id}/artifacts/art_{}", &system[..32]),
        format!("{id}/artifacts/{tools}"),
        format!("{id}/artifacts/art_00000000000000000000000000000000"),
        format!("{id}/artifacts/{}", artifact.to_uppercase()),
        format!("{id}/artifacts/%2e%2e%2flocal.key"),
        format!("{other}/artifacts/{artifact}"),
        format!("ses_none/artifacts/{artifact}"),
        format!("{id}/artifacts/{artifact}?view=chat"),
    ] {
        gateway.get(&format!("/v1/sessions/{path}")).await.problem(404, "not_found");
    }
    assert_eq!(gateway.get(&format!("/v1/sessions/{id}/artifacts/{artifact}?view=owner")).await.status, 200);
    gateway.get(&format!("/v1/sessions/{id}/artifacts/{artifact}?view=x")).await.problem(422, "invalid_request");
}

#[tokio::test]
async fn another_session_cannot_have_it_read() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let (_, artifact) = told(&provider, &gateway).await;
    provider.offers(&[]);
    provider.otherwise(move |body| match &results(body)[..] {
        [] => Reply::stream().call("c1", "read_artifact", &json!({"artifact_id": artifact})).calls(),
        _ => Reply::text("done"),
    });
    let id = gateway.session().await;
    gateway.ask(&id, "go").await;
    let records = gateway.audited(&id).await;
    let error = the(&records, "tool_error");
    assert_eq!(error["code"], "UNKNOWN_ARTIFACT", "{error}");
}

#[tokio::test]
async fn it_goes_with_its_session() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let (id, artifact) = told(&provider, &gateway).await;
    let path = format!("/v1/sessions/{id}/artifacts/{artifact}");
    assert_eq!(gateway.get(&path).await.status, 200);
    assert_eq!(gateway.delete(&format!("/v1/sessions/{id}")).await.status, 204);
    gateway.get(&path).await.problem(404, "not_found");
}

/// The results of a step that are shown together have one cap; what is over it is kept, and whatever is not shown can be had.
#[tokio::test]
async fn a_step_shows_no_more_than_its_share() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    provider.offers(&["ask_user", "bash"]);
    let print = |letter: char| format!("head -c 45000 /dev/zero | tr '\\0' {letter}");
    let calls = ["a", "b", "c", "d", "e", "f"].iter().fold(Reply::stream(), |reply, id| reply.bash(id, &print(id.chars().next().unwrap())));
    provider.push(calls.calls());
    provider.push(Reply::text("done"));
    let id = gateway.cli_session().await;
    gateway.ask(&id, "go").await;
    let records = gateway.audited(&id).await;
    let ends = of_kind(&records, "tool_end");
    let shown: usize = ends.iter().map(|end| text(end, "/content").chars().count()).sum();
    assert!(shown <= 200_000, "{shown}");
    let kept: Vec<bool> = ends.iter().map(|end| end.get("artifact_id").is_some()).collect();
    assert_eq!(kept, [false, false, false, false, true, true]);
    for end in ends {
        let whole = match end.get("artifact_id").and_then(Value::as_str) {
            Some(artifact) => gateway.get(&format!("/v1/sessions/{id}/artifacts/{artifact}")).await.body,
            None => text(end, "/content").as_bytes().to_vec(),
        };
        assert_eq!(whole.len() as u64, number(end, "/bytes"));
    }
}

#[tokio::test]
async fn where_the_operator_denies_the_tool_it_is_not_named() {
    let provider = Provider::start().await;
    let settings =
        Settings { tables: "[tools.bash]\npolicy = \"allow\"\n[tools.read_artifact]\npolicy = \"deny\"\n", ..Settings::default() };
    let gateway = Gateway::with(&provider, settings).await;
    provider.offers_only(&["ask_user", "bash", "web_fetch"]);
    provider.push(Reply::stream().bash("c1", COMMAND).calls());
    provider.push(Reply::text("done"));
    let id = gateway.cli_session().await;
    gateway.ask(&id, "go").await;
    let records = gateway.audited(&id).await;
    let end = the(&records, "tool_end");
    assert!(!text(end, "/content").contains("read_artifact"), "{end}");
    let artifact = named(text(end, "/content"));
    assert_eq!(gateway.get(&format!("/v1/sessions/{id}/artifacts/{artifact}")).await.status, 200);
    let absent = gateway.get(&format!("/v1/sessions/{id}/capabilities")).await.expect(200);
    assert!(list(&absent, "/absent").iter().any(|a| a["tool"] == "read_artifact"), "{absent}");
    assert!(records.iter().all(|r| kind(r) != "approval_requested"));
}

/// The keys are `pk_ann` and `pk_bob`.
const KEYS: &str = r#"[tools.bash]
policy = "allow"
[[auth.keys]]
name = "ann"
hash = "sha256:6da192ab353616341368fd2f3b1e9d369bdc74db0853407210edd39714389dac"
scopes = ["sessions:read", "sessions:write", "cli"]
[[auth.keys]]
name = "bob"
hash = "sha256:9e0675c6738941d1d1537f8159a43bfcb23c361bc8888fa12998f1c73db99605"
scopes = ["sessions:read", "sessions:write", "cli"]
"#;

#[tokio::test]
async fn its_owner_has_it_and_nobody_else() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings { tables: KEYS, ..Settings::default() }).await;
    provider.offers(&["ask_user", "bash"]);
    provider.push(Reply::stream().bash("c1", COMMAND).calls());
    provider.push(Reply::text("done"));
    let ann = ("Authorization", "Bearer pk_ann");
    let made = gateway.post_with("/v1/sessions", &[ann], &json!({"channel": "cli"})).await.expect(201);
    let session = format!("/v1/sessions/{}", text(&made, "/id"));
    let wait = ("Prefer", "wait=60");
    gateway.post_with(&format!("{session}/messages"), &[ann, wait], &json!({"text": "go"})).await.expect(200);
    let export = gateway.send("GET", &format!("{session}/export"), &[ann], None).await;
    let records: Vec<Value> = String::from_utf8(export.body).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert!(records.iter().all(|r| kind(r) != "request" && r.get("reply_to").is_none()), "an owner's view");
    let end = the(&records, "tool_end");
    assert!(end.get("content").is_none());
    let artifact = format!("{session}/artifacts/{}", text(end, "/artifact_id"));
    let answer = gateway.send("GET", &artifact, &[ann], None).await;
    assert_eq!((answer.status, String::from_utf8(answer.body).unwrap()), (200, whole()));
    for path in [artifact, format!("{session}/export")] {
        gateway.send("GET", &path, &[("Authorization", "Bearer pk_bob")], None).await.problem(404, "not_found");
        gateway.send("GET", &path, &[], None).await.problem(401, "unauthorized");
        gateway.send("GET", &format!("{path}?view=admin"), &[ann], None).await.problem(422, "invalid_request");
    }
}
