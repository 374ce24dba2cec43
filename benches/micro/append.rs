//! Commits: so many sessions append at once, and each waits for its own answer. One commit of the disk serves all that came during the one
//! before.

use std::path::PathBuf;

use divan::{Bencher, counter::ItemsCount};
use futures_util::future::join_all;
use portico::domain::{Overview, SessionId};
use portico::meter::Meter;
use portico::store::sqlite::SqliteStore;
use portico::store::{Append, Appended, Position, Store, StoredRecord};

use super::ledger;

/// Turns' records in one append: what an answer is, from its `message` to its `done`.
const RECORDS: usize = 3;

/// A store with sessions, each with where it stands.
struct Ledgers {
    store: SqliteStore,
    sessions: Vec<(SessionId, u64)>,
    overview: Overview,
    record: StoredRecord,
    dir: PathBuf,
}

impl Ledgers {
    fn new(count: usize) -> Self {
        let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("append-{count}-{}", std::process::id()));
        let store = SqliteStore::open(&dir, &Meter::none()).unwrap();
        let texts = ledger::texts(1);
        let overview = ledger::overview(&"ses_0".into(), &ledger::fold(&ledger::records(&texts)));
        let record = ledger::stored(&texts).remove(0);
        let sessions = (0..count).map(|number| (SessionId::from(format!("ses_{number}")), 0)).collect();
        Self { store, sessions, overview, record, dir }
    }

    async fn append(&mut self, records: usize) {
        let appends = self.sessions.iter_mut().map(|(session, head)| {
            let expected = Position(*head);
            let from = *head + 1;
            *head += records as u64;
            self.store.append(Append {
                session: session.clone(),
                expected,
                records: (from..=*head).map(|seq| StoredRecord { seq, ..self.record.clone() }).collect(),
                intake: Vec::new(),
                wake_at: None,
                blobs: Vec::new(),
                overview: Overview { id: session.clone(), head: *head, ..self.overview.clone() },
                items: Vec::new(),
                aliases: Vec::new(),
                deliveries: Vec::new(),
            })
        });
        for appended in join_all(appends).await {
            assert!(matches!(appended, Ok(Appended::Committed(_))), "{appended:?}");
        }
    }
}

impl Drop for Ledgers {
    fn drop(&mut self) {
        // the store still has it open, which Linux allows
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

#[divan::bench(args = [1, 32, 256], sample_size = 1, sample_count = 50)]
fn group(bencher: Bencher<'_, '_>, sessions: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut ledgers = Ledgers::new(sessions);
    runtime.block_on(ledgers.append(1));
    bencher.counter(ItemsCount::new(sessions)).bench_local(|| runtime.block_on(ledgers.append(RECORDS)));
}

#[divan::bench(args = [1, 32, 256], sample_size = 1, sample_count = 50)]
fn records_of_one_session(bencher: Bencher<'_, '_>, records: usize) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut ledgers = Ledgers::new(1);
    bencher.counter(ItemsCount::new(records)).bench_local(|| runtime.block_on(ledgers.append(records)));
}
