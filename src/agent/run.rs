//! The turn: begin a step, ask the model, answer or run tools, repeat.
//!
//! After `max_steps` steps, or past the deadline, one last request without tools answers with what is known. An answer without tool calls
//! ends the turn unless input waits for its next step.

use std::pin::pin;
use std::time::Duration;

use async_stream::stream;
use futures_util::{Stream, StreamExt};

use super::attempt::{Failure, Stop};
use super::files::Shown;
use super::port::Further;
use super::{Begin, End, Output, Said, StepInput, Turn};
use crate::domain::event::turn::{AbortCause, DoneReason, StepEnd, StepStart};
use crate::domain::message::{calls_of, text_of};
use crate::domain::state::{CallState, OpenStep};
use crate::domain::{AgentEvent, Finish, Timestamp};

/// What the last, tool-less answer may take.
const LAST_ANSWER: Duration = Duration::from_secs(60);

/// A turn under way.
pub(super) struct Agent {
    pub(super) turn: Turn,
    /// Steps begun.
    steps: u32,
    /// Requests of the open step.
    pub(super) attempts: u32,
    said: Said,
    /// What the turn's requests show of the conversation's files.
    pub(super) shown: Shown,
    /// The open step's answer is not whole: none of its calls is run.
    pub(super) cut: bool,
    /// Why the next answer is the last, and when it is given up.
    last: Option<(End, Timestamp)>,
    /// When the turn's time is over.
    deadline: Timestamp,
}

/// What a step led to.
enum After {
    /// Tools ran: another step.
    GoesOn,
    /// An answer without tool calls.
    Answered,
    /// The turn is over.
    Over(End),
}

/// The turn as a stream. Dropping it ends its request and its tool bodies with it.
pub fn run(turn: Turn) -> impl Stream<Item = Output> {
    stream! {
        let mut agent = Agent::new(turn);
        let mut begin = agent.turn.begin.clone();
        let end = loop {
            let (input, resumed) = match agent.begin(begin).await {
                Ok(step) => step,
                Err(end) => break end,
            };
            let mut after = After::GoesOn;
            {
                let mut step = pin!(agent.step(input, resumed, &mut after));
                while let Some(output) = step.next().await {
                    yield output;
                }
            }
            match after {
                After::GoesOn => begin = agent.between(false),
                After::Answered => begin = agent.between(true),
                After::Over(end) => break end,
            }
        };
        yield Output::End(end);
    }
}

/// A step that goes on after a restart: its answer is in, and these are its calls.
type Resumed = Option<(Finish, Vec<CallState>)>;

impl Agent {
    fn new(turn: Turn) -> Self {
        let (steps, said) = match &turn.begin {
            Begin::Fresh(_) => (0, Said::default()),
            Begin::Within { step, said, .. } => (step.step, said.clone()),
            Begin::Between { steps, said, .. } => (*steps, said.clone()),
        };
        let deadline = turn.started_at + turn.limits.deadline + turn.idle;
        let mut agent = Self { turn, steps, attempts: 0, said, shown: Shown::default(), cut: false, last: None, deadline };
        let asks = matches!(&agent.turn.begin, Begin::Within { step, .. } if step.finish.is_none());
        // whoever asked somebody, or began a body, had tools: that was not the last answer, whatever the limit is now
        let had_tools = |step: &OpenStep| step.calls.iter().any(|call| call.started || call.item.is_some());
        let had_tools = matches!(&agent.turn.begin, Begin::Within { step, .. } if had_tools(step));
        if agent.steps > agent.turn.limits.max_steps && !had_tools {
            agent.answers_last(End::new(DoneReason::MaxSteps, ""));
        } else if asks && agent.is_late() {
            agent.answers_last(late());
        }
        agent
    }

    fn between(&self, answered: bool) -> Begin {
        Begin::Between { steps: self.steps, answered, said: self.said.clone() }
    }

    /// The next step's input, or the turn's end. Only a step that is already open is resumed without asking what it may cost.
    async fn begin(&mut self, begin: Begin) -> Result<(StepInput, Option<Resumed>), End> {
        match begin {
            Begin::Within { step, input, .. } => {
                self.attempts = step.attempts;
                Ok((input, Some(step.finish.map(|finish| (finish, step.calls)))))
            }
            Begin::Fresh(input) => {
                self.begin_step();
                Ok((input, None))
            }
            Begin::Between { answered, .. } => {
                if self.turn.cancel.is_cancelled() {
                    return Err(self.aborted());
                }
                // the last answer is given: what waits for a next step is left to the next turn
                if let Some((end, _)) = self.last.take() {
                    return Err(End { answer: self.said.text.clone(), ..end });
                }
                let spent = answered && self.out_of_budget().is_some();
                let further = if answered { Further::IfInput } else { Further::Always };
                let input = if spent { None } else { self.turn.port.begin_step(further).await };
                if self.turn.cancel.is_cancelled() {
                    return Err(self.aborted());
                }
                let Some(input) = input else { return Err(self.answered()) };
                if let Some(end) = self.out_of_budget() {
                    self.answers_last(end);
                }
                self.begin_step();
                Ok((input, None))
            }
        }
    }

    fn begin_step(&mut self) {
        self.steps += 1;
        self.attempts = 0;
    }

