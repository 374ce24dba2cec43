//! Scripted parts of a turn: a provider that answers as a function of the request, tools behind gates, ids and time that a test sets.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use uuid::Uuid;

use crate::domain::event::input::Trust;
use crate::domain::event::tool::Source;
use crate::domain::message::ToolCall;
use crate::domain::toolset::{CallKind, Policy, ToolSpec};
use crate::domain::{Args, Block, Clock, Finish, IdSource, Timestamp, Usage};
use crate::provider::files::{self, Takes};
use crate::provider::table::Quirks;
use crate::provider::{ErrorClass, ModelError, ModelEvent, ModelRequest, ModelStream, Provider, openai_chat};
use crate::tool::{Tool, ToolContext, ToolFailure, ToolOutput};

/// Holds whoever passes until the test opens it.
#[derive(Clone, Debug)]
pub(crate) struct Gate(Arc<(Semaphore, Semaphore)>);

impl Gate {
    pub(crate) fn new() -> Self {
        Self(Arc::new((Semaphore::new(0), Semaphore::new(0))))
    }

    pub(crate) async fn pass(&self) {
        self.0.0.add_permits(1);
        self.0.1.acquire().await.unwrap().forget();
    }

    /// Resolves when somebody has come to the gate.
    pub(crate) async fn reached(&self) {
        within(self.0.0.acquire()).await.unwrap().forget();
    }

    pub(crate) fn open(&self) {
        self.0.1.add_permits(1);
    }
}

/// Fails a test that waits for what never comes: in paused time, at once.
pub(crate) async fn within<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(120), future).await.expect("what was waited for never came")
}

/// What a provider does next in a response.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Send(Vec<ModelEvent>),
    Wait(Gate),
    Fail(ModelError),
    /// So many text deltas of one character, one batch each.
    Flood(u32),
    /// While the response is read.
    Panic,
    /// In the call that makes it.
    PanicAtOnce,
}

type Answers = dyn Fn(&ModelRequest, usize) -> Vec<Act> + Send + Sync;

/// A provider whose answer is a function of the request and of how many there were before. The end of the acts is a cut.
pub(crate) struct Script {
    answers: Box<Answers>,
    pub(crate) requests: Mutex<Vec<(ModelRequest, Vec<u8>)>>,
}

impl Script {
    pub(crate) fn new(answers: impl Fn(&ModelRequest, usize) -> Vec<Act> + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { answers: Box::new(answers), requests: Mutex::default() })
    }

    pub(crate) fn count(&self) -> usize {
        self.requests.lock().unwrap().len()
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Script")
    }
}

impl Provider for Script {
    fn id(&self) -> &str {
        "script"
    }

    fn takes(&self) -> Takes {
        Takes::BOTH
    }

    fn body(&self, request: &ModelRequest) -> Vec<u8> {
        let ModelRequest { model, system, tools, withheld, messages, files: _, parameters } = request;
        let mut body = json!([model, system, tools, withheld, messages, parameters]).to_string().into_bytes();
        if files::all(messages).next().is_some() {
            body.extend(openai_chat::body::body(request, &Quirks::COMPATIBLE));
        }
        body
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let count = self.count();
        let acts = (self.answers)(&request, count);
        let body = self.body(&request);
        self.requests.lock().unwrap().push((request, body));
        assert!(!acts.iter().any(|act| matches!(act, Act::PanicAtOnce)), "the script has the provider panic");
        async_stream::stream! {
            for act in acts {
                match act {
                    Act::Send(events) => yield Ok(events),
                    Act::Wait(gate) => gate.pass().await,
                    Act::Fail(error) => yield Err(error),
                    Act::Flood(deltas) => {
                        for _ in 0..deltas {
                            yield Ok(vec![ModelEvent::Text { block: 0, text: "x".into() }]);
                        }
                    }
                    Act::Panic | Act::PanicAtOnce => panic!("the script has the response panic"),
                }
            }
        }
        .boxed()
    }
}

pub(crate) fn text(text: &str) -> Act {
    Act::Send(vec![ModelEvent::Text { block: 0, text: text.into() }])
}

/// The terminal event of an answer of that text.
pub(crate) fn said(text: &str, finish: Finish) -> Act {
    finished(vec![Block::Text { text: text.into() }], finish)
}

/// A whole answer.
pub(crate) fn answer(words: &str) -> Vec<Act> {
    vec![text(words), said(words, Finish::Stop)]
}

/// A whole answer that calls tools: `(id, tool)`.
pub(crate) fn calls(ids: &[(&str, &str)]) -> Vec<Act> {
    vec![calling(ids, Finish::ToolCalls)]
}

