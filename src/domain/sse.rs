//! Reading Server-Sent Events from bytes, by the rules of the WHATWG HTML standard (9.2.6, "Interpreting an event stream").
//!
//! Bytes go in as they come, cut anywhere; events come out, lent from the parser's own buffers, so that an event costs no allocation.
//! Nothing here reconnects, and nothing here knows what an event means.
//!
//! ```
//! # use portico::domain::sse::Parser;
//! let mut parser = Parser::new();
//! parser.push(b"id: 7\ndata: hel");
//! assert!(parser.next().is_none());
//! parser.push(b"lo\n\n");
//! let event = parser.next().unwrap().unwrap();
//! assert_eq!((event.name, &*event.data, event.id), ("message", "hello", "7"));
//! ```

use std::borrow::Cow;

/// The longest line, and the most data of one event, in bytes. Far above any honest event; without a cap one endless line would take all
/// memory there is.
pub const LIMIT: usize = 16 * 1024 * 1024;

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// `message` where the stream gave none.
    pub name: &'a str,
    /// All `data` lines, joined by a line feed. Bytes that are not UTF-8 are replaced by U+FFFD.
    pub data: Cow<'a, str>,
    /// The last id that the stream gave, which may be an earlier event's; empty for none.
    pub id: &'a str,
}

/// A line or an event went over the cap; the parser gives nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line or event of the stream is longer than {limit} bytes")]
pub struct TooLong {
    pub limit: usize,
}

/// The parser of one stream.
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// Bytes that came and were not read; those before `start` are done with.
    buffer: Vec<u8>,
    start: usize,
    /// No line end lies between `start` and here.
    scanned: usize,
    first_line: bool,
    /// The last line ended with CR: a LF that comes next belongs to it.
    after_cr: bool,
    /// The open event.
    name: String,
    data: Vec<u8>,
    has_data: bool,
    id: String,
    /// The id as of the last blank line.
    last_id: String,
    retry_ms: Option<u64>,
    /// `name` and `data` were lent out and are cleared before the next line is read.
    lent: bool,
    failed: bool,
}

impl Default for Parser {
    fn default() -> Self {
        Self::new()
    }
}

impl Parser {
    pub fn new() -> Self {
        Self::with_limit(LIMIT)
    }

    /// With another cap, in bytes.
    pub fn with_limit(limit: usize) -> Self {
        Self {
            limit,
            buffer: Vec::new(),
            start: 0,
            scanned: 0,
            first_line: true,
            after_cr: false,
            name: String::new(),
            data: Vec::new(),
            has_data: false,
            id: String::new(),
            last_id: String::new(),
            retry_ms: None,
            lent: false,
            failed: false,
        }
    }

    /// A parser of a stream that goes on after the event of that id.
    pub fn after(last_event_id: &str) -> Self {
        Self { id: last_event_id.into(), last_id: last_event_id.into(), ..Self::new() }
    }

