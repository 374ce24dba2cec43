//! The tokens of a scripted answer: each says whose it is, which it is and when it was made, so that whoever reads it last can tell what got
//! lost, came twice or came to the wrong reader, and how long it was on its way.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

/// Adds one token to `out`. Needs no escaping in JSON.
pub fn write(out: &mut String, id: &str, index: usize) {
    // writing to a string cannot fail
    let _ = write!(out, "[{id} {index} {}]", now_us());
}

fn now_us() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// The tokens of one answer, as they come.
#[derive(Debug)]
pub struct Tokens {
    id: String,
    expected: usize,
    next: usize,
    /// All text so far.
    pub text: String,
    /// Where the first token that is not whole begins.
    read: usize,
    pub faults: Faults,
    /// How long each was on its way, in microseconds.
    pub delays_us: Vec<u32>,
}

/// What must be zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    pub errors: usize,
    pub lost: usize,
    pub doubled: usize,
    /// Of another answer.
    pub crossed: usize,
}

impl Faults {
    pub fn add(&mut self, other: Self) {
        self.errors += other.errors;
        self.lost += other.lost;
        self.doubled += other.doubled;
        self.crossed += other.crossed;
    }

    pub fn sum(self) -> usize {
        self.errors + self.lost + self.doubled + self.crossed
    }
}

impl Tokens {
    pub fn new(id: &str, expected: usize) -> Self {
        Self {
            id: id.into(),
            expected,
            next: 0,
            text: String::new(),
            read: 0,
            faults: Faults::default(),
            delays_us: Vec::with_capacity(expected),
        }
    }

    /// Takes text, cut anywhere.
    pub fn take(&mut self, piece: &str) {
        self.text.push_str(piece);
        let now = now_us();
        while let Some(length) = self.text[self.read..].find(']') {
            let token = self.text[self.read..self.read + length].trim_start_matches('[');
            let mut parts = token.split(' ');
            let (id, index, at) = (parts.next(), parts.next(), parts.next());
            let index = index.and_then(|index| index.parse().ok());
            let at: Option<u64> = at.and_then(|at| at.parse().ok());
            self.read += length + 1;
            match (index, at) {
                (Some(index), Some(at)) if id == Some(&self.id) => {
                    self.delays_us.push(u32::try_from(now.saturating_sub(at)).unwrap_or(u32::MAX));
                    self.count(index);
                }
                (Some(_), Some(_)) => self.faults.crossed += 1,
                _ => self.faults.errors += 1,
            }
        }
    }

    fn count(&mut self, index: usize) {
        if index < self.next {
            self.faults.doubled += 1;
            return;
        }
        self.faults.lost += index - self.next;
        self.next = index + 1;
    }

    /// The answer is over: what did not come is lost.
    pub fn end(&mut self) {
        self.faults.lost += self.expected.saturating_sub(self.next);
        self.next = self.expected;
        self.faults.errors += usize::from(self.read < self.text.len());
    }
}
