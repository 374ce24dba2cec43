//! What only this engine has: the file, the lock, the group, the failed commit. The port's contract is in `store/tests`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use metrics_exporter_prometheus::PrometheusBuilder;
use rusqlite::{Connection, StatementStatus};

use super::write::Prepared;
use super::writer::{Asked, Command, write_group};
use super::{OpenError, SqliteStore, read, schema, write};
use crate::meter::Meter;
use crate::store::tests::samples::{all_deliveries, append, id};
use crate::store::{Appended, Most, Pending, Position, Store, StoreFuture};
use crate::test_folder::TestFolder;

fn open(folder: &TestFolder) -> SqliteStore {
    SqliteStore::open(folder.path(), &Meter::none()).unwrap()
}

/// Somebody's shell on the same file.
fn shell(folder: &TestFolder) -> Connection {
    Connection::open(folder.path().join("portico.db")).unwrap()
}

/// From here on a record of the kind `poison` fails in the middle of its group.
fn poison(folder: &TestFolder) {
    let trigger = "CREATE TRIGGER poison BEFORE INSERT ON record WHEN new.kind = 'poison' BEGIN SELECT RAISE(ABORT, 'poisoned'); END";
    shell(folder).execute_batch(trigger).unwrap();
}

#[test]
fn a_folder_has_one_store_at_a_time() {
    let folder = TestFolder::absent();
    let first = open(&folder);
    let refused = SqliteStore::open(folder.path(), &Meter::none()).unwrap_err();
    assert!(matches!(refused, OpenError::InUse { .. }));
    assert!(refused.to_string().contains("another process has the store"));
    drop(first);
    open(&folder);
}

#[tokio::test]
async fn a_closed_store_has_let_go_of_its_folder_and_emptied_its_log() {
    let folder = TestFolder::absent();
    let first = open(&folder);
    first.append(append("s", 0, &["session_created"])).await.unwrap();
    assert!(size(&folder.path().join("portico.db-wal")) > 0);
    first.close().await.unwrap();
    assert_eq!(size(&folder.path().join("portico.db-wal")), 0);
    assert!(open(&folder).stopped_gracefully());
}

fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |meta| meta.len())
}

#[test]
fn a_statement_is_compiled_once_whatever_is_bound_to_it() {
    let folder = TestFolder::absent();
    let _store = open(&folder);
    let db = schema::connect_reader(&folder.path().join("portico.db")).unwrap();
    for id in ["ses_1", "ses_2", "ses_3"] {
        let mut query = db.prepare_cached(read::LOAD).unwrap();
        assert!(!query.exists([id]).unwrap());
        assert_eq!(query.get_status(StatementStatus::RePrepare), 0);
    }
}

