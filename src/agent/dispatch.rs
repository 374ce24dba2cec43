//! The tools of one step: decisions first, then a rolling pool, results in the model's order.
//!
//! Every call goes through one table, whether it is new or found again after a restart: what can be answered at once (a result that cannot
//! be had, a denial, an answered question) is ready; the rest has a body. A call whose tool says "parallel" for these arguments overlaps
//! with its neighbours; any other is a barrier. Bodies overlap, results are committed in order, and each call gets exactly one.

use std::sync::Arc;
use std::time::Duration;

use async_stream::stream;
use futures_util::Stream;
use tokio::sync::mpsc;
use tokio::task::{Id, JoinError, JoinSet};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Output;
use super::port::{Gate, Proposal};
use super::run::{Agent, record};
use crate::domain::event::tool::codes;
use crate::domain::message::ToolCall;
use crate::domain::state::CallState;
use crate::domain::taint::Ruling;
use crate::domain::toolset::CallKind;
use crate::domain::{LiveEvent, Taint, ToolCallId};
use crate::tool::{Progress, Tool, ToolContext, ToolFailure, ToolOutput, ask_user};

mod caps;
mod commit;
mod slot;

use caps::Room;
use slot::{Slot, State, failure};

/// What a body gets to end its process group once its cancel token fired: longer than bash's 500 ms to SIGKILL and 1 s to reap.
const LAST_GRACE: Duration = Duration::from_millis(2_000);

/// What a body gets at least, however late its turn is.
const LEAST_TIME: Duration = Duration::from_secs(1);

type Bodies = JoinSet<Result<ToolOutput, ToolFailure>>;
type ProgressReport = (ToolCallId, serde_json::Map<String, serde_json::Value>);

/// What a wait brought.
enum Event {
    Finished(Id, Result<ToolOutput, ToolFailure>),
    Progress(ProgressReport),
    Cancelled,
    GraceOver,
}

impl Agent {
    /// Runs the calls and yields their records. Afterwards each has its result. `shown` is the length of the step's results so far,
    /// `taint` what the model had read when it asked for them.
    pub(super) fn tools<'a>(&'a mut self, calls: Vec<CallState>, shown: usize, taint: &'a Taint) -> impl Stream<Item = Output> + 'a {
        stream! {
            yield Output::Live(LiveEvent::UsingTools);
            let mut room = Room::new(shown, calls.iter().filter(|c| !c.has_result()).count());
            let mut slots = self.judge(calls, taint).await;
            let mut bodies = Bodies::new();
            let (reports, mut progress) = mpsc::channel(16);
            let mut aborting: Option<Instant> = None;
            loop {
                if aborting.is_none() && self.turn.cancel.is_cancelled() {
                    aborting = Some(Instant::now() + self.turn.limits.abort_grace);
                    slot::abort_unstarted(&mut slots);
                    self.stop_readers(&slots);
                }
                while let Some(slot) = slots.iter_mut().find(|s| !matches!(s.state, State::Done)).filter(|s| s.has_result()) {
                    for event in self.commit(slot, &mut room).await {
                        yield Output::Record(event);
                    }
                }
                if slots.iter().all(|s| matches!(s.state, State::Done)) {
                    return;
                }
                let starts = slot::startable(&slots, self.turn.limits.pool);
                for &i in starts.iter().filter(|i| !slots[**i].started) {
                    yield record(slot::start(&slots[i].call));
                }
                if !starts.is_empty() {
                    self.turn.port.durable().await;
                    // a cancel that came meanwhile was there before the bodies were
                    if !self.turn.cancel.is_cancelled() {
                        self.start(&mut slots, &starts, &mut bodies, &reports);
                    }
                    continue;
                }
                match self.wait(&mut bodies, &mut progress, aborting).await {
                    Event::Progress((tool_call_id, fields)) => yield Output::Live(LiveEvent::ToolProgress { tool_call_id, fields }),
                    Event::Finished(task, result) => slot::finish(&mut slots, task, result),
                    Event::Cancelled => {}
                    Event::GraceOver => self.end_bodies(&mut slots, &mut bodies).await,
                }
            }
        }
    }

