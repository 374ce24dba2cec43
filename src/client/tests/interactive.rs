//! A person at the prompt.

use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::Buffer;
use super::fake::{self, Fake, Trouble};
use crate::client::Exit;
use crate::client::editor::Typed;
use crate::client::interactive;
use crate::client::screen::{Screen, Shared};
use crate::client::sink::Paint;
use crate::domain::Args;

struct Person {
    fake: Fake,
    keys: mpsc::Sender<Typed>,
    screen: Buffer,
    task: JoinHandle<Exit>,
}

async fn sit_down() -> Person {
    let fake = fake::start().await;
    let (keys, mut typed) = mpsc::channel(8);
    let buffer = Buffer::new();
    let screen = Screen::new(Shared::new(Box::new(buffer.clone()), Paint::Plain));
    let (api, session) = (fake.api(), fake.session());
    let task = tokio::spawn(async move { interactive::drive(api, session, screen, &mut typed).await });
    Person { fake, keys, screen: buffer, task }
}

impl Person {
    async fn line(&self, text: &str, under: Option<&str>) {
        self.keys.send(Typed::Line { text: text.into(), under: under.map(str::to_owned) }).await.unwrap();
    }

    async fn leave(self) -> (Exit, String) {
        self.keys.send(Typed::Leave).await.unwrap();
        (self.task.await.unwrap(), self.screen.text())
    }
}

fn approval(id: &str) -> serde_json::Value {
    json!({"approval_id": id, "tool_call_id": "c", "tool": "bash", "args": {"command": "rm \u{202e}x"}, "reason": "it has effects", "decisions": ["allow_once", "allow_session", "deny"]})
}

#[tokio::test]
async fn text_streams_and_is_not_repeated() {
    let mut p = sit_down().await;
    p.line("hi", None).await;
    p.fake.call("/messages").await;
    p.fake.turn();
    p.fake.text("m1", "Hello wor");
    p.screen.shows("Hello").await;
    p.fake.message("m1", "Hello world");
    p.fake.done("completed", "Hello world");
    p.screen.shows("— 0.0 s").await;
    let (exit, screen) = p.leave().await;
    assert_eq!(exit, Exit::Done);
    assert_eq!(screen.matches("Hello world\n").count(), 1, "{screen}");
    assert!(!screen.contains("from another client"), "{screen}");
}

#[tokio::test]
async fn an_approval_is_decided_with_the_digest_of_what_was_shown() {
    let mut p = sit_down().await;
    p.fake.turn();
    p.fake.record("approval_requested", approval("apr_1"));
    p.screen.shows("y allow once · s allow for this session · n deny").await;
    assert!(p.screen.text().contains("rm \\u{202e}x"), "{}", p.screen.text());
    p.line("what?", Some("apr_1")).await;
    p.screen.shows("not sent. Please type").await;
    p.line("s", Some("apr_1")).await;
    let call = p.fake.call("/approvals/apr_1").await;
    let digest = Args::from_model("{\"command\":\"rm \u{202e}x\"}").digest("bash");
    assert_eq!(call.body, json!({"decision": "allow_session", "digest": digest}));
}

#[tokio::test]
async fn a_line_begun_before_the_question_is_no_answer_to_it() {
    let mut p = sit_down().await;
    p.fake.turn();
    p.fake.record("approval_requested", approval("apr_1"));
    p.screen.shows("May the agent run bash?").await;
    p.line("y", None).await;
    assert_eq!(p.fake.call("/messages").await.body, json!({"text": "y"}));
}

#[tokio::test]
async fn a_decision_that_did_not_arrive_is_asked_again() {
    let mut p = sit_down().await;
    p.fake.trouble("/approvals/apr_1", Trouble::Problem(503, "store_unavailable"));
    p.fake.turn();
    p.fake.record("approval_requested", approval("apr_1"));
    p.screen.shows("May the agent").await;
    p.line("n", Some("apr_1")).await;
    p.fake.call("/approvals/apr_1").await;
    p.screen.shows("store_unavailable").await;
    p.line("n", Some("apr_1")).await;
    assert_eq!(p.fake.call("/approvals/apr_1").await.body["decision"], "deny");
}

#[tokio::test]
async fn one_wait_is_asked_after_the_other() {
    let mut p = sit_down().await;
    p.fake.turn();
    p.fake.record("approval_requested", approval("apr_1"));
    p.fake.record("approval_requested", json!({"approval_id": "apr_2", "tool_call_id": "d", "tool": "write_file", "args": {}, "reason": "", "decisions": ["allow_once", "deny"]}));
    p.screen.shows("May the agent run bash?").await;
    p.line("y", Some("apr_1")).await;
    p.screen.shows("May the agent run write_file?").await;
    p.line("n", Some("apr_2")).await;
    assert_eq!(p.fake.call("/approvals/apr_2").await.body["decision"], "deny");
}

#[tokio::test]
async fn questions_are_answered_by_number_and_in_words() {
    let mut p = sit_down().await;
    p.fake.turn();
    let questions = json!([
        {"id": "size", "text": "Which size?", "options": [{"label": "S"}, {"label": "M"}], "multiple": false, "free_text": false},
        {"id": "name", "text": "Your name?", "options": [], "multiple": false, "free_text": true},
    ]);
    p.fake.record("question_asked", json!({"question_id": "qst_1", "tool_call_id": "c", "questions": questions}));
    p.screen.shows("Which size?").await;
    p.line("2", Some("qst_1")).await;
    p.screen.shows("Your name?").await;
    p.line("Ada", Some("qst_1")).await;
    let call = p.fake.call("/questions/qst_1").await;
    assert_eq!(call.body, json!({"answers": [{"id": "size", "selected": ["M"]}, {"id": "name", "selected": [], "text": "Ada"}]}));
}

