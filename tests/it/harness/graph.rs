//! Meta's side of WhatsApp: a Graph API of the tests' own, over a real socket, that refuses what the documented limits forbid, and the
//! platform's hand that signs what it posts.
//!
//! It knows what the pages say and nothing of the gateway's own types, so that an error of the gateway's is not shared. What the gateway
//! asked wrongly fails the test when the graph is dropped, unless the test wanted a refusal.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::{Answer, http, soon};

pub(crate) mod payload;
mod rules;
pub(crate) mod sign;

pub(crate) const PHONE_NUMBER_ID: &str = "100000000000001";
/// That one, and another of the same app.
pub(crate) const NUMBERS: [&str; 2] = [PHONE_NUMBER_ID, "100000000000002"];
pub(crate) const DISPLAY_PHONE: &str = "15550109000";
pub(crate) const ACCESS_TOKEN: &str = "EAAsampletoken";
pub(crate) const APP_SECRET: &str = "sample_app_secret";
pub(crate) const VERIFY_TOKEN: &str = "sample_verify_token";

/// What the graph does with the next message, instead of taking it.
#[derive(Clone, Debug)]
pub(crate) enum Mishap {
    /// Refuses with this status and Meta's own number.
    Refuses { status: u16, code: u32 },
    /// The same, and says after how many seconds to come back.
    RefusesFor { status: u16, code: u32, seconds: u64 },
    /// Takes it, and answers with this status all the same.
    AcceptsBut { status: u16 },
    /// Takes it, and cuts the connection.
    AcceptsAndCuts,
    /// Takes it once the gate of this name is open.
    WaitsAt(&'static str),
}

/// A message that the gateway sent and that the graph took.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    /// The platform's id of it.
    pub(crate) id: String,
    /// The number that it went out by.
    pub(crate) line: String,
    pub(crate) body: Value,
    /// Whether anybody ever gets it.
    pub(crate) arrives: bool,
}

#[derive(Debug)]
pub(crate) struct Graph {
    port: u16,
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// How many messages were taken, and how many requests came.
    count: watch::Sender<(usize, usize)>,
}

#[derive(Debug, Default)]
struct State {
    mishaps: VecDeque<Mishap>,
    /// What happens where nothing else is ordered.
    always: Option<Mishap>,
    /// Requests for a message.
    calls: usize,
    gates: HashMap<String, watch::Sender<bool>>,
    requests: Vec<Value>,
    sent: Vec<Sent>,
    receipts: Vec<Value>,
    media: HashMap<String, (Value, Vec<u8>)>,
    wrong: Vec<String>,
}

impl Graph {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port for the graph");
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { state: Mutex::default(), count: watch::Sender::new((0, 0)) });
        let server = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&server), socket));
            }
        });
        Self { port, shared, accepting }
    }

    /// What `graph_url` is set to.
    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v26.0", self.port)
    }

    /// What happens to the next message; in the order in which they are pushed.
    pub(crate) fn next(&self, mishap: Mishap) {
        self.shared.state.lock().unwrap().mishaps.push_back(mishap);
    }

    /// What happens to every message from here on.
    pub(crate) fn always(&self, mishap: Option<Mishap>) {
        self.shared.state.lock().unwrap().always = mishap;
    }

    /// Requests for a message so far, refused and waiting ones too.
    pub(crate) fn calls(&self) -> usize {
        self.shared.state.lock().unwrap().calls
    }

    pub(crate) fn open(&self, gate: &str) {
        self.shared.gate(gate).send_replace(true);
    }

    /// A file that may be fetched by this id.
    pub(crate) fn holds(&self, media_id: &str, mime: &str, file: &[u8]) {
        let url = format!("http://127.0.0.1:{}/file/{media_id}", self.port);
        let media = json!({"messaging_product": "whatsapp", "url": url, "mime_type": mime, "file_size": file.len(), "id": media_id});
        self.shared.state.lock().unwrap().media.insert(media_id.to_owned(), (media, file.to_vec()));
    }

    /// The message of that number that was taken, counted from 1, once it is there.
    pub(crate) async fn sent(&self, number: usize) -> Sent {
        let mut count = self.shared.count.subscribe();
        soon(&format!("message {number} to WhatsApp"), count.wait_for(|(sent, _)| *sent >= number)).await.unwrap();
        self.all_sent()[number - 1].clone()
    }

    /// The body of the request of that number, messages and receipts, refused ones too.
    pub(crate) async fn request(&self, number: usize) -> Value {
        let mut count = self.shared.count.subscribe();
        soon(&format!("request {number} to WhatsApp"), count.wait_for(|(_, requests)| *requests >= number)).await.unwrap();
        self.shared.state.lock().unwrap().requests[number - 1].clone()
    }

    /// What was taken so far.
    pub(crate) fn all_sent(&self) -> Vec<Sent> {
        self.shared.state.lock().unwrap().sent.clone()
    }

    /// The receipts, with the sign of writing, so far.
    pub(crate) fn receipts(&self) -> Vec<Value> {
        self.shared.state.lock().unwrap().receipts.clone()
    }

    /// What the graph had to refuse so far; a test that wants a refusal takes it away here.
    pub(crate) fn take_wrong(&self) -> Vec<String> {
        std::mem::take(&mut self.shared.state.lock().unwrap().wrong)
    }

    /// Posts a payload to the webhook of the gateway on this port, signed as Meta signs.
    pub(crate) async fn says(&self, gateway: u16, payload: impl Into<Vec<u8>>) -> Answer {
        let body = payload.into();
        let signature = sign::signature(APP_SECRET, &body);
        let headers = [("content-type", "application/json"), ("x-hub-signature-256", signature.as_str())];
        let answer = http::request(gateway, "POST", "/channels/whatsapp/main", &headers, Some(&body)).await;
        answer.expect("an answer to the webhook")
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.accepting.abort();
        let wrong = self.take_wrong();
        if !wrong.is_empty() && !std::thread::panicking() {
            panic!("the gateway asked WhatsApp wrongly: {wrong:?}");
        }
    }
}

