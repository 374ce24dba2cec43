//! Attempts of one step: what is tried again, after how long, and what it says to readers.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::port::{Ran, bench, play};
use super::script::{Act, Script, answer, failure, said, text};
use crate::domain::{Finish, IdSource, Usage};
use crate::provider::{ErrorClass, ModelEvent};

/// Always the same: the luck of every back-off.
#[derive(Debug)]
struct Luck(u64);

impl IdSource for Luck {
    fn uuid(&self) -> Uuid {
        Uuid::from_u64_pair(0, self.0)
    }
}

/// Plays these responses, and then an answer.
async fn responses(first: Vec<Vec<Act>>, luck: u64) -> (Ran, usize, Duration) {
    let script = Script::new(move |_, count| first.get(count).cloned().unwrap_or_else(|| answer("at last")));
    let mut bench = bench(&script, Vec::new());
    bench.turn.ids = Arc::new(Luck(luck));
    let began = tokio::time::Instant::now();
    let ran = play(bench.turn).await;
    (ran, script.count(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_retry_is_discarded_exactly_if_a_live_event_came() {
    let reasoning = Act::Send(vec![ModelEvent::Reasoning { block: 0, text: "hm".into() }]);
    let tool = Act::Send(vec![ModelEvent::ToolInput { block: 0, id: "c".into(), tool: "t".into() }]);
    for (shown, discarded) in [(None, false), (Some(text("Hel")), true), (Some(reasoning), true), (Some(tool), true)] {
        let first = shown.into_iter().chain([failure(ErrorClass::Retry, None)]).collect();
        let (ran, requests, _) = responses(vec![first], 0).await;
        assert_eq!(ran.retries(), [(1, 0, discarded)]);
        assert_eq!((ran.end.reason.as_str(), ran.end.answer.as_str(), requests), ("completed", "at last", 2));
    }
}

#[tokio::test(start_paused = true)]
async fn a_cut_stream_and_an_empty_answer_are_no_answers() {
    for bad in [vec![], vec![text("Hel")], vec![said("", Finish::Stop)], vec![said(" \n", Finish::Stop)]] {
        let (ran, requests, _) = responses(vec![bad], 0).await;
        assert_eq!((ran.end.answer.as_str(), requests), ("at last", 2));
        assert_eq!(ran.kinds().iter().filter(|k| **k == "message").count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_back_off_doubles_with_full_jitter() {
    let failing = || vec![vec![failure(ErrorClass::Retry, None)]; 2];
    let (least, _, took) = responses(failing(), 0).await;
    assert_eq!(least.retries(), [(1, 0, false), (2, 0, false)]);
    assert!(took < Duration::from_millis(10));
    // the two high bits are the UUID's variant, not luck
    let (most, _, took) = responses(failing(), u64::MAX).await;
    assert_eq!(most.retries(), [(1, 500, false), (2, 1_000, false)]);
    assert!(took >= Duration::from_millis(1_500) && took < Duration::from_millis(1_600), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_providers_own_time_is_kept_up_to_a_minute() {
    let after = |seconds| vec![vec![failure(ErrorClass::Retry, Some(Duration::from_secs(seconds)))]];
    let (ran, requests, took) = responses(after(60), u64::MAX).await;
    assert_eq!((ran.retries()[0].1, requests), (60_000, 2));
    assert!(took >= Duration::from_secs(60) && took < Duration::from_secs(61));
    let (ran, requests, _) = responses(after(61), 0).await;
    assert_eq!((ran.end.reason.as_str(), ran.end.code.as_deref(), requests), ("error", Some("scripted"), 1));
    assert!(!ran.end.answer.is_empty(), "its sender is not left with silence");
}

#[tokio::test(start_paused = true)]
async fn the_third_failure_ends_the_turn() {
    let (ran, requests, _) = responses(vec![vec![failure(ErrorClass::Retry, None)]; 5], 0).await;
    assert_eq!((ran.end.reason.as_str(), requests, ran.retries().len()), ("error", 3, 2));
    assert_eq!(ran.kinds(), ["step_start", "request", "retry", "request", "retry", "request", "step_end"]);
}

fn paid(input: u64) -> Act {
    Act::Send(vec![ModelEvent::Usage(Usage { input, ..Usage::default() })])
}

#[tokio::test(start_paused = true)]
async fn what_an_attempt_cost_is_told_also_where_no_answer_came_of_it() {
    let failing = || vec![paid(5), paid(7), text("Hel"), failure(ErrorClass::Retry, None)];
    let (ran, ..) = responses(vec![failing(), vec![failure(ErrorClass::Retry, None)]], 0).await;
    assert_eq!((ran.paid(), ran.end.usage), (vec![Some(7), None], Usage::default()), "its message tells of the third");
    let (ran, ..) = responses(vec![failing(); 3], 0).await;
    assert_eq!((ran.paid(), ran.end.usage.input), (vec![Some(7), Some(7)], 7));
    let (ran, ..) = responses(vec![vec![said("", Finish::Stop)], vec![paid(5)]], 0).await;
    assert_eq!(ran.paid(), [Some(10), Some(5)], "an empty answer and a cut one");
    let silent = responses(vec![vec![paid(5), failure(ErrorClass::Retry, None)]], 0).await.0;
    assert_eq!(silent.retries(), [(1, 0, false)], "a count is nothing that a reader saw");
}

#[tokio::test(start_paused = true)]
async fn what_asking_again_does_not_change_is_not_asked_again() {
    for class in [ErrorClass::Final, ErrorClass::Overflow] {
        let (ran, requests, _) = responses(vec![vec![text("Hel"), failure(class, None)]], 0).await;
        assert_eq!((ran.end.reason.as_str(), requests, ran.retries().len()), ("error", 1, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_filtered_or_cut_answer_is_taken_though_it_is_empty() {
    for (finish, reason) in [(Finish::ContentFilter, "blocked"), (Finish::Refusal, "blocked"), (Finish::MaxTokens, "max_tokens")] {
        let (ran, requests, _) = responses(vec![vec![said("", finish)]], 0).await;
        assert_eq!((ran.end.reason.as_str(), requests), (reason, 1));
    }
}

#[tokio::test]
async fn a_response_that_is_always_ready_lets_others_run() {
    let beside = tokio::spawn(async {});
    let (ran, ..) = responses(vec![vec![Act::Flood(10_000), said(&"x".repeat(10_000), Finish::Stop)]], 0).await;
    assert_eq!(ran.end.reason.as_str(), "completed");
    assert!(beside.is_finished());
}
