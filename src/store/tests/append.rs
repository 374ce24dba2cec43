//! One append: all or nothing, its order, its fences, what it stores.

use super::samples::{NOW, TENANT, all_sessions, append, approval, id, intake};
use super::{Engine, on_each_engine};
use crate::domain::Timestamp;
use crate::store::{Appended, INTAKE_KEPT, Loaded, Most, Position, SessionFilter, Slice, Snapshot};

on_each_engine!(
    everything_of_an_append_reads_back_also_after_a_crash,
    records_are_read_in_pages,
    a_read_ends_at_its_bytes_and_has_a_row,
    lists_end_at_their_bytes_and_have_a_row,
    the_transcript_is_its_kinds_and_the_head,
    a_stale_writer_is_fenced,
    a_session_is_created_once,
    an_intake_row_has_one_winner_and_the_loser_leaves_nothing,
    a_taken_key_is_told_before_a_conflict,
    a_fault_of_the_caller_is_refused,
    a_dropped_answer_does_not_undo_what_was_asked,
    appends_commit_in_the_order_of_the_calls,
    a_blob_is_written_once,
    the_further_snapshot_stays,
    what_is_due_is_oldest_first_with_the_next_time,
    intake_rows_go_eight_days_after_the_newest,
    a_stop_is_graceful_only_after_close,
    nothing_works_after_close,
    the_secret_stays,
);

async fn everything_of_an_append_reads_back_also_after_a_crash<E: Engine>(engine: E) {
    let mut first = append("s", 0, &["session_created", "message_queued"]);
    first.intake = vec![intake("k", "s")];
    first.blobs = vec![("d1".into(), vec![0, 255, 7])];
    first.items = vec![approval("apr_1", NOW)];
    assert_eq!(engine.store().append(first.clone()).await.unwrap(), Appended::Committed(Position(2)));
    let snapshot = Snapshot { fold_version: 1, through_seq: 2, state: vec![1, 2] };
    engine.store().save_snapshot(&id("s"), snapshot.clone()).await.unwrap();

    let engine = engine.restart();
    let store = engine.store();
    assert_eq!(store.read(&id("s"), 0, Most::rows(10)).await.unwrap().rows, first.records);
    assert_eq!(store.overview(&id("s")).await.unwrap(), Some(first.overview));
    assert_eq!(store.intake(TENANT, "ann /v1/sessions", "k").await.unwrap(), Some(intake("k", "s")));
    assert_eq!(store.blob(&id("s"), &"d1".into()).await.unwrap(), Some(vec![0, 255, 7]));
    assert_eq!(store.item(&id("s"), "apr_1").await.unwrap(), Some(approval("apr_1", NOW)));
    assert_eq!(store.load(&id("s")).await.unwrap(), Some(Loaded { position: Position(2), snapshot: Some(snapshot) }));

    assert_eq!(store.read(&id("none"), 0, Most::rows(10)).await.unwrap().rows, vec![]);
    assert_eq!(store.overview(&id("none")).await.unwrap(), None);
    assert_eq!(store.load(&id("none")).await.unwrap(), None);
    assert_eq!(store.intake("other", "ann /v1/sessions", "k").await.unwrap(), None);
    assert_eq!(store.blob(&id("none"), &"d1".into()).await.unwrap(), None);
    assert_eq!(store.item(&id("none"), "apr_1").await.unwrap(), None);
}

async fn records_are_read_in_pages<E: Engine>(engine: E) {
    let store = engine.store();
    let all = append("s", 0, &["session_created", "a", "b", "c", "d"]);
    store.append(append("t", 0, &["session_created"])).await.unwrap();
    store.append(all.clone()).await.unwrap();
    for (after, most, rows, more) in [
        (0, 2, &all.records[..2], true),
        (2, 2, &all.records[2..4], true),
        (3, 2, &all.records[3..], false),
        (4, 2, &all.records[4..], false),
        (5, 2, &[], false),
        (0, 0, &[], true),
        (0, usize::MAX, &all.records[..], false),
    ] {
        let read = store.read(&id("s"), after, Most::rows(most)).await.unwrap();
        assert_eq!((&*read.rows, read.more), (rows, more), "{most} after {after}");
    }
}

