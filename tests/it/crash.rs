//! A process that is killed at any moment loses nothing, repeats nothing, and goes on by itself.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::harness::provider::{last_user, results};
use crate::harness::seed::Dice;
use crate::harness::{Gateway, Provider, Reply, Settings, Sse, View, http, kind, number, of_kind, poll, text, the};

#[tokio::test]
async fn an_open_turn_goes_on_with_nobody_connected() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().say("half a").gate("never").stop());
    provider.push(Reply::text("a whole answer"));
    let mut before = View::default();
    let mut feed = before.join(&gateway, &id).await;
    gateway.say(&id, "go").await;
    before.read_live(&mut feed, "half a").await;
    gateway.crash_and_restart().await;
    provider.request(2).await;
    let records = gateway.audited(&id).await;
    let shown: Vec<&str> = records.iter().map(kind).collect();
    let expected =
        ["message_queued", "turn_start", "step_start", "request", "retry", "turn_continued", "request", "message", "step_end", "done"];
    assert_eq!(shown[1..], expected);
    let retry = the(&records, "retry");
    assert_eq!((&retry["discarded"], &retry["code"]), (&json!(true), &json!("restart")));
    let continued = the(&records, "turn_continued");
    assert_eq!((&continued["count"], &continued["cause"]), (&json!(1), &json!("crash")));
    assert_eq!(the(&records, "done")["answer"], "a whole answer");

    let mut feed = before.join(&gateway, &id).await;
    before.read_to(&mut feed, records.len() as u64).await;
    assert_eq!(before, gateway.fresh_view(&id).await.with_cursor(&before), "a cursor from before the crash still serves");
    let requests = provider.requests();
    assert_eq!(requests[0], requests[1], "the same request is made again");
}

impl View {
    /// This view at another's cursor: two readers may end at different ids of the same place.
    fn with_cursor(mut self, other: &View) -> Self {
        self.cursor.clone_from(&other.cursor);
        self
    }
}

#[tokio::test]
async fn after_two_crashes_a_turn_ends_interrupted() {
    let provider = Provider::start().await;
    provider.otherwise(|_| Reply::stream().say("x").hang());
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    gateway.say(&id, "go").await;
    for attempt in 1..=3 {
        provider.request(attempt).await;
        // it may be under way before its record is on disk, and a crash counts from there
        let on_disk = || async { (of_kind(&gateway.records(&id).await, "request").len() == attempt).then_some(()) };
        poll("the request's record", on_disk).await;
        gateway.crash_and_restart().await;
    }
    let records = gateway.audited(&id).await;
    let done = the(&records, "done");
    assert_eq!(done["reason"], "interrupted");
    assert!(!text(done, "/answer").is_empty(), "its sender hears");
    assert_eq!(provider.requests().len(), 3);
    provider.otherwise(|_| Reply::text("fine"));
    assert_eq!(gateway.ask(&id, "again").await["answer"], "fine");
}

#[tokio::test]
async fn what_was_queued_runs_after_the_restart() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().gate("never").stop());
    gateway.say(&id, "first").await;
    provider.reached("never").await;
    for text in ["second", "third"] {
        gateway.say_with(&id, &json!({"text": text, "mode": "followup"})).await;
    }
    gateway.crash_and_restart().await;
    provider.request(4).await;
    let records = gateway.audited(&id).await;
    let answers: Vec<&str> = of_kind(&records, "done").iter().map(|d| text(d, "/answer")).collect();
    assert_eq!(answers, ["re: first", "re: second", "re: third"]);
}

#[tokio::test]
async fn a_tool_that_had_started_is_not_run_again() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let ran = gateway.dir.join("ran");
    // `exec` keeps it one process: when its reader is gone, nothing of it stays behind for long
    let command = format!("echo once >> {}; exec sleep 3", ran.display());
    provider.push(Reply::stream().bash("c1", &command).bash("c2", "echo fresh").calls());
    gateway.say(&id, "go").await;
    poll("the tool's effect", || async { std::fs::read_to_string(&ran).ok().filter(|t| !t.is_empty()) }).await;
    gateway.crash_and_restart().await;
    let shown = results(&provider.request(2).await);
    assert!(shown[0].1.contains("TOOL_OUTCOME_UNKNOWN"), "the model is told: {shown:?}");
    let records = gateway.audited(&id).await;
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "once\n");
    assert_eq!(of_kind(&records, "tool_error")[0]["code"], "TOOL_OUTCOME_UNKNOWN");
    assert!(shown[1].1.contains("fresh"), "what had not started is dispatched: {shown:?}");
}

