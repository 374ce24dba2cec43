//! The composition root: the only place that knows every part.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context;
use axum::Router;
use secrecy::{ExposeSecret, SecretString};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::channel::reception::Reception;
use crate::config::Config;
use crate::config::auth::Key;
use crate::config::server::is_this_machine;
use crate::domain::api_key::KeyHash;
use crate::domain::{Clock, IdSource, Principal, Timestamp};
use crate::http::access::{Access, ApiKey};
use crate::http::metrics::HttpMetrics;
use crate::http::routes::health::Told;
use crate::http::{Gateway, Parts, router};
use crate::meter::Meter;
use crate::outbox::Outbox;
use crate::session::metrics::SessionMetrics;
use crate::session::{Sessions, Settings};
use crate::store::Store;
use crate::store::sqlite::{OpenError, SqliteStore};

mod agents;
mod channels;
pub mod key_file;
pub mod metrics;

use agents::{Agents, search};
use key_file::KeyFile;
use metrics::Metrics;

/// How a person gets in: the page, and the key for it.
#[derive(Debug)]
pub enum Welcome {
    /// A link to the page with the local key in its fragment, for a browser on this machine.
    LocalKey { page: String },
    /// The page, and the file with the administrator's key; what stands in it is not for logs.
    AdminKey { page: String, file: PathBuf },
    /// The page, for who has a key of the configuration.
    OwnKey { page: String },
}

/// A gateway that is put together and not yet listening.
#[derive(Debug)]
pub struct App {
    pub router: Router,
    pub sessions: Sessions,
    pub outbox: Outbox,
    pub reception: Reception,
    /// How long a stop lets what is under way end.
    pub drain: Duration,
    /// Ends readers' streams, and tells everybody that the process stops.
    pub draining: CancellationToken,
    store: Arc<SqliteStore>,
    pub metrics: Metrics,
    /// For the start lines: how to get in, and what answers.
    pub welcome: Welcome,
    pub model: String,
    /// What else is set up, a start line each: accounts of messaging channels, and who searches the web.
    pub set_up: Vec<String>,
    /// What the configuration says and nothing makes use of, a sentence each.
    pub warnings: Vec<String>,
}

impl App {
    /// Opens the store and puts everything together. `port` is the one that is listened on.
    ///
    /// # Errors
    /// When the store is in use or cannot be opened, or the configuration names what does not exist.
    pub fn new(config: &Config, port: u16) -> anyhow::Result<Self> {
        let metrics = Metrics::new()?;
        let meter = metrics.meter();
        let store = Arc::new(SqliteStore::open(&config.store.path, meter).map_err(|error| unopened(&error))?);
        let local_key = KeyFile::Local.ensure(&config.store.path)?;
        let welcome = welcome(config, port, &local_key);
        let access = access(config, port, local_key)?;
        let own = SocketAddr::new(config.server.bind.ip(), port);
        let agents = Arc::new(Agents::new(config, Some(own), Arc::new(SystemClock), meter)?);
        let accounts = channels::accounts(config)?;
        let outbox = Outbox::new(accounts.clone(), meter);
        let drain = Duration::from_millis(config.server.drain_ms);
        let sessions = Sessions::new(Settings {
            store: store.clone(),
            setup: agents.clone(),
            clock: Arc::new(SystemClock),
            ids: Arc::new(RandomIds),
            deliveries: Arc::new(outbox.clone()),
            metrics: SessionMetrics::new(meter, agents.every_tool().into_iter().map(|tool| tool.spec.name.to_owned())),
            passivate: Duration::from_secs(config.sessions.passivate_s),
            expire: Duration::from_secs(config.approvals.expire_s),
            drain,
        });
        let draining = CancellationToken::new();
        let reception = Reception::new(accounts, sessions.clone(), meter, draining.clone());
        let gateway = Gateway::new(Parts {
            sessions: sessions.clone(),
            reception: reception.clone(),
            outbox: outbox.clone(),
            access,
            tools: agents.every_tool(),
            agents: agents.names(),
            draining: draining.clone(),
            metrics: HttpMetrics::new(meter),
            exposition: Arc::new(metrics.exposition(store.clone())),
            told: Told::default(),
        });
        let (model, warnings) = (agents.default_model(), warnings(config, &agents));
        let set_up = channels::lines(config).into_iter().chain(search::line(config)).collect();
        let router = router::router(gateway);
        Ok(Self { router, sessions, outbox, reception, drain, draining, store, metrics, welcome, model, set_up, warnings })
    }

    /// Checks all that can be checked without opening the store; gives what may be meant otherwise, a sentence each.
    ///
    /// # Errors
    /// As [`App::new`], less the store's.
    pub fn check(config: &Config) -> anyhow::Result<Vec<String>> {
        channels::accounts(config)?;
        Agents::new(config, None, Arc::new(SystemClock), &Meter::none()).map(|agents| warnings(config, &agents))
    }

    /// What closes the store, also for who must do so in a hurry.
    pub fn closer(&self) -> Closer {
        Closer { sessions: self.sessions.clone(), store: self.store.clone() }
    }
}

fn warnings(config: &Config, agents: &Agents) -> Vec<String> {
    let channels = channels::warnings(config, |agent| agents.asks(agent));
    agents.idle_providers(config).into_iter().chain(search::passed_over(config)).chain(channels).collect()
}

/// One sentence: the error says its own causes, which a chain would say again.
fn unopened(error: &OpenError) -> anyhow::Error {
    anyhow::anyhow!("the store does not open: {error}")
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

/// Who is let in.
fn access(config: &Config, port: u16, local_key: SecretString) -> anyhow::Result<Access> {
    if !config.auth.is_configured() {
        return Ok(Access::local(local_key, port));
    }
    let own = |key: &Key| ApiKey { hash: key.hash, principal: Principal::key(&key.name, &key.tenant, key.scopes.clone()) };
    let mut keys: Vec<ApiKey> = config.auth.keys.iter().map(own).collect();
    if config.auth.admin_key {
        let key = KeyFile::Admin.ensure(&config.store.path)?;
        keys.push(ApiKey { hash: KeyHash::of(key.expose_secret()), principal: Principal::admin() });
    }
    Ok(Access::with_keys(keys, local_key, port))
}

fn welcome(config: &Config, port: u16, local_key: &SecretString) -> Welcome {
    let address = config.server.from_here(port);
    let page = format!("http://{address}/");
    if config.auth.admin_key {
        Welcome::AdminKey { page, file: KeyFile::Admin.path(&config.store.path) }
    } else if is_this_machine(address.ip()) {
        Welcome::LocalKey { page: format!("{page}#key={}", local_key.expose_secret()) }
    } else {
        Welcome::OwnKey { page }
    }
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

#[cfg(test)]
mod tests {
    use rusqlite::ffi;

    use super::*;

    #[test]
    fn why_the_store_does_not_open_is_said_once() {
        let full = rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_FULL), Some("database or disk is full".into()));
        let said = format!("{:#}", unopened(&full.into()));
        assert_eq!(said.matches("full").count(), 2, "what happened, and what to do: {said}");
        assert!(said.contains("store.path"), "{said}");
    }
}
