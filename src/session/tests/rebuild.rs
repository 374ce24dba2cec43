//! The reconstruction theorem: every request that was ever sent rebuilds byte for byte from records and blobs.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for few events among all")]

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;

use super::world::{World, assert_sound, id, settle};
use crate::agent::rebuild::{RebuildError, requests};
use crate::agent::tests::script::{Act, Gate, Script, TestTool, answer, calls, failure, said, text};
use crate::domain::event::delivery::{AttachmentSettled, Outside};
use crate::domain::event::input::Mode;
use crate::domain::event::model::Model;
use crate::domain::pending::Decision;
use crate::domain::toolset::Policy;
use crate::domain::{AgentEvent, DigestId, Finish};
use crate::provider::files::Takes;
use crate::provider::{ErrorClass, Provider};
use crate::session::command::Queue;
use crate::store::Store;

async fn blobs(world: &World) -> BTreeMap<DigestId, Bytes> {
    let mut blobs = BTreeMap::new();
    for record in world.log().await {
        let named: Vec<DigestId> = match record.event {
            AgentEvent::Model(Model::Request(request)) => {
                std::iter::once(request.system_digest).chain(request.tools_digest).chain(request.withheld_digest).collect()
            }
            AgentEvent::Outside(Outside::AttachmentSettled(AttachmentSettled { attachment_id, bytes: Some(_), .. })) => {
                vec![attachment_id.as_str().into()]
            }
            _ => Vec::new(),
        };
        for digest in named {
            let bytes = world.store.blob(&id(), &digest).await.unwrap().expect("a blob is in the append of the record that names it");
            blobs.insert(digest, bytes.into());
        }
    }
    blobs
}

pub(super) async fn assert_rebuilds(world: &World, sent: usize) {
    let (log, blobs) = (world.log().await, blobs(world).await);
    assert_sound(&log);
    let rebuilt = requests(&log, |digest| blobs.get(digest).cloned(), |_| world.script.takes()).unwrap();
    let captured: Vec<Vec<u8>> = world.script.requests.lock().unwrap().iter().map(|(_, body)| body.clone()).collect();
    assert_eq!(captured.len(), sent);
    let bodies: Vec<Vec<u8>> = rebuilt.iter().map(|r| world.script.body(&r.request)).collect();
    let text = |bodies: &[Vec<u8>]| bodies.iter().map(|b| String::from_utf8_lossy(b).into_owned()).collect::<Vec<_>>();
    assert_eq!(text(&bodies), text(&captured));
    assert!(rebuilt.iter().all(|r| r.provider == "script"));
}

/// Tools, an approval, a steer, retries, a restart in mid-stream, a second turn with other instructions.
#[tokio::test(start_paused = true)]
async fn every_request_rebuilds_byte_for_byte() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| match count {
        0 => vec![text("Hel"), failure(ErrorClass::Retry, None)],
        1 => calls(&[("a", "look"), ("b", "write"), ("c", "nothing")]),
        2 => vec![text("and "), Act::Wait(held.clone())],
        3 => vec![failure(ErrorClass::Retry, Some(Duration::from_secs(3)))],
        4 => vec![text("and "), Act::Wait(held.clone()), said("and now", Finish::Stop)],
        5 => answer("done"),
        6 => vec![said("cut off", Finish::MaxTokens)],
        _ => answer("really done"),
    });
    let tools = vec![TestTool::new("look", Policy::Allow), TestTool::new("write", Policy::Ask)];
    let mut world = World::new(&script, tools).await;
    world.ask("first").await;
    let asked = world.until(1, "approval_requested").await;
    let asked: serde_json::Value = serde_json::from_str(&asked.json).unwrap();
    world.decide(asked["approval_id"].as_str().unwrap(), Decision::AllowOnce).await.unwrap();
    gate.reached().await;
    settle().await;
    world.crash().await;
    gate.reached().await;
    world.post("by the way", Mode::Steer).await.unwrap();
    (0..4).for_each(|_| gate.open());
    assert_eq!(world.done(1).await.answer, "done");
    let second = world.ask("second").await;
    world.done(second.seq).await;
    let third = world.ask("third").await;
    world.done(third.seq).await;
    assert_rebuilds(&world, 8).await;
}

/// A cancel leaves an interrupted message, and the next turn's requests carry it.
#[tokio::test(start_paused = true)]
async fn also_after_a_cancel() {
    let gate = Gate::new();
    let held = gate.clone();
    let script = Script::new(move |_, count| if count == 0 { vec![text("Hel"), Act::Wait(held.clone())] } else { answer("hi") });
    let world = World::new(&script, Vec::new()).await;
    world.ask("first").await;
    gate.reached().await;
    settle().await;
    world.cancel(Queue::Remove).await;
    world.done(1).await;
    let second = world.ask("second").await;
    world.done(second.seq).await;
    assert_rebuilds(&world, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_missing_blob_is_said() {
    let world = World::new(&Script::new(|_, _| answer("hi")), Vec::new()).await;
    world.ask("first").await;
    world.done(1).await;
    let missing = requests(&world.log().await, |_| None, |_| Takes::NOTHING);
    assert!(matches!(missing, Err(RebuildError::NoBlob { seq: 5, .. })), "{missing:?}");
}
