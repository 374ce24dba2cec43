//! 1, 2 and 3: the ledger is the truth, it has one writer, and what anybody is told stands in it already.

use std::collections::BTreeSet;
use std::time::Duration;

use portico::domain::event::input::Input;
use portico::domain::pending::ItemStatus;
use portico::domain::{AgentEvent, Overview, Record, SessionId};
use portico::store::{Append, Appended, ApprovalFilter, Position, Store, StoredRecord};
use serde_json::{Value, json};

use super::{fold, ledger_of, peek, store_of};
use crate::harness::provider::results;
use crate::harness::{Frame, Gateway, Provider, Reply, Settings, Sse, http, kind, number, of_kind, text};

#[tokio::test]
async fn i01_the_ledger_is_the_truth() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().bash("c1", "echo yes").calls());
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    let asked = feed.event("approval_requested").await;
    // killed among posts whose answers nobody hears
    let bearer = gateway.bearer();
    let posts: Vec<_> = (0..12)
        .map(|n| {
            let (id, bearer, port) = (id.clone(), bearer.clone(), gateway.port);
            tokio::spawn(async move {
                let (path, key) = (format!("/v1/sessions/{id}/messages"), format!("k{n}"));
                let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key.as_str())];
                let body = json!({"text": key, "mode": "followup"}).to_string();
                let _ = http::request(port, "POST", &path, &headers, Some(body.as_bytes())).await;
            })
        })
        .collect();
    feed.event("message_queued").await;
    gateway.kill9().await;
    for post in posts {
        post.await.unwrap();
    }

    let store = store_of(&gateway);
    let session = SessionId::from(id.as_str());
    let records = ledger_of(&store, &id).await;
    let state = fold(records.iter().map(|r| &*r.json));
    assert_eq!(store.overview(&session).await.unwrap(), Overview::of(&session, &state), "a session's row is a fold of its ledger");
    let filter = ApprovalFilter { tenant: "default".into(), status: Some(ItemStatus::Pending), limit: 10, ..ApprovalFilter::default() };
    let listed = store.approvals(filter).await.unwrap().rows.into_iter().map(|(_, item)| item).collect::<Vec<_>>();
    assert_eq!(listed, state.open_items().cloned().collect::<Vec<_>>(), "so is what waits for a person");
    assert_eq!(listed[0].id(), text(&asked, "/approval_id"));
    // intake and message are one commit: whatever the kill hit, there is not one without the other
    let mut keyed = BTreeSet::new();
    for record in &records {
        let AgentEvent::Input(Input::MessageQueued(queued)) = Record::from_json(&record.json).unwrap().event else { continue };
        if queued.text == "go" {
            continue;
        }
        let query = format!("SELECT message_id FROM intake WHERE external_id = '{}' AND seq = {}", queued.text, record.seq);
        let row = peek::<String>(&gateway.dir, &query);
        assert_eq!(row.as_deref(), Some(queued.message_id.as_str()), "the intake row of {}", record.json);
        keyed.insert(queued.text);
    }
    let rows = peek::<i64>(&gateway.dir, "SELECT count(*) FROM intake");
    assert_eq!(rows, Some(keyed.len() as i64), "a row without its message");
    assert!(!keyed.is_empty());
    gateway.spawn().await;
    let route = format!("/v1/sessions/{id}/approvals/{}", text(&asked, "/approval_id"));
    gateway.post_as_owner(&route, &json!({"decision": "deny"})).await.expect(200);
    let after = gateway.audited(&id).await;
    let kept: Vec<Value> = records.iter().map(|r| serde_json::from_str(&r.json).unwrap()).collect();
    assert!(after.starts_with(&kept), "nothing of it is ever rewritten");
    assert_eq!(of_kind(&after, "done").len(), 1 + keyed.len(), "each had its turn");
}

