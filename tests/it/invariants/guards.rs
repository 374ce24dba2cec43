//! 10, 11 and 12: closed where nobody can answer, one set of tools, and nothing of anybody else's.

use std::collections::BTreeSet;

use portico::channel::PROFILES;
use portico::domain::profile::Capabilities;
use portico::domain::toolset::{CallKind, Candidate, Needs, Policy, ToolSpec, Toolset};
use portico::domain::{Principal, Scope};
use serde_json::{Value, json};

use crate::harness::gateway::portico;
use crate::harness::provider::{EVERYWHERE, tools_of};
use crate::harness::routes::routes;
use crate::harness::{Gateway, Provider, Reply, Settings, Sse, kind, list, of_kind, soon, text, the};

fn candidate(policy: Policy, needs: Needs, effects: bool) -> Candidate {
    let spec = ToolSpec { name: "t", description: "A tool.".into(), schema: json!({"type": "object"}) };
    Candidate { spec, policy, needs, kind: CallKind::Body, effects, absent: None }
}

#[test]
fn i10_a_tool_that_nobody_can_permit_is_absent() {
    for n in 0..8 {
        let [approvals, questions, local_tools] = [n & 1 > 0, n & 2 > 0, n & 4 > 0];
        let channel = Capabilities { approvals, questions, local_tools, ..PROFILES[0].capabilities };
        for policy in [Policy::Allow, Policy::Ask, Policy::Deny] {
            for needs in [Needs::Nothing, Needs::LocalTools, Needs::Questions] {
                for effects in [false, true] {
                    let set = Toolset::for_channel(&channel, [candidate(policy, needs, effects)]);
                    let permitted = policy == Policy::Allow || policy == Policy::Ask && approvals;
                    let possible = needs == Needs::Nothing || (if needs == Needs::LocalTools { local_tools } else { questions });
                    assert_eq!(set.get("t").is_some(), permitted && possible, "{policy:?} {needs:?} on {channel:?}");
                    assert_eq!(set.absent.len(), 1 - set.tools.len(), "it is here, or it is said why not");
                    assert!(set.absent.iter().all(|a| !a.reason.is_empty()));
                }
            }
        }
    }
}

#[tokio::test]
async fn i10_fail_closed() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().gate("never").stop());
    gateway.say(&id, "go").await;
    provider.reached("never").await;
    gateway.kill9().await;
    // the channel that the session was made for is not one of this build
    let db = rusqlite::Connection::open(gateway.dir.join("store/portico.db")).unwrap();
    let (from, to) = (r#""channel":"api""#, r#""channel":"pager""#);
    assert_eq!(db.execute("UPDATE record SET json = replace(json, ?1, ?2) WHERE seq = 1", [from, to]).unwrap(), 1);
    db.execute("UPDATE session SET channel = 'pager', overview = replace(overview, ?1, ?2)", [from, to]).unwrap();
    drop(db);
    gateway.spawn().await;
    let records = gateway.audited(&id).await;
    let done = the(&records, "done");
    assert_eq!(done["reason"], "error", "{done}");
    assert!(!text(done, "/code").is_empty() && !text(done, "/answer").is_empty(), "and it is said: {done}");
    assert_eq!(provider.requests().len(), 1, "nothing runs on a channel that is not known");
    gateway.post("/v1/sessions", &json!({"channel": "pager"})).await.problem(422, "invalid_request");

    // a secret that is there but empty is no secret, and nothing is served without one
    gateway.kill9().await;
    std::fs::write(gateway.dir.join("store/local.key"), "").unwrap();
    let refused = soon("the end of the process", portico(&gateway.dir, &["serve", "--config", "test.toml"]).output()).await.unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("local.key") && !said.contains("panicked"), "{:?} {said}", refused.status);
}

