//! The hinge: whoever is cut at any point and comes back with its last id ends as one that never dropped.
//!
//! A randomized model after the design's own, over the real ledger, feed and reader: deltas, foreign records, every end of an attempt, late
//! commits, crashes, failed actors, and clients of every view and filter that are cut in the middle of a batch.

use client::{Client, Kind};
use server::Server;

mod client;
mod server;

const SEEDS: u64 = 160;
const STEPS: u32 = 110;
const CLIENTS: usize = 4;

/// Numbers that look random and are the same for a seed.
#[derive(Debug)]
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33).unwrap() % n
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

#[test]
fn a_reader_that_was_cut_ends_as_one_that_was_not() {
    let mut seen = Seen::default();
    for seed in 1..=SEEDS {
        run(seed, &mut seen);
    }
    // the walk went where the rules matter
    assert!(seen.quiet > 10_000 && seen.live > 1_000, "{seen:?}");
    assert!(seen.resumed_inside > 300 && seen.crashes > 200 && seen.failures > 50 && seen.posts > 30, "{seen:?}");
}

/// What the walk has met.
#[derive(Debug, Default)]
struct Seen {
    quiet: usize,
    /// Quiet points with live text on the client's screen.
    live: usize,
    /// Resumes with `<seq>.<n>` where `n` counts.
    resumed_inside: usize,
    crashes: usize,
    failures: usize,
    /// Messages whose own stream reached its end.
    posts: usize,
}

fn run(seed: u64, seen: &mut Seen) {
    let mut server = Server::new(Dice(seed.wrapping_mul(0x2545_F491_4F6C_DD1D) | 1));
    let mut clients: Vec<Client> = (0..CLIENTS).map(|_| Client::new(seed, &mut server)).collect();
    let eager = [15, 40, 90][server.dice.below(3)];
    for _ in 0..STEPS {
        server.step(seen);
        if server.dice.chance(eager) {
            server.commit();
        }
        for client in &mut clients {
            client.turn(&mut server, seen);
        }
    }
    server.finish();
    for client in &mut clients {
        client.cut();
        client.connect(&mut server, seen);
        client.drain(&server);
        client.check(&server, seen);
        if client.kind != Kind::Post {
            let mut fresh = Client::fresh(seed, client);
            fresh.connect(&mut server, seen);
            fresh.drain(&server);
            fresh.check(&server, seen);
            client.equals(&fresh, &server);
        }
    }
}