pub(crate) fn calling(ids: &[(&str, &str)], finish: Finish) -> Act {
    finished(ids.iter().map(|(id, tool)| Block::ToolCall(call(id, tool))).collect(), finish)
}

pub(crate) fn call(id: &str, tool: &str) -> ToolCall {
    ToolCall { id: id.into(), tool: tool.into(), args: Args::from_model(&format!("{{\"of\":\"{id}\"}}")) }
}

pub(crate) fn finished(content: Vec<Block>, finish: Finish) -> Act {
    let usage = Usage { input: 10, output: 2, ..Usage::default() };
    Act::Send(vec![ModelEvent::Finished { content, finish, usage }])
}

pub(crate) fn failure(class: ErrorClass, retry_after: Option<Duration>) -> Act {
    Act::Fail(ModelError { class, code: "scripted", message: "as the script says".into(), retry_after })
}

/// A tool whose body notes that it ran and passes its gate, where it has one.
#[derive(Debug)]
pub(crate) struct TestTool {
    pub(crate) name: &'static str,
    pub(crate) policy: Policy,
    pub(crate) kind: CallKind,
    pub(crate) parallel: bool,
    pub(crate) idempotent: bool,
    /// By call id. A call without one ends at once.
    pub(crate) gates: Vec<(&'static str, Gate)>,
    /// Ends when it is told to.
    pub(crate) obeys: bool,
    pub(crate) panics: bool,
    /// What it returns, by call id; a short word where there is nothing.
    pub(crate) says: BTreeMap<String, String>,
    pub(crate) says_less: bool,
    pub(crate) trust: Trust,
    pub(crate) sources: Vec<Source>,
    /// Takes no arguments at all any more.
    pub(crate) refuses: Arc<AtomicBool>,
    /// Ids of calls whose bodies began.
    pub(crate) ran: Arc<Mutex<Vec<String>>>,
}

impl TestTool {
    pub(crate) fn new(name: &'static str, policy: Policy) -> Self {
        let (gates, ran) = (Vec::new(), Arc::default());
        Self {
            name,
            policy,
            kind: CallKind::Body,
            parallel: false,
            idempotent: false,
            gates,
            obeys: true,
            panics: false,
            says: BTreeMap::new(),
            says_less: false,
            trust: Trust::Untrusted,
            sources: Vec::new(),
            refuses: Arc::default(),
            ran,
        }
    }
}

impl Tool for TestTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.name, description: "For a test.".into(), schema: json!({"type": "object"}) }
    }

    fn default_policy(&self) -> Option<Policy> {
        Some(self.policy)
    }

    fn kind(&self) -> CallKind {
        self.kind
    }

    fn idempotent(&self) -> bool {
        self.idempotent
    }

    fn parallel(&self, _: &Args) -> bool {
        self.parallel
    }

    fn within(&self, content: &str, room: usize) -> Option<String> {
        self.says_less.then(|| format!("less: {}", &content[..room - 6]))
    }

    fn timeout(&self) -> Duration {
        Duration::from_secs(100)
    }

    fn check(&self, _: &Args) -> Result<(), String> {
        if self.refuses.load(Ordering::Relaxed) { Err("not these".into()) } else { Ok(()) }
    }

    fn call(&self, context: ToolContext, args: Args) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        let of = args.object().unwrap()["of"].as_str().unwrap().to_owned();
        self.ran.lock().unwrap().push(of.clone());
        let gate = self.gates.iter().find(|(id, _)| *id == of).map(|(_, gate)| gate.clone());
        let (obeys, panics, trust, sources) = (self.obeys, self.panics, self.trust, self.sources.clone());
        let content = self.says.get(&of).cloned().unwrap_or_else(|| format!("result of {of}"));
        Box::pin(async move {
            assert!(!panics, "the test has the tool panic");
            if let Some(gate) = gate {
                tokio::select! {
                    () = gate.pass() => {}
                    () = context.cancel.cancelled(), if obeys => return Err(ToolFailure::new("STOPPED", "it was told to end")),
                }
            }
            Ok(ToolOutput { content, trust, sources })
        })
    }
}

/// Counts.
#[derive(Debug, Default)]
pub(crate) struct Ids(AtomicU64);

impl IdSource for Ids {
    fn uuid(&self) -> Uuid {
        Uuid::from_u128(u128::from(self.0.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

/// A wall clock that goes with the runtime's.
#[derive(Debug)]
pub(crate) struct TestClock(Instant);

impl TestClock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(1_796_000_000_000) + self.0.elapsed()
    }
}
