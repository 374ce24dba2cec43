//! One message, one answer.

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Buffer;
use super::fake::{self, Fake, Trouble};
use crate::client::batch::{self, Waits};
use crate::client::page::Page;
use crate::client::pipes::{Format, Pipes};
use crate::client::sink::Paint;
use crate::client::{ChatOptions, ClientError, Exit, chat, open};

struct Run {
    out: Buffer,
    notes: Buffer,
    task: JoinHandle<Result<Exit, ClientError>>,
}

/// One message, posted in the background.
fn post(fake: &Fake, format: Format) -> Run {
    let (out, notes) = (Buffer::new(), Buffer::new());
    let mut pipes = Pipes::new(format, Page::new(Paint::Plain, usize::MAX), Box::new(out.clone()), Box::new(notes.clone()));
    let (api, session) = (fake.api(), fake.session());
    let task = tokio::spawn(async move { batch::message(api, session, "hi".into(), Waits::Leave, &mut pipes).await });
    Run { out, notes, task }
}

impl Run {
    async fn exit(self) -> (Exit, String, String) {
        let exit = tokio::time::timeout(std::time::Duration::from_secs(20), self.task).await.unwrap().unwrap().unwrap();
        (exit, self.out.text(), self.notes.text())
    }
}

#[tokio::test]
async fn a_pipe_gets_the_answer_and_nothing_else() {
    let mut fake = fake::start().await;
    let run = post(&fake, Format::Final);
    assert_eq!(fake.call("/messages").await.body, json!({"text": "hi"}));
    fake.turn();
    fake.text("m1", "I ");
    fake.message("m1", "I look.");
    fake.record("tool_start", json!({"tool_call_id": "c", "tool": "bash", "args": {"command": "ls"}}));
    fake.record("tool_end", json!({"tool_call_id": "c", "tool": "bash", "duration_ms": 12}));
    fake.message("m2", "Done.");
    fake.done("completed", "Done.");
    let (exit, out, notes) = run.exit().await;
    assert_eq!((exit, out.as_str()), (Exit::Done, "Done.\n"));
    assert!(notes.contains("· bash {\"command\":\"ls\"}\n✓ bash 12 ms\n"), "{notes}");
}

#[tokio::test]
async fn another_end_than_completed_is_a_failure() {
    let mut fake = fake::start().await;
    let run = post(&fake, Format::Final);
    fake.call("/messages").await;
    fake.turn();
    fake.done("max_steps", "What I know.");
    let (exit, out, notes) = run.exit().await;
    assert_eq!((exit, out.as_str()), (Exit::Failed, "What I know.\n"));
    assert!(notes.contains("all the steps"), "{notes}");
}

#[tokio::test]
async fn only_the_own_turn_is_printed() {
    let mut fake = fake::start().await;
    fake.record("turn_start", json!({"message_ids": ["other"]}));
    let run = post(&fake, Format::Stream);
    fake.call("/messages").await;
    fake.message("m1", "For somebody else.");
    fake.done("completed", "For somebody else.");
    fake.turn();
    fake.text("m2", "For");
    fake.message("m2", "For me.");
    fake.done("completed", "For me.");
    let (exit, out, _) = run.exit().await;
    assert_eq!((exit, out.as_str()), (Exit::Done, "For me.\n"));
}

#[tokio::test]
async fn a_lost_answer_is_posted_again_with_the_same_key() {
    let mut fake = fake::start().await;
    fake.trouble("/messages", Trouble::LostAnswer);
    let run = post(&fake, Format::Final);
    let first = fake.call("/messages").await;
    let second = fake.call("/messages").await;
    let key = first.header("idempotency-key").unwrap();
    assert!(key.len() >= 32);
    assert_eq!(second.header("idempotency-key"), Some(key));
    run.task.abort();
}

