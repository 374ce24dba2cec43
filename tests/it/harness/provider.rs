//! A scripted model behind both wires, on a bare socket, so that it can cut, split and hang at any byte.
//!
//! Every request is captured and checked on the spot: each tool call has its one result, in order, right behind it, and the tools offered
//! are the ones of the channel. What was found wrong fails the test when the provider is dropped.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::reply::{Act, Reply};
use super::{anthropic, soon};

type Fallback = Box<dyn Fn(&Value) -> Reply + Send>;

/// Tools that every channel has.
pub(crate) const EVERYWHERE: [&str; 2] = ["read_artifact", "web_fetch"];

/// The model's server.
#[derive(Debug)]
pub(crate) struct Provider {
    port: u16,
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Requests so far, and how many of their clients went away before the end.
    count: watch::Sender<(usize, usize)>,
}

struct State {
    scripts: HashMap<String, VecDeque<Reply>>,
    fallback: Option<Fallback>,
    gates: HashMap<String, Gate>,
    requests: Vec<Value>,
    /// The same, as they came.
    bodies: Vec<Vec<u8>>,
    offered: BTreeSet<String>,
    toolless: bool,
    wrong: Vec<String>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").field("requests", &self.requests.len()).field("wrong", &self.wrong).finish_non_exhaustive()
    }
}

/// Reached by the model, opened by the test.
#[derive(Clone, Debug)]
struct Gate {
    reached: watch::Sender<bool>,
    open: watch::Sender<bool>,
}

impl Provider {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port for the model");
        let port = listener.local_addr().unwrap().port();
        let state = State {
            scripts: HashMap::new(),
            fallback: None,
            gates: HashMap::new(),
            requests: Vec::new(),
            bodies: Vec::new(),
            offered: EVERYWHERE.map(str::to_owned).into(),
            toolless: false,
            wrong: Vec::new(),
        };
        let shared = Arc::new(Shared { state: Mutex::new(state), count: watch::Sender::new((0, 0)) });
        let server = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&server), socket));
            }
        });
        Self { port, shared, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("{}/v1", self.origin())
    }

    /// Where the Anthropic wire finds it.
    pub(crate) fn origin(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The next answer, in the order in which they are pushed.
    pub(crate) fn push(&self, reply: Reply) {
        self.on("", reply);
    }

    /// The next answer to a conversation whose last user message has `key` in it.
    pub(crate) fn on(&self, key: &str, reply: Reply) {
        self.shared.state.lock().unwrap().scripts.entry(key.into()).or_default().push_back(reply);
    }

    /// Answers where no script does. Without it the model answers `re: <last user text>`.
    pub(crate) fn otherwise(&self, reply: impl Fn(&Value) -> Reply + Send + 'static) {
        self.shared.state.lock().unwrap().fallback = Some(Box::new(reply));
    }

    /// The tools that each request must offer beside [`EVERYWHERE`]; none unless this is called.
    pub(crate) fn offers(&self, tools: &[&str]) {
        self.offers_only(&[tools, &EVERYWHERE].concat());
    }

    /// The tools that each request must offer.
    pub(crate) fn offers_only(&self, tools: &[&str]) {
        self.shared.state.lock().unwrap().offered = tools.iter().map(|t| (*t).to_owned()).collect();
    }

    /// Requests without tools, or with those of [`EVERYWHERE`] alone, are right as well: a turn at its limit, other channels.
    pub(crate) fn may_offer_none(&self) {
        self.shared.state.lock().unwrap().toolless = true;
    }

    /// Lets the model go on at a gate, now or when it gets there.
    pub(crate) fn open(&self, gate: &str) {
        self.shared.gate(gate).open.send_replace(true);
    }

    /// Waits until the model stands at a gate.
    pub(crate) async fn reached(&self, gate: &str) {
        let mut reached = self.shared.gate(gate).reached.subscribe();
        soon(&format!("the model at gate {gate}"), reached.wait_for(|r| *r)).await.unwrap();
    }

    /// The body of the request of that number, counted from 1, once it is there.
    pub(crate) async fn request(&self, number: usize) -> Value {
        let mut count = self.shared.count.subscribe();
        soon(&format!("request {number} to the model"), count.wait_for(|(n, _)| *n >= number)).await.unwrap();
        self.shared.state.lock().unwrap().requests[number - 1].clone()
    }

    /// Waits until that many requests were given up by the gateway before their end.
    pub(crate) async fn abandoned(&self, number: usize) {
        let mut count = self.shared.count.subscribe();
        soon(&format!("{number} abandoned requests"), count.wait_for(|(_, gone)| *gone >= number)).await.unwrap();
    }

    pub(crate) fn requests(&self) -> Vec<Value> {
        self.shared.state.lock().unwrap().requests.clone()
    }

    /// The bodies of all requests, byte for byte.
    pub(crate) fn bodies(&self) -> Vec<Vec<u8>> {
        self.shared.state.lock().unwrap().bodies.clone()
    }
}