/// The names in the prompt's list of tools.
fn named(system: &str) -> BTreeSet<String> {
    let list = system.split("\n## ").find(|section| section.starts_with("Tools\n")).unwrap_or_default();
    list.lines().filter_map(|l| l.strip_prefix("- `")?.split_once('`')).map(|(name, _)| name.to_owned()).collect()
}

#[tokio::test]
async fn i11_capabilities_not_names() {
    let every = ["ask_user", "bash", "demo_booking", "demo_lookup", "read_artifact", "web_fetch"];
    let asking = "[channels.web]\nallow_ask_user = true\n[tools.bash]\npolicy = \"deny\"\n";
    // of each channel in turn: cli, web, api
    let table: [(&str, [&[&str]; 3]); 3] = [
        ("", [&["ask_user", "bash"], &[], &[]]),
        (asking, [&["ask_user"], &["ask_user"], &[]]),
        ("[tools.ask_user]\npolicy = \"deny\"\n[tools.bash]\npolicy = \"allow\"\n", [&["bash"], &[], &[]]),
    ];
    for (tables, expected) in table {
        let provider = Provider::start().await;
        let gateway = Gateway::with(&provider, Settings { tables, ..Settings::default() }).await;
        for (profile, expected) in PROFILES.iter().zip(expected) {
            let (channel, what) = (profile.label, format!("{} with {tables:?}", profile.label));
            provider.offers(expected);
            let made = gateway.post_as_owner("/v1/sessions", &json!({"channel": channel})).await.expect(201);
            let id = text(&made, "/id").to_owned();
            // every tool there is, by name, with arguments that none takes: what is there says so, what is not does not exist
            let calls = every.iter().fold(Reply::stream(), |reply, tool| reply.call(&format!("{channel}-{tool}"), tool, &json!({"no": 1})));
            provider.push(calls.calls());
            gateway.ask(&id, "call everything").await;
            let request = provider.requests().pop().unwrap();
            let expected: BTreeSet<String> = expected.iter().chain(&EVERYWHERE).map(|t| (*t).to_owned()).collect();
            assert_eq!(tools_of(&request), expected, "sent to the model: {what}");
            assert_eq!(named(text(&request, "/messages/0/content")), expected, "in its prompt: {what}");
            let records = gateway.audited(&id).await;
            let code = |r: &Value| (text(r, "/tool").to_owned(), text(r, "/code").to_owned());
            let answers: Vec<(String, String)> = of_kind(&records, "tool_error").into_iter().map(code).collect();
            assert_eq!(answers.len(), every.len(), "{what}: {answers:?}");
            let dispatched = answers.iter().filter(|(_, code)| code != "UNKNOWN_TOOL").map(|(tool, _)| tool.clone());
            assert_eq!(dispatched.collect::<BTreeSet<String>>(), expected, "dispatched: {what}: {answers:?}");
            assert!(records.iter().all(|r| !["tool_start", "approval_requested", "question_asked"].contains(&kind(r))), "{what}");
        }
    }
}

/// An id as artifacts have it, which none has.
const NO_ARTIFACT: &str = "art_00000000000000000000000000000000";

