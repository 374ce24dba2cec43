//! What a stream printed, in bounded memory: its first part, its last part, and how much it was.

use std::collections::VecDeque;

use crate::domain::Artifact;

/// Bytes kept of one stream while the command runs: both streams have room in one artifact.
pub(super) const KEPT: usize = Artifact::MOST_BYTES / 4;

#[derive(Debug)]
pub(super) struct Capture {
    /// The most that `head` and `tail` each hold.
    half: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub(super) fn new(kept: usize) -> Self {
        Self { half: kept / 2, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.head.len()));
        self.head.extend_from_slice(first);
        let rest = &rest[rest.len().saturating_sub(self.half)..];
        let over = (self.tail.len() + rest.len()).saturating_sub(self.half);
        self.tail.drain(..over);
        self.tail.extend(rest);
    }

    /// Bytes printed so far, kept or not.
    pub(super) fn total(&self) -> u64 {
        self.total
    }

    /// The text, at most `limit` bytes of it, with a line in the place of what is left out.
    pub(super) fn text(&self, limit: usize) -> String {
        let kept: Vec<u8> = self.head.iter().chain(&self.tail).copied().collect();
        if kept.len() as u64 == self.total && kept.len() <= limit {
            return String::from_utf8_lossy(&kept).into_owned();
        }
        let half = self.half.min(limit / 2);
        let first = without_cut_end(&kept[..half.min(kept.len())]);
        let last = without_cut_start(&kept[kept.len().saturating_sub(half)..]);
        let left_out = self.total - (first.len() + last.len()) as u64;
        format!("{}\n[... {left_out} bytes left out ...]\n{}", String::from_utf8_lossy(first), String::from_utf8_lossy(last))
    }
}

/// Less the bytes of a character that goes on after the end.
fn without_cut_end(bytes: &[u8]) -> &[u8] {
    for (back, byte) in bytes.iter().rev().take(3).enumerate() {
        let length = match byte {
            0xF0..=0xF7 => 4,
            0xE0..=0xEF => 3,
            0xC0..=0xDF => 2,
            0x80..=0xBF => continue,
            _ => 1,
        };
        return if length > back + 1 { &bytes[..bytes.len() - back - 1] } else { bytes };
    }
    bytes
}

/// Less the bytes of a character that began before the start.
fn without_cut_start(bytes: &[u8]) -> &[u8] {
    let cut = bytes.iter().take(3).take_while(|b| matches!(b, 0x80..=0xBF)).count();
    &bytes[cut..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn short_output_is_whole() {
        let mut capture = Capture::new(16);
        capture.push(b"0123456789");
        capture.push(b"abcdef");
        assert_eq!(capture.text(KEPT), "0123456789abcdef");
    }

    #[test]
    fn long_output_keeps_both_ends_and_counts_the_rest() {
        let mut capture = Capture::new(8);
        for chunk in ["01", "2345678", "9", "abcdefghijklmnop", "xyz"] {
            capture.push(chunk.as_bytes());
        }
        assert_eq!(capture.total(), 29);
        assert_eq!(capture.text(KEPT), "0123\n[... 21 bytes left out ...]\npxyz");
        assert_eq!(capture.text(4), "01\n[... 25 bytes left out ...]\nyz");
    }

    #[test]
    fn a_cut_splits_no_character() {
        let mut capture = Capture::new(10);
        capture.push("aé🙂b你好x".repeat(3).as_bytes());
        let text = capture.text(KEPT);
        assert!(!text.contains('\u{FFFD}'), "{text}");
        assert!(text.starts_with("aé\n[") && text.ends_with("]\n好x"), "{text}");
    }

    proptest! {
        #[test]
        fn any_chunking_gives_the_same_and_stays_bounded(bytes in proptest::collection::vec(any::<u8>(), 0..200), step in 1usize..50, kept in 2usize..60) {
            let mut whole = Capture::new(kept);
            whole.push(&bytes);
            let mut pieces = Capture::new(kept);
            for chunk in bytes.chunks(step) {
                pieces.push(chunk);
                prop_assert!(pieces.head.len() + pieces.tail.len() <= kept);
            }
            prop_assert_eq!(pieces.total(), bytes.len() as u64);
            prop_assert_eq!(pieces.text(KEPT), whole.text(KEPT));
        }
    }
}