/// One more record for a ledger, as a second writer would make it.
fn rename(session: &str, overview: &Overview, expected: u64, seq: u64, title: &str) -> Append {
    let json = format!(r#"{{"seq":{seq},"at":"2026-11-30T21:00:00.000Z","type":"session_updated","title":"{title}"}}"#);
    Append {
        session: SessionId::from(session),
        expected: Position(expected),
        records: vec![StoredRecord { seq, kind: "session_updated".into(), json: json.into() }],
        intake: vec![],
        wake_at: None,
        blobs: vec![],
        overview: Overview { head: seq, title: Some(title.into()), ..overview.clone() },
        items: vec![],
        aliases: vec![],
        deliveries: vec![],
    }
}

#[tokio::test]
async fn i02_one_writer() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let path = format!("/v1/sessions/{id}");
    let (messages, cancels) = (format!("{path}/messages"), format!("{path}/cancel"));
    let mut feed = Sse::open(&gateway, &format!("{path}/events"), &[]).await;
    let (title, keep, message) = (json!({"title": "x"}).to_string(), json!({"keep_queue": true}), json!({"text": "hi"}));
    for _ in 0..5 {
        let patch = || gateway.send("PATCH", &path, &[], Some(title.as_bytes()));
        let (a, b, c, d, e) = tokio::join!(
            patch(),
            gateway.post(&messages, &message),
            gateway.post(&cancels, &keep),
            gateway.post(&messages, &message),
            patch()
        );
        assert_eq!([a.status, b.status, c.status, d.status, e.status], [200, 202, 200, 202, 200]);
    }
    let records = gateway.audited(&id).await;
    assert_eq!(number(&records[0], "/seq"), 1);
    let shown = feed.until("the last record", |f| f.is_record() && f.cursor() >= Some((records.len() as u64, 0))).await;
    let shown: Vec<Value> = shown.iter().filter(|f| f.is_record()).map(Frame::json).collect();
    assert_eq!(shown, records, "many hands, one order, no hole");

    gateway.kill9().await;
    let store = store_of(&gateway);
    let session = SessionId::from(id.as_str());
    let (overview, head) = (store.overview(&session).await.unwrap().unwrap(), records.len() as u64);
    assert_eq!(store.load(&session).await.unwrap().unwrap().position, Position(head));
    let next = |title| rename(&id, &overview, head, head + 1, title);
    let (one, two) = tokio::join!(store.append(next("one")), store.append(next("two")));
    assert_eq!((one.unwrap(), two.unwrap()), (Appended::Committed(Position(head + 1)), Appended::Conflict), "the second writer is refused");
    assert_eq!(store.append(rename(&id, &overview, head - 1, head, "behind")).await.unwrap(), Appended::Conflict);
    assert!(store.append(rename(&id, &overview, head + 1, head + 3, "a hole")).await.is_err());
    let after = ledger_of(&store, &id).await;
    assert_eq!(after.iter().map(|r| r.seq).collect::<Vec<_>>(), (1..=head + 1).collect::<Vec<_>>());
    assert!(after[records.len()].json.contains(r#""title":"one""#), "and nothing of it was written: {after:?}");
}

#[tokio::test]
async fn i03_what_is_shown_or_answered_is_durable() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    provider.otherwise(|body| match results(body).is_empty() {
        true => Reply::stream().say("let me see").bash("c1", "echo seen").calls(),
        false => Reply::text("seen"),
    });
    let mut gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    // killed at the first sight of each: what was seen must be on the disk, and in the order in which it was seen
    for seen in ["202", "message_queued", "request", "text_delta", "message", "tool_start", "tool_end", "step_end", "done"] {
        let id = gateway.cli_session().await;
        let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
        let accepted = gateway.say(&id, "go").await;
        let frames = if seen == "202" { vec![] } else { feed.until_kind(seen).await };
        gateway.kill9().await;
        let store = store_of(&gateway);
        let records = ledger_of(&store, &id).await;
        let records: Vec<Value> = records.iter().map(|r| serde_json::from_str(&r.json).unwrap()).collect();
        let shown: Vec<Value> = frames.iter().filter(|f| f.is_record()).map(Frame::json).collect();
        assert!(records.starts_with(&shown), "at {seen}: shown {shown:#?}, on disk {records:#?}");
        let queued = &records[usize::try_from(number(&accepted, "/seq")).unwrap() - 1];
        assert_eq!(queued["message_id"], accepted["message_id"], "the answer named it");
        if seen == "text_delta" {
            let (at, _) = frames.last().unwrap().cursor().unwrap();
            assert_eq!((kind(shown.last().unwrap()), number(shown.last().unwrap(), "/seq")), ("request", at), "a delta behind its request");
        }
        gateway.spawn().await;
    }
}

/// Holds the gateway's database as its only writer: what it commits meanwhile waits until this is dropped.
fn held(gateway: &Gateway) -> rusqlite::Connection {
    let db = rusqlite::Connection::open(gateway.dir.join("store/portico.db")).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    db
}

#[tokio::test]
async fn i03_nothing_is_answered_shown_or_run_before_its_commit() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let ran = gateway.dir.join("ran");
    provider.push(Reply::stream().say("first ").gate("hold").bash("c1", &format!("echo once >> {}", ran.display())).calls());
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await;
    feed.until("its cursor", |f| f.id.is_some()).await;
    let patience = Duration::from_millis(250);

    let lock = held(&gateway);
    let mut accepted = std::pin::pin!(gateway.say(&id, "go"));
    assert!(tokio::time::timeout(patience, &mut accepted).await.is_err(), "answered before it was accepted for good");
    // the model may be asked before, and has begun to answer: its text stands behind records that nobody may see yet
    provider.reached("hold").await;
    let early = tokio::time::timeout(patience, feed.until("anything that moves a cursor", |f| f.id.is_some())).await;
    assert!(early.is_err(), "shown before it was durable: {early:?}");
    drop(lock);
    accepted.await;
    feed.until_kind("text_delta").await;

    let lock = held(&gateway);
    provider.open("hold");
    let early = tokio::time::timeout(patience, feed.until("anything durable", |f| f.is_record())).await;
    assert!(early.is_err(), "shown before it was durable: {early:?}");
    assert!(!ran.exists(), "a body ran before its start was durable");
    drop(lock);
    let records = gateway.audited(&id).await;
    assert_eq!(of_kind(&records, "tool_end").len(), 1);
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "once\n");
}
