//! A gateway's sessions without its edges: real actors, feeds and registry over a scripted provider and a store in memory.

#![expect(clippy::wildcard_enum_match_arm, reason = "a test looks for one event among all")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use super::places::TestSink;
use crate::agent::tests::port::profile;
use crate::agent::tests::script::{Ids, Script, TestClock, TestTool, within};
use crate::agent::{Blob, End, Limits, ModelChoice};
use crate::domain::event::input::{Input, Mode, Trust};
use crate::domain::event::model::{Model, Parameters};
use crate::domain::event::session::{Metadata, SessionCreated};
use crate::domain::event::tool::Tool as ToolEvent;
use crate::domain::event::turn::{Done, Turn};
use crate::domain::message::calls_of;
use crate::domain::pending::Decision;
use crate::domain::profile::ChannelProfile;
use crate::domain::toolset::Toolset;
use crate::domain::{AgentEvent, Clock, Cursor, Record, Seq, SessionId, SessionState, Timestamp, View};
use crate::meter::Meter;
use crate::session::command::{Cancelled, IntakeKey, Post, Queue, Resolution, Resolved};
use crate::session::metrics::SessionMetrics;
use crate::session::reader::{Filter, Reader};
use crate::session::record::FeedRecord;
use crate::session::{Lease, Posted, Prepared, SessionError, Sessions, Settings, Setup, Want};
use crate::store::memory::MemoryStore;
use crate::store::{Most, Store};
use crate::tool::{Tool, Toolbox};

pub(super) struct World {
    pub(super) store: Arc<MemoryStore>,
    pub(super) sessions: Sessions,
    pub(super) script: Arc<Script>,
    pub(super) passivate: Duration,
    pub(super) sink: Arc<TestSink>,
    setup: Arc<TestSetup>,
    clock: Arc<TestClock>,
    ids: Arc<Ids>,
    meter: Meter,
    exposition: PrometheusHandle,
}

#[derive(Debug)]
struct TestSetup {
    script: Arc<Script>,
    toolbox: Arc<Toolbox>,
    profile: ChannelProfile,
    limits: Mutex<Limits>,
    debounce: Mutex<Duration>,
}

impl Setup for TestSetup {
    fn knows_model(&self, _: &str, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn prepare(&self, want: &Want<'_>) -> Result<Prepared, End> {
        let toolset = Arc::new(self.toolbox.toolset(&self.profile));
        let names: Vec<_> = toolset.names().collect();
        let provider = self.script.clone();
        let model = want.model.unwrap_or("m").to_owned();
        let limits = *self.limits.lock().unwrap();
        Ok(Prepared {
            model: ModelChoice { provider, model, parameters: Parameters::default() },
            system: Blob::new(format!("You are a test. {}", want.instructions.unwrap_or_default())),
            tools: (!names.is_empty()).then(|| Blob::new(serde_json::to_string(&names).unwrap())),
            toolset,
            toolbox: self.toolbox.clone(),
            limits,
        })
    }

    fn profile(&self, _: &str, _: Option<&str>) -> Option<Arc<ChannelProfile>> {
        Some(Arc::new(ChannelProfile { debounce: *self.debounce.lock().unwrap(), ..self.profile.clone() }))
    }

    fn toolset(&self, _: &str, _: Option<&str>, _: &str) -> Option<Arc<Toolset>> {
        Some(Arc::new(self.toolbox.toolset(&self.profile)))
    }

    fn max_queue(&self, _: &str) -> usize {
        64
    }
}

pub(super) fn id() -> SessionId {
    "ses_1".into()
}

pub(super) fn created(channel: &str, account: Option<&str>) -> SessionCreated {
    let text = |text: &str| text.to_owned();
    SessionCreated {
        channel: text(channel),
        agent: text("default"),
        tenant: text("t"),
        principal: text("p"),
        account: account.map(text),
        parent: None,
        title: None,
        metadata: Metadata::new(),
    }
}

pub(super) fn post(text: &str, mode: Mode, key: Option<&str>) -> Post {
    let key =
        key.map(|external_id| IntakeKey { tenant: "t".into(), scope: "s".into(), external_id: external_id.into(), body_hash: "h".into() });
    Post {
        text: text.into(),
        mode: Some(mode),
        model: None,
        instructions: None,
        author: "p".into(),
        trust: Trust::User,
        reply_to: None,
        attachments: Vec::new(),
        key,
    }
}

impl World {
    /// With one session, which is idle.
    pub(super) async fn new(script: &Arc<Script>, tools: Vec<TestTool>) -> Self {
        Self::on(profile(), script, tools).await
    }

    /// The same, on a channel of that kind.
    pub(super) async fn on(profile: ChannelProfile, script: &Arc<Script>, tools: Vec<TestTool>) -> Self {
        let world = Self::without_session(profile, script, tools);
        within(world.sessions.create(&id(), created("web", None), None)).await.unwrap();
        world
    }

    /// Without a session.
    pub(super) fn empty(script: &Arc<Script>, tools: Vec<TestTool>) -> Self {
        Self::without_session(profile(), script, tools)
    }

