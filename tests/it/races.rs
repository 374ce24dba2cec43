//! Two things at once: whichever comes first, the books balance and both callers are told the truth.

use futures_util::future::join_all;
use serde_json::json;

use crate::harness::seed::Dice;
use crate::harness::{Gateway, Provider, Reply, Sse, list, of_kind, text, the};

#[tokio::test]
async fn a_decision_and_a_cancel() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::start(&provider).await;
    let id = gateway.cli_session().await;
    for round in 0..10 {
        let ran = gateway.dir.join(format!("ran{round}"));
        provider.push(Reply::stream().bash(&format!("c{round}"), &format!("echo x >> {}", ran.display())).calls());
        let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await;
        gateway.say(&id, "go").await;
        let asked = feed.event("approval_requested").await;
        let route = format!("/v1/sessions/{id}/approvals/{}", text(&asked, "/approval_id"));
        let cancel = format!("/v1/sessions/{id}/cancel");
        let (allow, nothing) = (json!({"decision": "allow_once"}), json!({}));
        let (decided, cancelled) = if round % 2 == 0 {
            tokio::join!(gateway.post_as_owner(&route, &allow), gateway.post(&cancel, &nothing))
        } else {
            let (cancelled, decided) = tokio::join!(gateway.post(&cancel, &nothing), gateway.post_as_owner(&route, &allow));
            (decided, cancelled)
        };
        cancelled.expect(200);
        let records = gateway.audited(&id).await;
        let approval = of_kind(&records, "tool_approval").into_iter().find(|a| a["approval_id"] == asked["approval_id"]).unwrap();
        match text(approval, "/decision") {
            "allow_once" => drop(decided.expect(200)),
            "cancelled" => {
                decided.any_problem(410);
                assert!(!ran.exists(), "round {round}: what was refused did not run");
            }
            other => panic!("round {round}: {other}"),
        }
    }
}

#[tokio::test]
async fn a_message_taken_back_as_a_turn_claims_it() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let messages = format!("/v1/sessions/{id}/messages");
    for round in 0..25 {
        let gate = format!("gate{round}");
        provider.on("first", Reply::stream().gate(&gate).say("x").stop());
        gateway.say(&id, "first").await;
        provider.reached(&gate).await;
        let second = gateway.say_with(&id, &json!({"text": "second", "mode": "followup"})).await;
        let message = text(&second, "/message_id").to_owned();
        let path = format!("{messages}/{message}");
        provider.open(&gate);
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        let taken = gateway.delete(&path).await;
        let records = gateway.audited(&id).await;
        let claimed = of_kind(&records, "turn_start").iter().any(|t| list(t, "/message_ids").contains(&json!(message)));
        if claimed {
            taken.problem(409, "already_claimed");
        } else {
            assert_eq!(taken.status, 204, "round {round}");
        }
    }
}

#[tokio::test]
async fn a_cancel_at_any_moment_of_many_turns() {
    let mut dice = Dice::new("a_cancel_at_any_moment_of_many_turns");
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    provider.otherwise(|_| (0..20).fold(Reply::stream(), |reply, i| reply.say(&format!("{i} "))).split(5).stop());
    let gateway = &gateway;
    let rounds = (0..30).map(|_| {
        let patience = dice.below(26);
        async move {
            let id = gateway.session().await;
            let mut feed = Sse::open(gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
            gateway.say(&id, "go").await;
            for _ in 0..patience {
                if feed.next().await.unwrap().kind() == "done" {
                    break;
                }
            }
            let answer = gateway.post(&format!("/v1/sessions/{id}/cancel"), &json!({})).await.expect(200);
            let records = gateway.audited(&id).await;
            let reasons: Vec<&str> = of_kind(&records, "done").iter().map(|d| text(d, "/reason")).collect();
            let removed = !list(&answer, "/removed").is_empty();
            assert!(matches!(reasons[..], ["completed" | "aborted"]) || (removed && reasons.is_empty()), "{answer} {reasons:?}");
            assert_eq!(gateway.ask(&id, "next").await["reason"], "completed", "nothing is poisoned");
            gateway.audited(&id).await;
        }
    });
    join_all(rounds).await;
}

#[tokio::test]
async fn many_posts_at_once_are_each_in_one_turn() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let posts = (0..40).map(|i| {
        let (gateway, id) = (&gateway, &id);
        let mode = if i % 2 == 0 { "followup" } else { "steer" };
        async move { gateway.say_with(id, &json!({"text": format!("m{i}"), "mode": mode})).await }
    });
    let accepted = join_all(posts).await;
    let records = gateway.audited(&id).await;
    let answered: Vec<&str> = of_kind(&records, "done").iter().flat_map(|d| list(d, "/message_ids")).filter_map(|id| id.as_str()).collect();
    for message in &accepted {
        let id = text(message, "/message_id");
        assert_eq!(answered.iter().filter(|a| **a == id).count(), 1, "{message}");
        assert_eq!(records[usize::try_from(message["seq"].as_u64().unwrap()).unwrap() - 1]["message_id"], *id, "seq is of its record");
    }
    the(&records, "session_created");
}
