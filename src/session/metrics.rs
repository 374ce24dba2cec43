//! What sessions measure. What the ledger tells is counted when its append is on disk: what a crash takes back is counted by nobody.

use std::collections::BTreeSet;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram};

use crate::domain::AgentEvent;
use crate::domain::event::input::Input;
use crate::domain::event::model::Model;
use crate::domain::event::turn::{CallStatus, Done, DoneReason, Turn};
use crate::domain::state::SessionState;
use crate::meter::{DISK_SECONDS, Meter, Metric, WAIT_SECONDS, WORK_SECONDS};

const ACTORS: Metric = Metric::gauge("portico_actors", &[], "Sessions that are awake: each has an actor and its state in memory.");
const INBOX: Metric =
    Metric::gauge("portico_inbox_messages", &[], "Accepted messages that no turn has claimed yet, in sessions that are awake.");
const RUNNING: Metric = Metric::gauge(
    "portico_turns_running",
    &[],
    "Turns under way in sessions that are awake. A turn that waits for a person counts until its session sleeps; `portico_pending` has its wait.",
);
const ACCEPTED: Metric =
    Metric::counter("portico_messages_accepted_total", &["channel"], "Messages accepted: each is on disk before it is answered.");
const TURNS: Metric = Metric::counter("portico_turns_total", &["reason"], "Turns that ended, by the reason in their `done`.");
const TURN: Metric = Metric::histogram(
    "portico_turn_seconds",
    &[],
    WORK_SECONDS,
    "Time of a turn from its start to its end, without what it waited for people or was without a process.",
);
const STEPS: Metric =
    Metric::histogram("portico_turn_steps", &[], STEP_BOUNDS, "Steps of a turn: model answers, each with the tools it asked for.");
const FIRST_DELTA: Metric = Metric::histogram(
    "portico_first_delta_seconds",
    &[],
    WAIT_SECONDS,
    "Time from accepting a message to the first piece of its turn's answer, to the millisecond; the wait for a turn before it included.",
);
const RETRIES: Metric = Metric::counter(
    "portico_retries_total",
    &["code"],
    "Attempts that were given up for another: a provider's error code, `deadline`, `restart`.",
);
const TOOLS: Metric = Metric::counter(
    "portico_tool_calls_total",
    &["tool", "status"],
    "Tool calls that have their result, by the status in `done`; tools that there are not count as `other`.",
);
const TOOL: Metric =
    Metric::histogram("portico_tool_seconds", &["tool"], WORK_SECONDS, "Time of a tool's body, for calls that started one and ended.");
const ACTIVATION: Metric =
    Metric::histogram("portico_activation_seconds", &[], DISK_SECONDS, "Time to read a session from disk and fold it, when it wakes.");
const PASSIVATIONS: Metric =
    Metric::counter("portico_passivations_total", &[], "Sessions that went to sleep because nothing was left to do.");
const WAKE_UPS: Metric = Metric::counter(
    "portico_wake_ups_total",
    &[],
    "Sessions that woke by themselves: open turns after a restart, input that waited, waits that expire.",
);
const FAILURES: Metric = Metric::counter(
    "portico_actor_failures_total",
    &[],
    "Actors that were dropped because their ledger could not be read or written; the next one reads the disk.",
);

/// Around the usual limits of 10 and 25 steps.
const STEP_BOUNDS: &[f64] = &[1.0, 2.0, 3.0, 5.0, 8.0, 10.0, 11.0, 15.0, 20.0, 26.0, 50.0];
/// The label of a tool that is not known: a model may make up any name.
const OTHER: &str = "other";

/// Every metric of this layer.
pub const ALL: &[Metric] = &[
    ACTORS,
    INBOX,
    RUNNING,
    ACCEPTED,
    TURNS,
    TURN,
    STEPS,
    FIRST_DELTA,
    RETRIES,
    TOOLS,
    TOOL,
    ACTIVATION,
    PASSIVATIONS,
    WAKE_UPS,
    FAILURES,
];

