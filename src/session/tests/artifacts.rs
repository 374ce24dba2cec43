//! What is kept of long results: with the record that names it, for its own session, and no longer than that.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one event among all")]

use std::sync::Arc;

use super::world::{World, assert_sound, id};
use crate::agent::tests::script::{Script, TestTool, answer, calls, within};
use crate::domain::event::input::Trust;
use crate::domain::event::tool::{Tool as ToolEvent, ToolEnd};
use crate::domain::toolset::Policy;
use crate::domain::{AgentEvent, Artifact, ArtifactId, Record, SurfaceMessage};
use crate::session::artifacts::read;
use crate::store::Store;

fn long(of: &str) -> String {
    of.repeat(120_000 / of.len())
}

/// One turn with two long results.
fn script() -> Arc<Script> {
    Script::new(|request, _| match request.messages.last().map(AsRef::as_ref) {
        Some(SurfaceMessage::ToolResult { .. }) => answer("done"),
        _ => calls(&[("one", "look"), ("two", "look")]),
    })
}

fn look() -> TestTool {
    let says = ["one", "two"].map(|of| (of.to_owned(), long(of))).into();
    TestTool { says, parallel: true, ..TestTool::new("look", Policy::Allow) }
}

pub(super) fn ends(log: &[Record]) -> Vec<&ToolEnd> {
    let ends = log.iter().filter_map(|record| match &record.event {
        AgentEvent::Tool(ToolEvent::ToolEnd(end)) => Some(end),
        _ => None,
    });
    ends.collect()
}

impl World {
    async fn artifact(&self, id: &ArtifactId) -> Option<Artifact> {
        read(self.store.as_ref(), &super::world::id(), id).await.unwrap()
    }

    /// Each result is whole: in its record, or in what that names.
    pub(super) async fn assert_kept(&self, log: &[Record]) {
        for end in ends(log) {
            let text = match &end.artifact_id {
                Some(id) => self.artifact(id).await.expect("a record names what is there").text,
                None => end.content.clone(),
            };
            assert_eq!(text.len() as u64, end.bytes, "{}", end.tool_call_id);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_artifact_is_in_the_append_of_its_record() {
    let world = World::new(&script(), vec![look()]).await;
    let ids = ["one", "two"].map(|of| Artifact { trust: Trust::Untrusted, text: long(of) }.into_blob().0);
    world.store.hold_appends();
    let post = world.post_aside("go", None);
    loop {
        let kinds = world.next_append().await;
        let log = world.log().await;
        let named: Vec<_> = ends(&log).into_iter().filter_map(|end| end.artifact_id.clone()).collect();
        for id in &ids {
            assert_eq!(world.artifact(id).await.is_some(), named.contains(id), "{id} after {kinds:?}");
        }
        if kinds.iter().any(|kind| kind == "done") {
            assert_eq!(named, ids);
            break;
        }
    }
    world.store.release_appends();
    within(post).await.unwrap().unwrap();
    let log = world.log().await;
    assert_sound(&log);
    world.assert_kept(&log).await;
}

#[tokio::test(start_paused = true)]
async fn it_is_of_its_session_and_goes_with_it() {
    let world = World::new(&script(), vec![look()]).await;
    world.ask("go").await;
    world.done(1).await;
    let log = world.log().await;
    let named = ends(&log)[0].artifact_id.clone().unwrap();
    assert!(world.artifact(&named).await.is_some());
    assert!(read(world.store.as_ref(), &"ses_2".into(), &named).await.unwrap().is_none(), "another session has none of it");
    within(world.sessions.delete(&id())).await.unwrap();
    assert!(world.artifact(&named).await.is_none());
    assert!(world.store.blob(&id(), &named.blob()).await.unwrap().is_none());
}