#[tokio::test]
async fn a_pending_approval_survives_and_runs_its_call_once() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::start(&provider).await;
    let id = gateway.cli_session().await;
    let ran = gateway.dir.join("ran");
    provider.push(Reply::stream().bash("c1", &format!("echo once >> {}", ran.display())).calls());
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "go").await;
    let asked = feed.event("approval_requested").await;
    gateway.crash_and_restart().await;
    gateway.crash_and_restart().await;
    let listed = gateway.get("/v1/approvals?status=pending").await.expect(200);
    let row = &listed["data"][0];
    assert_eq!((&row["approval_id"], &row["expires_at"]), (&asked["approval_id"], &asked["expires_at"]), "{listed}");
    assert!(of_kind(&gateway.records(&id).await, "turn_continued").is_empty(), "it only waits for a person");
    let route = format!("/v1/sessions/{id}/approvals/{}", text(&asked, "/approval_id"));
    let body = gateway.post_as_owner(&route, &json!({"decision": "allow_once", "digest": asked["digest"]})).await.expect(200);
    let records = gateway.audited(&id).await;
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "once\n");
    the(&records, "approval_requested");
    the(&records, "tool_end");
    gateway.crash_and_restart().await;
    assert_eq!(gateway.post_as_owner(&route, &json!({"decision": "allow_once"})).await.expect(200), body, "and after another crash");
    assert_eq!(std::fs::read_to_string(&ran).unwrap(), "once\n");
}

/// First two calls that leave a mark, then one more, then an answer; the ids are the message's own.
fn busy(body: &Value, marks: &str) -> Reply {
    let asked = last_user(body);
    let run = |reply: Reply, call: &str| reply.bash(&format!("{asked}-{call}"), &format!("echo {asked}-{call} >> {marks}"));
    let own = results(body).iter().filter(|(id, _)| id.starts_with(&format!("{asked}-"))).count();
    match own {
        0 => run(run(Reply::stream().think("hm").say("first ").say("two"), "a"), "b").calls(),
        2 => run(Reply::stream().say("then one"), "c").calls(),
        _ => Reply::stream().say("so ").say("it ").say("is").stop(),
    }
}

#[tokio::test]
async fn killed_at_any_moment_the_books_balance() {
    let mut dice = Dice::new("killed_at_any_moment_the_books_balance");
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let marks = gateway.dir.join("marks");
    let shown = marks.display().to_string();
    provider.otherwise(move |body| busy(body, &shown));
    let id = gateway.cli_session().await;
    let mut view = View::default();
    for round in 0..12 {
        let mut feed = view.join(&gateway, &id).await;
        let key = format!("m{round}");
        let post = |port: u16| {
            let (id, key) = (id.clone(), key.clone());
            let bearer = gateway.bearer();
            async move {
                let path = format!("/v1/sessions/{id}/messages");
                let headers = [("Authorization", bearer.as_str()), ("Idempotency-Key", key.as_str())];
                let body = json!({"text": key, "mode": "followup"}).to_string();
                http::request(port, "POST", &path, &headers, Some(body.as_bytes())).await
            }
        };
        let port = gateway.port;
        let first = post(port).await.unwrap().expect(202);
        let again = post(port);
        for _ in 0..dice.below(36) {
            let frame = feed.next().await.unwrap();
            view.fold(&frame);
            if frame.kind() == "done" {
                break;
            }
        }
        gateway.kill9().await;
        gateway.spawn().await;
        let repeated = again.await.unwrap().expect(202);
        assert_eq!(repeated["message_id"], first["message_id"], "round {round}");
        let records = gateway.audited(&id).await;
        let mut feed = view.join(&gateway, &id).await;
        view.read_to(&mut feed, records.len() as u64).await;
        assert_eq!(view.records, records, "round {round}: a reader from before the crash");
        assert_eq!(of_kind(&records, "done").len(), round + 1, "one turn each");
    }
    let records = gateway.audited(&id).await;
    let marks = std::fs::read_to_string(&marks).unwrap();
    let mut ran: HashMap<&str, usize> = HashMap::new();
    marks.lines().for_each(|mark| *ran.entry(mark).or_default() += 1);
    assert!(ran.values().all(|n| *n == 1), "an effect happens at most once: {ran:?}");
    for end in of_kind(&records, "tool_end") {
        assert_eq!(ran.get(text(end, "/tool_call_id")), Some(&1), "what is said to have run did: {end}");
    }
    assert!(number(records.last().unwrap(), "/turn") == 12, "{:?}", records.last());
    assert_eq!(gateway.fresh_view(&id).await.records, records);
}
