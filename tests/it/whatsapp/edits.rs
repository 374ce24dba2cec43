//! What is changed, taken back, or answered by a person.

use serde_json::json;

use super::{World, ana};
use crate::harness::graph::Mishap;
use crate::harness::hook::MAIN;
use crate::harness::{Reply, of_kind, poll};

impl World {
    /// Ana's first turn stands at the model; what comes now waits.
    async fn busy(&self) {
        self.provider.push(Reply::stream().gate("hold").say("first").stop());
        self.says(&ana(), "wamid.1", "go").await;
        self.provider.reached("hold").await;
    }
}

#[tokio::test]
async fn an_edit_before_its_turn_replaces_and_after_it_is_a_message() {
    let world = World::new().await;
    world.busy().await;
    world.says(&ana(), "wamid.2", "where is my first order?").await;
    MAIN.one(&world.gateway, &ana(), ana().edits("wamid.3", "wamid.2", "where is my second order?")).await;
    world.provider.open("hold");
    assert_eq!(world.reads(&ana(), 2).await, ["first", "re: where is my second order?"]);
    MAIN.one(&world.gateway, &ana(), ana().edits("wamid.4", "wamid.1", "go on")).await;
    assert_eq!(world.reads(&ana(), 3).await[2], "re: [Edited message] go on");
    // the same wording is no news
    MAIN.one(&world.gateway, &ana(), ana().edits("wamid.5", "wamid.4", "[Edited message] go on")).await;
    assert_eq!((world.items("edited").await, world.items("edited_late").await, world.items("edit_unchanged").await), (1, 1, 1));
    let asked = world.provider.requests();
    assert!(!asked[asked.len() - 1].to_string().contains("my first order"));
}

/// Only a revoke takes a message back.
#[tokio::test]
async fn what_is_edited_to_nothing_stands_as_it_was() {
    let world = World::new().await;
    world.busy().await;
    world.says(&ana(), "wamid.2", "where is my order?").await;
    MAIN.one(&world.gateway, &ana(), ana().edits("wamid.3", "wamid.2", " ")).await;
    world.provider.open("hold");
    poll("both answers", || async { world.read_by(&ana()).contains(&"re: where is my order?".to_owned()).then_some(()) }).await;
    assert_eq!(world.items("edited").await, 0);
}

/// The platform names the first message in every change of it.
#[tokio::test]
async fn each_change_goes_on_from_the_one_before() {
    let world = World::new().await;
    world.busy().await;
    let edit = async |id: &str, original: &str, text: &str| MAIN.one(&world.gateway, &ana(), ana().edits(id, original, text)).await;
    for id in ["a", "b", "c"] {
        world.says(&ana(), &format!("wamid.{id}"), &format!("first wording of {id}")).await;
    }
    edit("wamid.a2", "wamid.a", "second of a").await;
    edit("wamid.a3", "wamid.a", "first wording of a").await;
    edit("wamid.b2", "wamid.b", "second of b").await;
    edit("wamid.b3", "wamid.b", "third of b").await;
    edit("wamid.b3", "wamid.b", "third of b").await;
    edit("wamid.c2", "wamid.c", "second of c").await;
    MAIN.one(&world.gateway, &ana(), ana().revokes("wamid.c3", "wamid.c")).await;
    // what came too late is followed too
    edit("wamid.12", "wamid.1", "second of go").await;
    edit("wamid.13", "wamid.1", "third of go").await;
    world.provider.open("hold");
    world.reads(&ana(), 4).await;
    let asked = world.provider.requests()[3].to_string();
    for read in ["first wording of a", "third of b", "third of go"] {
        assert!(asked.contains(read), "{read}: {asked}");
    }
    for gone in ["second of", "first wording of b", "of c"] {
        assert!(!asked.contains(gone), "{gone}: {asked}");
    }
    let counted = [("edited", 6), ("edited_late", 1), ("retracted", 1), ("duplicate", 1), ("edit_unchanged", 0)];
    for (outcome, count) in counted {
        assert_eq!(world.items(outcome).await, count, "{outcome}");
    }
}

#[tokio::test]
async fn what_is_taken_back_before_its_turn_is_never_read() {
    let world = World::new().await;
    world.busy().await;
    world.says(&ana(), "wamid.2", "a secret").await;
    MAIN.one(&world.gateway, &ana(), ana().revokes("wamid.3", "wamid.2")).await;
    MAIN.one(&world.gateway, &ana(), ana().revokes("wamid.4", "wamid.1")).await;
    world.provider.open("hold");
    world.says(&ana(), "wamid.5", "then").await;
    assert_eq!(world.reads(&ana(), 2).await, ["first", "re: then"]);
    let session = world.session().await;
    let records = world.gateway.audited(&session).await;
    assert_eq!(of_kind(&records, "message_removed")[0]["reason"], "retracted");
    assert!(world.provider.requests().iter().all(|asked| !asked.to_string().contains("a secret")));
    assert_eq!((world.items("retracted").await, world.items("retracted_late").await), (1, 1));
}

