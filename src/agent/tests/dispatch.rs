//! Tools of one step: overlap, order, barriers, the pool, and what an abort leaves.

use std::sync::Arc;
use std::time::Duration;

use super::port::{Ran, bench, play};
use super::script::{Gate, Script, TestTool, answer, calling, calls, within};
use crate::agent::port::Verdict;
use crate::domain::toolset::Policy;
use crate::domain::{Finish, SurfaceMessage};

/// A provider that calls these tools first, and then answers.
fn once(ids: &'static [(&'static str, &'static str)]) -> Arc<Script> {
    Script::new(move |_, count| if count == 0 { calls(ids) } else { answer("done") })
}

fn parallel(name: &'static str) -> TestTool {
    TestTool { parallel: true, ..TestTool::new(name, Policy::Allow) }
}

fn ids(ran: &Ran) -> Vec<String> {
    ran.results().into_iter().map(|(id, ..)| id).collect()
}

#[tokio::test(start_paused = true)]
async fn bodies_overlap_and_results_keep_the_models_order() {
    let (a, b) = (Gate::new(), Gate::new());
    let tool = TestTool { gates: vec![("a", a.clone()), ("b", b.clone())], ..parallel("look") };
    let bench = bench(&once(&[("a", "look"), ("b", "look")]), vec![tool]);
    let turn = tokio::spawn(play(bench.turn));
    a.reached().await;
    b.reached().await;
    b.open();
    tokio::task::yield_now().await;
    a.open();
    let ran = within(turn).await.unwrap();
    assert_eq!(ids(&ran), ["a", "b"]);
    let kinds = ran.kinds();
    assert_eq!(kinds.iter().filter(|k| **k == "tool_start").count(), 2);
    assert!(kinds.iter().rposition(|k| *k == "tool_start") < kinds.iter().position(|k| *k == "tool_end"));
}

#[tokio::test(start_paused = true)]
async fn an_exclusive_call_is_a_barrier() {
    let (a, x, b) = (Gate::new(), Gate::new(), Gate::new());
    let look = TestTool { gates: vec![("a", a.clone()), ("b", b.clone())], ..parallel("look") };
    let write = TestTool { gates: vec![("x", x.clone())], ..TestTool::new("write", Policy::Allow) };
    let (looked, wrote) = (look.ran.clone(), write.ran.clone());
    let bench = bench(&once(&[("a", "look"), ("x", "write"), ("b", "look")]), vec![look, write]);
    let turn = tokio::spawn(play(bench.turn));
    a.reached().await;
    assert!(wrote.lock().unwrap().is_empty() && *looked.lock().unwrap() == ["a"]);
    a.open();
    x.reached().await;
    assert_eq!(*looked.lock().unwrap(), ["a"]);
    x.open();
    b.reached().await;
    b.open();
    assert_eq!(ids(&within(turn).await.unwrap()), ["a", "x", "b"]);
}

