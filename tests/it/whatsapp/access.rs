//! Who is answered: everybody, who is on a list, and who an operator lets in.

use futures_util::future::join_all;
use serde_json::{Value, json};

use super::{World, ana, bo};
use crate::harness::hook::{MAIN, Person};
use crate::harness::{list, poll, text};

const PAIRING: &str = "access = \"pairing\"";

impl World {
    /// Waits until the one who asks was told; his row.
    async fn asks(&self) -> Value {
        poll("a pairing that was told", || async {
            let page = self.gateway.get("/v1/pairings?status=pending").await.expect(200);
            list(&page, "/data").first().filter(|row| row["told"] == true).cloned()
        })
        .await
    }
}

#[tokio::test]
async fn a_stranger_is_told_a_code_once_and_answered_once_he_is_let_in() {
    let mut world = World::with(PAIRING, "").await;
    let body = MAIN.envelope(&[&ana()], &[ana().says("wamid.1", "let me in")]).to_string();
    let copies = (0..10).map(|_| MAIN.bytes(&world.gateway, body.as_bytes()));
    assert!(join_all(copies).await.iter().all(|answer| answer.status == 200));
    let row = world.asks().await;
    world.says(&ana(), "wamid.2", "hello?").await;
    let told = world.read_by(&ana());
    assert_eq!(told.len(), 1, "{told:?}");
    let code = text(&row, "/code");
    assert!(told[0].contains(code) && code.len() == 9, "{told:?}");
    assert_eq!(
        (&row["name"], &row["ids"]),
        (&json!("Ana Example"), &json!([format!("user:{}", ana().user.unwrap()), format!("phone:{}", ana().number())]))
    );
    assert!(world.sessions().await.is_empty() && world.provider.requests().is_empty());

    // it outlives a crash, and people write codes as they like
    world.gateway.crash_and_restart().await;
    let written = code.to_lowercase().replace('-', "");
    let admitted = world.gateway.post(&format!("/v1/pairings/{written}"), &json!({})).await.expect(200);
    assert_eq!((&admitted["status"], &admitted["code"]), (&json!("admitted"), &json!(code)));
    world.reads(&ana(), 2).await;
    world.says(&ana(), "wamid.3", "and now?").await;
    assert_eq!(world.reads(&ana(), 3).await[2], "re: and now?");
    world.says(&ana().hidden(), "wamid.4", "by user id").await;
    world.reads(&ana(), 4).await;
    assert_eq!(world.gateway.post(&format!("/v1/pairings/{code}"), &json!({})).await.expect(200)["status"], "admitted", "again is no harm");
    world.gateway.idle(&world.session().await).await;
    world.says(&ana(), "wamid.4b", "welcomed once").await;
    assert_eq!(world.reads(&ana(), 5).await[4], "re: welcomed once");

    // and is taken back
    assert_eq!(world.gateway.delete(&format!("/v1/pairings/{code}")).await.status, 204);
    world.gateway.delete(&format!("/v1/pairings/{code}")).await.problem(404, "not_found");
    world.says(&ana(), "wamid.5", "still?").await;
    assert_ne!(text(&world.asks().await, "/code"), code);
    assert_eq!(world.turns(&world.session().await).await, 3);
}

#[tokio::test]
async fn who_was_let_in_takes_his_right_to_his_new_number_and_leaves_none_behind() {
    for old in [ana(), ana().by_phone()] {
        let world = World::with(PAIRING, "").await;
        world.says(&old, "wamid.1", "let me in").await;
        let code = text(&world.asks().await, "/code").to_owned();
        world.gateway.post(&format!("/v1/pairings/{code}"), &json!({})).await.expect(200);
        world.reads(&old, 2).await;
        let new = Person { phone: Some("15550100077".into()), ..old.clone() };
        let changed = old.sends("wamid.2", "system", json!({"type": "user_changed_number", "wa_id": new.number(), "body": "changed"}));
        MAIN.post(&world.gateway, &[], &[changed]).await.expect(200);
        world.says(&new.by_phone(), "wamid.3", "my new number").await;
        assert_eq!(world.reads(&new.by_phone(), 1).await, ["re: my new number"]);
        let heir = Person { user: Some("US.39999999999999999999".into()), name: "Cid", ..old.clone() };
        world.says(&heir.by_phone(), "wamid.4", "hello").await;
        world.says(&heir, "wamid.5", "hello").await;
        assert_eq!(world.items("accepted").await, 1, "{old:?}");
        assert_ne!(text(&world.asks().await, "/name"), "Ana Example", "{old:?}");
    }
}

