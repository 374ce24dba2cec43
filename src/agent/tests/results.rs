//! What the model sees of long results, and what is kept of them.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one event among all")]

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;

use super::port::{Bench, FakePort, Ran, bench, play};
use super::script::{Script, TestTool, answer, call, calls};
use crate::agent::port::Verdict;
use crate::agent::{Begin, Said, StepInput};
use crate::domain::event::input::Trust;
use crate::domain::event::tool::{Tool, ToolEnd};
use crate::domain::event::turn::CallStatus;
use crate::domain::state::{CallState, OpenStep};
use crate::domain::toolset::{CallKind, Policy};
use crate::domain::{AgentEvent, Artifact, Finish, SurfaceMessage};

/// The caps of the design.
const RESULT: usize = 50_000;
const STEP: usize = 200_000;
const PREVIEW: usize = 2_000;

/// A tool that says these things, by call id.
fn saying(says: &[(&str, String)]) -> TestTool {
    let says: BTreeMap<String, String> = says.iter().map(|(id, text)| ((*id).to_owned(), text.clone())).collect();
    TestTool { says, parallel: true, ..TestTool::new("look", Policy::Allow) }
}

/// A turn whose first answer calls all that the tool has something to say about.
fn turn_of(tool: TestTool, others: Vec<TestTool>) -> Bench {
    let ids: Vec<(String, &str)> = tool.says.keys().map(|id| (id.clone(), tool.name)).collect();
    let script = Script::new(move |_, count| match count {
        0 => calls(&ids.iter().map(|(id, tool)| (id.as_str(), *tool)).collect::<Vec<_>>()),
        _ => answer("done"),
    });
    bench(&script, std::iter::once(tool).chain(others).collect())
}

