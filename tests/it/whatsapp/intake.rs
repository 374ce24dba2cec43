//! What a webhook's request leads to: taken once, by whoever proves it, for the number that it came to.

use futures_util::future::join_all;
use serde_json::json;

use super::{World, ana, bo};
use crate::harness::graph::VERIFY_TOKEN;
use crate::harness::hook::{Hook, MAIN, Person, SECOND, signature};
use crate::harness::{Reply, of_kind, poll};

/// However often it came again, it would not be taken: then the platform would send the others again for days.
#[tokio::test]
async fn what_is_too_much_for_a_conversation_is_said_once_and_costs_nobody_else() {
    let world = World::with("agent = \"small\"", "[agents.small]\nmodel = \"mock\"\nmax_queue = 1\n").await;
    world.provider.push(Reply::stream().gate("hold").say("first").stop());
    world.says(&ana(), "wamid.1", "go").await;
    world.provider.reached("hold").await;
    world.says(&ana(), "wamid.2", "this waits").await;
    let both = [ana().says("wamid.3", "too much"), bo().says("wamid.4", "hello")];
    MAIN.post(&world.gateway, &[&ana(), &bo()], &both).await.expect(200);
    world.says(&ana(), "wamid.5", "still too much").await;
    assert_eq!(world.reads(&bo(), 1).await, ["re: hello"]);
    assert_eq!(world.reads(&ana(), 1).await, ["There is more waiting here than I can read; please write again later."]);
    assert_eq!((world.items("queue_full").await, world.items("again").await), (2, 0));
    world.provider.open("hold");
    assert_eq!(world.reads(&ana(), 3).await[1..], ["first", "re: this waits"]);

    // a person who has the conversation speaks for himself
    MAIN.echo(&world.gateway, &bo(), "wamid.E1", "A human answers").await;
    world.says(&bo(), "wamid.6", "this waits").await;
    world.says(&bo(), "wamid.7", "too much").await;
    assert_eq!((world.items("queue_full").await, world.deliveries("").await.len()), (3, 4));
}

#[tokio::test]
async fn the_handshake_is_answered_with_the_challenge_and_nothing_else() {
    let world = World::new().await;
    let right = MAIN.handshake(&world.gateway, "subscribe", VERIFY_TOKEN, "1158201444").await;
    assert_eq!((right.status, right.body.as_slice()), (200, b"1158201444".as_slice()));
    assert!(right.header("content-type").is_some_and(|kind| kind.starts_with("text/plain")), "{right:?}");
    assert_eq!(right.header("x-content-type-options"), Some("nosniff"));
    MAIN.handshake(&world.gateway, "subscribe", "guessed", "1").await.any_problem(403);
    let script = MAIN.handshake(&world.gateway, "subscribe", VERIFY_TOKEN, "%3Cscript%3E1%3C/script%3E").await;
    assert!(script.status == 400, "{script:?}");
    world.gateway.get("/channels/whatsapp/nobody?hub.mode=subscribe").await.problem(404, "not_found");
    world.gateway.get("/channels/telegram/main").await.problem(404, "not_found");
}

#[tokio::test]
async fn a_message_is_answered_where_it_came_from() {
    let world = World::new().await;
    world.provider.push(Reply::text("It is on its *way*."));
    world.says(&ana(), "wamid.1", "Where is my order?").await;
    world.reads(&ana(), 1).await;
    let sent = world.messages();
    assert_eq!(sent.len(), 1, "{sent:?}");
    assert_eq!((&sent[0]["to"], &sent[0]["context"]["message_id"]), (&json!(ana().number()), &json!("wamid.1")));
    let session = world.session().await;
    let state = world.gateway.state(&session).await;
    assert_eq!((&state["channel"], &state["agent"]), (&json!("whatsapp"), &json!("default")));
    let row = world.gateway.get("/v1/sessions?channel=whatsapp").await.expect(200)["data"][0].clone();
    assert_eq!((&row["account"], row.get("title")), (&json!("main"), None));
    let records = world.gateway.audited(&session).await;
    let queued = &of_kind(&records, "message_queued")[0];
    assert_eq!(queued["author"], json!(format!("whatsapp:main:phone:{}", ana().number())));
    assert_eq!((&queued["trust"], &queued["text"]), (&json!("user"), &json!("Where is my order?")));
}

