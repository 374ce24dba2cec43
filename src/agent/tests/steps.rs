//! Where a turn is taken up again, and where it ends.

use std::time::Duration;

use super::port::{bench, input, play};
use super::script::{Script, TestTool, answer, call, calls, failure, finished, said, text};
use crate::agent::{Begin, Said};
use crate::domain::state::{CallState, OpenStep};
use crate::domain::toolset::Policy;
use crate::domain::{Block, Finish};
use crate::provider::ErrorClass;

fn within(finish: Option<Finish>, calls: Vec<CallState>, said: &str) -> Begin {
    let step = OpenStep { step: 1, attempts: 1, finish, calls, aside: Vec::new() };
    Begin::Within { step, input: input("hello"), said: Said { text: said.into(), truncated: false } }
}

/// The crash came between an answer and its step's end.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_in_is_not_asked_for_again() {
    let script = Script::new(|_, _| answer("again"));
    let mut bench = bench(&script, Vec::new());
    bench.turn.begin = within(Some(Finish::Stop), Vec::new(), "the answer");
    let ran = play(bench.turn).await;
    assert_eq!((ran.end.reason.as_str(), ran.end.answer.as_str(), script.count()), ("completed", "the answer", 0));
    assert_eq!(ran.kinds(), ["step_end"]);
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_cut_answer_are_not_run_after_a_restart_either() {
    let tool = TestTool::new("write", Policy::Allow);
    let (script, wrote) = (Script::new(|_, _| answer("again")), tool.ran.clone());
    let mut bench = bench(&script, vec![tool]);
    bench.turn.begin = within(Some(Finish::MaxTokens), vec![CallState::open(&call("a", "write"))], "half");
    let ran = play(bench.turn).await;
    assert_eq!((ran.results()[0].2.as_str(), ran.end.reason.as_str(), script.count()), ("TRUNCATED", "max_tokens", 0));
    assert!(wrote.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_started_call_runs_again_only_if_its_tool_says_so() {
    let safe = TestTool { idempotent: true, ..TestTool::new("read", Policy::Allow) };
    let write = TestTool::new("write", Policy::Allow);
    let (read, wrote) = (safe.ran.clone(), write.ran.clone());
    let started = |id, tool| CallState { started: true, ..CallState::open(&call(id, tool)) };
    let script = Script::new(|_, _| answer("done"));
    let mut bench = bench(&script, vec![safe, write]);
    let calls = vec![started("a", "read"), started("b", "write"), CallState::open(&call("c", "write"))];
    bench.turn.begin = within(Some(Finish::ToolCalls), calls, "");
    let ran = play(bench.turn).await;
    let codes: Vec<_> = ran.results().into_iter().map(|(.., code)| code).collect();
    assert_eq!(codes, ["result of a", "TOOL_OUTCOME_UNKNOWN", "result of c"]);
    assert_eq!((read.lock().unwrap().clone(), wrote.lock().unwrap().clone()), (vec!["a".to_owned()], vec!["c".to_owned()]));
    assert_eq!(ran.kinds().iter().filter(|k| **k == "tool_start").count(), 1, "a call starts once in the ledger");
}

/// A model that says all it has to say beside its calls, and then ends without another word.
#[tokio::test(start_paused = true)]
async fn a_turn_that_has_spoken_may_end_in_silence_and_another_is_asked_again() {
    for (beside, max_steps, requests, end) in [
        ("It is saved.", 10, 2, ("completed", None, "It is saved.")),
        ("It is saved.", 1, 2, ("max_steps", None, "It is saved.")),
        (" ", 10, 4, ("error", Some("empty_response"), "")),
    ] {
        let script = Script::new(move |_, count| match count {
            0 => vec![finished(vec![Block::Text { text: beside.into() }, Block::ToolCall(call("a", "save"))], Finish::ToolCalls)],
            _ => vec![said("", Finish::Stop)],
        });
        let mut bench = bench(&script, vec![TestTool::new("save", Policy::Allow)]);
        bench.turn.limits.max_steps = max_steps;
        let ran = play(bench.turn).await;
        assert_eq!((ran.end.reason.as_str(), ran.end.code.as_deref(), script.count()), (end.0, end.1, requests));
        assert!(ran.end.answer == end.2 || end.0 == "error", "{:?}", ran.end);
        assert_eq!((ran.retries().len(), ran.end.usage.input), (requests - 2, 10), "what no record tells of");
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_answer_stays_the_last_after_a_restart() {
    let script = Script::new(|_, _| answer("again"));
    for within_step in [true, false] {
        let mut bench = bench(&script, Vec::new());
        bench.turn.limits.max_steps = 2;
        let said = Said { text: "what I know".into(), truncated: false };
        let step = OpenStep { step: 3, attempts: 1, finish: Some(Finish::Stop), calls: Vec::new(), aside: Vec::new() };
        bench.turn.begin = match within_step {
            true => Begin::Within { step, input: input("hello"), said },
            false => Begin::Between { steps: 3, answered: true, said },
        };
        let ran = play(bench.turn).await;
        assert_eq!((ran.end.reason.as_str(), ran.end.answer.as_str()), ("max_steps", "what I know"));
    }
    assert_eq!(script.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_outlives_the_deadline_is_followed_by_one_more_and_its_text_is_kept() {
    let gate = super::script::Gate::new();
    let script = Script::new(move |_, _| vec![text("as far as I"), super::script::Act::Wait(gate.clone())]);
    let mut bench = bench(&script, Vec::new());
    bench.turn.limits.deadline = Duration::from_secs(30);
    let ran = play(bench.turn).await;
    assert_eq!((ran.end.reason.as_str(), ran.end.code.as_deref(), ran.end.answer.as_str()), ("budget", Some("deadline"), "as far as I"));
    assert_eq!(ran.kinds(), ["step_start", "request", "retry", "request", "message", "step_end"]);
}

#[tokio::test(start_paused = true)]
async fn past_its_deadline_a_turn_gets_one_answer_without_tools() {
    let script = Script::new(|request, _| if request.tools.is_some() { calls(&[("a", "slow")]) } else { answer("in short") });
    let slow = TestTool { gates: vec![("a", super::script::Gate::new())], ..TestTool::new("slow", Policy::Allow) };
    let mut bench = bench(&script, vec![slow]);
    bench.turn.limits.deadline = Duration::from_secs(30);
    let ran = play(bench.turn).await;
    assert_eq!(ran.results()[0].2, "TOOL_TIMEOUT");
    assert_eq!((ran.end.reason.as_str(), ran.end.answer.as_str(), script.count()), ("budget", "in short", 2));
}

/// The turn comes back long after its deadline, with an open step: its sender has an answer all the same.
#[tokio::test(start_paused = true)]
async fn a_turn_that_comes_back_too_late_gets_one_answer_without_tools() {
    let script = Script::new(|request, _| if request.tools.is_some() { calls(&[("a", "slow")]) } else { answer("in short") });
    let mut bench = bench(&script, vec![TestTool::new("slow", Policy::Allow)]);
    bench.turn.begin = within(None, Vec::new(), "");
    tokio::time::advance(bench.turn.limits.deadline * 2).await;
    let ran = play(bench.turn).await;
    assert_eq!((ran.end.reason.as_str(), ran.end.answer.as_str(), script.count()), ("budget", "in short", 1));
}

#[tokio::test(start_paused = true)]
async fn a_cancel_in_the_back_off_ends_it() {
    let script = Script::new(|_, _| vec![failure(ErrorClass::Retry, Some(Duration::from_secs(50)))]);
    let bench = bench(&script, Vec::new());
    let cancel = bench.turn.cancel.clone();
    let began = tokio::time::Instant::now();
    let turn = tokio::spawn(play(bench.turn));
    tokio::time::advance(Duration::from_secs(1)).await;
    cancel.cancel();
    let ran = super::script::within(turn).await.unwrap();
    assert_eq!((ran.end.reason.as_str(), script.count()), ("aborted", 1));
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(ran.kinds().last(), Some(&"step_end"));
}