#[tokio::test]
async fn questions_can_be_declined() {
    let mut p = sit_down().await;
    p.fake.turn();
    let questions = json!([{"id": "name", "text": "Your name?", "free_text": true}]);
    p.fake.record("question_asked", json!({"question_id": "qst_1", "tool_call_id": "c", "questions": questions}));
    p.screen.shows("Your name?").await;
    p.line("/decline", Some("qst_1")).await;
    assert_eq!(p.fake.call("/questions/qst_1").await.body, json!({"declined": true}));
}

#[tokio::test]
async fn an_interrupt_stops_the_turn_and_nothing_else() {
    let mut p = sit_down().await;
    p.keys.send(Typed::Interrupt { had_text: false }).await.unwrap();
    p.screen.shows("Ctrl-C once more").await;
    p.fake.turn();
    p.fake.text("m1", "Once upon");
    p.screen.shows("Once").await;
    p.keys.send(Typed::Interrupt { had_text: false }).await.unwrap();
    p.fake.call("/cancel").await;
    p.fake.record(
        "message",
        json!({"message_id": "m1", "content": [{"type": "text", "text": "Once upon"}], "finish": "cancelled", "interrupted": true}),
    );
    p.fake.record(
        "done",
        json!({"reason": "aborted", "cause": "user", "answer": "", "message_ids": [], "tool_calls": [], "steps": 1, "total_time_ms": 1}),
    );
    p.screen.shows("— stopped after 0.0 s").await;
    let (exit, screen) = p.leave().await;
    assert_eq!(exit, Exit::Done);
    assert_eq!(screen.matches("stop").count(), 1, "one word once: {screen}");
}

#[tokio::test]
async fn a_stop_that_takes_its_time_is_said_once_and_holds_nothing_up() {
    let mut p = sit_down().await;
    p.fake.hold("/cancel");
    p.fake.turn();
    p.fake.record("tool_start", json!({"tool_call_id": "c", "tool": "bash", "args": {}}));
    p.screen.shows("· bash").await;
    for _ in 0..3 {
        p.keys.send(Typed::Interrupt { had_text: false }).await.unwrap();
    }
    p.fake.call("/cancel").await;
    p.screen.shows("stopping; what runs is being ended").await;
    p.line("next", None).await;
    assert_eq!(p.fake.call("/messages").await.body, json!({"text": "next"}));
    let (_, screen) = p.leave().await;
    assert_eq!(screen.matches("stopping").count(), 1, "{screen}");
    assert!(!screen.contains("may not have arrived") && !screen.contains("without you"), "{screen}");
}

#[tokio::test]
async fn after_a_cut_in_the_middle_of_an_answer_it_goes_on_with_a_whole_word() {
    let mut p = sit_down().await;
    p.fake.call("/events").await;
    p.fake.turn();
    p.fake.text("m1", "you are char");
    p.screen.shows("you are").await;
    p.fake.cut("event: closing\ndata: {\"reason\":\"draining\",\"retry_after_ms\":1}\n\n");
    p.fake.call("/events").await;
    p.screen.shows("connected again").await;
    p.fake.text("m1", "ged or told");
    p.fake.message("m1", "you are charged or told");
    p.screen.shows("you are\nthe gateway is restarting; reconnecting\nconnected again\n… charged or told\n").await;
}

#[tokio::test]
async fn messages_arrive_in_the_order_in_which_they_were_typed() {
    let mut p = sit_down().await;
    p.fake.trouble("/messages", Trouble::LostAnswer);
    for text in ["one", "two"] {
        p.line(text, None).await;
    }
    let mut texts = Vec::new();
    for _ in 0..3 {
        texts.push(p.fake.call("/messages").await.body["text"].clone());
    }
    assert_eq!(texts, ["one", "one", "two"]);
}

#[tokio::test]
async fn what_another_client_posts_is_shown_as_such() {
    let p = sit_down().await;
    p.screen.shows("session ses_1").await;
    p.fake.turn();
    p.fake.text("m1", "x y");
    p.screen.shows("x").await;
    p.fake.record("message_queued", json!({"message_id": "u9", "text": "me too", "author": "ada"}));
    p.screen.shows("» ada from another client: me too").await;
}

#[tokio::test]
async fn withdrawn_text_is_said() {
    let p = sit_down().await;
    p.fake.turn();
    p.fake.text("m1", "Wrong wa");
    p.screen.shows("Wrong").await;
    p.fake.record("retry", json!({"attempt": 1, "code": "transport_cut", "delay_ms": 1, "discarded": true}));
    p.fake.record("request", json!({"attempt": 2}));
    p.fake.text("m2", "Right way");
    p.screen.shows("Wrong\n(the text above is withdrawn: the model's answer broke off; asking again)\nRight").await;
}

#[tokio::test]
async fn it_says_once_that_it_reconnects() {
    let mut p = sit_down().await;
    p.fake.call("/events").await;
    for _ in 0..2 {
        p.fake.trouble("/events", Trouble::Problem(503, "store_unavailable"));
    }
    p.fake.cut("");
    for _ in 0..3 {
        p.fake.call("/events").await;
    }
    p.screen.shows("connected again").await;
    assert_eq!(p.screen.text().matches("; reconnecting").count(), 1);
}

#[tokio::test]
async fn a_deleted_session_ends_the_chat() {
    let mut p = sit_down().await;
    p.fake.call("/events").await;
    p.fake.cut("event: closing\ndata: {\"reason\":\"deleted\"}\n\n");
    p.screen.shows("the session is over").await;
    assert_eq!(p.leave().await.0, Exit::Failed);
}
