//! A session's side of the port, without a session: a ledger that is a list.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one event among all")]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{FutureExt, StreamExt};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::script::{Ids, Script, TestClock, TestTool, within};
use crate::agent::port::{Attachments, Further, Proposal, StepInput, TurnPort, Verdict};
use crate::agent::{Begin, Blob, End, Limits, ModelChoice, Output, Turn, run};
use crate::domain::event::model::{Model, Parameters, Retry};
use crate::domain::profile::{Capabilities, ChannelProfile, LengthUnit, Tone};
use crate::domain::toolset::Policy;
use crate::domain::{AgentEvent, Artifact, ArtifactId, AttachmentId, Clock, File, IdSource, SurfaceMessage};
use crate::tool::tests::NoArtifacts;
use crate::tool::{Tool, Toolbox};

/// Lets everything run; has further steps only as the turn asks for them.
#[derive(Debug, Default)]
pub(super) struct FakePort {
    /// Verdicts by call id; `Run` where there is none.
    pub(super) verdicts: Vec<(&'static str, Verdict)>,
    pub(super) proposals: Mutex<Vec<Proposal>>,
    /// How many further steps input waits for.
    pub(super) steers: Mutex<u32>,
    /// What was handed over to be kept.
    pub(super) spilled: Mutex<Vec<(ArtifactId, Artifact)>>,
}

impl TurnPort for FakePort {
    fn begin_step(&self, further: Further) -> BoxFuture<'_, Option<StepInput>> {
        let mut steers = self.steers.lock().unwrap();
        let steered = *steers > 0;
        *steers = steers.saturating_sub(1);
        let input = (further == Further::Always || steered).then(|| input("go on"));
        async move { input }.boxed()
    }

    fn decide(&self, proposals: Vec<Proposal>) -> BoxFuture<'_, Vec<Verdict>> {
        let of = |p: &Proposal| self.verdicts.iter().find(|(id, _)| p.call.id.as_str() == *id).map_or(Verdict::Run, |(_, v)| v.clone());
        let verdicts = proposals.iter().map(of).collect();
        self.proposals.lock().unwrap().extend(proposals);
        async move { verdicts }.boxed()
    }

    fn spill(&self, artifact: Artifact) -> BoxFuture<'_, ArtifactId> {
        let (id, _) = artifact.clone().into_blob();
        self.spilled.lock().unwrap().push((id.clone(), artifact));
        async move { id }.boxed()
    }

    fn durable(&self) -> BoxFuture<'_, ()> {
        async {}.boxed()
    }
}

/// What a session would keep of files, and how often it was asked.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) files: BTreeMap<AttachmentId, Bytes>,
    pub(super) asked: Mutex<Vec<AttachmentId>>,
    pub(super) breaks: bool,
}

impl Attachments for Shelf {
    fn attachment(&self, file: &File) -> BoxFuture<'static, Result<Option<Bytes>, String>> {
        self.asked.lock().unwrap().push(file.attachment_id.clone());
        let read = if self.breaks { Err("the disk is gone".into()) } else { Ok(self.files.get(&file.attachment_id).cloned()) };
        async move { read }.boxed()
    }
}

pub(super) fn input(text: &str) -> StepInput {
    StepInput { surface: vec![Arc::new(SurfaceMessage::user(text))], ..StepInput::default() }
}

/// A turn about to run.
pub(super) struct Bench {
    pub(super) turn: Turn,
    pub(super) port: Arc<FakePort>,
}