    /// Judges all calls in the model's order, and has all decisions made, before any body starts.
    async fn judge(&mut self, calls: Vec<CallState>, taint: &Taint) -> Vec<Slot> {
        let mut slots: Vec<Slot> = calls.into_iter().map(|call| self.slot(call, taint)).collect();
        let gated = |slot: &Slot| match &slot.state {
            State::Ready(tool) => Some(Proposal { call: slot.call.clone(), gate: self.gate(tool.as_ref(), slot, taint) }),
            State::Withdrawn(_) => Some(Proposal { call: slot.call.clone(), gate: Gate::Closed }),
            State::Done | State::Running { .. } | State::Result(_) | State::Denied { .. } => None,
        };
        let (asked, proposals): (Vec<usize>, Vec<Proposal>) =
            slots.iter().enumerate().filter(|(_, s)| !s.started).filter_map(|(i, s)| gated(s).map(|p| (i, p))).unzip();
        if proposals.is_empty() {
            return slots;
        }
        let asked_at = self.turn.clock.now();
        let verdicts = self.turn.port.decide(proposals).await;
        self.was_idle(self.turn.clock.now().since(asked_at));
        for (i, verdict) in asked.into_iter().zip(verdicts) {
            slots[i].decided(verdict);
        }
        slots
    }

    /// The table of what a call is, found new or after a restart.
    fn slot(&self, found: CallState, taint: &Taint) -> Slot {
        let state = match self.turn.toolbox.get(&found.call.tool) {
            _ if found.has_result() => State::Done,
            _ if self.cut => failure(codes::TRUNCATED, "the answer is not whole, so none of its calls is run"),
            _ if self.is_last() => failure(codes::TOOL_NOT_STARTED, "no more steps are left for tools"),
            Some(tool) if found.started && tool.idempotent() => State::Ready(tool.clone()),
            _ if found.started => failure(
                codes::TOOL_OUTCOME_UNKNOWN,
                "it had started when the gateway stopped, and nobody knows what it did; check before you do it again",
            ),
            Some(tool) if self.turn.toolset.get(&found.call.tool).is_some() => match tool.check(&found.call.args) {
                Ok(()) => match self.turn.toolset.ruling(&found.call.tool, taint) {
                    // what somebody was asked about, he decides
                    Ruling::Deny { reason } if found.item.is_none() => State::Denied { reason, by: None },
                    Ruling::Run | Ruling::Ask { .. } | Ruling::Deny { .. } => State::Ready(tool.clone()),
                },
                Err(why) => failure(codes::INVALID_ARGUMENTS, &why),
            },
            _ => failure(codes::UNKNOWN_TOOL, &self.unknown(&found.call.tool)),
        };
        let mut slot = Slot { started: found.started, call: found.call, state };
        if found.item.is_some() && !slot.started {
            slot.withdraw();
        }
        slot
    }

    fn unknown(&self, tool: &str) -> String {
        let names: Vec<_> = self.turn.toolset.names().collect();
        match names.is_empty() {
            true => format!("there is no tool {tool:?}; there are no tools here"),
            false => format!("there is no tool {tool:?} here; there are: {}", names.join(", ")),
        }
    }

    fn gate(&self, tool: &dyn Tool, slot: &Slot, taint: &Taint) -> Gate {
        match tool.kind() {
            CallKind::Question => match ask_user::questions(&slot.call.args) {
                Ok(questions) => Gate::Question(questions),
                Err(_) => Gate::Open,
            },
            CallKind::Client => Gate::Client,
            CallKind::Body => match self.turn.toolset.ruling(&slot.call.tool, taint) {
                Ruling::Run => Gate::Open,
                Ruling::Ask { reason } | Ruling::Deny { reason } => Gate::Approval { reason },
            },
        }
    }