#[tokio::test(start_paused = true)]
async fn the_pool_rolls_and_holds_no_more_than_its_cap() {
    let gates: Vec<(&str, Gate)> = ["a", "b", "c", "d"].map(|id| (id, Gate::new())).into();
    let tool = TestTool { gates: gates.clone(), ..parallel("look") };
    let ran = tool.ran.clone();
    let mut bench = bench(&once(&[("a", "look"), ("b", "look"), ("c", "look"), ("d", "look")]), vec![tool]);
    bench.turn.limits.pool = 2;
    let turn = tokio::spawn(play(bench.turn));
    gates[0].1.reached().await;
    gates[1].1.reached().await;
    assert_eq!(ran.lock().unwrap().len(), 2);
    // the second makes room for the third, though the first still runs
    gates[1].1.open();
    gates[2].1.reached().await;
    assert_eq!(*ran.lock().unwrap(), ["a", "b", "c"]);
    gates.iter().for_each(|(_, gate)| gate.open());
    assert_eq!(ids(&within(turn).await.unwrap()), ["a", "b", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn an_abort_waits_for_its_grace_and_says_what_is_known() {
    // one ends within the grace, one is safe to run again, one is not, one has not started
    let (soon, safe, unsafe_) = (Gate::new(), Gate::new(), Gate::new());
    let look = TestTool { gates: vec![("soon", soon.clone())], ..parallel("look") };
    let read = TestTool { idempotent: true, gates: vec![("safe", safe.clone())], ..parallel("read") };
    let send = TestTool { gates: vec![("unsafe", unsafe_.clone())], obeys: false, ..parallel("send") };
    let write = TestTool::new("write", Policy::Allow);
    let (tools, wrote) = (vec![look, read, send], write.ran.clone());
    let script = once(&[("soon", "look"), ("safe", "read"), ("unsafe", "send"), ("never", "write")]);
    let bench = bench(&script, tools.into_iter().chain([write]).collect());
    let cancel = bench.turn.cancel.clone();
    let began = tokio::time::Instant::now();
    let turn = tokio::spawn(play(bench.turn));
    for gate in [&soon, &safe, &unsafe_] {
        gate.reached().await;
    }
    cancel.cancel();
    soon.open();
    let ran = within(turn).await.unwrap();
    let codes: Vec<_> = ran.results().into_iter().map(|(id, _, code)| (id, code)).collect();
    let said = |id: &str, code: &str| (id.to_owned(), code.to_owned());
    let expected = [
        said("soon", "result of soon"),
        said("safe", "ABORTED"),
        said("unsafe", "TOOL_OUTCOME_UNKNOWN"),
        said("never", "ABORTED_BEFORE_DISPATCH"),
    ];
    assert_eq!(codes, expected);
    assert!(wrote.lock().unwrap().is_empty());
    assert_eq!(ran.end.reason.as_str(), "aborted");
    assert_eq!(script.count(), 1);
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(2) && took < Duration::from_secs(5), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_denial_and_a_crash_are_results_and_the_turn_goes_on() {
    let bad = TestTool { panics: true, ..TestTool::new("bad", Policy::Allow) };
    let asked = TestTool::new("asked", Policy::Ask);
    let asked_ran = asked.ran.clone();
    let script = once(&[("a", "bad"), ("b", "asked"), ("c", "nothing")]);
    let mut bench = bench(&script, vec![bad, asked]);
    let denied = Verdict::Denied { reason: "no".into(), by: Some("p".into()) };
    let port = super::port::FakePort { verdicts: vec![("b", denied)], ..Default::default() };
    bench.turn.port = Arc::new(port);
    let ran = play(bench.turn).await;
    let codes: Vec<_> = ran.results().into_iter().map(|(.., code)| code).collect();
    assert_eq!(codes, ["TOOL_FAILED", "no", "UNKNOWN_TOOL"]);
    assert!(asked_ran.lock().unwrap().is_empty());
    assert_eq!((ran.end.reason.as_str(), ran.end.answer.as_str()), ("completed", "done"));
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_cut_answer_is_run() {
    let tool = TestTool::new("write", Policy::Allow);
    let wrote = tool.ran.clone();
    let script = Script::new(|_, _| vec![calling(&[("a", "write")], Finish::MaxTokens)]);
    let ran = play(bench(&script, vec![tool]).turn).await;
    assert_eq!(ran.results()[0].2, "TRUNCATED");
    assert!(wrote.lock().unwrap().is_empty());
    assert_eq!((ran.end.reason.as_str(), script.count()), ("max_tokens", 1));
}

/// A cut answer without calls is an answer: when input keeps the turn going, its later calls are whole and run.
#[tokio::test(start_paused = true)]
async fn a_cut_answer_does_not_spoil_the_calls_of_a_later_step() {
    let tool = TestTool::new("write", Policy::Allow);
    let wrote = tool.ran.clone();
    let script = Script::new(|_, count| match count {
        0 => vec![super::script::said("half an ans", Finish::MaxTokens)],
        1 => calls(&[("a", "write")]),
        _ => answer("done"),
    });
    let bench = bench(&script, vec![tool]);
    *bench.port.steers.lock().unwrap() = 1;
    let ran = play(bench.turn).await;
    assert_eq!(*wrote.lock().unwrap(), ["a"]);
    assert_eq!(ran.end.reason.as_str(), "max_tokens");
}

#[tokio::test(start_paused = true)]
async fn after_the_last_step_one_request_without_tools_answers() {
    let tool = TestTool::new("write", Policy::Allow);
    let script = Script::new(|request, _| match request.tools {
        Some(_) => calls(&[("again", "write")]),
        None => answer("what I know"),
    });
    let mut bench = bench(&script, vec![tool]);
    bench.turn.limits.max_steps = 3;
    let port = bench.port.clone();
    let ran = play(bench.turn).await;
    assert_eq!((ran.end.reason.as_str(), ran.end.answer.as_str()), ("max_steps", "what I know"));
    assert_eq!(script.count(), 4);
    assert_eq!(port.proposals.lock().unwrap().len(), 3);
    let last = script.requests.lock().unwrap().last().unwrap().0.clone();
    assert!(matches!(&*last.messages[0], SurfaceMessage::User { .. }));
}