#[tokio::test]
async fn a_cut_feed_goes_on_at_its_cursor() {
    let mut fake = fake::start().await;
    let run = post(&fake, Format::Stream);
    fake.call("/events").await;
    fake.turn();
    fake.text("m1", "Hello wor");
    run.out.shows("Hello").await;
    fake.cut("");
    let again = fake.call("/events").await;
    assert_eq!(again.header("last-event-id"), Some("3.1"));
    fake.text("m1", "ld");
    fake.message("m1", "Hello world");
    fake.cut("event: closing\ndata: {\"reason\":\"draining\",\"retry_after_ms\":1}\n\n");
    assert_eq!(fake.call("/events").await.header("last-event-id"), Some("4"));
    fake.done("completed", "Hello world");
    let (exit, out, notes) = run.exit().await;
    assert_eq!((exit, out.as_str()), (Exit::Done, "Hello world\n"));
    assert!(notes.contains("; reconnecting") && notes.contains("the gateway is restarting"), "{notes}");
}

#[tokio::test]
async fn an_approval_that_nobody_can_give_ends_the_wait_and_is_named() {
    let mut fake = fake::start().await;
    let run = post(&fake, Format::Final);
    fake.call("/messages").await;
    fake.turn();
    let asked = json!({"approval_id": "apr_7", "tool_call_id": "c", "tool": "bash", "args": {"command": "rm x"}, "reason": "effects", "decisions": ["allow_once", "deny"]});
    fake.record("approval_requested", asked);
    let (exit, out, notes) = run.exit().await;
    assert_eq!((exit, out.as_str()), (Exit::Waiting, ""));
    assert!(notes.contains("apr_7") && notes.contains("rm x") && notes.contains(" chat --session ses_1"), "{notes}");
}

#[tokio::test]
async fn scripts_get_each_event_as_a_line_of_json() {
    let mut fake = fake::start().await;
    let run = post(&fake, Format::Json);
    fake.call("/messages").await;
    fake.turn();
    fake.text("m1", "Hello");
    run.out.shows("text_delta").await;
    fake.message("m1", "Hello");
    fake.done("completed", "Hello");
    let (exit, out, _) = run.exit().await;
    assert_eq!(exit, Exit::Done);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = lines.iter().map(|l| l["event"].as_str().unwrap()).collect();
    assert_eq!(names, ["hello", "message_queued", "turn_start", "request", "text_delta", "message", "done"]);
    assert_eq!((&lines[0]["id"], &lines[4]["id"]), (&Value::Null, &json!("3.1")));
    assert_eq!(lines[4]["data"]["text"], "Hello");
}

#[tokio::test]
async fn a_refused_feed_is_an_error() {
    let mut fake = fake::start().await;
    fake.trouble("/events", Trouble::Problem(404, "not_found"));
    let run = post(&fake, Format::Final);
    fake.call("/events").await;
    assert!(matches!(run.task.await.unwrap(), Err(ClientError::Refused(why)) if why.contains("not_found")));
}

#[tokio::test]
async fn a_new_session_is_a_cli_session_and_shows_the_key() {
    let mut fake = fake::start().await;
    assert_eq!(open(&fake.api(), None).await.unwrap(), fake.session());
    let call = fake.call("/sessions").await;
    assert_eq!(call.body, json!({"channel": "cli"}));
    assert_eq!(call.header("authorization"), Some("Bearer pl_test"));
}

fn one_message(url: String) -> ChatOptions {
    ChatOptions { url, session: None, message: Some("hi".into()), json: false, key: None }
}

#[tokio::test]
async fn a_missing_key_says_how_to_give_it() {
    let fake = fake::start().await;
    let error = chat(one_message(fake.url.clone())).await.unwrap_err();
    let text = error.to_string();
    assert!(["--key", "PORTICO_KEY", "local.key"].iter().all(|part| text.contains(part)), "{text}");
}

#[tokio::test]
async fn no_gateway_says_where_it_looked_and_how_to_start_one() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let error = chat(one_message(url.clone())).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&url) && text.contains(" serve\n"), "{text}");
}