impl Shared {
    fn gate(&self, name: &str) -> watch::Sender<bool> {
        self.state.lock().unwrap().gates.entry(name.into()).or_insert_with(|| watch::Sender::new(false)).clone()
    }

    fn accept(&self, line: &str, body: &Value) -> Value {
        let mut state = self.state.lock().unwrap();
        let id = format!("wamid.OUT{}", state.sent.len() + 1);
        let arrives = !rules::vanishes(body);
        state.sent.push(Sent { id: id.clone(), line: line.to_owned(), body: body.clone(), arrives });
        self.count.send_modify(|(sent, _)| *sent += 1);
        let to = body.get("to").or_else(|| body.get("recipient"));
        json!({"messaging_product": "whatsapp", "contacts": [{"input": to}], "messages": [{"id": id}]})
    }

    /// The answer to a message; `None` is a cut connection.
    async fn message(&self, line: &str, body: &Value) -> Option<Reply> {
        let mishap = {
            let mut state = self.state.lock().unwrap();
            state.calls += 1;
            state.mishaps.pop_front().or_else(|| state.always.clone())
        };
        match mishap {
            None => {}
            Some(Mishap::Refuses { status, code }) => return Some(Reply::refused(status, code, "ordered")),
            Some(Mishap::RefusesFor { status, code, seconds }) => {
                return Some(Reply { headers: format!("retry-after: {seconds}\r\n"), ..Reply::refused(status, code, "ordered") });
            }
            Some(Mishap::AcceptsBut { status }) => {
                self.accept(line, body);
                return Some(Reply { status, headers: String::new(), body: b"<html>gateway error</html>".to_vec() });
            }
            Some(Mishap::AcceptsAndCuts) => {
                self.accept(line, body);
                return None;
            }
            Some(Mishap::WaitsAt(gate)) => {
                let mut open = self.gate(gate).subscribe();
                let _ = open.wait_for(|open| *open).await;
            }
        }
        Some(Reply::json(200, &self.accept(line, body)))
    }

    async fn answer(&self, head: &str, body: &[u8]) -> Option<Reply> {
        let line = head.lines().next().unwrap_or_default();
        let lower = head.to_ascii_lowercase();
        if !lower.contains(&format!("authorization: bearer {}", ACCESS_TOKEN.to_ascii_lowercase())) {
            return Some(self.wrong(401, 190, "no access token"));
        }
        if line.starts_with("GET ") {
            return Some(self.file(line.split(' ').nth(1).unwrap_or_default()));
        }
        let body: Value = match serde_json::from_slice(body) {
            Ok(body) if NUMBERS.iter().any(|number| line.starts_with(&format!("POST /v26.0/{number}/messages "))) => body,
            _ => return Some(self.wrong(400, 100, "no such call")),
        };
        let number = line.split('/').nth(2).unwrap_or_default();
        self.state.lock().unwrap().requests.push(body.clone());
        self.count.send_modify(|(_, requests)| *requests += 1);
        if let Err((code, why)) = rules::check(&body) {
            return Some(self.wrong(400, code, &why));
        }
        if body["status"] == "read" {
            self.state.lock().unwrap().receipts.push(body);
            return Some(Reply::json(200, &json!({"success": true})));
        }
        self.message(number, &body).await
    }

    fn file(&self, path: &str) -> Reply {
        let state = self.state.lock().unwrap();
        let id = path.rsplit('/').next().unwrap_or_default();
        match state.media.get(id) {
            Some((_, file)) if path.starts_with("/file/") => Reply { status: 200, headers: String::new(), body: file.clone() },
            Some((media, _)) => Reply::json(200, media),
            None => Reply::refused(400, 100, "no such object"),
        }
    }

    fn wrong(&self, status: u16, code: u32, why: &str) -> Reply {
        self.state.lock().unwrap().wrong.push(why.to_owned());
        Reply::refused(status, code, why)
    }
}

struct Reply {
    status: u16,
    headers: String,
    body: Vec<u8>,
}

impl Reply {
    fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: "content-type: application/json\r\n".into(), body: body.to_string().into_bytes() }
    }

    fn refused(status: u16, code: u32, why: &str) -> Self {
        let error = json!({"message": format!("(#{code}) refused"), "type": "OAuthException", "code": code,
            "error_data": {"messaging_product": "whatsapp", "details": why}, "fbtrace_id": "A1"});
        Self::json(status, &json!({"error": error}))
    }
}

async fn serve(shared: Arc<Shared>, mut socket: TcpStream) -> Option<()> {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let lower = head.to_ascii_lowercase();
            let length = lower.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                break (head, bytes[end + 4..end + 4 + length].to_vec());
            }
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let reply = shared.answer(&head, &body).await?;
    let Reply { status, headers, body } = reply;
    let head = format!("HTTP/1.1 {status} Graph\r\n{headers}content-length: {}\r\nconnection: close\r\n\r\n", body.len());
    socket.write_all(&[head.as_bytes(), &body].concat()).await.ok()
}