pub(super) fn bench(script: &Arc<Script>, tools: Vec<TestTool>) -> Bench {
    let port = Arc::new(FakePort::default());
    let tools: Vec<Arc<dyn Tool>> = tools.into_iter().map(|t| Arc::new(t) as Arc<dyn Tool>).collect();
    let toolbox = Toolbox { tools, ..Toolbox::default() };
    let clock = Arc::new(TestClock::new());
    let turn = Turn {
        idle: Duration::ZERO,
        model: ModelChoice { provider: script.clone(), model: "m".into(), parameters: Parameters::default() },
        system: Blob::new("system".into()),
        tools: Some(Blob::new("[]".into())),
        toolset: Arc::new(toolbox.toolset(&profile())),
        toolbox: Arc::new(toolbox),
        limits: Limits { max_steps: 10, deadline: Duration::from_secs(3_600), abort_grace: Duration::from_secs(2), attempts: 3, pool: 10 },
        begin: Begin::Fresh(input("hello")),
        started_at: clock.now(),
        cancel: CancellationToken::new(),
        port: port.clone(),
        artifacts: Arc::new(NoArtifacts),
        attachments: Arc::new(Shelf::default()),
        tasks: TaskTracker::new(),
        ids: Arc::new(Ids::default()) as Arc<dyn IdSource>,
        clock,
    };
    Bench { turn, port }
}

/// A channel where everything is possible.
pub(crate) fn profile() -> ChannelProfile {
    let capabilities = Capabilities {
        attended: true,
        local_tools: true,
        streams: true,
        approvals: true,
        questions: true,
        markdown: true,
        tables: true,
        edit: false,
        typing: false,
        max_len: 0,
        unit: LengthUnit::Chars,
    };
    let tone = Tone { preamble: "", behaviour: &[], format: &[], tables: None, sources: false };
    let mid_run = crate::domain::event::input::Mode::Steer;
    ChannelProfile {
        label: "web",
        tone,
        capabilities,
        default_policy: Policy::Ask,
        mid_run,
        debounce: std::time::Duration::ZERO,
        max_steps: 10,
    }
}

/// All that the turn does.
pub(super) struct Ran {
    pub(super) events: Vec<AgentEvent>,
    pub(super) end: End,
}

pub(super) async fn play(turn: Turn) -> Ran {
    let outputs: Vec<Output> = within(run(turn).collect()).await;
    let mut events = Vec::new();
    let mut ends = Vec::new();
    for output in outputs {
        match output {
            Output::Record(event) => events.push(event),
            Output::Live(_) => {}
            Output::End(end) => ends.push(end),
        }
    }
    assert_eq!(ends.len(), 1);
    Ran { events, end: ends.remove(0) }
}

impl Ran {
    pub(super) fn kinds(&self) -> Vec<&str> {
        self.events.iter().map(AgentEvent::kind).collect()
    }

    /// `(call id, kind, code)` of all results, in order.
    pub(super) fn results(&self) -> Vec<(String, String, String)> {
        use crate::domain::event::tool::Tool;
        let of = |event: &AgentEvent| {
            let AgentEvent::Tool(tool) = event else { return None };
            let (id, code) = match tool {
                Tool::ToolEnd(e) => (&e.tool_call_id, e.content.clone()),
                Tool::ToolError(e) => (&e.tool_call_id, e.code.clone()),
                Tool::ToolDenied(e) => (&e.tool_call_id, e.reason.clone()),
                Tool::ToolStart(_) | Tool::ToolLimit(_) => return None,
            };
            Some((id.to_string(), event.kind().to_owned(), code))
        };
        self.events.iter().filter_map(of).collect()
    }

    /// `(attempt, delay_ms, discarded)` of all retries.
    pub(super) fn retries(&self) -> Vec<(u32, u64, bool)> {
        self.retry_records().map(|r| (r.attempt, r.delay_ms, r.discarded)).collect()
    }

    /// The input tokens of all retries, where they tell.
    pub(super) fn paid(&self) -> Vec<Option<u64>> {
        self.retry_records().map(|r| r.usage.map(|usage| usage.input)).collect()
    }

    fn retry_records(&self) -> impl Iterator<Item = &Retry> {
        self.events.iter().filter_map(|event| match event {
            AgentEvent::Model(Model::Retry(r)) => Some(r),
            _ => None,
        })
    }
}