/// The platform's own bytes, as they were recorded.
#[tokio::test]
async fn recorded_requests_are_taken_whole() {
    let world = World::with("max_age_s = 0", "").await;
    MAIN.sample(&world.gateway, "01_text.json").await.expect(200);
    assert_eq!(world.reads(&ana(), 1).await, ["re: Where is my order?"]);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples/whatsapp");
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for name in names.filter(|name| name.ends_with(".json") && name != "signature_vectors.json") {
        assert_eq!(MAIN.sample(&world.gateway, &name).await.status, 200, "{name}");
    }
    for session in world.sessions().await {
        world.gateway.post(&format!("/v1/sessions/{session}/handoff"), &json!({"action": "give_back"})).await.expect(200);
        world.gateway.audited(&session).await;
    }
}

/// A file is fetched, kept, and named to the model.
#[tokio::test]
async fn a_picture_with_a_caption_is_fetched_before_its_turn() {
    let world = World::new().await;
    world.graph.holds("media-1", "image/png", b"\x89PNG not really");
    let picture = ana().sends("wamid.1", "image", json!({"id": "media-1", "mime_type": "image/png", "caption": "what is this?"}));
    MAIN.one(&world.gateway, &ana(), picture).await;
    assert!(world.reads(&ana(), 1).await[0].contains("what is this?"));
    let records = world.gateway.audited(&world.session().await).await;
    let kept = of_kind(&records, "attachment");
    assert_eq!((kept.len(), &kept[0]["bytes"]), (1, &json!(15)));
}

/// Whoever sets a webhook up sees which of his settings does not fit.
#[tokio::test]
async fn what_is_refused_is_said_in_the_answer_and_once_in_the_log() {
    let world = World::new().await;
    let body = MAIN.envelope(&[&ana()], &[ana().says("wamid.1", "hello")]).to_string();
    let stranger = Hook { account: "main", line: "999" };
    for _ in 0..3 {
        let unsigned = MAIN.signed_as(&world.gateway, body.as_bytes(), None).await.any_problem(401);
        assert_eq!(unsigned["detail"], "the request has no X-Hub-Signature-256");
        let wrong = MAIN.signed_as(&world.gateway, body.as_bytes(), Some(&signature(b"{}"))).await.any_problem(403);
        assert_eq!(wrong["detail"], "the request's X-Hub-Signature-256 does not fit the account's app_secret");
        let token = MAIN.handshake(&world.gateway, "subscribe", "guessed", "1").await.any_problem(403);
        assert!(token["detail"].as_str().is_some_and(|detail| detail.contains("verify_token")), "{token}");
        world.gateway.get("/channels/whatsapp/mian%0a%1b[31m?hub.mode=subscribe").await.problem(404, "not_found");
        stranger.one(&world.gateway, &ana(), ana().says("wamid.2", "hello")).await;
    }
    let log = world.gateway.log();
    let warned = |words: &str| log.lines().filter(|line| line.contains("WARN") && line.contains(words)).count();
    for words in ["has no X-Hub", "does not fit the account's app_secret", "hub.verify_token is not", "mian??", "number id 999"] {
        assert_eq!(warned(words), 1, "{words}: {log}");
    }
    assert!(!log.contains('\u{1b}') && !log.contains("guessed") && !log.contains(VERIFY_TOKEN), "{log}");
}