    /// One step, from `step_start` to `step_end`.
    fn step<'a>(&'a mut self, input: StepInput, resumed: Option<Resumed>, after: &'a mut After) -> impl Stream<Item = Output> + 'a {
        stream! {
            if resumed.is_none() {
                yield record(StepStart {});
            }
            let (mut calls, mut shown) = (Vec::new(), 0);
            if let Some((finish, found)) = resumed.flatten() {
                shown = input.results_shown();
                *after = self.after_answer(finish, !found.is_empty());
                calls = found;
            } else {
                let mut end = Err(Failure::cancelled());
                {
                    let mut attempts = pin!(self.attempts(&input, &mut end));
                    while let Some(output) = attempts.next().await {
                        yield output;
                    }
                }
                match end {
                    Ok(answer) => {
                        self.said.text = text_of(&answer.content);
                        calls = calls_of(&answer.content).map(CallState::open).collect();
                        *after = self.after_answer(answer.finish, !calls.is_empty());
                    }
                    Err(failure) => *after = After::Over(self.failed(failure)),
                }
            }
            if !calls.is_empty() {
                let mut tools = pin!(self.tools(calls, shown, &input.taint));
                while let Some(output) = tools.next().await {
                    yield output;
                }
            }
            if matches!(after, After::GoesOn) && self.turn.cancel.is_cancelled() {
                *after = After::Over(self.aborted());
            }
            yield record(StepEnd {});
        }
    }

    fn after_answer(&mut self, finish: Finish, calls: bool) -> After {
        self.cut = matches!(finish, Finish::MaxTokens | Finish::ContentFilter | Finish::Refusal | Finish::Cancelled);
        self.said.truncated |= finish == Finish::MaxTokens;
        let said = self.said.text.clone();
        match finish {
            Finish::MaxTokens if calls => After::Over(End::new(DoneReason::MaxTokens, said)),
            // a provider that refuses may have done so in the middle of the answer
            Finish::ContentFilter | Finish::Refusal => After::Over(End::new(DoneReason::Blocked, said)),
            // a cancel that was stored before its turn ended
            Finish::Cancelled => After::Over(End { answer: said, ..self.aborted() }),
            Finish::Stop | Finish::ToolCalls | Finish::MaxTokens if calls => After::GoesOn,
            Finish::Stop | Finish::ToolCalls | Finish::MaxTokens => After::Answered,
        }
    }

    /// The end of a turn whose last step answered without tool calls.
    fn answered(&self) -> End {
        let reason = if self.said.truncated { DoneReason::MaxTokens } else { DoneReason::Completed };
        End::new(reason, self.said.text.clone())
    }

    /// The end of a turn whose last step had nothing to add to what was said.
    fn silent(&self) -> End {
        match &self.last {
            Some((end, _)) => End { answer: self.said.text.clone(), ..end.clone() },
            None => self.answered(),
        }
    }

    /// The newest answer has text: an empty one after it says that this was all, and asking again would give the same.
    pub(super) fn has_spoken(&self) -> bool {
        !self.said.text.trim().is_empty()
    }

    fn failed(&self, failure: Failure) -> End {
        match failure {
            Failure::Model { error, usage } => End { usage, ..End::error(error.code, error.message) },
            Failure::Silent { usage } => End { usage, ..self.silent() },
            Failure::Stopped { by: Stop::Deadline, text, usage } => {
                let known = [text, self.said.text.clone()].into_iter().find(|t| !t.is_empty());
                End { answer: known.unwrap_or_default(), usage, ..late() }
            }
            Failure::Stopped { by: Stop::Cancel, text, usage } => End { answer: text, usage, ..self.aborted() },
        }
    }

    fn aborted(&self) -> End {
        End { cause: Some(AbortCause::User), ..End::new(DoneReason::Aborted, "") }
    }

    /// Why there is no further step with tools, if there is none.
    fn out_of_budget(&self) -> Option<End> {
        let limits = &self.turn.limits;
        if self.steps >= limits.max_steps {
            return Some(End::new(DoneReason::MaxSteps, ""));
        }
        self.is_late().then(late)
    }

    fn is_late(&self) -> bool {
        self.turn.clock.now() >= self.deadline
    }

    /// The time is over in the middle of a request: one more follows, the last.
    pub(super) fn out_of_time(&mut self) {
        self.answers_last(late());
    }

    /// The next answer is the last, and has its own time: tools may have taken the turn far beyond its deadline, and its sender gets an
    /// answer all the same.
    fn answers_last(&mut self, end: End) {
        self.last = Some((end, self.turn.clock.now() + LAST_ANSWER));
    }

    /// The turn could not run for so long.
    pub(super) fn was_idle(&mut self, idle: Duration) {
        self.deadline = self.deadline + idle;
    }

    /// The answer being asked for is the last: no tools are offered.
    pub(super) fn is_last(&self) -> bool {
        self.last.is_some()
    }

    /// How long a request may still take.
    pub(super) fn time_left(&self) -> Duration {
        let ends_at = self.last.as_ref().map_or(self.deadline, |(_, ends_at)| *ends_at);
        ends_at.since(self.turn.clock.now())
    }
}

fn late() -> End {
    End { code: Some("deadline".into()), ..End::new(DoneReason::Budget, "") }
}

pub(super) fn record(event: impl Into<AgentEvent>) -> Output {
    Output::Record(event.into())
}
