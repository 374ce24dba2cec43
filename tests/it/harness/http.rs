//! An HTTP/1.1 client on a bare socket: it sends exactly the headers that a test names, and shows exactly the bytes that came.
//!
//! One request a connection. Never retries, follows or decompresses anything.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::soon;

/// A whole answer.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("status {}, body is not JSON ({e}): {:?}", self.status, String::from_utf8_lossy(&self.body)))
    }

    /// Fails unless the status is `status`; then the body.
    #[track_caller]
    pub(crate) fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        if self.body.is_empty() { Value::Null } else { self.json() }
    }

    /// Fails unless this is a problem of that status and code, with every field that a problem has.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16, code: &str) -> Value {
        let body = self.any_problem(status);
        assert_eq!(body["code"], code, "{body}");
        body
    }

    /// The same, where the contract names no code.
    #[track_caller]
    pub(crate) fn any_problem(&self, status: u16) -> Value {
        let body = self.expect(status);
        let kind = self.header("content-type").unwrap_or_default();
        assert!(kind.starts_with("application/problem+json"), "content type {kind:?} of {body}");
        assert_eq!(body["status"], status, "{body}");
        for field in ["type", "title", "detail", "code", "request_id"] {
            assert!(body[field].as_str().is_some_and(|text| !text.is_empty()), "{field} in {body}");
        }
        body
    }
}

fn find<'h>(headers: &'h [(String, String)], name: &str) -> Option<&'h str> {
    headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
}

/// A connection whose response head has been read; the body comes in pieces.
#[derive(Debug)]
pub(crate) struct Exchange {
    socket: TcpStream,
    buffer: Vec<u8>,
    framing: Framing,
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Framing {
    Chunked,
    Length(usize),
    UntilClose,
    Ended,
}

impl Exchange {
    /// Sends a request and reads the head of its response.
    ///
    /// # Errors
    /// When the server is not there, or goes away before it answered.
    pub(crate) async fn open(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> std::io::Result<Self> {
        let mut socket = TcpStream::connect(("127.0.0.1", port)).await?;
        socket.set_nodelay(true)?;
        let mut head = format!("{method} {path} HTTP/1.1\r\n");
        let own_host = format!("127.0.0.1:{port}");
        let length = body.unwrap_or_default().len().to_string();
        let mut defaults = vec![("Host", own_host.as_str()), ("Connection", "close")];
        if body.is_some() {
            defaults.extend([("Content-Type", "application/json"), ("Content-Length", length.as_str())]);
        }
        let given = |name: &str| headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
        for (name, value) in defaults.iter().filter(|(n, _)| !given(n)).chain(headers) {
            if !value.is_empty() {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
        }
        head.push_str("\r\n");
        socket.write_all(head.as_bytes()).await?;
        // a server that refuses a large body may close before it has read all of it: its answer is what counts
        let _ = socket.write_all(body.unwrap_or_default()).await;
        let mut exchange = Self { socket, buffer: Vec::new(), framing: Framing::UntilClose, status: 0, headers: Vec::new() };
        exchange.read_head().await?;
        Ok(exchange)
    }

    async fn read_head(&mut self) -> std::io::Result<()> {
        let end = loop {
            if let Some(end) = position(&self.buffer, b"\r\n\r\n") {
                break end;
            }
            if !self.fill().await? {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        };
        let head = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
        self.buffer.drain(..end + 4);
        let mut lines = head.split("\r\n");
        self.status = lines.next().and_then(|l| l.split(' ').nth(1)).and_then(|s| s.parse().ok()).unwrap_or_default();
        self.headers = lines.filter_map(|l| l.split_once(':')).map(|(n, v)| (n.to_ascii_lowercase(), v.trim().to_owned())).collect();
        self.framing = match (self.header("transfer-encoding"), self.header("content-length").and_then(|l| l.parse().ok())) {
            _ if self.status == 204 => Framing::Ended,
            (Some("chunked"), _) => Framing::Chunked,
            (_, Some(length)) => Framing::Length(length),
            _ => Framing::UntilClose,
        };
        Ok(())
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        find(&self.headers, name)
    }

    /// The next piece of the body; `None` after its end, also where the connection was cut.
    pub(crate) async fn piece(&mut self) -> Option<Vec<u8>> {
        loop {
            if let Some(piece) = self.take() {
                return Some(piece);
            }
            if self.framing == Framing::Ended || !self.fill().await.unwrap_or(false) {
                return None;
            }
        }
    }

    /// Whether the body came to its own end, and was not cut off.
    pub(crate) fn ended(&self) -> bool {
        self.framing == Framing::Ended
    }

    fn take(&mut self) -> Option<Vec<u8>> {
        match self.framing {
            Framing::Ended => None,
            Framing::UntilClose if self.buffer.is_empty() => None,
            Framing::UntilClose => Some(std::mem::take(&mut self.buffer)),
            Framing::Length(0) => {
                self.framing = Framing::Ended;
                None
            }
            Framing::Length(_) if self.buffer.is_empty() => None,
            Framing::Length(left) => {
                let piece: Vec<u8> = self.buffer.drain(..left.min(self.buffer.len())).collect();
                self.framing = Framing::Length(left - piece.len());
                Some(piece)
            }
            Framing::Chunked => {
                let line = position(&self.buffer, b"\r\n")?;
                let size = usize::from_str_radix(std::str::from_utf8(&self.buffer[..line]).ok()?.trim(), 16).ok()?;
                if self.buffer.len() < line + 2 + size + 2 {
                    return None;
                }
                let piece = self.buffer[line + 2..line + 2 + size].to_vec();
                self.buffer.drain(..line + 2 + size + 2);
                if size == 0 {
                    self.framing = Framing::Ended;
                    return None;
                }
                Some(piece)
            }
        }
    }

    async fn fill(&mut self) -> std::io::Result<bool> {
        Ok(self.socket.read_buf(&mut self.buffer).await? > 0)
    }

    /// All of the body.
    pub(crate) async fn finish(mut self) -> Answer {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await {
            body.extend(piece);
        }
        Answer { status: self.status, headers: self.headers, body }
    }
}

/// One request and its whole answer.
///
/// # Errors
/// As [`Exchange::open`].
pub(crate) async fn request(port: u16, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> std::io::Result<Answer> {
    soon(&format!("{method} {path}"), async { Ok(Exchange::open(port, method, path, headers, body).await?.finish().await) }).await
}

fn position(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|w| w == needle)
}
