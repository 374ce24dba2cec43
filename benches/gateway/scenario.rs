//! What is measured: the same work asked of the floor and of Portico, each a fresh process with a fresh store.

use std::fmt;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::ValueEnum;
use tokio::task::JoinSet;

use crate::model::Script;
use crate::process::Process;
use crate::report::{Measured, Percentiles};
use crate::target::{Door, Target};
use crate::turn::{Turn, ask, follow};

/// Turns of one session: few, for a request holds all that was said before it.
const TURNS_OF_A_SESSION: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Scenario {
    /// One session, one turn after the other, at full speed.
    One,
    /// Messages that are only accepted (202).
    Accept,
    /// Many sessions at full speed.
    Burst,
    /// Very many sessions, all at once, at the pace of a model.
    Crowd,
    /// Connections on which nothing happens, each at a session of its own.
    Idle,
    /// Many readers of one session.
    Fanout,
}

/// How much of it.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    turns: usize,
    burst_sessions: usize,
    burst_waves: usize,
    tokens: usize,
    crowd_sessions: usize,
    crowd_tokens: usize,
    delay: Duration,
    idle: usize,
    readers: usize,
}

impl Size {
    pub const FULL: Self = Self {
        turns: 100,
        burst_sessions: 64,
        burst_waves: 10,
        tokens: 200,
        crowd_sessions: 1_000,
        crowd_tokens: 50,
        delay: Duration::from_millis(20),
        idle: 1_000,
        readers: 1_000,
    };
    pub const QUICK: Self = Self {
        turns: 3,
        burst_sessions: 8,
        burst_waves: 2,
        tokens: 60,
        crowd_sessions: 16,
        crowd_tokens: 10,
        delay: Duration::from_millis(5),
        idle: 8,
        readers: 8,
    };
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::One => "one",
            Self::Accept => "accept",
            Self::Burst => "burst",
            Self::Crowd => "crowd",
            Self::Idle => "idle",
            Self::Fanout => "fanout",
        })
    }
}

impl Scenario {
    pub const ALL: [Self; 6] = [Self::One, Self::Accept, Self::Burst, Self::Crowd, Self::Idle, Self::Fanout];

    /// The floor accepts nothing.
    pub fn targets(self) -> &'static [Target] {
        match self {
            Self::Accept => &[Target::Portico],
            Self::One | Self::Burst | Self::Crowd | Self::Idle | Self::Fanout => &[Target::Floor, Target::Portico],
        }
    }
}

/// The model, and what a run needs to start the others.
#[derive(Debug)]
pub struct Bench {
    size: Size,
    portico: PathBuf,
    model: Process,
    dir: PathBuf,
}

impl Bench {
    pub async fn new(size: Size, portico: PathBuf) -> anyhow::Result<Self> {
        // on the disk of the build and not in a folder that may be memory: what a commit costs is to be seen
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("gateway-{}", std::process::id()));
        let model = Process::of_role(&["serve-model"], &dir.join("model")).await?;
        Ok(Self { size, portico, model, dir })
    }

    /// How long the disk takes to make four kilobytes durable, in milliseconds.
    pub fn sync_p50(&self) -> anyhow::Result<f64> {
        let mut file = File::create(self.dir.join("sync"))?;
        let mut times = Vec::new();
        for _ in 0..100 {
            file.write_all(&[7; 4096])?;
            let began = Instant::now();
            file.sync_data()?;
            times.push(began.elapsed());
        }
        Ok(Percentiles::of(&times).p50)
    }

    /// One scenario on one fresh process.
    pub async fn run(&self, scenario: Scenario, target: Target) -> anyhow::Result<Measured> {
        let dir = self.dir.join(target.to_string());
        let (process, door) = target.start(&self.portico, &self.model.url, &dir).await?;
        // the first turns open connections and compile statements, which is the start's business
        let warm = door.session("warm").await?;
        for turn in 0..3 {
            let turn = ask(&door, &warm, &script("warm", turn, 20, Duration::ZERO)).await;
            ensure!(turn.faults.sum() == 0, "the first turns fail: {:?}", turn.faults);
        }
        let run = Run { size: self.size, process: &process, door };
        let mut measured = match scenario {
            Scenario::One => run.one().await?,
            Scenario::Accept => run.accept().await?,
            Scenario::Burst => run.burst().await?,
            Scenario::Crowd => run.crowd().await?,
            Scenario::Idle => run.idle().await?,
            Scenario::Fanout => run.fanout().await?,
        };
        if scenario == Scenario::One {
            measured.add("start, ms", process.started_in.as_secs_f64() * 1e3);
        }
        drop(process);
        fs::remove_dir_all(&dir)?;
        Ok(measured)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // a folder that stays behind harms nobody
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// One process under load.
#[derive(Debug)]
struct Run<'a> {
    size: Size,
    process: &'a Process,
    door: Door,
}

