//! 4, 5 and 6: state is a fold, requests are a function of it, calls have their results and turns their end.

use portico::domain::event::model::Model;
use portico::domain::{AgentEvent, DigestId, Overview, Record, SessionId, SessionState};
use portico::provider::openai_chat::body::body;
use portico::provider::{ModelRequest, table::Table};
use portico::store::Store;
use portico::store::sqlite::SqliteStore;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{asleep, fold, ledger_of, store_of};
use crate::harness::provider::results;
use crate::harness::{Gateway, Provider, Reply, Settings, Sse, list, of_kind, poll, soon, text, the};

#[derive(Deserialize)]
struct Page<'p> {
    #[serde(borrow)]
    data: Vec<&'p RawValue>,
}

#[tokio::test]
async fn i04_state_is_a_pure_fold() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let settings = Settings { tables: "[sessions]\npassivate_s = 1\n[tools.bash]\npolicy = \"allow\"\n", ..Settings::default() };
    let mut gateway = Gateway::with(&provider, settings).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().think("hm").say("two: ").bash("c1", "echo one").call("c2", "nope", &json!({"b": 1, "a": 2})).calls());
    provider.push(Reply::stream().say("void").cut());
    gateway.ask(&id, "go").await;
    provider.push(Reply::stream().say("cut off").hang());
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await;
    gateway.say(&id, "stop me").await;
    feed.until_kind("text_delta").await;
    gateway.post(&format!("/v1/sessions/{id}/cancel"), &json!({})).await.expect(200);
    gateway.idle(&id).await;
    let answer = gateway.get(&format!("/v1/sessions/{id}/records?limit=200")).await;
    let page: Page<'_> = serde_json::from_slice(&answer.body).unwrap();
    let records: Vec<&str> = page.data.iter().map(|r| r.get()).collect();
    let state = fold(records.iter().copied());
    let shown = gateway.state(&id).await;
    let session = SessionId::from(id.as_str());
    assert_eq!(serde_json::to_value(Overview::of(&session, &state).unwrap().object()).unwrap(), shown, "what is shown is folded");
    // the fold can be put down and taken up anywhere: it has no memory but its state
    for cut in 0..records.len() {
        let saved = serde_json::to_vec(&fold(records[..cut].iter().copied())).unwrap();
        let mut taken_up: SessionState = serde_json::from_slice(&saved).unwrap();
        for json in &records[cut..] {
            taken_up.apply(&Record::from_json(json).unwrap()).unwrap();
        }
        assert_eq!(taken_up, state, "taken up after record {cut}");
    }
    let through = asleep(&gateway, &id).await;
    assert_eq!(through, state.head);
    gateway.kill9().await;
    let snapshot = store_of(&gateway).load(&session).await.unwrap().and_then(|l| l.snapshot).unwrap();
    assert_eq!(serde_json::from_slice::<SessionState>(&snapshot.state).unwrap(), state, "what the actor held is the fold of what it wrote");
}

/// Every request of a ledger again, from its records and the session's blobs alone.
async fn rebuilt(store: &SqliteStore, session: &str) -> Vec<Vec<u8>> {
    let id = SessionId::from(session);
    let blob = async |digest: &DigestId| -> std::sync::Arc<str> {
        let bytes = store.blob(&id, digest).await.unwrap().unwrap_or_else(|| panic!("no blob {digest}"));
        String::from_utf8(bytes).unwrap().into()
    };
    let (table, mut state, mut bodies) = (Table::new(), SessionState::default(), Vec::new());
    for stored in ledger_of(store, session).await {
        let record = Record::from_json(&stored.json).unwrap();
        if let AgentEvent::Model(Model::Request(sent)) = &record.event {
            let request = ModelRequest {
                model: sent.model.clone(),
                system: blob(&sent.system_digest).await,
                tools: match &sent.tools_digest {
                    Some(digest) => Some(blob(digest).await),
                    None => None,
                },
                withheld: match &sent.withheld_digest {
                    Some(digest) => Some(blob(digest).await),
                    None => None,
                },
                messages: state.surface.messages.clone(),
                files: std::sync::Arc::default(),
                parameters: sent.parameters.clone(),
            };
            bodies.push(body(&request, &table.get(&sent.provider).unwrap().quirks));
        }
        state.apply(&record).unwrap();
    }
    bodies
}

#[tokio::test]
async fn i04_every_request_rebuilds_byte_for_byte() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    let mut gateway = Gateway::with(&provider, Settings { agent: "max_steps = 3", ..Settings::FREE_BASH }).await;
    let id = gateway.cli_session().await;
    let odd = r#"{ "command" : "echo \u00e9\n", "zz": 1.50, "aa": 1e2 }"#;
    provider.push(
        Reply::stream().think("hm").say("é \u{1f980} \" \\").calls_in_pieces(&[("c1", "bash", odd), ("c2", "bash", "not json")], 3).calls(),
    );
    provider.push(Reply::stream().say("void").cut());
    provider.push(Reply::stream().gate("hold").bash("c3", "exit 3").call("c4", "nope", &json!({})).calls());
    gateway.say(&id, "go").await;
    provider.reached("hold").await;
    gateway.say_with(&id, &json!({"text": "quick", "mode": "steer", "instructions": "Be brief."})).await;
    provider.open("hold");
    provider.push(Reply::stream().bash("c5", "true").calls());
    gateway.idle(&id).await;
    provider.push(Reply::stream().say("half").gate("never").stop());
    gateway.say_with(&id, &json!({"text": "later", "instructions": "Sing."})).await;
    provider.reached("never").await;
    gateway.crash_and_restart().await;
    gateway.audited(&id).await;
    gateway.kill9().await;
    let sent = provider.bodies();
    let again = rebuilt(&store_of(&gateway), &id).await;
    assert!(sent.len() >= 6, "{} requests", sent.len());
    assert!(sent.iter().any(|b| serde_json::from_slice::<Value>(b).unwrap().get("tools").is_none()), "the last step offers none");
    assert_eq!(sent.len(), again.len());
    for (i, (sent, again)) in sent.iter().zip(&again).enumerate() {
        assert_eq!(String::from_utf8_lossy(sent), String::from_utf8_lossy(again), "request {}", i + 1);
    }
}

