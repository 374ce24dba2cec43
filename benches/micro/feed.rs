//! From a turn to its readers: one session with so many, who pull each delta and each record of a turn as it comes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use divan::Bencher;
use divan::counter::ItemsCount;
use futures_util::StreamExt;
use portico::agent::{Blob, End, Limits, ModelChoice};
use portico::channel::web;
use portico::domain::event::input::Trust;
use portico::domain::event::model::Parameters;
use portico::domain::event::session::{Metadata, SessionCreated};
use portico::domain::toolset::Toolset;
use portico::domain::{Block, ChannelProfile, Clock, Cursor, Finish, IdSource, SessionId, Timestamp, Usage, View};
use portico::meter::Meter;
use portico::provider::{ModelEvent, ModelRequest, ModelStream, Provider};
use portico::session::command::Post;
use portico::session::metrics::SessionMetrics;
use portico::session::reader::{Filter, Pulled};
use portico::session::{FeedItem, Lease, Prepared, Reader, Sessions, Settings, Setup, Want};
use portico::store::sqlite::SqliteStore;
use portico::tool::Toolbox;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// Deltas of an answer, each of which wakes the readers.
const DELTAS: usize = 50;

/// Answers with words, and lets everybody else run after each.
#[derive(Debug)]
struct Words;

impl Provider for Words {
    fn id(&self) -> &str {
        "words"
    }

    fn body(&self, _: &ModelRequest) -> Vec<u8> {
        Vec::new()
    }

    fn stream(&self, _: ModelRequest) -> ModelStream {
        let words = futures_util::stream::iter(0..DELTAS).then(|_| async {
            tokio::task::yield_now().await;
            Ok(vec![ModelEvent::Text { block: 0, text: " word".into() }])
        });
        let content = vec![Block::Text { text: " word".repeat(DELTAS) }];
        let end = ModelEvent::Finished { content, finish: Finish::Stop, usage: Usage::default() };
        Box::pin(words.chain(futures_util::stream::iter([Ok(vec![end])])))
    }
}

#[derive(Debug)]
struct OneAgent;

impl Setup for OneAgent {
    fn prepare(&self, _: &Want<'_>) -> Result<Prepared, End> {
        let minute = Duration::from_secs(60);
        let model = ModelChoice { provider: Arc::new(Words), model: "m".into(), parameters: Parameters::default() };
        Ok(Prepared {
            model,
            system: Blob::new("You answer.".into()),
            tools: None,
            toolset: Arc::new(Toolbox::default().toolset(&web::PROFILE)),
            toolbox: Arc::default(),
            limits: Limits { max_steps: 1, deadline: minute, abort_grace: minute, attempts: 1, pool: 1 },
        })
    }

    fn profile(&self, _: &str, _: Option<&str>) -> Option<Arc<ChannelProfile>> {
        Some(Arc::new(web::PROFILE.clone()))
    }

    fn toolset(&self, _: &str, _: Option<&str>, _: &str) -> Option<Arc<Toolset>> {
        Some(Arc::new(Toolbox::default().toolset(&web::PROFILE)))
    }

    fn knows_model(&self, _: &str, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn max_queue(&self, _: &str) -> usize {
        1
    }
}

#[derive(Debug)]
struct Parts;

impl Clock for Parts {
    fn now(&self) -> Timestamp {
        Timestamp::from_system(SystemTime::now())
    }
}

impl IdSource for Parts {
    fn uuid(&self) -> uuid::Uuid {
        uuid::Uuid::now_v7()
    }
}

/// One session over a store of its own.
struct World {
    sessions: Sessions,
    session: Lease,
    dir: PathBuf,
}

impl World {
    async fn new(readers: usize) -> Self {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("feed-{readers}-{}", std::process::id()));
        let long = Duration::from_secs(600);
        let sessions = Sessions::new(Settings {
            store: Arc::new(SqliteStore::open(&dir, &Meter::none()).unwrap()),
            setup: Arc::new(OneAgent),
            clock: Arc::new(Parts),
            ids: Arc::new(Parts),
            passivate: long,
            expire: long,
            drain: long,
            deliveries: Arc::new(portico::session::delivery::NoDeliveries),
            metrics: SessionMetrics::new(&Meter::none(), []),
        });
        let (id, text) = (SessionId::from("ses_1"), |text: &str| text.to_owned());
        let created = SessionCreated {
            channel: text("web"),
            agent: text("default"),
            tenant: text("t"),
            principal: text("p"),
            account: None,
            parent: None,
            title: None,
            metadata: Metadata::new(),
        };
        sessions.create(&id, created, None).await.unwrap();
        let session = sessions.open(&id).await.unwrap();
        Self { sessions, session, dir }
    }

    /// Readers that stand at the head, and go at the next turn's end.
    fn readers(&self, count: usize) -> JoinSet<usize> {
        let head = Cursor { seq: self.session.feed().overview().unwrap().head, n: 0 };
        let filter = Filter { view: View::Chat, types: None, may_decide: Arc::new(|_| false) };
        let read = |_| until_done(Reader::new(self.session.feed().clone(), filter.clone(), head).unwrap());
        (0..count).map(read).collect()
    }

    async fn turn(&self) {
        let text = "What do you say?".into();
        let author = "p".into();
        let post = Post {
            text,
            mode: None,
            model: None,
            instructions: None,
            author,
            trust: Trust::User,
            reply_to: None,
            attachments: Vec::new(),
            key: None,
        };
        self.sessions.post(&self.session, post).await.unwrap();
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // the store still has it open, which Linux allows
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

/// How many events there were.
async fn until_done(mut reader: Reader) -> usize {
    let mut events = 0;
    while let Ok(Pulled::Items(items)) = reader.pull().await {
        events += items.len();
        let done = |item: &FeedItem| matches!(item, FeedItem::Event { event, .. } if event.as_str() == "done");
        if items.iter().any(done) {
            return events;
        }
    }
    panic!("the feed ended before its turn")
}

#[divan::bench(args = [1, 100, 1_000], sample_size = 1, sample_count = 30)]
fn turn_with_readers(bencher: Bencher<'_, '_>, readers: usize) {
    let runtime = Runtime::new().unwrap();
    let world = runtime.block_on(World::new(readers));
    bencher
        .counter(ItemsCount::new(readers * DELTAS))
        .with_inputs(|| runtime.block_on(async { world.readers(readers) }))
        .bench_local_values(|reading| {
            runtime.block_on(async {
                world.turn().await;
                reading.join_all().await
            })
        });
    runtime.block_on(world.sessions.stop());
}