    fn without_session(profile: ChannelProfile, script: &Arc<Script>, tools: Vec<TestTool>) -> Self {
        let tools = tools.into_iter().map(|tool| Arc::new(tool) as Arc<dyn Tool>).collect();
        let toolbox = Arc::new(Toolbox { tools, ..Toolbox::default() });
        let limits =
            Limits { max_steps: 10, deadline: Duration::from_secs(86_400), abort_grace: Duration::from_secs(2), attempts: 3, pool: 10 };
        let setup =
            Arc::new(TestSetup { script: script.clone(), toolbox, profile, limits: Mutex::new(limits), debounce: Mutex::default() });
        let (store, clock, ids) = (Arc::new(MemoryStore::new()), Arc::new(TestClock::new()), Arc::new(Ids::default()));
        let passivate = Duration::from_secs(600);
        let recorder = PrometheusBuilder::new().build_recorder();
        let (exposition, meter) = (recorder.handle(), Meter::new(recorder));
        let sink = Arc::new(TestSink::default());
        let sessions = Sessions::new(settings(&store, &setup, &clock, &ids, passivate, &meter, &sink));
        sessions.start();
        Self { store, sessions, script: script.clone(), passivate, sink, setup, clock, ids, meter, exposition }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn debounce(&self, debounce: Duration) {
        *self.setup.debounce.lock().unwrap() = debounce;
    }

    /// The process ends where it stands, and the next one starts on what is on disk.
    pub(super) async fn crash(&mut self) {
        let next = Arc::new(self.store.reopen());
        // whatever of the old process still runs finds its store gone
        self.store = next;
        self.start().await;
    }

    pub(super) async fn stop(&mut self) {
        self.sessions.stop().await;
        self.store.close().await.unwrap();
        self.store = Arc::new(self.store.reopen());
        self.start().await;
    }

    pub(super) async fn start(&mut self) {
        tokio::time::advance(Duration::from_millis(5)).await;
        self.sessions = Sessions::new(settings(&self.store, &self.setup, &self.clock, &self.ids, self.passivate, &self.meter, &self.sink));
        self.sessions.start();
    }

    /// What turns may cost from here on.
    pub(super) fn limit(&self, change: impl FnOnce(&mut Limits)) {
        change(&mut self.setup.limits.lock().unwrap());
    }

    pub(super) async fn lease(&self) -> Lease {
        within(self.sessions.open(&id())).await.unwrap()
    }

    pub(super) async fn post(&self, text: &str, mode: Mode) -> Result<Posted, SessionError> {
        within(self.sessions.post(&self.lease().await, post(text, mode, None))).await
    }

    pub(super) async fn ask(&self, text: &str) -> Posted {
        self.post(text, Mode::Followup).await.unwrap()
    }

    /// Whether a message is refused because the process stops.
    pub(super) async fn ask_refused(&self, lease: &Lease) -> bool {
        matches!(within(self.sessions.post(lease, post("late", Mode::Followup, None))).await, Err(SessionError::Stopping))
    }

    /// Posts until it is accepted, as a client with a key does.
    pub(super) async fn insist(&self, text: &str, key: &str) -> Posted {
        for _ in 0..20 {
            if let Some(row) = self.store.intake("t", "s", key).await.unwrap() {
                return Posted { message_id: row.message_id.unwrap(), seq: row.seq, replayed: true, body_hash: None };
            }
            let Ok(lease) = self.sessions.open(&id()).await else { continue };
            if let Ok(posted) = within(self.sessions.post(&lease, post(text, Mode::Followup, Some(key)))).await {
                return posted;
            }
        }
        panic!("it was never accepted");
    }

    /// A post that waits beside the test.
    pub(super) fn post_aside(&self, text: &str, key: Option<&str>) -> tokio::task::JoinHandle<Result<Posted, SessionError>> {
        let (sessions, post) = (self.sessions.clone(), post(text, Mode::Followup, key));
        tokio::spawn(async move {
            let lease = sessions.open(&id()).await?;
            sessions.post(&lease, post).await
        })
    }

    pub(super) async fn cancel(&self, queue: Queue) -> Cancelled {
        within(self.sessions.cancel(&self.lease().await, queue, "p".into())).await.unwrap()
    }

    /// The client's result of a call that it runs.
    pub(super) async fn give(&self, tool_call_id: &str, content: &str) -> Result<Resolved, SessionError> {
        let answer = Resolution::Content(content.into());
        within(self.sessions.resolve(&self.lease().await, tool_call_id.into(), answer, "page".into())).await
    }

    pub(super) async fn decide(&self, id: &str, decision: Decision) -> Result<Resolved, SessionError> {
        let answer = Resolution::Decision { decision, note: None, digest: None };
        within(self.sessions.resolve(&self.lease().await, id.into(), answer, "p".into())).await
    }

    pub(super) async fn reader(&self, view: View) -> Reader {
        let lease = self.lease().await;
        within(self.sessions.repair(&lease)).await.unwrap();
        let filter = Filter { view, types: None, may_decide: Arc::new(|_| false) };
        Reader::new(lease.feed().clone(), filter, Cursor { seq: 0, n: 0 }).unwrap()
    }

    /// The first durable record of that kind after `after`.
    pub(super) async fn until(&self, after: Seq, kind: &str) -> Arc<FeedRecord> {
        within(async {
            loop {
                let Ok(lease) = self.sessions.open(&id()).await else { continue };
                if self.sessions.repair(&lease).await.is_err() {
                    continue;
                }
                let filter = Filter { view: View::Admin, types: None, may_decide: Arc::new(|_| false) };
                let Ok(mut reader) = Reader::new(lease.feed().clone(), filter, Cursor { seq: after, n: 0 }) else { continue };
                // an actor that fails ends its readers' streams; they come again
                while let Ok(Ok(record)) = reader.next_record().await {
                    if &*record.kind == kind {
                        return record;
                    }
                }
                tokio::task::yield_now().await;
            }
        })
        .await
    }

    /// How the turn after that record ended.
    pub(super) async fn done(&self, after: Seq) -> Done {
        let record = self.until(after, "done").await;
        match Record::from_json(&record.json).unwrap().event {
            AgentEvent::Turn(Turn::Done(done)) => done,
            other => panic!("{other:?}"),
        }
    }

    /// Commits the next append, and gives the kinds of its records.
    pub(super) async fn next_append(&self) -> Vec<String> {
        within(self.store.until_held(1)).await;
        let before = self.log().await.len();
        self.store.commit_held(1);
        self.log().await[before..].iter().map(|r| r.event.kind().to_owned()).collect()
    }

    /// What is on disk.
    pub(super) async fn log(&self) -> Vec<Record> {
        let stored = self.store.read(&id(), 0, Most::rows(usize::MAX)).await.unwrap();
        stored.rows.iter().map(|r| Record::from_json(&r.json).unwrap()).collect()
    }

    /// The sample of that name and labels, as it is exposed; 0 where there is none.
    pub(super) fn counted(&self, sample: &str) -> f64 {
        let text = self.exposition.render();
        text.lines().find_map(|line| line.strip_prefix(sample)?.strip_prefix(' ')?.parse().ok()).unwrap_or_default()
    }

    pub(super) async fn kinds(&self) -> Vec<String> {
        self.log().await.iter().map(|r| r.event.kind().to_owned()).collect()
    }
}

fn settings(
    store: &Arc<MemoryStore>,
    setup: &Arc<TestSetup>,
    clock: &Arc<TestClock>,
    ids: &Arc<Ids>,
    passivate: Duration,
    meter: &Meter,
    sink: &Arc<TestSink>,
) -> Settings {
    Settings {
        store: store.clone(),
        setup: setup.clone(),
        clock: clock.clone(),
        ids: ids.clone(),
        deliveries: sink.clone(),
        metrics: SessionMetrics::new(meter, setup.toolbox.tools.iter().map(|tool| tool.spec().name.to_owned())),
        passivate,
        expire: Duration::from_secs(3_600),
        drain: Duration::from_secs(5),
    }
}

/// Lets everything run that can.
pub(super) async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// What holds of every ledger: it folds, each turn has its one end, each call its one result before the next request, each accepted
/// message its one fate.
pub(super) fn assert_sound(log: &[Record]) {
    let mut state = SessionState::default();
    let mut calls: Vec<String> = Vec::new();
    let mut results: Vec<String> = Vec::new();
    let (mut queued, mut ended) = (Vec::new(), Vec::new());
    let (mut starts, mut dones) = (0, 0);
    for record in log {
        state.apply(record).unwrap();
        match &record.event {
            AgentEvent::Model(Model::Message(m)) => calls.extend(calls_of(&m.content).map(|c| c.id.to_string())),
            AgentEvent::Model(Model::Request(_)) => assert_eq!(calls, results, "before record {}", record.seq()),
            AgentEvent::Tool(ToolEvent::ToolEnd(e)) => results.push(e.tool_call_id.to_string()),
            AgentEvent::Tool(ToolEvent::ToolError(e)) => results.push(e.tool_call_id.to_string()),
            AgentEvent::Tool(ToolEvent::ToolDenied(e)) => results.push(e.tool_call_id.to_string()),
            AgentEvent::Turn(Turn::Done(_)) => {
                dones += 1;
                assert_eq!(calls, results, "at done {}", record.seq());
            }
            AgentEvent::Input(Input::TurnStart(e)) => {
                starts += 1;
                ended.extend(e.message_ids.clone());
            }
            AgentEvent::Input(Input::QueueDrain(e)) => ended.extend(e.message_ids.clone()),
            AgentEvent::Input(Input::MessageRemoved(e)) => ended.push(e.message_id.clone()),
            AgentEvent::Input(Input::MessageQueued(e)) => queued.push(e.message_id.clone()),
            _ => {}
        }
    }
    assert_eq!(starts, dones + usize::from(state.turn.is_some()));
    ended.extend(state.inbox.waiting.iter().map(|q| q.message.message_id.clone()));
    queued.sort();
    ended.sort();
    assert_eq!(queued, ended, "a message was lost, or claimed twice");
}
