//! The feed beside its records: what the turn is doing, told once and of the right turn, and nothing of a session that is gone.

use futures_util::FutureExt;

use super::world::{World, id, settle};
use serde_json::Map;

use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calling, calls, said, text, within};
use crate::domain::toolset::Policy;
use crate::domain::{Finish, LiveEvent, View};
use crate::session::feed::Closing;
use crate::session::reader::{Pulled, Reader};
use crate::session::{FeedItem, SessionError};

/// What can be pulled now: of each `stream_progress` its mode and how many characters it tells of.
fn progress(reader: &mut Reader) -> Vec<(String, u64)> {
    let mut told = Vec::new();
    while let Some(pulled) = reader.pull().now_or_never() {
        let Pulled::Items(items) = pulled.unwrap() else { break };
        for item in items {
            let FeedItem::Passing { event: "stream_progress", data } = item else { continue };
            let data: serde_json::Value = serde_json::from_str(&data).unwrap();
            told.push((data["mode"].as_str().unwrap().to_owned(), data["char_delta"].as_u64().unwrap()));
        }
    }
    told
}

#[tokio::test(start_paused = true)]
async fn characters_are_counted_once() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| match count {
        0 => vec![text("hello"), Act::Wait(held.clone()), calling(&[("a", "look")], Finish::ToolCalls)],
        _ => answer("done"),
    });
    let world = World::new(&script, vec![TestTool::new("look", Policy::Allow)]).await;
    let mut reader = world.reader(View::Chat).await;
    world.ask("hi").await;
    gate.reached().await;
    settle().await;
    let mut told = progress(&mut reader);
    world.store.hold_appends();
    gate.open();
    world.store.until_held(1).await;
    settle().await;
    told.extend(progress(&mut reader));
    world.next_append().await;
    settle().await;
    told.extend(progress(&mut reader));
    assert!(told.iter().any(|(mode, _)| mode == "tool-use"), "{told:?}");
    assert_eq!(told.iter().map(|(_, chars)| chars).sum::<u64>(), "hello".len() as u64, "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn who_comes_later_hears_of_the_tools_that_run() {
    let (body, next) = (Gate::new(), Gate::new());
    let held = next.clone();
    let script = Script::new(move |_, count| match count {
        0 => calls(&[("a", "look")]),
        _ => vec![Act::Wait(held.clone()), said("done", Finish::Stop)],
    });
    let tool = TestTool { gates: vec![("a", body.clone())], ..TestTool::new("look", Policy::Allow) };
    let world = World::new(&script, vec![tool]).await;
    world.ask("hi").await;
    body.reached().await;
    settle().await;
    let (lease, fields) = (world.lease().await, Map::from_iter([("bytes".to_owned(), 7.into())]));
    let head = lease.overview().unwrap().head;
    lease.feed().live(1, head, LiveEvent::ToolProgress { tool_call_id: "a".into(), fields });
    let reports = |reader: &mut Reader| {
        let mut reports = 0;
        while let Some(Ok(Pulled::Items(items))) = reader.pull().now_or_never() {
            reports += items.iter().filter(|item| matches!(item, FeedItem::Passing { event: "tool_progress", .. })).count();
        }
        reports
    };
    assert_eq!(reports(&mut world.reader(View::Owner).await), 1);
    body.open();
    next.reached().await;
    settle().await;
    assert_eq!(reports(&mut world.reader(View::Owner).await), 0, "its end is told, and then that it runs");
    next.open();
    world.done(1).await;
}

