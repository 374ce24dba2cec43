//! The invariants of the gateway, one or two tests each, named after the number and the sentence they hold.
//!
//! What can be seen from outside is seen from outside. For the rest the process is killed and its store opened through the library, so that
//! what is on disk is judged and not what a process says of it. The other files hold each capability in its breadth; here stands what would
//! be lost first if an invariant fell.

mod effects;
mod guards;
mod ledger;
mod readers;
mod requests;
mod waking;

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use portico::domain::{Record, SessionId, SessionState};
use portico::meter::Meter;
use portico::store::sqlite::SqliteStore;
use portico::store::{Most, Store, StoredRecord};

use crate::harness::{Gateway, poll};

/// What a killed gateway left on the disk, in a copy: whatever is tried on it, the gateway's own folder and its lock stay as they are.
fn store_of(gateway: &Gateway) -> SqliteStore {
    static COPIES: AtomicUsize = AtomicUsize::new(0);
    let copy = gateway.dir.join(format!("copy-{}", COPIES.fetch_add(1, Ordering::Relaxed)));
    std::fs::create_dir(&copy).unwrap();
    for file in ["portico.db", "portico.db-wal"] {
        let from = gateway.dir.join("store").join(file);
        if from.exists() {
            std::fs::copy(from, copy.join(file)).unwrap();
        }
    }
    SqliteStore::open(&copy, &Meter::none()).unwrap()
}

/// A session's whole ledger, from the disk.
async fn ledger_of(store: &SqliteStore, session: &str) -> Vec<StoredRecord> {
    store.read(&SessionId::from(session), 0, Most { rows: usize::MAX, bytes: usize::MAX }).await.unwrap().rows
}

/// What records mean.
fn fold<'r>(records: impl IntoIterator<Item = &'r str>) -> SessionState {
    let mut state = SessionState::default();
    for json in records {
        state.apply(&Record::from_json(json).unwrap()).unwrap_or_else(|e| panic!("{e}: {json}"));
    }
    state
}

/// What one query of the running gateway's database gives: a look from another process that asks the gateway for nothing.
fn peek<T: rusqlite::types::FromSql>(dir: &Path, query: &str) -> Option<T> {
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY;
    let db = rusqlite::Connection::open_with_flags(dir.join("store/portico.db"), flags).unwrap();
    db.query_row(query, [], |row| row.get(0)).ok()
}

/// Waits until the session's actor has put itself to sleep: the ledger position that its snapshot reaches to.
async fn asleep(gateway: &Gateway, session: &str) -> u64 {
    let of = format!("FROM session JOIN snapshot ON snapshot.session = session.n WHERE id = '{session}' AND through_seq = head");
    poll("a snapshot of the whole ledger", || async { peek::<i64>(&gateway.dir, &format!("SELECT through_seq {of}")) })
        .await
        .try_into()
        .unwrap()
}
