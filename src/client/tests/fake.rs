//! A gateway for tests: speaks the wire of the real one over a real socket, and does only what the test tells it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_stream::stream;
use axum::Router;
use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::client::api::Api;
use crate::domain::{Cursor, SessionId};

const DEADLINE: Duration = Duration::from_secs(20);

/// A request that the client made.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// What the next call to a path that ends so is answered instead.
pub(crate) enum Trouble {
    Problem(u16, &'static str),
    /// Taken, but the answer is cut.
    LostAnswer,
    /// Taken, and never answered.
    NoAnswer,
}

pub(crate) struct Fake {
    pub(crate) url: String,
    calls: mpsc::UnboundedReceiver<Call>,
    ledger: Shared,
}

type Shared = Arc<Gateway>;

struct Gateway {
    state: Mutex<Ledger>,
    /// Counts changes; readers look again at each.
    changed: watch::Sender<u64>,
    calls: mpsc::UnboundedSender<Call>,
}

#[derive(Default)]
struct Ledger {
    records: Vec<(u64, String, Value)>,
    /// Of the open attempt: the seq they were made at.
    deltas: Vec<(u64, &'static str, Value)>,
    attempt: u64,
    turn: Option<u64>,
    turns: u64,
    pending: Vec<Value>,
    /// Connections of an earlier epoch end, with this frame first.
    epoch: u64,
    farewell: String,
    messages: u64,
    trouble: VecDeque<(&'static str, Trouble)>,
}

pub(crate) async fn start() -> Fake {
    let (calls, received) = mpsc::unbounded_channel();
    let gateway = Arc::new(Gateway { state: Mutex::default(), changed: watch::channel(0).0, calls });
    let router = Router::new()
        .route("/v1/sessions", post(simple))
        .route("/v1/sessions/{id}", get(simple))
        .route("/v1/sessions/{id}/events", get(events))
        .route("/v1/sessions/{id}/{*rest}", post(simple))
        .with_state(gateway.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    Fake { url, calls: received, ledger: gateway }
}

impl Fake {
    pub(crate) fn api(&self) -> Api {
        Api::new(self.url.parse().unwrap(), Some("pl_test".into())).unwrap()
    }

    pub(crate) fn session(&self) -> SessionId {
        "ses_1".into()
    }

    /// The next call to a path that ends so; others before it are passed over.
    pub(crate) async fn call(&mut self, suffix: &str) -> Call {
        let wait = async {
            loop {
                let call = self.calls.recv().await.unwrap();
                if call.path.ends_with(suffix) {
                    return call;
                }
            }
        };
        tokio::time::timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("no call to {suffix}"))
    }

    /// Appends a record; `fields` are its own.
    pub(crate) fn record(&self, event: &str, fields: Value) {
        self.ledger.record(event, fields);
    }

    pub(crate) fn text(&self, message_id: &str, text: &str) {
        self.change(|ledger| {
            let at = ledger.head();
            ledger.deltas.push((at, "text_delta", json!({"message_id": message_id, "block": 0, "text": text})));
        });
    }

    pub(crate) fn message(&self, message_id: &str, text: &str) {
        self.record("message", json!({"message_id": message_id, "content": [{"type": "text", "text": text}], "finish": "stop"}));
    }

    pub(crate) fn done(&self, reason: &str, answer: &str) {
        self.record(
            "done",
            json!({"reason": reason, "answer": answer, "message_ids": [], "tool_calls": [], "steps": 1, "total_time_ms": 10}),
        );
    }

    /// Opens a turn that claims the newest message.
    pub(crate) fn turn(&self) {
        let id = self.ledger.state.lock().unwrap().messages;
        self.record("turn_start", json!({"message_ids": [format!("msg_{id}")]}));
        self.record("request", json!({"attempt": 1}));
    }

    /// Ends every connection to the feed, after `farewell`.
    pub(crate) fn cut(&self, farewell: &str) {
        self.change(|ledger| {
            ledger.epoch += 1;
            ledger.farewell = farewell.into();
        });
    }

    pub(crate) fn trouble(&self, suffix: &'static str, trouble: Trouble) {
        self.change(|ledger| ledger.trouble.push_back((suffix, trouble)));
    }

    /// Leaves the next call to such a path without an answer.
    pub(crate) fn hold(&self, suffix: &'static str) {
        self.trouble(suffix, Trouble::NoAnswer);
    }

    fn change(&self, change: impl FnOnce(&mut Ledger)) {
        self.ledger.change(change);
    }
}

impl Gateway {
    fn change<T>(&self, change: impl FnOnce(&mut Ledger) -> T) -> T {
        let result = change(&mut self.state.lock().unwrap());
        self.changed.send_modify(|n| *n += 1);
        result
    }

    fn record(&self, event: &str, fields: Value) -> u64 {
        self.change(|ledger| ledger.append(event, fields))
    }
}

impl Ledger {
    fn head(&self) -> u64 {
        self.records.last().map_or(0, |(seq, ..)| *seq)
    }

    fn append(&mut self, event: &str, fields: Value) -> u64 {
        let seq = self.head() + 1;
        if closes(event) {
            self.attempt += 1;
            self.deltas.clear();
        }
        match event {
            "turn_start" => {
                self.turns += 1;
                self.turn = Some(self.turns);
            }
            "approval_requested" | "question_asked" => self.pending.push(fields.clone()),
            "tool_approval" | "question_answered" => self.pending.clear(),
            _ => {}
        }
        let mut data = json!({"seq": seq, "at": "2026-11-30T21:00:00.000Z", "type": event});
        if !event.starts_with("message_") {
            data["turn"] = json!(self.turn);
        }
        let Value::Object(fields) = fields else { panic!("fields are an object") };
        data.as_object_mut().unwrap().extend(fields);
        self.records.push((seq, event.into(), data));
        if event == "done" {
            self.turn = None;
            self.pending.clear();
        }
        seq
    }

    fn hello(&self) -> Value {
        let of = |key: &str| -> Vec<&Value> { self.pending.iter().filter(|p| p.get(key).is_some()).collect() };
        json!({"session_id": "ses_1", "head": self.head(), "turn": self.turn, "approvals": of("approval_id"), "questions": of("question_id"), "client_calls": []})
    }

    /// The next frame for a reader at that cursor, which it moves.
    fn next_frame(&self, at: &mut Cursor, attempt: &mut u64) -> Option<String> {
        if *attempt != self.attempt {
            (*attempt, at.n) = (self.attempt, 0);
        }
        let record = self.records.iter().find(|(seq, ..)| *seq > at.seq);
        let delta = self.deltas.get(usize::try_from(at.n).unwrap());
        let (event, data) = match (record, delta) {
            (Some((seq, event, data)), delta) if delta.is_none_or(|(made_at, ..)| seq <= made_at) => {
                at.seq = *seq;
                (event.as_str(), data)
            }
            (_, Some((_, event, data))) => {
                at.n += 1;
                (*event, data)
            }
            _ => return None,
        };
        Some(format!("event: {event}\nid: {at}\ndata: {data}\n\n"))
    }
}

fn closes(event: &str) -> bool {
    matches!(event, "request" | "message" | "retry" | "done")
}

/// Every call that is answered at once. The test hears of it when its effect stands in the ledger.
async fn simple(State(gateway): State<Shared>, method: Method, uri: axum::http::Uri, headers: HeaderMap, body: String) -> Response {
    let call = Call { path: uri.path().to_owned(), headers, body: serde_json::from_str(&body).unwrap_or_default() };
    let trouble = gateway.change(|ledger| take_trouble(ledger, &call.path));
    let response = answer(&gateway, &method, &call, trouble.as_ref());
    let _ = gateway.calls.send(call);
    if let Some(Trouble::NoAnswer) = trouble {
        std::future::pending::<()>().await;
    }
    response
}

fn answer(gateway: &Gateway, method: &Method, call: &Call, trouble: Option<&Trouble>) -> Response {
    let Call { path, headers, body } = call;
    if let Some(Trouble::Problem(status, code)) = trouble {
        return problem(*status, code);
    }
    let is_key = headers.get("authorization").is_some_and(|v| v == "Bearer pl_test");
    if *method == Method::POST && !is_key {
        return problem(403, "local_key_required");
    }
    let (status, answer) = match path.rsplit('/').next().unwrap() {
        "sessions" => (StatusCode::CREATED, json!({"id": "ses_1", "channel": body["channel"], "status": "idle"})),
        "messages" => {
            let (id, seq) = gateway.change(|ledger| {
                ledger.messages += 1;
                let id = format!("msg_{}", ledger.messages);
                let seq = ledger.append(
                    "message_queued",
                    json!({"message_id": id, "target": "next_turn", "mode": "steer", "text": body["text"], "author": "local"}),
                );
                (id, seq)
            });
            (StatusCode::ACCEPTED, json!({"message_id": id, "session_id": "ses_1", "seq": seq, "status": "queued"}))
        }
        _ => (StatusCode::OK, json!({})),
    };
    if let Some(Trouble::LostAnswer) = trouble {
        let cut = stream! { yield Err::<Vec<u8>, _>(std::io::Error::other("cut")); };
        return (status, Body::from_stream(cut)).into_response();
    }
    (status, axum::Json(answer)).into_response()
}

async fn events(
    State(gateway): State<Shared>,
    Path(id): Path<String>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response {
    let path = format!("/v1/sessions/{id}/events");
    let last_id = headers.get("last-event-id").and_then(|v| v.to_str().ok()).map(str::to_owned);
    let after = last_id.or_else(|| query.iter().find(|(k, _)| k == "after").map(|(_, v)| v.clone())).unwrap_or_default();
    let call = Call { path: path.clone(), headers, body: json!({"after": after}) };
    if let Some(Trouble::Problem(status, code)) = gateway.change(|ledger| take_trouble(ledger, &path)) {
        let _ = gateway.calls.send(call);
        return problem(status, code);
    }
    let mut at: Cursor = after.parse().unwrap();
    let mut changed = gateway.changed.subscribe();
    let (mut attempt, epoch, hello) = {
        let ledger = gateway.state.lock().unwrap();
        let moved_on = ledger.records.iter().any(|(seq, event, _)| *seq > at.seq && closes(event));
        if moved_on {
            at.n = 0;
        }
        (ledger.attempt, ledger.epoch, ledger.hello())
    };
    let _ = gateway.calls.send(call);
    let frames = stream! {
        yield Ok::<_, Infallible>(format!("retry: 1\n\nevent: hello\ndata: {hello}\n\n"));
        loop {
            let (frame, farewell) = {
                let ledger = gateway.state.lock().unwrap();
                (ledger.next_frame(&mut at, &mut attempt), (ledger.epoch != epoch).then(|| ledger.farewell.clone()))
            };
            match (frame, farewell) {
                (Some(frame), _) => yield Ok(frame),
                (None, Some(farewell)) => {
                    yield Ok(farewell);
                    return;
                }
                (None, None) => if changed.changed().await.is_err() { return },
            }
        }
    };
    ([("content-type", "text/event-stream")], Body::from_stream(frames)).into_response()
}

fn take_trouble(ledger: &mut Ledger, path: &str) -> Option<Trouble> {
    let at = ledger.trouble.iter().position(|(suffix, _)| path.ends_with(suffix))?;
    ledger.trouble.remove(at).map(|(_, trouble)| trouble)
}

fn problem(status: u16, code: &str) -> Response {
    let body = json!({"type": "about:blank", "title": code, "status": status, "detail": format!("detail of {code}"), "code": code, "request_id": "r"});
    (StatusCode::from_u16(status).unwrap(), [("content-type", "application/problem+json")], body.to_string()).into_response()
}