    /// Takes what the network gave. Call [`Parser::next`] until it gives `None` before the next push, or the buffer grows.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.failed {
            return;
        }
        self.buffer.drain(..self.start);
        self.scanned -= self.start;
        self.start = 0;
        self.buffer.extend_from_slice(bytes);
    }

    /// The next whole event, or `None` until more bytes come.
    ///
    /// # Errors
    /// [`TooLong`], once; after it there is nothing more.
    #[expect(clippy::should_implement_trait, reason = "an event is lent from the parser, which `Iterator` cannot say")]
    pub fn next(&mut self) -> Option<Result<Event<'_>, TooLong>> {
        self.forget_lent();
        while let Some((from, to)) = self.take_line() {
            // also a line that came whole: where the network cut it must not matter
            if to - from > self.limit {
                return Some(Err(self.fail()));
            }
            let whole = self.line(from, to);
            if self.data.len() > self.limit {
                return Some(Err(self.fail()));
            }
            if whole {
                return Some(Ok(self.lend()));
            }
        }
        (self.buffer.len() - self.start > self.limit && !self.failed).then(|| Err(self.fail()))
    }

    /// At the end of the stream: the event that lacks its blank line, if there is one. A reconnecting client must not call this: the standard
    /// drops such an event, for it may be cut. A model's stream may lack the last blank line and be whole.
    ///
    /// # Errors
    /// As [`Parser::next`].
    pub fn finish(&mut self) -> Option<Result<Event<'_>, TooLong>> {
        self.forget_lent();
        let (from, to) = (self.start, self.buffer.len());
        self.start = to;
        self.scanned = to;
        if from < to && !(self.after_cr && &self.buffer[from..to] == b"\n") {
            self.line(from, to);
        }
        if self.failed || !self.close() {
            return None;
        }
        if self.data.len() > self.limit {
            return Some(Err(self.fail()));
        }
        Some(Ok(self.lend()))
    }

    /// What a reconnect sends as `Last-Event-ID`; empty for none. Also frames without data move it.
    pub fn last_event_id(&self) -> &str {
        &self.last_id
    }

    /// How long the server wants a client to wait before it reconnects.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// The bounds of the next whole line, without its end.
    fn take_line(&mut self) -> Option<(usize, usize)> {
        if self.after_cr && self.start < self.buffer.len() {
            self.after_cr = false;
            if self.buffer[self.start] == b'\n' {
                self.start += 1;
                self.scanned = self.scanned.max(self.start);
            }
        }
        let Some(found) = memchr::memchr2(b'\n', b'\r', &self.buffer[self.scanned..]) else {
            self.scanned = self.buffer.len();
            return None;
        };
        let line = (self.start, self.scanned + found);
        self.after_cr = self.buffer[line.1] == b'\r';
        self.start = line.1 + 1;
        self.scanned = self.start;
        Some(line)
    }

    /// Reads one line; true if it ended an event that has data.
    fn line(&mut self, from: usize, to: usize) -> bool {
        let mut line = &self.buffer[from..to];
        if std::mem::take(&mut self.first_line) {
            line = line.strip_prefix(BOM).unwrap_or(line);
        }
        if line.is_empty() {
            return self.close();
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &line[line.len()..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => replace(&mut self.name, value),
            b"id" if memchr::memchr(0, value).is_none() => replace(&mut self.id, value),
            b"retry" if value.iter().all(u8::is_ascii_digit) => {
                // Only digits, so this fails on nothing but an empty value and a number beyond any wait.
                self.retry_ms = str::from_utf8(value).ok().and_then(|v| v.parse().ok()).or(self.retry_ms);
            }
            _ => {} // A comment has an empty field name; unknown fields are ignored.
        }
        false
    }

    /// A blank line: the id counts from here on; an event without data is none.
    fn close(&mut self) -> bool {
        if self.last_id != self.id {
            self.last_id.clone_from(&self.id);
        }
        if !self.has_data {
            self.name.clear();
        }
        self.has_data
    }

    fn lend(&mut self) -> Event<'_> {
        self.lent = true;
        let data = match str::from_utf8(&self.data) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => String::from_utf8_lossy(&self.data),
        };
        Event { name: if self.name.is_empty() { "message" } else { &self.name }, data, id: &self.last_id }
    }

    fn forget_lent(&mut self) {
        if std::mem::take(&mut self.lent) {
            self.name.clear();
            self.data.clear();
            self.has_data = false;
        }
    }

    fn fail(&mut self) -> TooLong {
        let limit = self.limit;
        *self = Self { failed: true, last_id: std::mem::take(&mut self.last_id), retry_ms: self.retry_ms, ..Self::with_limit(limit) };
        TooLong { limit }
    }
}

fn replace(target: &mut String, value: &[u8]) {
    target.clear();
    target.push_str(&String::from_utf8_lossy(value));
}

#[cfg(test)]
mod tests;