/// The handles of one gateway's sessions.
#[derive(Clone, Debug)]
pub struct SessionMetrics {
    meter: Meter,
    /// Every tool there is.
    tools: BTreeSet<String>,
    pub(super) actors: Gauge,
    pub(super) inbox: Gauge,
    pub(super) running: Gauge,
    turn: Histogram,
    steps: Histogram,
    pub(super) first_delta: Histogram,
    pub(super) activation: Histogram,
    pub(super) passivations: Counter,
    pub(super) wake_ups: Counter,
    pub(super) failures: Counter,
}

/// Something in a record that is counted.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Fact {
    Accepted {
        channel: String,
    },
    Retried {
        code: String,
    },
    /// `took` where it had a body.
    Called {
        tool: String,
        status: CallStatus,
        took: Option<Duration>,
    },
    Ended {
        reason: DoneReason,
        worked: Duration,
        steps: u32,
    },
}

impl SessionMetrics {
    /// `tools` are the names of all tools that any turn could have.
    pub fn new(meter: &Meter, tools: impl IntoIterator<Item = String>) -> Self {
        Self {
            tools: tools.into_iter().collect(),
            actors: meter.gauge(&ACTORS, &[]),
            inbox: meter.gauge(&INBOX, &[]),
            running: meter.gauge(&RUNNING, &[]),
            turn: meter.histogram(&TURN, &[]),
            steps: meter.histogram(&STEPS, &[]),
            first_delta: meter.histogram(&FIRST_DELTA, &[]),
            activation: meter.histogram(&ACTIVATION, &[]),
            passivations: meter.counter(&PASSIVATIONS, &[]),
            wake_ups: meter.counter(&WAKE_UPS, &[]),
            failures: meter.counter(&FAILURES, &[]),
            meter: meter.clone(),
        }
    }

    /// Counts what is durable now.
    pub(super) fn count(&self, facts: Vec<Fact>) {
        for fact in facts {
            match fact {
                Fact::Accepted { channel } => self.meter.counter(&ACCEPTED, &[&channel]).increment(1),
                Fact::Retried { code } => self.meter.counter(&RETRIES, &[&code]).increment(1),
                Fact::Called { tool, status, took } => self.called(&tool, status, took),
                Fact::Ended { reason, worked, steps } => {
                    self.meter.counter(&TURNS, &[reason.as_str()]).increment(1);
                    self.turn.record(worked);
                    self.steps.record(steps);
                }
            }
        }
    }

    fn called(&self, tool: &str, status: CallStatus, took: Option<Duration>) {
        let tool = if self.tools.contains(tool) { tool } else { OTHER };
        self.meter.counter(&TOOLS, &[tool, status.as_str()]).increment(1);
        if let Some(took) = took {
            self.meter.histogram(&TOOL, &[tool]).record(took);
        }
    }
}

impl Fact {
    /// What that event is counted as; `state` has it folded in, and the turn that it ended had been idle for `idle_ms`.
    pub(super) fn of(event: &AgentEvent, state: &SessionState, idle_ms: u64) -> Option<Self> {
        match event {
            AgentEvent::Input(Input::MessageQueued(_)) => {
                let channel = state.profile.as_ref().map(|profile| profile.channel.clone());
                channel.map(|channel| Self::Accepted { channel })
            }
            AgentEvent::Model(Model::Retry(retry)) => Some(Self::Retried { code: retry.code.clone() }),
            AgentEvent::Tool(event) if event.is_result() => {
                let turn = state.turn.as_ref()?;
                let call = turn.calls.last()?;
                let began = turn.step.as_ref()?.calls.iter().any(|c| c.call.id == call.tool_call_id && c.had_body());
                let took = began.then(|| Duration::from_millis(call.duration_ms));
                Some(Self::Called { tool: call.tool.clone(), status: call.status, took })
            }
            AgentEvent::Turn(Turn::Done(Done { reason, total_time_ms, steps, .. })) => {
                let worked = Duration::from_millis(total_time_ms.saturating_sub(idle_ms));
                Some(Self::Ended { reason: *reason, worked, steps: *steps })
            }
            AgentEvent::Input(_)
            | AgentEvent::Model(_)
            | AgentEvent::Tool(_)
            | AgentEvent::Turn(_)
            | AgentEvent::Session(_)
            | AgentEvent::Pending(_)
            | AgentEvent::Outside(_)
            | AgentEvent::Unknown(_) => None,
        }
    }
}