async fn a_read_ends_at_its_bytes_and_has_a_row<E: Engine>(engine: E) {
    let store = engine.store();
    let all = append("s", 0, &["session_created", "a", "b", "c"]);
    store.append(all.clone()).await.unwrap();
    let bytes = |count: usize| all.records[..count].iter().map(|r| r.json.len()).sum::<usize>();
    for (most, rows, more) in [(bytes(2), 2, true), (bytes(2) - 1, 1, true), (0, 1, true), (bytes(4), 4, false), (bytes(4) - 1, 3, true)] {
        let read = store.read(&id("s"), 0, Most { rows: 9, bytes: most }).await.unwrap();
        assert_eq!((&*read.rows, read.more), (&all.records[..rows], more), "{most} bytes");
    }
    let (read, _) = store.transcript(&id("s"), 0, Most { rows: 9, bytes: 0 }).await.unwrap();
    assert_eq!(read, Slice::empty(), "none of these kinds");
}

async fn lists_end_at_their_bytes_and_have_a_row<E: Engine>(engine: E) {
    let store = engine.store();
    for (name, title) in [("a", 1), ("b", Most::BYTES), ("c", 1), ("d", 1)] {
        let mut append = append(name, 0, &["session_created"]);
        append.overview.title = Some("t".repeat(title));
        store.append(append).await.unwrap();
    }
    let mut pages = Vec::new();
    let mut after = None;
    loop {
        let page = store.sessions(SessionFilter { after, limit: 3, ..all_sessions() }).await.unwrap();
        pages.push(page.rows.iter().map(|row| row.id.to_string()).collect::<Vec<_>>());
        after = page.rows.last().map(|row| row.id.clone());
        if !page.more {
            break;
        }
    }
    assert_eq!(pages, [vec!["d", "c"], vec!["b"], vec!["a"]]);
}

async fn the_transcript_is_its_kinds_and_the_head<E: Engine>(engine: E) {
    let store = engine.store();
    let kinds = ["session_created", "message_queued", "turn_start", "request", "message", "queue_drain", "message_removed", "done"];
    let all = append("s", 0, &kinds);
    store.append(all.clone()).await.unwrap();
    let (records, head) = store.transcript(&id("s"), 0, Most::rows(10)).await.unwrap();
    let expected: Vec<_> = [2, 3, 5, 6, 7].map(|seq: usize| all.records[seq - 1].clone()).into();
    assert_eq!((records.rows, records.more, head), (expected, false, 8));
    let (page, head) = store.transcript(&id("s"), 3, Most::rows(2)).await.unwrap();
    assert_eq!((page.rows, page.more, head), ([5, 6].map(|seq: usize| all.records[seq - 1].clone()).into(), true, 8));
    assert_eq!(store.transcript(&id("none"), 0, Most::rows(10)).await.unwrap(), (Slice::empty(), 0));
}

async fn a_stale_writer_is_fenced<E: Engine>(engine: E) {
    let store = engine.store();
    let first = append("s", 0, &["session_created", "a"]);
    store.append(first.clone()).await.unwrap();
    for expected in [1, 3] {
        let mut stale = append("s", expected, &["b"]);
        stale.intake = vec![intake("k", "s")];
        stale.blobs = vec![("d".into(), vec![1])];
        stale.items = vec![approval("apr_1", NOW)];
        stale.wake_at = Some(NOW);
        assert_eq!(store.append(stale).await.unwrap(), Appended::Conflict);
    }
    assert_eq!(store.append(append("none", 1, &["b"])).await.unwrap(), Appended::Conflict);
    assert_eq!(store.read(&id("s"), 0, Most::rows(10)).await.unwrap().rows, first.records);
    assert_eq!(store.overview(&id("s")).await.unwrap(), Some(first.overview));
    assert_eq!(store.intake(TENANT, "ann /v1/sessions", "k").await.unwrap(), None);
    assert_eq!(store.blob(&id("s"), &"d".into()).await.unwrap(), None);
    assert_eq!(store.item(&id("s"), "apr_1").await.unwrap(), None);
    assert_eq!(store.due(NOW, 9).await.unwrap(), (vec![], None));
    assert_eq!(store.overview(&id("none")).await.unwrap(), None);
}