#[tokio::test]
async fn i05_pairing() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let tables = "[tools]\nabort_grace_ms = 50\n[tools.bash]\npolicy = \"allow\"\n";
    let mut gateway = Gateway::with(&provider, Settings { tables, ..Settings::default() }).await;
    let id = gateway.cli_session().await;
    let mut owed = Vec::new();
    for (round, how) in ["cancel", "crash", "stop"].into_iter().enumerate() {
        // one that is over, one that cannot be, one that runs when it hits, two behind it
        let (mark, calls) = (gateway.dir.join(how), [0, 1, 2, 3, 4].map(|c| format!("{how}-{c}")));
        let sleeps = format!("touch {}; exec sleep 3", mark.display());
        let reply = Reply::stream().bash(&calls[0], "echo over").call(&calls[1], "nope", &json!({})).bash(&calls[2], &sleeps);
        provider.push(reply.bash(&calls[3], "echo behind").call(&calls[4], "bash", &json!({"command": 7})).calls());
        owed.extend(calls);
        gateway.say(&id, how).await;
        poll("the body that sleeps", || async { mark.exists().then_some(()) }).await;
        match how {
            "cancel" => drop(gateway.post(&format!("/v1/sessions/{id}/cancel"), &json!({})).await.expect(200)),
            "crash" => gateway.crash_and_restart().await,
            _ => {
                gateway.sigterm().await;
                gateway.ended().await;
                gateway.spawn().await;
            }
        }
        gateway.idle(&id).await;
        gateway.ask(&id, &format!("and after the {how}?")).await;
        let told: Vec<String> = results(provider.requests().last().unwrap()).into_iter().map(|(id, _)| id).collect();
        assert_eq!(told, owed, "round {round}: each call has one result, in the model's order");
    }
    // the provider has checked each single request; the audit checks the ledger
    let records = gateway.audited(&id).await;
    let ends = records.iter().filter(|r| ["tool_end", "tool_error", "tool_denied"].contains(&text(r, "/type")));
    assert_eq!(ends.map(|r| text(r, "/tool_call_id")).collect::<Vec<_>>(), owed);
}

const BAD_ENDS: [&str; 4] = ["unended", "dropped", "nameless", "refused"];

fn bad_end(how: &str) -> Reply {
    match how {
        "unended" => Reply::stream().say("half an answer"),
        "dropped" => Reply::stream().say("half an answer").cut(),
        "nameless" => Reply::stream().data(&json!({"choices": []})),
        _ => Reply::error(401, "invalid_api_key"),
    }
}

#[tokio::test]
async fn i06_one_honest_end() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.may_offer_none();
    let gateway = Gateway::start(&provider).await;
    for channel in ["api", "web", "cli"] {
        provider.on(&format!("{channel} whole"), Reply::text("whole"));
        for how in BAD_ENDS {
            (0..3).for_each(|_| provider.on(&format!("{channel} {how}"), bad_end(how)));
        }
    }
    let bearer = gateway.bearer();
    let (gateway, bearer) = (&gateway, &bearer);
    let send = |channel: &'static str, how: &'static str| async move {
        let made = gateway.post_as_owner("/v1/sessions", &json!({"channel": channel})).await.expect(201);
        let id = text(&made, "/id").to_owned();
        let body = json!({"text": format!("{channel} {how}")}).to_string();
        let path = format!("/v1/sessions/{id}/messages");
        let mut sse = Sse::request(gateway, "POST", &path, &[("Authorization", bearer)], Some(body.as_bytes())).await;
        let heard = sse.rest().await.pop().unwrap();
        let records = gateway.audited(&id).await;
        the(&records, "turn_start");
        let done = the(&records, "done");
        assert_eq!(heard.json(), *done, "{channel} {how}: its sender hears the end");
        assert!(!text(done, "/answer").is_empty(), "{channel} {how}: never with silence: {done}");
        assert_eq!(done["reason"] == "completed", how == "whole", "{channel} {how}: {done}");
        if how != "whole" {
            assert!(of_kind(&records, "message").is_empty() && !text(done, "/code").is_empty(), "{channel} {how}: {records:#?}");
        }
    };
    let all = ["api", "web", "cli"].into_iter().flat_map(|c| BAD_ENDS.into_iter().chain(["whole"]).map(move |how| (c, how)));
    soon("all ends", futures_util::future::join_all(all.map(|(c, how)| send(c, how)))).await;
    assert_eq!(list(&gateway.get("/v1/sessions?limit=100").await.expect(200), "/data").len(), 15);
}