impl Drop for Provider {
    fn drop(&mut self) {
        self.accepting.abort();
        let wrong = self.shared.state.lock().map(|s| s.wrong.clone()).unwrap_or_default();
        if !wrong.is_empty() && !std::thread::panicking() {
            panic!("requests to the model that were wrong: {wrong:#?}");
        }
    }
}

impl Shared {
    fn gate(&self, name: &str) -> Gate {
        let fresh = || Gate { reached: watch::Sender::new(false), open: watch::Sender::new(false) };
        self.state.lock().unwrap().gates.entry(name.into()).or_insert_with(fresh).clone()
    }

    /// Captures and checks a request, and chooses its answer.
    fn answer(&self, bytes: Vec<u8>, body: Value) -> Reply {
        let mut state = self.state.lock().unwrap();
        let wrong = check(&body, &state.offered, state.toolless);
        state.wrong.extend(wrong.into_iter().map(|why| format!("{why}: {body}")));
        let asked = last_user(&body);
        let keyed = state.scripts.iter_mut().find(|(key, queue)| !key.is_empty() && asked.contains(*key) && !queue.is_empty());
        let scripted = match keyed {
            Some((_, queue)) => queue.pop_front(),
            None => state.scripts.get_mut("").and_then(VecDeque::pop_front),
        };
        let reply = scripted.unwrap_or_else(|| match &state.fallback {
            Some(reply) => reply(&body),
            None => Reply::text(&format!("re: {asked}")),
        });
        state.requests.push(body);
        state.bodies.push(bytes);
        self.count.send_modify(|(n, _)| *n = state.requests.len());
        reply
    }
}

/// The text of the last user message, wherever the wire puts it.
pub(crate) fn last_user(body: &Value) -> String {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    messages.iter().rfind(|m| m["role"] == "user").map(|m| plain(&m["content"])).unwrap_or_default()
}

/// The text of a message's content, given as a string or in parts.
pub(crate) fn plain(content: &Value) -> String {
    match content.as_array() {
        Some(parts) => parts.iter().filter_map(|p| p["text"].as_str()).collect(),
        None => content.as_str().unwrap_or_default().to_owned(),
    }
}

/// Tool results of the conversation, as `(tool_call_id, content)`.
pub(crate) fn results(body: &Value) -> Vec<(String, String)> {
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let tools = messages.iter().filter(|m| m["role"] == "tool");
    tools.map(|m| (m["tool_call_id"].as_str().unwrap_or_default().to_owned(), plain(&m["content"]))).collect()
}

/// Names of the tools that a request offers.
pub(crate) fn tools_of(body: &Value) -> BTreeSet<String> {
    if body.pointer("/tool_choice/type").is_some_and(|choice| choice == "none") {
        return BTreeSet::new();
    }
    let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
    tools.iter().filter_map(|t| t.pointer("/function/name").or_else(|| t.get("name"))?.as_str().map(str::to_owned)).collect()
}