/// zeptoclaw#317: an unsigned request was taken.
#[tokio::test]
async fn report_08_what_is_not_signed_is_refused() {
    let world = World::new().await;
    let body = MAIN.envelope(&[&ana()], &[ana().says("wamid.1", "hello")]).to_string();
    MAIN.signed_as(&world.gateway, body.as_bytes(), None).await.any_problem(401);
    let another = signature(b"{}");
    MAIN.signed_as(&world.gateway, body.as_bytes(), Some(&another)).await.any_problem(403);
    MAIN.signed_as(&world.gateway, body.as_bytes(), Some("sha256=")).await;
    let long = vec![b' '; (4 << 20) + 1];
    MAIN.bytes(&world.gateway, &long).await.problem(413, "body_too_large");
    assert!(world.sessions().await.is_empty());
}

/// lingtai-kernel#733: a redelivery woke the agent twice.
#[tokio::test]
async fn report_09_a_redelivery_is_the_same_message_also_after_a_crash() {
    let mut world = World::new().await;
    world.says(&ana(), "wamid.1", "hello").await;
    world.says(&ana(), "wamid.1", "hello").await;
    world.reads(&ana(), 1).await;
    let session = world.session().await;
    world.gateway.idle(&session).await;
    world.gateway.crash_and_restart().await;
    world.says(&ana(), "wamid.1", "hello").await;
    world.says(&ana(), "wamid.2", "and now").await;
    assert_eq!(world.reads(&ana(), 2).await, ["re: hello", "re: and now"]);
    world.gateway.idle(&session).await;
    assert_eq!((world.turns(&session).await, world.sessions().await.len()), (2, 1));
}

/// OpenWA#464: two copies in the same second were both processed.
#[tokio::test]
async fn report_10_twenty_copies_at_once_are_one_turn() {
    let mut world = World::new().await;
    let ana = ana();
    let body = MAIN.envelope(&[&ana], &[ana.says("wamid.1", "hello")]).to_string();
    let copies = (0..20).map(|_| MAIN.bytes(&world.gateway, body.as_bytes()));
    assert!(join_all(copies).await.iter().all(|answer| answer.status == 200));
    world.reads(&ana, 1).await;
    world.gateway.kill9().await;
    world.gateway.spawn().await;
    MAIN.bytes(&world.gateway, body.as_bytes()).await.expect(200);
    let session = world.session().await;
    world.gateway.idle(&session).await;
    assert_eq!((world.turns(&session).await, world.read_by(&ana).len()), (1, 1));
}

/// tock#1614: another number's messages were answered.
#[tokio::test]
async fn report_16_a_number_that_is_not_configured_is_acknowledged_and_never_answered() {
    let world = World::new().await;
    let (ana, bo) = (ana(), bo());
    let mut body = MAIN.envelope(&[&ana], &[ana.says("wamid.1", "to number one")]);
    let other = SECOND.envelope(&[&bo], &[bo.says("wamid.2", "to number two")]);
    body["entry"].as_array_mut().unwrap().insert(0, other["entry"][0].clone());
    MAIN.bytes(&world.gateway, body.to_string().as_bytes()).await.expect(200);
    assert_eq!(world.reads(&ana, 1).await, ["re: to number one"]);
    assert!(world.read_by(&bo).is_empty());
    assert_eq!((world.items("unknown_line").await, world.items("accepted").await), (1, 1));
}

#[tokio::test]
async fn one_request_may_hold_what_came_to_several_numbers_of_one_app() {
    let world = World::accounts(&[(MAIN, ""), (SECOND, "")], "", "").await;
    let (ana, bo) = (ana(), bo());
    let mut body = MAIN.envelope(&[&ana], &[ana.says("wamid.1", "one")]);
    let other = SECOND.envelope(&[&bo], &[bo.says("wamid.2", "two")]);
    body["entry"].as_array_mut().unwrap().push(other["entry"][0].clone());
    MAIN.bytes(&world.gateway, body.to_string().as_bytes()).await.expect(200);
    world.reads(&ana, 1).await;
    world.reads(&bo, 1).await;
    let by: Vec<String> = world.graph.all_sent().into_iter().map(|sent| sent.line).collect();
    assert!(by.contains(&MAIN.line.to_owned()) && by.contains(&SECOND.line.to_owned()), "{by:?}");
}