async fn a_session_is_created_once<E: Engine>(engine: E) {
    let store = engine.store();
    let created = store.append(append("s", 0, &["session_created"]));
    let again = store.append(append("s", 0, &["session_created"]));
    assert_eq!(created.await.unwrap(), Appended::Committed(Position(1)));
    assert_eq!(again.await.unwrap(), Appended::Conflict);
}

async fn an_intake_row_has_one_winner_and_the_loser_leaves_nothing<E: Engine>(engine: E) {
    let store = engine.store();
    let race: Vec<_> = ["s1", "s2", "s3"]
        .into_iter()
        .map(|session| {
            let mut append = append(session, 0, &["session_created"]);
            append.intake = vec![intake(&format!("own of {session}"), session), intake("k", session)];
            store.append(append)
        })
        .collect();
    let mut answers = Vec::new();
    for answer in race {
        answers.push(answer.await.unwrap());
    }
    let taken = Appended::IntakeTaken(intake("k", "s1"));
    assert_eq!(answers, [Appended::Committed(Position(1)), taken.clone(), taken]);
    assert_eq!(store.overview(&id("s2")).await.unwrap(), None);
    assert_eq!(store.intake(TENANT, "ann /v1/sessions", "own of s2").await.unwrap(), None);
    assert_eq!(store.intake(TENANT, "ann /v1/sessions", "own of s1").await.unwrap(), Some(intake("own of s1", "s1")));
}

async fn a_taken_key_is_told_before_a_conflict<E: Engine>(engine: E) {
    let store = engine.store();
    let mut create = append("s", 0, &["session_created"]);
    create.intake = vec![intake("k", "s")];
    store.append(create.clone()).await.unwrap();
    assert_eq!(store.append(create).await.unwrap(), Appended::IntakeTaken(intake("k", "s")));
}

async fn a_fault_of_the_caller_is_refused<E: Engine>(engine: E) {
    let store = engine.store();
    let mut hole = append("s", 0, &["session_created", "a"]);
    hole.records[1].seq = 3;
    let mut twice = append("s", 0, &["session_created"]);
    twice.intake = vec![intake("k", "s"), intake("k", "s")];
    for fault in [hole, twice, append("s", 0, &[])] {
        store.append(fault).await.unwrap_err();
    }
    assert_eq!(store.load(&id("s")).await.unwrap(), None);
}

async fn a_dropped_answer_does_not_undo_what_was_asked<E: Engine>(engine: E) {
    let store = engine.store();
    drop(store.append(append("s", 0, &["session_created"])));
    assert_eq!(store.append(append("s", 1, &["a"])).await.unwrap(), Appended::Committed(Position(2)));
}

async fn appends_commit_in_the_order_of_the_calls<E: Engine>(engine: E) {
    let store = engine.store();
    let answers: Vec<_> = (0..200).flat_map(|at| ["s", "t"].map(|session| (at, store.append(append(session, at, &["a"]))))).collect();
    for (at, answer) in answers {
        assert_eq!(answer.await.unwrap(), Appended::Committed(Position(at + 1)));
    }
    assert_eq!(store.read(&id("t"), 0, Most::rows(1000)).await.unwrap().rows.len(), 200);
}

async fn a_blob_is_written_once<E: Engine>(engine: E) {
    let store = engine.store();
    let mut first = append("s", 0, &["session_created"]);
    first.blobs = vec![("d".into(), vec![1])];
    let mut second = append("s", 1, &["a"]);
    second.blobs = vec![("d".into(), vec![2]), ("e".into(), vec![])];
    store.append(first).await.unwrap();
    assert_eq!(store.append(second).await.unwrap(), Appended::Committed(Position(2)));
    assert_eq!(store.blob(&id("s"), &"d".into()).await.unwrap(), Some(vec![1]));
    assert_eq!(store.blob(&id("s"), &"e".into()).await.unwrap(), Some(vec![]));
}