/// What is wrong with a request.
pub(super) fn check(body: &Value, offered: &BTreeSet<String>, toolless: bool) -> Vec<String> {
    let mut wrong = Vec::new();
    let tools = tools_of(body);
    if tools != *offered && !(toolless && (tools.is_empty() || tools.iter().eq(&EVERYWHERE))) {
        wrong.push(format!("offers {tools:?}, not {offered:?}"));
    }
    if anthropic::is(body) {
        wrong.extend(anthropic::check(body));
        return wrong;
    }
    let mut owed: VecDeque<String> = VecDeque::new();
    let mut known = BTreeSet::new();
    for message in body["messages"].as_array().map(Vec::as_slice).unwrap_or_default() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            if owed.pop_front().as_deref() != Some(id) {
                wrong.push(format!("a result for {id:?} out of place"));
            }
            continue;
        }
        if !owed.is_empty() {
            wrong.push(format!("no result for {owed:?}"));
        }
        let calls = message["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
        owed = calls.iter().filter_map(|c| c["id"].as_str().map(str::to_owned)).collect();
        if owed.len() != calls.len() || !owed.iter().all(|id| known.insert(id.clone())) {
            wrong.push(format!("calls without an id, or one id twice: {calls:?}"));
        }
    }
    if !owed.is_empty() {
        wrong.push(format!("no result for {owed:?} at the end"));
    }
    wrong
}

async fn serve(shared: Arc<Shared>, mut socket: TcpStream) {
    let Some(bytes) = read_request(&mut socket).await else {
        return;
    };
    let Ok(body) = serde_json::from_slice(&bytes) else {
        return;
    };
    let reply = shared.answer(bytes, body);
    if play(&shared, &mut socket, reply).await.is_none() {
        shared.count.send_modify(|(_, gone)| *gone += 1);
    }
}

async fn read_request(socket: &mut TcpStream) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
            let length = head.lines().find_map(|l| l.strip_prefix("content-length:")).and_then(|l| l.trim().parse().ok());
            let length: usize = length.unwrap_or_default();
            if bytes.len() >= end + 4 + length {
                return Some(bytes[end + 4..end + 4 + length].to_vec());
            }
        }
        if socket.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}

/// Plays the script; `None` where the client went away before its end.
async fn play(shared: &Shared, socket: &mut TcpStream, reply: Reply) -> Option<()> {
    socket.set_nodelay(true).ok()?;
    let kind = if reply.status == 200 { "text/event-stream" } else { "application/json" };
    let mut head = format!("HTTP/1.1 {} Scripted\r\nContent-Type: {kind}\r\nConnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("Transfer-Encoding: chunked\r\n\r\n");
    socket.write_all(head.as_bytes()).await.ok()?;
    let mut left = reply.limit;
    for act in &reply.acts {
        match act {
            Act::Data(data) if reply.status == 200 => {
                let frame = format!("data: {data}\n\n").into_bytes();
                write(socket, &frame[..left.min(frame.len())], reply.split).await?;
                left = left.saturating_sub(frame.len());
                if left == 0 {
                    return Some(());
                }
            }
            Act::Data(data) => write(socket, data.as_bytes(), reply.split).await?,
            Act::Gate(name) => {
                let gate = shared.gate(name);
                gate.reached.send_replace(true);
                let mut open = gate.open.subscribe();
                tokio::select! {
                    _ = open.wait_for(|o| *o) => {}
                    () = gone(socket) => return None,
                }
            }
            Act::Cut => return Some(()),
            Act::Hang => {
                gone(socket).await;
                return None;
            }
        }
    }
    socket.write_all(b"0\r\n\r\n").await.ok()
}

async fn write(socket: &mut TcpStream, bytes: &[u8], split: usize) -> Option<()> {
    for piece in bytes.chunks(if split == 0 { bytes.len().max(1) } else { split }) {
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(piece);
        chunk.extend_from_slice(b"\r\n");
        socket.write_all(&chunk).await.ok()?;
    }
    Some(())
}

async fn gone(socket: &mut TcpStream) {
    let mut byte = [0];
    while socket.read(&mut byte).await.is_ok_and(|n| n > 0) {}
}
