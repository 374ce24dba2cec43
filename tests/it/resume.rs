//! No gap, no repeat: a reader that drops at any point and comes back with its last id ends as one that never dropped.

use crate::harness::seed::Dice;
use crate::harness::{Frame, Gateway, Provider, Reply, Settings, Sse, View};

fn path(session: &str) -> String {
    format!("/v1/sessions/{session}/events")
}

/// The view of a client that folded `frames` and nothing more.
fn after(frames: &[Frame]) -> View {
    let mut view = View::default();
    view.fold_all(frames);
    view
}

#[tokio::test]
async fn every_position_of_a_finished_stream_resumes_to_the_same_end() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    let mut uncut = Sse::open(&gateway, &path(&id), &[]).await;
    provider.push(Reply::stream().think("hm").say("lost").cut());
    provider.push(Reply::stream().think("hm").say("I ").gate("a").say("look").bash("c1", "echo one").calls());
    provider.push(Reply::stream().say("all ").gate("b").say("well").stop());
    gateway.say(&id, "go").await;
    for gate in ["a", "b"] {
        provider.reached(gate).await;
        provider.open(gate);
    }
    let frames = uncut.until_kind("done").await;
    let whole = after(&frames);
    let head = gateway.audited(&id).await.len() as u64;
    assert!(frames.iter().filter(|f| f.kind().ends_with("_delta")).count() >= 5, "{frames:#?}");
    for cut in 0..=frames.len() {
        let mut view = after(&frames[..cut]);
        let mut sse = view.join(&gateway, &id).await;
        view.read_to(&mut sse, head).await;
        assert_eq!(view.records, whole.records, "cut after {cut}");
        assert!(view.live.is_empty(), "cut after {cut}: {:?}", view.live);
    }
}

#[tokio::test]
async fn every_position_of_an_open_stream_resumes_to_the_same_live_text() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    let mut uncut = Sse::open(&gateway, &path(&id), &[]).await;
    let mut reply = Reply::stream().think("let me ").think("see");
    let mut wanted = "let me see".to_owned();
    for word in ["one ", "two ", "three ", "四🙂 "] {
        reply = reply.say(word).gate(word);
        wanted.push_str(word);
    }
    provider.push(reply.say("five").stop());
    gateway.say(&id, "go").await;
    let mut frames: Vec<Frame> = Vec::new();
    for word in ["one ", "two ", "three ", "四🙂 "] {
        provider.reached(word).await;
        while !after(&frames).live_text().ends_with(word) {
            frames.push(uncut.next().await.unwrap());
        }
        // a record in the middle of live text: the number of its deltas does not restart
        let body = serde_json::json!({"text": format!("queued {word}"), "mode": "followup"});
        gateway.say_with(&id, &body).await;
        frames.extend(uncut.until_kind("message_queued").await);
        if word != "四🙂 " {
            provider.open(word);
        }
    }
    assert_eq!(after(&frames).live_text(), wanted);
    for cut in 0..=frames.len() {
        let mut view = after(&frames[..cut]);
        let mut sse = view.join(&gateway, &id).await;
        view.read_to(&mut sse, after(&frames).records.len() as u64).await;
        view.read_live(&mut sse, &wanted).await;
        assert_eq!(view.records, after(&frames).records, "cut after {cut}");
    }
    provider.open("四🙂 ");
    let records = gateway.audited(&id).await;
    let last_open = frames.iter().rev().find_map(|f| f.id.clone()).unwrap();
    let mut view = after(&frames);
    assert_eq!(view.cursor.as_deref(), Some(last_open.as_str()));
    let mut sse = view.join(&gateway, &id).await;
    view.read_to(&mut sse, records.len() as u64).await;
    assert_eq!((view.records, view.live.is_empty()), (records, true));
}

#[tokio::test]
async fn a_reader_that_drops_all_the_time_misses_nothing() {
    let mut dice = Dice::new("a_reader_that_drops_all_the_time_misses_nothing");
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    for turn in 0..6 {
        let mut reply = Reply::stream();
        for word in 0..12 {
            reply = reply.say(&format!("{turn}.{word} "));
        }
        let reply = if turn % 2 == 0 { reply.stop() } else { reply.bash(&format!("c{turn}"), "echo x").calls() };
        provider.push(reply);
        if turn % 2 == 0 {
            gateway.say_with(&id, &serde_json::json!({"text": format!("turn {turn}"), "mode": "followup"})).await;
        }
    }
    let mut view = View::default();
    let mut done = 0;
    while done < 3 {
        let mut sse = view.join(&gateway, &id).await;
        for _ in 0..=dice.below(9) {
            let frame = sse.next().await.unwrap();
            done += usize::from(frame.kind() == "done");
            view.fold(&frame);
            if done == 3 {
                break;
            }
        }
    }
    assert_eq!(view.records, gateway.audited(&id).await);
    assert_eq!(view, gateway.fresh_view(&id).await);
}

#[tokio::test]
async fn a_cursor_of_a_wider_view_serves_a_narrower_one() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let id = gateway.session().await;
    provider.push(Reply::stream().think("secret ").say("one ").gate("hold").say("two").stop());
    let mut wide = View::default();
    let mut sse = wide.join(&gateway, &id).await;
    gateway.say(&id, "go").await;
    wide.read_live(&mut sse, "secret one ").await;
    let cursor = wide.cursor.clone().unwrap();
    let mut narrow = Sse::open(&gateway, &format!("{}?view=chat", path(&id)), &[("Last-Event-ID", &cursor)]).await;
    provider.open("hold");
    let frames = narrow.until_kind("done").await;
    let live: String = frames
        .iter()
        .filter(|f| f.kind().ends_with("_delta"))
        .map(|f| {
            assert_eq!(f.kind(), "text_delta");
            f.json()["text"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(live, "two", "the deltas that it had are not repeated");
    gateway.audited(&id).await;
}