#[tokio::test]
async fn what_it_makes_is_nobody_elses() {
    let parent = TestFolder::absent();
    let dir = parent.path().join("a/b");
    let store = SqliteStore::open(&dir, &Meter::none()).unwrap();
    store.append(append("s", 0, &["session_created"])).await.unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&dir), 0o700);
    for file in ["portico.db", "portico.db-wal", "portico.db-shm", "portico.lock"] {
        assert_eq!(mode(&dir.join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_newer_file_is_refused_and_left_alone() {
    let folder = TestFolder::absent();
    drop(open(&folder));
    shell(&folder).pragma_update(None, "user_version", 99).unwrap();
    let refused = SqliteStore::open(folder.path(), &Meter::none()).unwrap_err();
    assert!(matches!(refused, OpenError::Newer { found: 99, known: 3, .. }), "{refused}");
    assert_eq!(shell(&folder).pragma_query_value(None, "user_version", |row| row.get::<_, u32>(0)).unwrap(), 99);
}

#[test]
fn old_intake_rows_go_in_batches_until_none_is_left() {
    let folder = TestFolder::absent();
    drop(open(&folder));
    let fill = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500)
        INSERT INTO intake SELECT 'acme', 'scope', i, 'ses_1', NULL, 1, '00', i FROM n;
        INSERT INTO intake VALUES ('acme', 'scope', 'new', 'ses_1', NULL, 1, '00', 1800000000000)";
    shell(&folder).execute_batch(fill).unwrap();
    assert!(write::sweep(&shell(&folder)).unwrap(), "one batch leaves more");
    drop(open(&folder));
    let left: Vec<String> = shell(&folder)
        .prepare("SELECT external_id FROM intake")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    assert_eq!(left, ["new"]);
}

#[test]
fn each_store_has_its_own_secret() {
    let (a, b) = (TestFolder::absent(), TestFolder::absent());
    assert_ne!(open(&a).secret(), open(&b).secret());
}

#[tokio::test]
async fn a_commit_that_was_answered_is_synced() {
    let folder = TestFolder::absent();
    drop(open(&folder));
    let db = schema::connect(&folder.path().join("portico.db")).unwrap();
    assert_eq!(db.pragma_query_value(None, "journal_mode", |row| row.get::<_, String>(0)).unwrap(), "wal");
    assert_eq!(db.pragma_query_value(None, "synchronous", |row| row.get::<_, u32>(0)).unwrap(), 2, "FULL");
}

#[test]
fn a_group_is_all_or_nothing() {
    let folder = TestFolder::absent();
    drop(open(&folder));
    poison(&folder);
    let mut db = schema::connect(&folder.path().join("portico.db")).unwrap();
    let command = |append| Command::Append(Box::new(Prepared::new(append).unwrap()), Asked::new().0);
    let good = || command(append("good", 0, &["session_created"]));
    write_group(&mut db, &mut [good(), command(append("bad", 0, &["session_created", "poison"]))]).unwrap_err();
    assert_eq!(read::load(&db, &id("good")).unwrap(), None);
    // A refusal is no failure: the others of its group are written.
    write_group(&mut db, &mut [command(append("stale", 7, &["a"])), good(), good()]).unwrap();
    assert_eq!(read::load(&db, &id("good")).unwrap().unwrap().position, Position(1));
    assert_eq!(read::load(&db, &id("stale")).unwrap(), None);
}

#[tokio::test]
async fn a_failed_commit_is_told_and_the_store_goes_on() {
    let folder = TestFolder::absent();
    let store = open(&folder);
    poison(&folder);
    let failed = store.append(append("s", 0, &["session_created", "poison"])).await.unwrap_err();
    assert!(failed.to_string().contains("poisoned"), "{failed}");
    assert_eq!(store.load(&id("s")).await.unwrap(), None);
    assert_eq!(store.append(append("s", 0, &["session_created"])).await.unwrap(), Appended::Committed(Position(1)));
}

#[tokio::test]
async fn a_database_that_cannot_be_reopened_is_tried_again() {
    let folder = TestFolder::absent();
    let store = open(&folder);
    poison(&folder);
    store.append(append("bad", 0, &["poison"])).await.unwrap_err();
    let (file, away) = (folder.path().join("portico.db"), folder.path().join("away.db"));
    std::fs::rename(&file, &away).unwrap();
    std::fs::create_dir(&file).unwrap();
    store.append(append("s", 0, &["session_created"])).await.unwrap_err();
    assert!(!store.mark_deleted(&id("s")).await.is_ok_and(|marked| marked));
    std::fs::remove_dir(&file).unwrap();
    std::fs::rename(&away, &file).unwrap();
    assert_eq!(store.append(append("s", 0, &["session_created"])).await.unwrap(), Appended::Committed(Position(1)));
    assert_eq!(store.load(&id("s")).await.unwrap().unwrap().position, Position(1));
}

#[tokio::test]
async fn a_failed_commit_is_trouble_until_the_disk_takes_one() {
    let folder = TestFolder::absent();
    let store = open(&folder);
    assert_eq!(store.trouble().await, None);
    poison(&folder);
    let refuse = "CREATE TRIGGER refuse BEFORE INSERT ON meta BEGIN SELECT RAISE(ABORT, 'refused'); END";
    shell(&folder).execute_batch(refuse).unwrap();
    store.append(append("s", 0, &["poison"])).await.unwrap_err();
    for _ in 0..3 {
        let trouble = store.trouble().await.unwrap();
        assert_eq!(trouble.code, "store_failing");
        assert!(trouble.detail.contains("refused"), "it was tried: {}", trouble.detail);
    }
    shell(&folder).execute_batch("DROP TRIGGER refuse").unwrap();
    assert_eq!(store.trouble().await, None, "nobody needs to append for it to be seen");
    store.append(append("s", 0, &["poison"])).await.unwrap_err();
    store.append(append("s", 0, &["session_created"])).await.unwrap();
    assert_eq!(store.trouble().await, None);
}

#[tokio::test]
async fn a_database_that_is_not_in_its_place_takes_nothing_until_it_is() {
    let folder = TestFolder::absent();
    let store = open(&folder);
    store.append(append("s", 0, &["session_created"])).await.unwrap();
    let (there, aside) = (folder.path().to_owned(), folder.path().with_extension("aside"));
    let refused = async || {
        assert_eq!(store.trouble().await.unwrap().code, "store_gone");
        store.append(append("s", 1, &["a"])).await.unwrap_err();
        assert_eq!(store.trouble().await.unwrap().code, "store_gone", "also once a commit has failed");
    };
    fs::rename(&there, &aside).unwrap();
    refused().await;
    fs::create_dir(&there).unwrap();
    refused().await;
    assert_eq!(fs::read_dir(&there).unwrap().count(), 0, "no second database is made");
    fs::copy(aside.join("portico.db"), there.join("portico.db")).unwrap();
    refused().await;
    fs::remove_dir_all(&there).unwrap();
    fs::rename(&aside, &there).unwrap();
    assert_eq!(store.trouble().await, None);
    assert_eq!(store.append(append("s", 1, &["a"])).await.unwrap(), Appended::Committed(Position(2)));
    drop(store);
    assert_eq!(open(&folder).read(&id("s"), 0, Most::rows(9)).await.unwrap().rows.len(), 2);
}

#[tokio::test]
async fn readers_that_are_busy_are_no_trouble() {
    let folder = TestFolder::absent();
    let store = open(&folder);
    let (started, mut running) = tokio::sync::mpsc::channel(64);
    let mut held = Vec::new();
    for _ in 0..64 {
        let (let_go, wait) = std::sync::mpsc::channel::<()>();
        let started = started.clone();
        held.push((
            let_go,
            tokio::spawn(store.readers.run(move |_| {
                let _ = started.try_send(());
                let _ = wait.recv();
                Ok(())
            })),
        ));
    }
    running.recv().await.unwrap();
    let asked = tokio::time::timeout(Duration::from_secs(20), store.trouble()).await;
    assert_eq!(asked.ok(), Some(None), "it did not wait for them");
    for (let_go, reading) in held {
        drop(let_go);
        reading.await.unwrap().unwrap();
    }
}

#[tokio::test]
async fn a_closed_store_is_trouble() {
    let folder = TestFolder::absent();
    let store = open(&folder);
    store.close().await.unwrap();
    assert_eq!(store.trouble().await.unwrap().code, "store_unreadable");
}

#[tokio::test]
async fn a_file_of_the_first_version_is_brought_along() {
    let folder = TestFolder::absent();
    drop(open(&folder));
    let later = "DROP TABLE alias; DROP TABLE delivery; DROP TABLE pairing; DROP TABLE pairing_id; DROP INDEX item_open";
    shell(&folder).execute_batch(&format!("{later}; PRAGMA user_version = 1")).unwrap();
    let store = open(&folder);
    assert_eq!(store.pending().await.unwrap(), Pending::default());
    assert_eq!(store.deliveries(all_deliveries()).await.unwrap().rows, []);
}

#[tokio::test]
async fn appends_and_commits_are_measured() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let folder = TestFolder::absent();
    let store = SqliteStore::open(folder.path(), &Meter::new(recorder)).unwrap();
    poison(&folder);
    store.append(append("s", 0, &["session_created"])).await.unwrap();
    store.append(append("t", 0, &["poison"])).await.unwrap_err();
    store.mark_deleted(&id("s")).await.unwrap();
    let text = handle.render();
    let has = |line: &str| assert!(text.lines().any(|l| l == line), "{line} in {text}");
    has("portico_store_append_seconds_count 2");
    has("portico_store_commit_seconds_count 3");
    has("portico_store_group_size_sum 3");
    has("portico_store_failures_total{operation=\"commit\"} 1");
    has("portico_store_failures_total{operation=\"read\"} 0");
}

#[tokio::test]
async fn a_read_that_fails_is_counted_however_it_fails() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let handle = recorder.handle();
    let folder = TestFolder::absent();
    let store = SqliteStore::open(folder.path(), &Meter::new(recorder)).unwrap();
    let failed = |times: u32| handle.render().contains(&format!("failures_total{{operation=\"read\"}} {times}\n"));
    shell(&folder).execute_batch("ALTER TABLE item RENAME TO elsewhere").unwrap();
    store.pending().await.unwrap_err();
    assert!(failed(1), "{}", handle.render());
    assert_eq!(store.trouble().await, None, "a probe reads no more than it must");
    let panics: StoreFuture<()> = store.readers.run(|_| panic!("a query of the test's own"));
    panics.await.unwrap_err();
    assert!(failed(2), "{}", handle.render());
}

#[test]
fn erased_text_is_not_left_in_the_file() {
    let folder = TestFolder::absent();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let text = "a sentence that nobody may find again";
    runtime.block_on(async {
        let store = open(&folder);
        let mut create = append("s", 0, &["session_created"]);
        create.records[0].json = text.into();
        store.append(create).await.unwrap();
        store.close().await.unwrap();
        assert!(holds(&folder, text));
        let store = open(&folder);
        store.mark_deleted(&id("s")).await.unwrap();
        store.erase(&id("s")).await.unwrap();
        store.close().await.unwrap();
    });
    assert!(!holds(&folder, text));
}

fn holds(folder: &TestFolder, text: &str) -> bool {
    let files = std::fs::read_dir(folder.path()).unwrap().map(|entry| std::fs::read(entry.unwrap().path()).unwrap());
    files.into_iter().any(|bytes| bytes.windows(text.len()).any(|window| window == text.as_bytes()))
}