#[tokio::test]
async fn all_of_a_list_is_taken_and_a_bad_item_costs_no_sibling() {
    let world = World::new().await;
    let (ana, bo) = (ana(), bo());
    let messages = [ana.says("wamid.1", "first"), json!({"type": "text"}), json!(7), bo.says("wamid.3", "third")];
    MAIN.post(&world.gateway, &[&ana, &bo], &messages).await.expect(200);
    assert_eq!(world.reads(&ana, 1).await, ["re: first"]);
    assert_eq!(world.reads(&bo, 1).await, ["re: third"]);
}

/// The number that was asked is the one that is meant.
#[tokio::test]
async fn what_names_no_number_is_for_the_one_that_was_asked() {
    let world = World::new().await;
    let new = Person { phone: Some("15550100077".into()), ..ana().by_phone() };
    world.says(&ana().by_phone(), "wamid.1", "before").await;
    world.reads(&ana(), 1).await;
    let changed =
        ana().by_phone().sends("wamid.2", "system", json!({"type": "user_changed_number", "wa_id": new.number(), "body": "changed"}));
    let mut body = MAIN.envelope(&[], &[changed, ana().sends("wamid.3", "system", json!({"type": "other"}))]);
    body["entry"][0]["changes"][0]["value"].as_object_mut().unwrap().remove("metadata");
    MAIN.bytes(&world.gateway, body.to_string().as_bytes()).await.expect(200);
    assert_eq!((world.items("identity").await, world.items("system").await, world.items("unknown_line").await), (1, 1, 0));
}

#[tokio::test]
async fn old_input_is_acknowledged_and_not_run() {
    let world = World::with("max_age_s = 60", "").await;
    let mut old = ana().says("wamid.1", "yesterday");
    old["timestamp"] = json!("1790000000");
    MAIN.one(&world.gateway, &ana(), old).await;
    let mut ahead = ana().says("wamid.2", "from the future");
    ahead["timestamp"] = json!("9999999999");
    MAIN.one(&world.gateway, &ana(), ahead).await;
    assert_eq!(world.reads(&ana(), 1).await, ["re: from the future"]);
    assert_eq!(world.items("too_old").await, 1);
}

/// The webhook does not wait for the model, whatever it does.
#[tokio::test]
async fn the_platform_is_answered_while_the_model_thinks() {
    let world = World::new().await;
    world.provider.push(Reply::stream().gate("thinking").say("at last").stop());
    world.says(&ana(), "wamid.1", "think").await;
    world.provider.reached("thinking").await;
    let people: Vec<_> = (2..40).map(super::people::nth).collect();
    let ids: Vec<String> = (2..40).map(|n| format!("wamid.{n}")).collect();
    let more = people.iter().zip(&ids).map(|(person, id)| world.says(person, id, "hello"));
    join_all(more).await;
    world.provider.open("thinking");
    assert_eq!(world.reads(&ana(), 1).await, ["at last"]);
}

#[tokio::test]
async fn what_cannot_be_kept_is_asked_for_again() {
    let world = World::new().await;
    let database = world.gateway.database();
    crate::harness::disk::refuse_writes(&database);
    let refused = MAIN.post(&world.gateway, &[&ana()], &[ana().says("wamid.1", "hello")]).await;
    refused.any_problem(503);
    assert!(refused.header("retry-after").is_some());
    crate::harness::disk::take_writes(&database);
    poll("the store takes it", || async {
        let answer = MAIN.post(&world.gateway, &[&ana()], &[ana().says("wamid.1", "hello")]).await;
        (answer.status == 200).then_some(())
    })
    .await;
    assert_eq!(world.reads(&ana(), 1).await, ["re: hello"]);
}
