//! Random choices that can be had again: each test prints its seed, and `PORTICO_TEST_SEED` sets it.

use std::time::{SystemTime, UNIX_EPOCH};

/// A small generator (SplitMix64); good enough to choose where to cut.
#[derive(Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(test: &str) -> Self {
        let now = || SystemTime::now().duration_since(UNIX_EPOCH).map(|d| d.subsec_nanos()).unwrap_or_default();
        let seed = std::env::var("PORTICO_TEST_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or_else(|| u64::from(now()));
        eprintln!("{test}: PORTICO_TEST_SEED={seed}");
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `below` - 1.
    pub(crate) fn below(&mut self, below: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(below).unwrap()).unwrap()
    }
}
