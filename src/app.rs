//! The composition root: the only place that knows every part.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use axum::Router;
use secrecy::ExposeSecret;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::Config;
use crate::domain::{Clock, IdSource, Timestamp};
use crate::http::access::Access;
use crate::http::metrics::HttpMetrics;
use crate::http::{Gateway, Parts, router};
use crate::meter::Meter;
use crate::session::metrics::SessionMetrics;
use crate::session::{Sessions, Settings};
use crate::store::Store;
use crate::store::sqlite::SqliteStore;

mod agents;
pub mod local_key;
pub mod metrics;

use agents::Agents;
use metrics::Metrics;

/// A gateway that is put together and not yet listening.
#[derive(Debug)]
pub struct App {
    pub router: Router,
    pub sessions: Sessions,
    /// Ends readers' streams, and tells everybody that the process stops.
    pub draining: CancellationToken,
    store: Arc<SqliteStore>,
    pub metrics: Metrics,
    /// For the start line: the page with the key, and what answers.
    pub page: String,
    pub model: String,
}

impl App {
    /// Opens the store and puts everything together. `port` is the one that is listened on.
    ///
    /// # Errors
    /// When the store is in use or cannot be opened, or the configuration names what does not exist.
    pub fn new(config: &Config, port: u16) -> anyhow::Result<Self> {
        let metrics = Metrics::new()?;
        let meter = metrics.meter();
        let store = Arc::new(SqliteStore::open(&config.store.path, meter).context("the store does not open")?);
        let key = local_key::ensure(&config.store.path)?;
        let page = format!("http://{}:{port}/#key={}", host(config), key.expose_secret());
        let agents = Arc::new(Agents::new(config, meter)?);
        let sessions = Sessions::new(Settings {
            store: store.clone(),
            setup: agents.clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            metrics: SessionMetrics::new(meter, agents.every_tool().into_iter().map(|tool| tool.spec.name.to_owned())),
            passivate: Duration::from_secs(config.sessions.passivate_s),
            expire: Duration::from_secs(config.approvals.expire_s),
            drain: Duration::from_millis(config.server.drain_ms),
        });
        let draining = CancellationToken::new();
        let gateway = Gateway::new(Parts {
            sessions: sessions.clone(),
            access: Access::local(key, port),
            tools: agents.every_tool(),
            agents: agents.names(),
            draining: draining.clone(),
            metrics: HttpMetrics::new(meter),
            exposition: Arc::new(metrics.exposition(store.clone())),
        });
        Ok(Self { router: router::router(gateway), sessions, draining, store, metrics, page, model: agents.default_model() })
    }

    /// Checks all that can be checked without opening the store.
    ///
    /// # Errors
    /// As [`App::new`], less the store's.
    pub fn check(config: &Config) -> anyhow::Result<()> {
        Agents::new(config, &Meter::none()).map(drop)
    }

    /// What closes the store, also for who must do so in a hurry.
    pub fn closer(&self) -> Closer {
        Closer { sessions: self.sessions.clone(), store: self.store.clone() }
    }
}

/// Closes the store.
#[derive(Debug)]
pub struct Closer {
    sessions: Sessions,
    store: Arc<dyn Store>,
}

impl Closer {
    /// Flushes and closes the store, and notes that the stop was graceful. Cancel-safe: what was begun is done.
    ///
    /// # Errors
    /// When the store cannot write any more.
    pub async fn close(&self) -> anyhow::Result<()> {
        // a process that has not come to what the one before left open leaves its mark as it was
        if !self.sessions.has_woken() && !self.store.stopped_gracefully() {
            return Ok(());
        }
        self.store.close().await.context("the store does not close")
    }
}

/// As a browser on this machine reaches it.
fn host(config: &Config) -> String {
    match config.server.bind {
        std::net::SocketAddr::V4(_) => "127.0.0.1".into(),
        std::net::SocketAddr::V6(_) => "[::1]".into(),
    }
}

/// Where the local key of that store stands.
pub fn local_key_path(config: &Config) -> std::path::PathBuf {
    Path::new(&config.store.path).join(local_key::FILE)
}

#[derive(Debug)]
struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_system(SystemTime::now())
    }
}

#[derive(Debug)]
struct RandomIds;

impl IdSource for RandomIds {
    fn uuid(&self) -> Uuid {
        Uuid::now_v7()
    }
}