impl Run<'_> {
    async fn one(&self) -> anyhow::Result<Measured> {
        let (mut session, mut turns) = (String::new(), Vec::new());
        for turn in 0..self.size.turns {
            // what has been said is sent along with each turn, which is not what is measured
            if turn % TURNS_OF_A_SESSION == 0 {
                session = self.door.session("one").await?;
            }
            turns.push(ask(&self.door, &session, &script("one", turn, self.size.tokens, Duration::ZERO)).await);
        }
        let mut measured = Measured::new(&turns);
        measured.add("first token p50, ms", first(&turns).p50);
        measured.add("whole turn p50, ms", Percentiles::of(&turns.iter().map(|t| t.whole).collect::<Vec<_>>()).p50);
        Ok(measured)
    }

    async fn accept(&self) -> anyhow::Result<Measured> {
        let (mut times, mut turns) = (Vec::new(), Vec::new());
        for turn in 0..self.size.turns {
            let session = self.door.session("accept").await?;
            let feed = self.door.feed(&session).await?;
            let script = script("accept", turn, 1, Duration::ZERO);
            let began = Instant::now();
            self.door.post(&session, &script).await?;
            times.push(began.elapsed());
            turns.push(follow(feed, &script).await);
        }
        let mut measured = Measured::new(&turns);
        measured.add("accepted p50, ms", Percentiles::of(&times).p50);
        measured.add("accepted p99, ms", Percentiles::of(&times).p99);
        Ok(measured)
    }

    async fn burst(&self) -> anyhow::Result<Measured> {
        let Size { burst_sessions, burst_waves, tokens, .. } = self.size;
        let (mut turns, mut took, mut cpu_ms) = (Vec::new(), Duration::ZERO, 0.0);
        for _ in 0..burst_waves {
            let sessions = self.sessions(burst_sessions).await?;
            let (before, began) = (self.process.usage()?, Instant::now());
            turns.extend(self.turns(sessions, TURNS_OF_A_SESSION, tokens, Duration::ZERO).await);
            took += began.elapsed();
            cpu_ms += self.process.usage()?.cpu_ms - before.cpu_ms;
        }
        let mut measured = Measured::new(&turns);
        measured.add("tokens a second", measured.tokens as f64 / took.as_secs_f64());
        measured.add("CPU ms per 1,000 tokens", per_1k(cpu_ms, &measured));
        Ok(measured)
    }

    async fn crowd(&self) -> anyhow::Result<Measured> {
        let Size { crowd_sessions, crowd_tokens, delay, .. } = self.size;
        let start = self.process.usage()?;
        let sessions = self.sessions(crowd_sessions).await?;
        let before = self.process.usage()?;
        let turns = self.turns(sessions, 1, crowd_tokens, delay).await;
        let after = self.process.usage()?;
        let mut measured = Measured::new(&turns);
        measured.add("first token p50, ms", first(&turns).p50);
        measured.add("first token p99, ms", first(&turns).p99);
        measured.add("CPU ms per 1,000 tokens", per_1k(after.cpu_ms - before.cpu_ms, &measured));
        measured.add("peak memory per session, KB", (after.peak_kb - start.memory_kb) / crowd_sessions as f64);
        Ok(measured)
    }

    async fn idle(&self) -> anyhow::Result<Measured> {
        let before = self.process.usage()?;
        let began = Instant::now();
        let mut feeds = Vec::new();
        for reader in 0..self.size.idle {
            let session = self.door.session(&format!("idle{reader}")).await?;
            let mut feed = self.door.feed(&session).await?;
            feed.chunk().await?.context("a feed that ends at once")?;
            feeds.push(feed);
        }
        let took = began.elapsed();
        let mut measured = Measured::new(&[]);
        measured.add("memory per connection, KB", (self.process.usage()?.memory_kb - before.memory_kb) / self.size.idle as f64);
        measured.add("opened, ms each", took.as_secs_f64() * 1e3 / self.size.idle as f64);
        drop(feeds);
        Ok(measured)
    }

    async fn fanout(&self) -> anyhow::Result<Measured> {
        let session = self.door.session("fanout").await?;
        let script = script("fanout", 0, self.size.crowd_tokens, self.size.delay);
        let mut readers = JoinSet::new();
        for _ in 0..self.size.readers {
            let mut feed = self.door.feed(&session).await?;
            feed.chunk().await?.context("a feed that ends at once")?;
            let script = script.clone();
            readers.spawn(async move { follow(feed, &script).await });
        }
        let before = self.process.usage()?;
        let mut posted = self.door.post(&session, &script).await?;
        while posted.chunk().await?.is_some() {}
        let turns = readers.join_all().await;
        let cpu_ms = self.process.usage()?.cpu_ms - before.cpu_ms;
        let mut measured = Measured::new(&turns);
        let delays: Vec<_> = turns.iter().flat_map(|t| &t.delays_us).map(|us| Duration::from_micros(u64::from(*us))).collect();
        measured.add("delivery p50, ms", Percentiles::of(&delays).p50);
        measured.add("delivery p99, ms", Percentiles::of(&delays).p99);
        measured.add("CPU ms per 1,000 tokens", per_1k(cpu_ms, &measured));
        Ok(measured)
    }

    async fn sessions(&self, count: usize) -> anyhow::Result<Vec<String>> {
        let mut sessions = Vec::with_capacity(count);
        for number in 0..count {
            sessions.push(self.door.session(&format!("s{number}")).await?);
        }
        Ok(sessions)
    }

    /// All these sessions at once, in each one turn after the other.
    async fn turns(&self, sessions: Vec<String>, turns: usize, tokens: usize, delay: Duration) -> Vec<Turn> {
        let mut running = JoinSet::new();
        for (number, session) in sessions.into_iter().enumerate() {
            let door = self.door.clone();
            running.spawn(async move {
                let mut done = Vec::new();
                for turn in 0..turns {
                    done.push(ask(&door, &session, &script(&number.to_string(), turn, tokens, delay)).await);
                }
                done
            });
        }
        running.join_all().await.into_iter().flatten().collect()
    }
}

fn per_1k(cpu_ms: f64, measured: &Measured) -> f64 {
    cpu_ms / (measured.tokens.max(1) as f64 / 1e3)
}

fn script(name: &str, turn: usize, tokens: usize, delay: Duration) -> Script {
    Script { id: format!("{name}.{turn}"), tokens, delay }
}

fn first(turns: &[Turn]) -> Percentiles {
    Percentiles::of(&turns.iter().filter_map(|turn| turn.first).collect::<Vec<_>>())
}