    fn start(&self, slots: &mut [Slot], starts: &[usize], bodies: &mut Bodies, reports: &mpsc::Sender<ProgressReport>) {
        for &i in starts {
            let State::Ready(tool) = &slots[i].state else { continue };
            let (tool, call, cancel) = (tool.clone(), slots[i].call.clone(), CancellationToken::new());
            let (reports, id) = (reports.clone(), call.id.clone());
            // a full channel drops the report: a newer one follows
            let progress = Progress(Arc::new(move |fields| drop(reports.try_send((id.clone(), fields)))));
            let context = ToolContext { cancel: cancel.clone(), progress, artifacts: self.turn.artifacts.clone() };
            let parallel = tool.parallel(&call.args);
            // no body outlives its turn's time
            let limit = self.turn.toolbox.timeout(tool.as_ref()).min(self.time_left().max(LEAST_TIME));
            let task = bodies.spawn(self.turn.tasks.track_future(body(tool, context, call, limit))).id();
            slots[i].started = true;
            slots[i].state = State::Running { task, since: Instant::now(), cancel, parallel };
        }
    }

    async fn wait(&self, bodies: &mut Bodies, progress: &mut mpsc::Receiver<ProgressReport>, aborting: Option<Instant>) -> Event {
        let grace = async {
            match aborting {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! { biased;
            () = self.turn.cancel.cancelled(), if aborting.is_none() => Event::Cancelled,
            Some(finished) = bodies.join_next_with_id() => ended(finished),
            () = grace => Event::GraceOver,
            Some(report) = progress.recv() => Event::Progress(report),
        }
    }

    /// A body that changes nothing, and may be run again, has nothing to finish: it is told to stop, and has the grace for that.
    fn stop_readers(&self, slots: &[Slot]) {
        for slot in slots {
            let tool = self.turn.toolbox.get(&slot.call.tool).filter(|tool| tool.idempotent() && !tool.effects());
            if let (State::Running { cancel, .. }, Some(_)) = (&slot.state, tool) {
                cancel.cancel();
            }
        }
    }

    /// The grace is over: bodies end what they started, and whatever does not is dropped. What they say now no longer counts.
    async fn end_bodies(&self, slots: &mut [Slot], bodies: &mut Bodies) {
        for slot in slots.iter() {
            if let State::Running { cancel, .. } = &slot.state {
                cancel.cancel();
            }
        }
        let ended = async { while bodies.join_next().await.is_some() {} };
        if tokio::time::timeout(LAST_GRACE, ended).await.is_err() {
            bodies.shutdown().await;
        }
        for slot in slots.iter_mut().filter(|s| matches!(s.state, State::Running { .. })) {
            let idempotent = self.turn.toolbox.get(&slot.call.tool).is_some_and(|t| t.idempotent());
            slot.state = match idempotent {
                true => failure(codes::ABORTED, "it was stopped while it ran"),
                false => failure(codes::TOOL_OUTCOME_UNKNOWN, "it was stopped while it ran, and may have taken effect"),
            };
        }
    }
}

/// Runs a body within its time.
async fn body(tool: Arc<dyn Tool>, context: ToolContext, call: ToolCall, limit: Duration) -> Result<ToolOutput, ToolFailure> {
    let cancel = context.cancel.clone();
    let mut running = tool.call(context, call.args);
    tokio::select! { biased;
        result = &mut running => result,
        () = tokio::time::sleep(limit) => {
            cancel.cancel();
            // whatever it says now, it was too late
            drop(tokio::time::timeout(LAST_GRACE, running).await);
            let error = format!("it did not end within {} s and was stopped", limit.as_secs());
            Err(ToolFailure { code: codes::TOOL_TIMEOUT.into(), error })
        }
    }
}

fn ended(finished: Result<(Id, Result<ToolOutput, ToolFailure>), JoinError>) -> Event {
    match finished {
        Ok((task, result)) => Event::Finished(task, result),
        Err(error) => {
            tracing::error!(panic = error.is_panic(), "a tool body ended without a result");
            let failure = ToolFailure { code: codes::TOOL_FAILED.into(), error: "the tool crashed".into() };
            Event::Finished(error.id(), Err(failure))
        }
    }
}
