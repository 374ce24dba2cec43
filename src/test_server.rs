//! A server that answers what a test says, over a real socket. In tests only.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// What a request without a body ends with.
pub(crate) const HEAD: &[u8] = b"\r\n\r\n";

/// Takes one connection after the other: reads a request, answers, closes. It ends with the value.
#[derive(Debug)]
pub(crate) struct TestServer {
    pub(crate) port: u16,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
    _accepting: JoinSet<()>,
}

impl TestServer {
    /// At this address and port, 0 for a free one, which the answer may name. A request is read up to `end`; an empty answer is silence until
    /// the client gives up.
    ///
    /// # Errors
    /// When the address cannot be listened on.
    pub(crate) async fn on(
        address: Ipv4Addr,
        port: u16,
        end: &'static [u8],
        answer: impl Fn(u16) -> Vec<u8> + Send + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind((address, port)).await?;
        let port = listener.local_addr()?.port();
        let (connections, requests) = (Arc::<AtomicUsize>::default(), Arc::<Mutex<Vec<String>>>::default());
        let (counter, seen, mut accepting) = (connections.clone(), requests.clone(), JoinSet::new());
        accepting.spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::SeqCst);
                let mut request = Vec::new();
                while !request.ends_with(end) && socket.read_buf(&mut request).await.is_ok_and(|n| n > 0) {}
                seen.lock().unwrap_or_else(PoisonError::into_inner).push(String::from_utf8_lossy(&request).into_owned());
                let answer = answer(port);
                let _ = socket.write_all(&answer).await;
                if answer.is_empty() {
                    let _ = socket.read_buf(&mut request).await;
                }
            }
        });
        Ok(Self { port, connections, requests, _accepting: accepting })
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// What was asked, in order.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