/// nanoclaw#273: the agent answered its own echo.
#[tokio::test]
async fn report_17_who_answers_from_the_phone_pauses_the_agent_and_is_never_answered() {
    let world = World::new().await;
    world.says(&ana(), "wamid.1", "hello").await;
    world.reads(&ana(), 1).await;
    let own = world.graph.all_sent()[0].id.clone();
    world.delivery("sent").await;
    assert_eq!(world.items("again").await, 0);
    // our own message, told back to us, is nothing
    MAIN.echo(&world.gateway, &ana(), &own, "re: hello").await;
    assert_eq!(world.items("echo_own").await, 1);
    world.says(&ana(), "wamid.2", "still there?").await;
    world.reads(&ana(), 2).await;
    let session = world.session().await;
    world.gateway.idle(&session).await;

    MAIN.echo(&world.gateway, &ana(), "wamid.ECHO1", "A human answers").await;
    MAIN.echo(&world.gateway, &ana(), "wamid.ECHO1", "A human answers").await;
    assert_eq!(world.gateway.state(&session).await["status"], "paused");
    world.says(&ana(), "wamid.3", "thank you").await;
    let records = world.gateway.records(&session).await;
    assert_eq!((of_kind(&records, "handoff").len(), of_kind(&records, "done").len()), (1, 2));
    assert_eq!((world.read_by(&ana()).len(), world.items("echo").await), (2, 2));

    // given back, it goes on with what waits
    let path = format!("/v1/sessions/{session}/handoff");
    world.gateway.post(&path, &json!({"action": "give_back"})).await.expect(200);
    assert_eq!(world.reads(&ana(), 3).await[2], "re: thank you");
    assert!(world.provider.requests()[2].to_string().contains("A human answers"), "the model knows what was said");
}

/// The platform has it and we do not know its id yet: it may be our own, and is asked for again.
#[tokio::test]
async fn an_echo_while_we_send_is_judged_once_that_is_over() {
    let world = World::new().await;
    world.graph.next(Mishap::WaitsAt("held"));
    world.says(&ana(), "wamid.1", "hello").await;
    world.delivery("sending").await;
    let echo = async || MAIN.echoes(&world.gateway, &ana(), "wamid.OUT1", "re: hello").await;
    echo().await.any_problem(503);
    world.graph.open("held");
    world.delivery("sent").await;
    echo().await.expect(200);
    assert_eq!((world.items("echo_own").await, world.items("echo").await), (1, 0));
}

/// Nobody knows whether it was sent, and here it was: a status tells its id.
#[tokio::test]
async fn an_echo_of_what_may_have_been_sent_silences_nobody() {
    let world = World::new().await;
    world.graph.next(Mishap::AcceptsAndCuts);
    world.says(&ana(), "wamid.1", "hello").await;
    world.delivery("unknown").await;
    let sent = world.graph.all_sent()[0].clone();
    let echo = async || MAIN.echoes(&world.gateway, &ana(), &sent.id, "re: hello").await;
    echo().await.any_problem(503);
    let token = sent.body["biz_opaque_callback_data"].as_str().map(ToOwned::to_owned);
    MAIN.status(&world.gateway, &sent.id, "sent", token.as_deref(), None).await;
    world.delivery("sent").await;
    echo().await.expect(200);
    assert_eq!((world.items("echo_own").await, world.items("echo").await), (1, 0));
}

/// No session has sent it, and the phone tells of it all the same.
#[tokio::test]
async fn an_echo_of_the_welcome_silences_nobody() {
    let world = World::with("access = \"pairing\"", "").await;
    world.says(&ana(), "wamid.1", "let me in").await;
    world.reads(&ana(), 1).await;
    let pairings = world.gateway.get("/v1/pairings").await.expect(200);
    let code = pairings["data"][0]["code"].as_str().unwrap().to_owned();
    world.gateway.post(&format!("/v1/pairings/{code}"), &json!({})).await.expect(200);
    let said = world.reads(&ana(), 2).await;
    for (text, id) in said.iter().zip(["wamid.E1", "wamid.E2"]) {
        MAIN.echo(&world.gateway, &ana(), id, text).await;
    }
    assert_eq!((world.items("echo_own").await, world.sessions().await.len()), (2, 0));
    MAIN.echo(&world.gateway, &ana(), "wamid.E3", "a person's words").await;
    assert_eq!(world.items("echo").await, 1);
}

#[tokio::test]
async fn a_person_takes_over_answers_and_gives_back_over_the_api() {
    let world = World::new().await;
    world.says(&ana(), "wamid.1", "hello").await;
    world.reads(&ana(), 1).await;
    let session = world.session().await;
    let path = format!("/v1/sessions/{session}/handoff");
    let paused = world.gateway.post(&path, &json!({"action": "reply", "text": "Eve here."})).await.expect(200);
    assert_eq!(paused["status"], "paused");
    assert_eq!(world.reads(&ana(), 2).await[1], "Eve here.");
    world.says(&ana(), "wamid.2", "oh, hello").await;
    poll("a message that waits", || async { (world.gateway.state(&session).await["queued"] == 1).then_some(()) }).await;
    let transcript = world.gateway.get(&format!("/v1/sessions/{session}/messages")).await.expect(200);
    assert!(transcript["data"].as_array().unwrap().iter().any(|row| row["role"] == "human" && row["text"] == "Eve here."), "{transcript}");
    world.gateway.post(&path, &json!({"action": "give_back"})).await.expect(200);
    assert_eq!(world.reads(&ana(), 3).await[2], "re: oh, hello");
    for (body, pointer) in [
        (json!({"action": "reply"}), "/text"),
        (json!({"action": "take", "text": "x"}), "/text"),
        (json!({"action": "take", "pause_s": 0}), "/pause_s"),
        (json!({"action": "sell"}), "/action"),
    ] {
        let refused = world.gateway.post(&path, &body).await.problem(422, "invalid_request");
        assert_eq!(refused["errors"][0]["pointer"], pointer, "{body}");
    }
}