#[tokio::test]
async fn i12_nobody_elses() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::start(&provider).await;
    let waiting = async |gateway: &Gateway| {
        let id = gateway.cli_session().await;
        provider.push(Reply::stream().bash(&format!("call-{id}"), "true").calls());
        let mut feed = Sse::open(gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
        let said = gateway.say(&id, "go").await;
        let asked = feed.event("approval_requested").await;
        (
            id,
            [text(&said, "/message_id"), text(&asked, "/approval_id"), "qst_1", text(&asked, "/tool_call_id"), NO_ARTIFACT]
                .map(str::to_owned),
        )
    };
    let (gone, of_gone) = waiting(&gateway).await;
    let (living, of_living) = waiting(&gateway).await;
    assert_eq!(gateway.delete(&format!("/v1/sessions/{gone}")).await.status, 204);
    let before = gateway.records(&living).await;
    let names = ["message_id", "approval_id", "question_id", "tool_call_id", "artifact_id"];
    let mut routes = routes();
    routes.retain(|(_, path)| path.contains("/{id}"));
    assert!(routes.len() >= 14, "{routes:?}");
    for restarted in [false, true] {
        for (method, route) in &routes {
            // a session that is gone, with its own ids and with another's; one that never was; and a name that no session can have
            let cases = [
                (gone.as_str(), &of_gone),
                (&gone, &of_living),
                ("ses_00000000000000000000000000000000", &of_living),
                ("%2e%2e", &of_living),
            ];
            // a living session's routes with what belongs to another are not there either
            let foreign = names.iter().any(|name| route.contains(name)).then_some((living.as_str(), &of_gone));
            for (session, ids) in cases.into_iter().chain(foreign) {
                let path =
                    names.iter().zip(ids).fold(route.replace("{id}", session), |path, (name, id)| path.replace(&format!("{{{name}}}"), id));
                assert!(!path.contains('{'), "an id that this test does not know: {path}");
                let body = match route.rsplit('/').nth(1) {
                    Some("approvals") => json!({"decision": "allow_once"}),
                    Some("questions") => json!({"declined": true}),
                    Some("client_calls") => json!({"content": "x"}),
                    _ => json!({"text": "x"}),
                };
                let body = body.to_string();
                let sent = ["POST", "PATCH", "PUT"].contains(&method.as_str()).then_some(body.as_bytes());
                let bearer = gateway.bearer();
                let answer = gateway.send(method, &path, &[("Authorization", &bearer)], sent).await;
                assert_eq!(answer.status, 404, "{method} {path}: {}", String::from_utf8_lossy(&answer.body));
                answer.problem(404, "not_found");
            }
        }
        for (list_of, own) in [("/v1/sessions", "id"), ("/v1/approvals", "session_id")] {
            let rows = gateway.get(list_of).await.expect(200);
            let found: Vec<&str> = list(&rows, "/data").iter().map(|row| text(row, &format!("/{own}"))).collect();
            assert_eq!(found, [living.as_str()], "{list_of}, restarted {restarted}");
        }
        if !restarted {
            gateway.crash_and_restart().await;
        }
    }
    assert_eq!(gateway.records(&living).await, before, "nothing of it touched anybody");
    gateway.kill9().await;
    let db = rusqlite::Connection::open(gateway.dir.join("store/portico.db")).unwrap();
    for table in ["record", "blob", "item", "snapshot"] {
        let query = format!("SELECT count(*) FROM {table} WHERE session NOT IN (SELECT n FROM session)");
        assert_eq!(db.query_row(&query, [], |row| row.get::<_, i64>(0)).unwrap(), 0, "{table}: all of it is gone from the disk");
    }
    assert_eq!(db.query_row("SELECT count(*) FROM session", [], |row| row.get::<_, i64>(0)).unwrap(), 1);
}

#[test]
fn i12_a_principal_sees_its_own_and_an_administrator_its_tenant() {
    let who = |admin, tenant: &str, name: &str| {
        let scopes = Scope::ALL.into_iter().filter(|scope| admin || *scope != Scope::Admin);
        Principal::key(name, tenant, scopes.collect())
    };
    for (principal, tenant, owner, sees) in [
        (who(false, "a", "ann"), "a", "key:ann", true),
        (who(false, "a", "ann"), "a", "key:bob", false),
        (who(false, "a", "ann"), "b", "key:ann", false),
        (who(false, "a", "ann"), "a", "", false),
        (who(true, "a", "ann"), "a", "key:bob", true),
        (who(true, "a", "ann"), "b", "key:ann", false),
        (who(true, "a", "ann"), "", "ann", false),
    ] {
        assert_eq!(principal.sees(tenant, owner), sees, "{principal:?} and the session of {owner:?} in {tenant:?}");
    }
}