#[tokio::test]
async fn who_could_not_be_told_is_told_when_he_writes_again() {
    let world = World::with(PAIRING, "").await;
    world.refuse(400, 131_026);
    world.says(&ana(), "wamid.1", "let me in").await;
    poll("the refusal", || async { (world.graph.calls() == 1).then_some(()) }).await;
    poll("another try", || async {
        world.says(&ana(), "wamid.2", "hello?").await;
        (world.read_by(&ana()).len() == 1).then_some(())
    })
    .await;
    world.asks().await;
    assert_eq!(world.gateway.get("/v1/pairings").await.expect(200)["data"].as_array().map(Vec::len), Some(1), "one code");
}

#[tokio::test]
async fn codes_are_not_to_be_guessed() {
    let world = World::with("access = \"pairing\"\npairing_attempts = 3", "").await;
    world.says(&ana(), "wamid.1", "let me in").await;
    let code = text(&world.asks().await, "/code").to_owned();
    for guess in ["AAAAAAAA", "BBBBBBBB", "CCCCCCCC"] {
        world.gateway.post(&format!("/v1/pairings/{guess}"), &json!({})).await.problem(404, "not_found");
    }
    let refused = world.gateway.post(&format!("/v1/pairings/{code}"), &json!({})).await;
    let problem = refused.problem(429, "rate_limited");
    assert!(text(&problem, "/detail").contains("count again from 20"), "{problem}");
    assert!(refused.header("retry-after").and_then(|s| s.parse::<u64>().ok()).is_some_and(|s| (500..=600).contains(&s)));
}

#[tokio::test]
async fn a_list_lets_in_who_is_on_it_by_number_or_user_id() {
    let (ana, bo, cid) = (ana(), bo(), Person::new("Cid", 3));
    let allow = format!("access = \"allowlist\"\nallow = [\"+{}\", \"{}\"]", ana.number(), bo.user.clone().unwrap());
    let world = World::with(&allow, "").await;
    for (n, person) in [&ana, &bo, &cid].into_iter().enumerate() {
        world.says(person, &format!("wamid.{n}"), "hello").await;
    }
    world.reads(&ana, 1).await;
    world.reads(&bo, 1).await;
    assert_eq!((world.items("not_allowed").await, world.read_by(&cid).len()), (1, 0));
    // who is on it and gets another number stays
    let moved = Person { phone: Some("15550100077".into()), user: None, ..ana.clone() };
    let changed =
        ana.by_phone().sends("wamid.4", "system", json!({"type": "user_changed_number", "wa_id": moved.number(), "body": "changed"}));
    MAIN.post(&world.gateway, &[], &[changed]).await.expect(200);
    world.says(&moved, "wamid.5", "my new number").await;
    world.reads(&moved, 1).await;
}

#[tokio::test]
async fn a_number_that_is_switched_off_and_a_stranger_in_a_group_hear_nothing() {
    let world = World::with("access = \"disabled\"\ngroups = \"all\"", "").await;
    world.says(&ana(), "wamid.1", "hello").await;
    assert_eq!((world.items("disabled").await, world.graph.calls()), (1, 0));
    let world = World::with("access = \"pairing\"\ngroups = \"all\"", "").await;
    MAIN.one(&world.gateway, &ana(), ana().says_in("GRPsample1", "wamid.1", "hello")).await;
    assert_eq!((world.items("stranger_in_group").await, world.graph.calls()), (1, 0));
}

#[tokio::test]
async fn what_cannot_be_read_is_said_once_and_only_to_who_is_let_in() {
    let world = World::with(&format!("access = \"allowlist\"\nallow = [\"{}\"]", ana().number()), "").await;
    for (person, id) in [(ana(), "wamid.1"), (ana(), "wamid.2"), (bo(), "wamid.3")] {
        let unknown = person.sends(id, "hologram", json!({}));
        MAIN.one(&world.gateway, &person, unknown).await;
    }
    let told = world.reads(&ana(), 1).await;
    assert!(told[0].contains("as text"), "{told:?}");
    world.says(&ana(), "wamid.4", "hello").await;
    assert_eq!(world.reads(&ana(), 2).await[1], "re: hello");
    assert_eq!((world.items("unreadable").await, world.items("unreadable_again").await, world.read_by(&bo()).len()), (1, 1, 0));
}
