//! Files in a turn: what is read, what is sent, and what becomes of a turn whose files nobody takes.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use tokio_util::sync::CancellationToken;

use super::port::{Bench, Shelf, bench, play};
use super::script::{Script, TestTool, answer, calls, failure};
use crate::agent::{Begin, StepInput};
use crate::domain::event::model::Model;
use crate::domain::event::turn::DoneReason;
use crate::domain::toolset::Policy;
use crate::domain::{AgentEvent, AttachmentKind, File, SurfaceMessage};
use crate::provider::{ErrorClass, ModelError};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

fn image(id: &str) -> File {
    let (mime, bytes) = ("image/png".into(), PNG.len() as u64);
    File { attachment_id: id.into(), kind: AttachmentKind::Image, mime, filename: None, bytes }
}

/// A turn that begins with these files, of which the session keeps `kept`.
fn shown(script: &Arc<Script>, files: Vec<File>, kept: &[&str]) -> (Bench, Arc<Shelf>) {
    let look = TestTool::new("look", Policy::Allow);
    let mut bench = bench(script, vec![look]);
    let shelf =
        Shelf { files: kept.iter().map(|id| ((*id).into(), Bytes::from_static(PNG))).collect::<BTreeMap<_, _>>(), ..Shelf::default() };
    let shelf = Arc::new(shelf);
    bench.turn.attachments = shelf.clone();
    bench.turn.begin =
        Begin::Fresh(StepInput { surface: vec![Arc::new(SurfaceMessage::User { text: "hello".into(), files })], ..StepInput::default() });
    (bench, shelf)
}

fn bodies(script: &Script) -> Vec<String> {
    script.requests.lock().unwrap().iter().map(|(_, body)| String::from_utf8(body.clone()).unwrap()).collect()
}

fn refusal(code: &'static str) -> super::script::Act {
    let message = "could not process image".into();
    super::script::Act::Fail(ModelError { class: ErrorClass::Final, code, message, retry_after: None })
}

#[tokio::test(start_paused = true)]
async fn a_file_is_read_once_for_all_attempts_of_a_step() {
    let script = Script::new(|_, count| if count < 2 { vec![failure(ErrorClass::Retry, None)] } else { answer("a cat") });
    let (bench, shelf) = shown(&script, vec![image("att_1"), image("att_2")], &["att_1"]);
    let ran = play(bench.turn).await;
    assert_eq!((ran.end.reason, script.count()), (DoneReason::Completed, 3));
    assert_eq!(*shelf.asked.lock().unwrap(), ["att_2".into(), "att_1".into()]);
    for body in bodies(&script) {
        assert_eq!(body.matches("data:image/png;base64,").count(), 1);
        assert!(body.contains("[An image came with this. It could not be read"), "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_without_files_reads_nothing() {
    let script = Script::new(|_, count| if count == 0 { calls(&[("a", "look")]) } else { answer("hi") });
    let (bench, shelf) = shown(&script, Vec::new(), &[]);
    play(bench.turn).await;
    assert_eq!(script.count(), 2);
    assert!(shelf.asked.lock().unwrap().is_empty());
}

/// One image that a provider cannot read would else end every turn of the conversation.
#[tokio::test(start_paused = true)]
async fn a_provider_that_refuses_is_asked_once_more_without_files() {
    for code in ["bad_request", "context_overflow", "model_not_found"] {
        let script = Script::new(move |_, count| match count {
            0 => vec![refusal(code)],
            1 => calls(&[("a", "look")]),
            _ => answer("I cannot see it"),
        });
        let (bench, shelf) = shown(&script, vec![image("att_1")], &["att_1"]);
        let ran = play(bench.turn).await;
        assert_eq!(ran.end.reason, DoneReason::Completed);
        assert_eq!(ran.retries(), [(1, 0, false)]);
        assert_eq!(shelf.asked.lock().unwrap().len(), 1);
        let bodies = bodies(&script);
        assert!(bodies[0].contains("base64") && !bodies[1].contains("base64") && bodies[1].contains("could not be shown"), "{bodies:?}");
        let without = ran.events.iter().filter_map(|event| {
            let AgentEvent::Model(Model::Request(request)) = event else { return None };
            Some(request.without_files)
        });
        // in the step after it another input stands in the double's port, without files
        assert_eq!(without.collect::<Vec<_>>(), [false, true, true]);
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_asked_without_them_only_once_and_only_for_what_they_may_have_caused() {
    for (code, files, sent) in [("bad_request", 1, 2), ("bad_request", 0, 1), ("auth", 1, 1), ("billing", 1, 1)] {
        let script = Script::new(move |_, _| vec![refusal(code)]);
        let (bench, _) = shown(&script, (0..files).map(|_| image("att_1")).collect(), &["att_1"]);
        let ran = play(bench.turn).await;
        assert_eq!((ran.end.code.as_deref(), script.count()), (Some(code), sent), "{code}");
    }
}

/// Some servers fail instead of refusing: what may pass by itself is tried as often as ever first.
#[tokio::test(start_paused = true)]
async fn a_server_that_fails_over_a_file_is_asked_without_in_the_end() {
    let error = || ModelError { class: ErrorClass::Retry, code: "server_error", message: "no images".into(), retry_after: None };
    let script = Script::new(move |_, count| if count < 3 { vec![super::script::Act::Fail(error())] } else { answer("I cannot see it") });
    let (bench, _) = shown(&script, vec![image("att_1")], &["att_1"]);
    let ran = play(bench.turn).await;
    assert_eq!(ran.end.reason, DoneReason::Completed);
    let sent: Vec<bool> = bodies(&script).iter().map(|body| body.contains("base64")).collect();
    assert_eq!(sent, [true, true, true, false]);
}

#[tokio::test(start_paused = true)]
async fn where_the_store_cannot_read_nothing_is_asked() {
    let script = Script::new(|_, _| answer("never"));
    let (mut bench, _) = shown(&script, vec![image("att_1")], &[]);
    bench.turn.attachments = Arc::new(Shelf { breaks: true, ..Shelf::default() });
    let ran = play(bench.turn).await;
    assert_eq!((ran.end.code.as_deref(), script.count()), (Some("internal"), 0));
    assert_eq!(ran.kinds(), ["step_start", "step_end"]);

    let (mut bench, _) = shown(&script, vec![image("att_1")], &["att_1"]);
    bench.turn.cancel = CancellationToken::new();
    bench.turn.cancel.cancel();
    assert_eq!(play(bench.turn).await.end.reason, DoneReason::Aborted);
    assert_eq!(script.count(), 0);
}
