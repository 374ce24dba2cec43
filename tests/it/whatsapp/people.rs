//! Whose conversation a message is: a person's, under every id; a group's; nobody else's.

use futures_util::future::join_all;
use serde_json::json;

use super::{World, ana, bo};
use crate::harness::hook::{MAIN, Person};
use crate::harness::{Reply, of_kind};

/// courier#1094: who shows no number was lost. chatwoot#15150: a user id in `to` was lost silently.
#[tokio::test]
async fn report_14_and_15_who_shows_no_number_is_answered_by_user_id_and_stays_the_same() {
    let world = World::new().await;
    let ana = ana();
    world.says(&ana.hidden(), "wamid.1", "no phone shown").await;
    assert_eq!(world.reads(&ana, 1).await, ["re: no phone shown"]);
    let sent = &world.messages()[0];
    assert_eq!(sent["recipient"], json!(ana.user));
    assert!(sent.get("to").is_none(), "{sent}");
    world.says(&ana, "wamid.2", "both ids").await;
    world.reads(&ana, 2).await;
    world.says(&ana.by_phone(), "wamid.3", "by number").await;
    world.reads(&ana, 3).await;
    assert_eq!(world.sessions().await.len(), 1);
}

#[tokio::test]
async fn a_number_that_somebody_else_has_now_begins_a_conversation_of_its_own() {
    let world = World::new().await;
    let ana = ana();
    world.says(&ana, "wamid.1", "my secret").await;
    world.reads(&ana, 1).await;
    let heir = Person { user: Some("US.39999999999999999999".into()), name: "Cid", ..ana.clone() };
    world.says(&heir, "wamid.2", "who was here?").await;
    world.reads(&heir, 2).await;
    assert_eq!(world.sessions().await.len(), 2);
    let asked = world.provider.requests();
    assert!(!asked[asked.len() - 1].to_string().contains("my secret"));
    // she is found by her own id, wherever she writes from
    let moved = Person { phone: Some("15550199999".into()), ..ana.clone() };
    world.says(&moved, "wamid.3", "me again").await;
    world.reads(&moved, 1).await;
    let asked = world.provider.requests();
    assert!(asked[asked.len() - 1].to_string().contains("my secret"));
    assert_eq!(world.sessions().await.len(), 2);
}

#[tokio::test]
async fn a_new_number_keeps_the_conversation() {
    let world = World::new().await;
    let (old, new) = (ana().by_phone(), Person { phone: Some("15550100077".into()), ..ana().by_phone() });
    world.says(&old, "wamid.1", "before").await;
    world.reads(&old, 1).await;
    let changed = old.sends("wamid.2", "system", json!({"type": "user_changed_number", "wa_id": new.number(), "body": "changed"}));
    MAIN.post(&world.gateway, &[], &[changed]).await.expect(200);
    world.says(&new, "wamid.3", "after").await;
    world.reads(&new, 1).await;
    assert_eq!((world.sessions().await.len(), world.items("identity").await), (1, 1));
    assert!(world.provider.requests()[1].to_string().contains("before"));
    // and whoever is given the old number begins his own
    world.says(&old, "wamid.4", "who was here?").await;
    world.reads(&old, 2).await;
    assert_eq!(world.sessions().await.len(), 2);
    assert!(!world.provider.requests()[2].to_string().contains("before"));
}

#[tokio::test]
async fn after_a_deletion_a_redelivery_is_a_duplicate_and_a_new_message_a_new_conversation() {
    let world = World::new().await;
    world.says(&ana(), "wamid.1", "hello").await;
    world.reads(&ana(), 1).await;
    let first = world.session().await;
    world.gateway.idle(&first).await;
    assert_eq!(world.gateway.delete(&format!("/v1/sessions/{first}")).await.status, 204);
    world.says(&ana(), "wamid.1", "hello").await;
    assert_eq!((world.items("duplicate").await, world.sessions().await.len()), (1, 0));
    world.says(&ana(), "wamid.2", "me again").await;
    world.reads(&ana(), 2).await;
    assert_ne!(world.session().await, first);
}

/// Three people at once, with everything in one request: none ever sees another's words.
#[tokio::test]
async fn people_who_write_at_once_never_see_each_others_words() {
    let world = World::new().await;
    let people: Vec<Person> = (1..=3).map(nth).collect();
    for round in 0..5 {
        let messages: Vec<_> =
            people.iter().map(|p| p.says(&format!("wamid.{}.{round}", p.number()), &format!("{} {round}", p.number()))).collect();
        let posts = (0..4).map(|_| MAIN.post(&world.gateway, &[], &messages));
        assert!(join_all(posts).await.iter().all(|answer| answer.status == 200));
        for person in &people {
            let read = world.reads(person, round + 1).await;
            assert_eq!(read.len(), round + 1, "{read:?}");
        }
    }
    for person in &people {
        let expected: Vec<String> = (0..5).map(|round| format!("re: {} {round}", person.number())).collect();
        assert_eq!(world.read_by(person), expected);
    }
    assert_eq!(world.sessions().await.len(), 3);
}

#[tokio::test]
async fn a_group_is_one_conversation_in_which_speakers_are_named() {
    let world = World::with("groups = \"all\"", "").await;
    for (person, id, words) in [(ana(), "wamid.1", "hello"), (bo(), "wamid.2", "hello too")] {
        world.provider.push(Reply::text(&format!("I hear {}", person.name)));
        MAIN.one(&world.gateway, &person, person.says_in("GRPsample1", id, words)).await;
        let count = if id == "wamid.1" { 1 } else { 2 };
        crate::harness::poll("the group's answer", || async { (world.messages().len() >= count).then_some(()) }).await;
    }
    for sent in world.messages() {
        assert_eq!((&sent["recipient_type"], &sent["to"]), (&json!("group"), &json!("GRPsample1")));
    }
    let records = world.gateway.records(&world.session().await).await;
    let said: Vec<_> = of_kind(&records, "message_queued").iter().map(|r| r["text"].clone()).collect();
    assert_eq!(said, ["Ana Example (…0001): hello", "Bo Sample (…0002): hello too"]);
}

#[tokio::test]
async fn groups_are_left_alone_unless_the_operator_says_otherwise() {
    let world = World::new().await;
    MAIN.one(&world.gateway, &ana(), ana().says_in("GRPsample1", "wamid.1", "hello @15550109000")).await;
    assert_eq!((world.items("group_disabled").await, world.sessions().await.len()), (1, 0));
    let world = World::with("groups = \"mention\"", "").await;
    MAIN.one(&world.gateway, &ana(), ana().says_in("GRPsample1", "wamid.1", "to you all")).await;
    MAIN.one(&world.gateway, &ana(), ana().says_in("GRPsample1", "wamid.2", "hello @15550109000")).await;
    crate::harness::poll("the answer", || async { (world.messages().len() == 1).then_some(()) }).await;
    assert_eq!((world.items("not_addressed").await, world.items("accepted").await), (1, 1));
}

/// One of many people.
pub(super) fn nth(n: u32) -> Person {
    Person::new("Somebody", n)
}
