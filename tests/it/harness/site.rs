//! A web server of the tests' own: it gives everybody the same bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex, watch};

use super::soon;

/// What a server does with whoever asks.
#[derive(Clone, Copy)]
pub(crate) enum Then {
    Close,
    Hang,
}

/// A web server that gives everybody the same bytes.
pub(crate) struct Site {
    pub(crate) port: u16,
    connections: Arc<AtomicUsize>,
    /// How many have the whole answer on its way to them.
    answered: watch::Receiver<usize>,
    pub(crate) requests: Arc<Mutex<Vec<String>>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Site {
    pub(crate) async fn start(answer: Vec<u8>, then: Then) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (connections, requests) = (Arc::new(AtomicUsize::new(0)), Arc::<Mutex<Vec<String>>>::default());
        let (counter, seen) = (connections.clone(), requests.clone());
        let (sent, answered) = watch::channel(0);
        let accepting = tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                seen.lock().await.push(request(&mut socket).await);
                let _ = socket.write_all(&answer).await;
                sent.send_modify(|count| *count += 1);
                if matches!(then, Then::Hang) {
                    let _ = socket.read_buf(&mut Vec::new()).await;
                }
            }
        });
        Self { port, connections, answered, requests, accepting }
    }

    pub(crate) async fn page(content_type: &str, body: &[u8]) -> Self {
        let head =
            format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
        Self::start([head.as_bytes(), body].concat(), Then::Close).await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/page", self.port)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Somebody has been answered.
    pub(crate) async fn answered(&self) {
        soon("an answer", self.answered.clone().wait_for(|count| *count > 0)).await.unwrap();
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// One request with its body, or what there was of it.
async fn request(socket: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let whole = text.split_once("\r\n\r\n").is_some_and(|(head, body)| body.len() >= announced(head));
        if whole || !socket.read_buf(&mut bytes).await.is_ok_and(|n| n > 0) {
            return text;
        }
    }
}

fn announced(head: &str) -> usize {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    let length = lines.filter(|(name, _)| name.eq_ignore_ascii_case("content-length")).find_map(|(_, value)| value.trim().parse().ok());
    length.unwrap_or(0)
}