async fn the_further_snapshot_stays<E: Engine>(engine: E) {
    let store = engine.store();
    store.append(append("s", 0, &["session_created", "a", "b"])).await.unwrap();
    let at = |fold_version, through_seq| Snapshot { fold_version, through_seq, state: vec![through_seq as u8] };
    for (saved, stays) in [(at(1, 2), at(1, 2)), (at(1, 1), at(1, 2)), (at(1, 3), at(1, 3)), (at(2, 1), at(2, 1))] {
        store.save_snapshot(&id("s"), saved).await.unwrap();
        assert_eq!(store.load(&id("s")).await.unwrap().unwrap().snapshot, Some(stays));
    }
    store.save_snapshot(&id("none"), at(1, 1)).await.unwrap();
    assert_eq!(store.load(&id("none")).await.unwrap(), None);
}

async fn what_is_due_is_oldest_first_with_the_next_time<E: Engine>(engine: E) {
    let wake = |session, expected, at: Option<u64>| {
        let mut append = append(session, expected, &["a"]);
        append.wake_at = at.map(Timestamp);
        append
    };
    for (session, at) in [("late", Some(30)), ("b", Some(20)), ("a", Some(10)), ("never", None), ("latest", Some(40))] {
        engine.store().append(wake(session, 0, at)).await.unwrap();
    }
    let engine = engine.restart();
    let store = engine.store();
    assert_eq!(store.due(Timestamp(20), 9).await.unwrap(), (vec![id("a"), id("b")], Some(Timestamp(30))));
    assert_eq!(store.due(Timestamp(20), 1).await.unwrap(), (vec![id("a")], Some(Timestamp(30))));
    assert_eq!(store.due(Timestamp(40), 9).await.unwrap().1, None);
    store.append(wake("a", 1, Some(35))).await.unwrap();
    store.append(wake("b", 1, None)).await.unwrap();
    assert_eq!(store.due(Timestamp(29), 9).await.unwrap(), (vec![], Some(Timestamp(30))));
    assert_eq!(store.due(Timestamp(35), 9).await.unwrap(), (vec![id("late"), id("a")], Some(Timestamp(40))));
}

async fn intake_rows_go_eight_days_after_the_newest<E: Engine>(engine: E) {
    let mut create = append("s", 0, &["session_created"]);
    let mut rows = ["old", "kept", "new"].map(|key| intake(key, "s"));
    rows[0].at = Timestamp(NOW.0 - 1);
    rows[2].at = NOW + INTAKE_KEPT;
    create.intake = rows.clone().into();
    engine.store().append(create).await.unwrap();
    let engine = engine.restart();
    for (row, stays) in rows.into_iter().zip([false, true, true]) {
        let found = engine.store().intake(TENANT, &row.scope, &row.external_id).await.unwrap();
        assert_eq!(found, stays.then_some(row));
    }
}

async fn a_stop_is_graceful_only_after_close<E: Engine>(engine: E) {
    assert!(engine.store().stopped_gracefully(), "a new store has no crash behind it");
    let engine = engine.restart();
    assert!(!engine.store().stopped_gracefully());
    drop(engine.store().append(append("s", 0, &["session_created"])));
    engine.store().close().await.unwrap();
    let engine = engine.restart();
    assert!(engine.store().stopped_gracefully());
    assert_eq!(engine.store().load(&id("s")).await.unwrap().unwrap().position, Position(1), "what was asked before close is flushed");
    assert!(!engine.restart().store().stopped_gracefully());
}

async fn nothing_works_after_close<E: Engine>(engine: E) {
    let store = engine.store();
    store.close().await.unwrap();
    store.append(append("s", 0, &["session_created"])).await.unwrap_err();
    store.read(&id("s"), 0, Most::rows(1)).await.unwrap_err();
    store.close().await.unwrap_err();
}

async fn the_secret_stays<E: Engine>(engine: E) {
    let secret = engine.store().secret();
    assert_ne!(secret, [0; 32]);
    assert_eq!(engine.restart().store().secret(), secret);
}