impl Ran {
    fn ends(&self) -> Vec<&ToolEnd> {
        let ends = self.events.iter().filter_map(|event| match event {
            AgentEvent::Tool(Tool::ToolEnd(end)) => Some(end),
            _ => None,
        });
        ends.collect()
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

#[tokio::test(start_paused = true)]
async fn a_long_result_is_kept_and_its_beginning_shown() {
    let text = "é🙂-".repeat(40_000);
    let bench = turn_of(saying(&[("a", text.clone())]), vec![TestTool::new("read_artifact", Policy::Allow)]);
    let port = bench.port.clone();
    let ran = play(bench.turn).await;
    let end = ran.ends()[0];
    let spilled = port.spilled.lock().unwrap().clone();
    let [(id, artifact)] = &spilled[..] else { panic!("{} were spilled", spilled.len()) };
    assert_eq!(*artifact, Artifact { trust: Trust::Untrusted, text: text.clone() });
    assert_eq!((end.artifact_id.as_ref(), end.bytes), (Some(id), text.len() as u64));
    assert_eq!(end.preview, text.chars().take(PREVIEW).collect::<String>());
    let (beginning, line) = end.content.rsplit_once('\n').unwrap();
    assert_eq!(beginning, end.preview);
    assert!(
        line.contains("120000") && line.contains(&format!("read_artifact reads on: {{\"artifact_id\":\"{id}\",\"offset\":2000}}")),
        "{line}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_tool_is_named_only_where_the_turn_has_it() {
    let ran = play(turn_of(saying(&[("a", "x".repeat(RESULT + 1))]), vec![TestTool::new("read_artifact", Policy::Deny)]).turn).await;
    let end = ran.ends()[0];
    assert!(!end.content.contains("read_artifact"), "{}", end.content);
    assert!(end.content.contains(end.artifact_id.as_ref().unwrap().as_str()));
}

#[tokio::test(start_paused = true)]
async fn a_result_at_the_cap_is_whole() {
    let bench = turn_of(saying(&[("a", "é".repeat(RESULT))]), vec![]);
    let port = bench.port.clone();
    let ran = play(bench.turn).await;
    assert_eq!(length(&ran.ends()[0].content), RESULT);
    assert!(ran.ends()[0].artifact_id.is_none() && port.spilled.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn once_a_step_has_shown_its_share_further_results_are_kept() {
    let says: Vec<(String, String)> = (0..6).map(|i| (format!("c{i}"), "x".repeat(45_000))).collect();
    let says: Vec<(&str, String)> = says.iter().map(|(id, text)| (id.as_str(), text.clone())).collect();
    let ran = play(turn_of(saying(&says), vec![]).turn).await;
    let kept: Vec<bool> = ran.ends().iter().map(|end| end.artifact_id.is_some()).collect();
    assert_eq!(kept, [false, false, false, false, true, true]);
    assert!(ran.ends().iter().map(|end| length(&end.content)).sum::<usize>() <= STEP);
}

#[tokio::test(start_paused = true)]
async fn also_where_a_restart_came_between() {
    let bench = turn_of(saying(&[("b", "x".repeat(20_000))]), vec![]);
    let mut turn = bench.turn;
    let calls = ["a", "b"].map(|id| call(id, "look"));
    let mut found = calls.clone().map(|call| CallState::open(&call));
    found[0].result = Some(CallStatus::Ok);
    let result =
        SurfaceMessage::ToolResult { tool_call_id: "a".into(), tool: "look".into(), content: "y".repeat(190_000), is_error: false };
    let assistant = SurfaceMessage::Assistant { content: calls.map(crate::domain::Block::ToolCall).into() };
    let surface = [SurfaceMessage::user("go"), assistant, result].map(Arc::new).into();
    let step = OpenStep { step: 1, attempts: 1, finish: Some(Finish::ToolCalls), calls: found.into(), aside: Vec::new() };
    turn.begin = Begin::Within { step, input: StepInput { surface, ..StepInput::default() }, said: Said::default() };
    let ran = play(turn).await;
    assert!(ran.ends()[0].artifact_id.is_some(), "10,000 characters were left");
}

#[tokio::test(start_paused = true)]
async fn what_a_tool_can_say_in_less_room_is_not_kept() {
    let says: Vec<(String, String)> = (0..6).map(|i| (format!("c{i}"), "x".repeat(45_000))).collect();
    let says: Vec<(&str, String)> = says.iter().map(|(id, text)| (id.as_str(), text.clone())).collect();
    let bench = turn_of(TestTool { says_less: true, ..saying(&says) }, vec![]);
    let port = bench.port.clone();
    let ran = play(bench.turn).await;
    assert!(port.spilled.lock().unwrap().is_empty());
    assert!(ran.ends()[4].content.starts_with("less: xx") && ran.ends()[4].content.ends_with('x'), "shorter, and not cut once more");
    assert!(ran.ends().iter().map(|end| length(&end.content)).sum::<usize>() <= STEP);
}

#[tokio::test(start_paused = true)]
async fn a_result_without_end_is_kept_up_to_a_bound() {
    let text = "€".repeat(Artifact::MOST_BYTES / 2);
    let bench = turn_of(saying(&[("a", text.clone())]), vec![]);
    let port = bench.port.clone();
    let ran = play(bench.turn).await;
    let kept = port.spilled.lock().unwrap()[0].1.text.clone();
    assert!(kept.len() <= Artifact::MOST_BYTES && kept.len() > Artifact::MOST_BYTES - 3 && text.starts_with(&kept));
    let end = ran.ends()[0];
    assert_eq!(end.bytes, text.len() as u64);
    assert!(end.content.contains(&format!("The first {} are kept", length(&kept))), "{}", end.content);
}

#[tokio::test(start_paused = true)]
async fn what_a_client_gives_goes_the_same_way() {
    let tool = TestTool { kind: CallKind::Client, ..saying(&[("a", String::new())]) };
    let mut bench = turn_of(tool, vec![]);
    let port = Arc::new(FakePort { verdicts: vec![("a", Verdict::Content("x".repeat(60_000)))], ..FakePort::default() });
    bench.turn.port = port.clone();
    let ran = play(bench.turn).await;
    assert_eq!(port.spilled.lock().unwrap()[0].1.trust, Trust::User);
    assert!(ran.ends()[0].artifact_id.is_some() && length(&ran.ends()[0].content) < 2_500);
}

#[tokio::test(start_paused = true)]
async fn an_error_has_a_bound_of_its_own() {
    let name = "n".repeat(100_000);
    let script = Script::new(move |_, count| if count == 0 { calls(&[("a", &name)]) } else { answer("done") });
    let ran = play(bench(&script, vec![]).turn).await;
    let error = ran.events.iter().find_map(|event| match event {
        AgentEvent::Tool(Tool::ToolError(error)) => Some(error.content()),
        _ => None,
    });
    let error = error.expect("an error");
    assert!(length(&error) <= 20_000 && error.contains("cut here") && error.contains("UNKNOWN_TOOL"), "{error}");
}

/// What a call's result is made of.
fn result() -> impl Strategy<Value = String> {
    let long = prop_oneof![0usize..300, 1_900usize..2_600, 40_000usize..60_000, 60_000usize..90_000];
    (long, prop_oneof![Just("x"), Just("é"), Just("🙂\n")]).prop_map(|(long, unit)| unit.repeat(long / length(unit)))
}

fn played(says: &[(String, String)]) -> (Ran, Vec<(crate::domain::ArtifactId, Artifact)>) {
    let says: Vec<(&str, String)> = says.iter().map(|(id, text)| (id.as_str(), text.clone())).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let bench = turn_of(saying(&says), vec![]);
        let port = bench.port.clone();
        let ran = play(bench.turn).await;
        let spilled = port.spilled.lock().unwrap().clone();
        (ran, spilled)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_sum_is_never_over_and_nothing_is_lost(results in prop::collection::vec(result(), 1..14)) {
        let says: Vec<(String, String)> = results.into_iter().enumerate().map(|(i, text)| (format!("c{i:02}"), text)).collect();
        let (ran, spilled) = played(&says);
        let ends = ran.ends();
        prop_assert!(ends.iter().map(|end| length(&end.content)).sum::<usize>() <= STEP);
        for (end, (id, text)) in ends.iter().zip(&says) {
            prop_assert_eq!(end.tool_call_id.as_str(), id.as_str());
            prop_assert!(length(&end.content) <= RESULT);
            prop_assert_eq!(end.bytes, text.len() as u64);
            match &end.artifact_id {
                None => prop_assert_eq!(&end.content, text),
                Some(named) => {
                    let kept = spilled.iter().find(|(id, _)| id == named).map(|(_, artifact)| &artifact.text);
                    prop_assert_eq!(kept, Some(text));
                    prop_assert!(text.starts_with(end.content.rsplit_once('\n').unwrap().0));
                }
            }
        }
        let (again, _) = played(&says);
        prop_assert_eq!(again.ends(), ends);
    }
}
