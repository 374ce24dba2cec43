//! Meta's Graph, as far as a WhatsApp number uses it: it takes messages and signs, and refuses or holds them where a test says so.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use super::hook::TOKEN;

/// The platform's server.
#[derive(Debug)]
pub(crate) struct Graph {
    port: u16,
    shared: Arc<Shared>,
    accepting: tokio::task::JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    held: watch::Sender<bool>,
}

#[derive(Debug, Default)]
struct State {
    /// Messages that were taken: the number that sent, the body, and the id that was given.
    taken: Vec<(String, Value, String)>,
    signs: Vec<Value>,
    /// Requests for a message, refused ones too.
    calls: usize,
    refusals: VecDeque<(u16, u64)>,
    always: Option<(u16, u64)>,
    wrong: Vec<String>,
}

impl Graph {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port for the Graph");
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared { state: Mutex::default(), held: watch::Sender::new(false) });
        let server = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(Arc::clone(&server), socket));
            }
        });
        Self { port, shared, accepting }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/v26.0", self.port)
    }

    /// Messages that were taken, in order.
    pub(crate) fn messages(&self) -> Vec<Value> {
        self.shared.state.lock().unwrap().taken.iter().map(|(_, body, _)| body.clone()).collect()
    }

    /// The ids that these were given.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.shared.state.lock().unwrap().taken.iter().map(|(_, _, id)| id.clone()).collect()
    }

    /// The numbers that sent them.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.shared.state.lock().unwrap().taken.iter().map(|(line, ..)| line.clone()).collect()
    }

    /// Signs that a message was read and somebody writes.
    pub(crate) fn signs(&self) -> Vec<Value> {
        self.shared.state.lock().unwrap().signs.clone()
    }

    /// Requests for a message so far, refused and held ones too.
    pub(crate) fn calls(&self) -> usize {
        self.shared.state.lock().unwrap().calls
    }

    /// Refuses the next message with that status and code.
    pub(crate) fn refuse_next(&self, status: u16, code: u64) {
        self.shared.state.lock().unwrap().refusals.push_back((status, code));
    }

    pub(crate) fn refuse_all(&self, status: u16, code: u64) {
        self.shared.state.lock().unwrap().always = Some((status, code));
    }

    pub(crate) fn accept_all(&self) {
        self.shared.state.lock().unwrap().always = None;
    }

    /// Answers no message until [`release`](Self::release).
    pub(crate) fn hold(&self) {
        self.shared.held.send_replace(true);
    }

    pub(crate) fn release(&self) {
        self.shared.held.send_replace(false);
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        self.accepting.abort();
        if !std::thread::panicking() {
            let state = self.shared.state.lock().unwrap();
            assert!(state.wrong.is_empty(), "what the Graph was sent: {:#?}", state.wrong);
        }
    }
}

async fn serve(shared: Arc<Shared>, mut socket: TcpStream) -> Option<()> {
    let mut bytes = Vec::new();
    loop {
        let (head, body) = read(&mut socket, &mut bytes).await?;
        let (status, answer) = answer(&shared, &head, &body).await;
        let text = answer.to_string();
        let head = format!("HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n", text.len());
        socket.write_all((head + &text).as_bytes()).await.ok()?;
    }
}

/// One request: its head and its body.
async fn read(socket: &mut TcpStream, bytes: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok()).unwrap_or(0);
            if bytes.len() >= end + 4 + length {
                let body = bytes[end + 4..end + 4 + length].to_vec();
                bytes.drain(..end + 4 + length);
                return Some((head, body));
            }
        }
        if socket.read_buf(bytes).await.ok()? == 0 {
            return None;
        }
    }
}

async fn answer(shared: &Shared, head: &str, body: &[u8]) -> (u16, Value) {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let mut request = head.split(' ').skip(1);
    let path = request.next().unwrap_or_default().to_owned();
    let line = path.split('/').nth(2).unwrap_or_default().to_owned();
    let bearer = format!("authorization: bearer {}", TOKEN.to_ascii_lowercase());
    {
        let mut state = shared.state.lock().unwrap();
        if !head.to_ascii_lowercase().contains(&bearer) || !path.ends_with("/messages") || body["messaging_product"] != "whatsapp" {
            state.wrong.push(format!("{path}: {body}"));
        }
        if body["status"] == "read" {
            state.signs.push(body);
            return (200, json!({"success": true}));
        }
        state.calls += 1;
        let refusal = state.refusals.pop_front().or(state.always);
        if let Some((status, code)) = refusal {
            return (status, json!({"error": {"message": "refused", "type": "OAuthException", "code": code, "fbtrace_id": "A1"}}));
        }
    }
    let _ = shared.held.subscribe().wait_for(|held| !held).await;
    let mut state = shared.state.lock().unwrap();
    let id = format!("wamid.OURS{}", state.taken.len() + 1);
    state.taken.push((line, body.clone(), id.clone()));
    (200, json!({"messaging_product": "whatsapp", "contacts": [], "messages": [{"id": id}]}))
}