/// The next request is made before the answer is on disk: whoever was there still sees how the answer came.
#[tokio::test(start_paused = true)]
async fn text_is_shown_as_it_streamed_though_the_next_attempt_has_begun() {
    let (first, second) = (Gate::new(), Gate::new());
    let held = (first.clone(), second.clone());
    let script = Script::new(move |_, count| match count {
        0 => vec![Act::Wait(held.0.clone()), text("one"), said("one", Finish::Stop)],
        _ => vec![Act::Wait(held.1.clone()), text("second"), said("second", Finish::Stop)],
    });
    let world = World::new(&script, Vec::new()).await;
    let mut reader = world.reader(View::Chat).await;
    world.ask("one").await;
    first.reached().await;
    world.ask("two").await;
    settle().await;
    progress(&mut reader);
    world.store.hold_appends();
    first.open();
    second.reached().await;
    settle().await;
    world.next_append().await;
    world.next_append().await;
    settle().await;
    let mut names = Vec::new();
    while let Some(Ok(Pulled::Items(items))) = reader.pull().now_or_never() {
        for item in items {
            let FeedItem::Event { event, .. } = item else { continue };
            names.push(event.as_str().to_owned());
        }
    }
    assert_eq!(names, ["text_delta", "message", "step_end", "done", "turn_start", "step_start"]);
    world.store.release_appends();
    second.open();
    assert_eq!(world.done(world.log().await.len() as u64).await.answer, "second");
}

/// The end of a turn and the request of the next stand in one append: the second is under way when the first is over for readers.
#[tokio::test(start_paused = true)]
async fn the_end_of_a_turn_leaves_the_next_ones_activity() {
    let (first, second) = (Gate::new(), Gate::new());
    let held = (first.clone(), second.clone());
    let script = Script::new(move |_, count| match count {
        0 => vec![text("one"), Act::Wait(held.0.clone()), said("one", Finish::Stop)],
        _ => vec![Act::Wait(held.1.clone()), text("second"), said("second", Finish::Stop)],
    });
    let world = World::new(&script, Vec::new()).await;
    let mut reader = world.reader(View::Chat).await;
    world.ask("one").await;
    first.reached().await;
    world.ask("two").await;
    settle().await;
    progress(&mut reader);
    world.store.hold_appends();
    first.open();
    second.reached().await;
    settle().await;
    world.next_append().await;
    let appended = world.next_append().await;
    assert!(appended.contains(&"done".to_owned()) && appended.contains(&"request".to_owned()), "{appended:?}");
    settle().await;
    assert!(world.lease().await.feed().live_hello().message_id.is_some(), "an attempt is open, and hello does not say so");
    assert_eq!(progress(&mut reader), [("requesting".to_owned(), 0)]);
    world.store.release_appends();
    second.open();
    assert_eq!(world.done(world.log().await.len() as u64).await.answer, "second");
}

/// An actor that hears of the deletion late brings nothing back.
#[tokio::test(start_paused = true)]
async fn a_deleted_session_stays_gone() {
    let world = World::new(&Script::new(|_, _| answer("hi")), Vec::new()).await;
    let lease = world.lease().await;
    let overview = lease.feed().overview().unwrap();
    within(world.sessions.delete(&id())).await.unwrap();
    lease.feed().awake(overview.as_ref().clone());
    lease.feed().advance(Vec::new(), overview);
    assert!(lease.feed().overview().is_none());
    assert!(matches!(lease.overview(), Err(SessionError::NotFound)));
    assert!(matches!(world.sessions.open(&id()).await, Err(SessionError::NotFound)));
    lease.feed().close(Closing::Draining);
    assert!(matches!(lease.overview(), Err(SessionError::NotFound)));
}

/// The actor before it failed, and the next one came before anybody could say so.
#[tokio::test(start_paused = true)]
async fn an_actor_that_comes_finds_nothing_of_one_that_failed() {
    let world = World::new(&Script::new(|_, _| answer("hi")), Vec::new()).await;
    let lease = world.lease().await;
    let overview = lease.overview().unwrap();
    lease.feed().open_attempt(overview.head + 3);
    lease.feed().live(1, overview.head + 3, LiveEvent::Requesting("msg_1".into()));
    lease.feed().awake(overview.as_ref().clone());
    assert!(lease.feed().live_hello().message_id.is_none());
}
