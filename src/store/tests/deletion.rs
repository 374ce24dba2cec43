//! Deleting: the mark, what it hides, what is erased and what is kept.

use super::samples::{NOW, TENANT, all_approvals, all_sessions, append, approval, child, id, intake};
use super::{Engine, on_each_engine};
use crate::store::{Appended, Most, Position, Slice, Snapshot, Store};

on_each_engine!(
    a_marked_session_does_not_exist_also_after_a_crash,
    erasing_takes_the_session_and_its_children_and_keeps_hashes,
    only_what_is_marked_is_erased,
    an_orphan_cannot_be_made,
    a_mark_is_behind_what_was_asked_before_it,
);

async fn with_a_family(store: &dyn Store) {
    let mut root = append("s", 0, &["session_created", "message_queued"]);
    root.intake = vec![intake("k", "s")];
    root.blobs = vec![("d".into(), vec![1])];
    root.items = vec![approval("apr_1", NOW)];
    root.wake_at = Some(NOW);
    let mut kept = append("kept", 0, &["session_created", "message_queued"]);
    kept.intake = vec![intake("k2", "kept")];
    for append in [root, child("s_child", "s"), child("s_grandchild", "s_child"), kept] {
        assert!(matches!(store.append(append).await.unwrap(), Appended::Committed(_)));
    }
    store.save_snapshot(&id("s"), Snapshot { fold_version: 1, through_seq: 1, state: vec![] }).await.unwrap();
}

async fn nothing_is_seen(store: &dyn Store) {
    for session in ["s", "s_child", "s_grandchild"].map(id) {
        assert_eq!(store.read(&session, 0, Most::rows(9)).await.unwrap().rows, vec![]);
        assert_eq!(store.transcript(&session, 0, Most::rows(9)).await.unwrap(), (Slice::empty(), 0));
        assert_eq!(store.load(&session).await.unwrap(), None);
        assert_eq!(store.overview(&session).await.unwrap(), None);
        assert!(!store.mark_deleted(&session).await.unwrap());
    }
    assert_eq!(store.blob(&id("s"), &"d".into()).await.unwrap(), None);
    assert_eq!(store.item(&id("s"), "apr_1").await.unwrap(), None);
    assert_eq!(store.approvals(all_approvals()).await.unwrap().rows, vec![]);
    assert_eq!(store.due(NOW, 9).await.unwrap(), (vec![], None));
    let listed: Vec<_> = store.sessions(all_sessions()).await.unwrap().rows.into_iter().map(|row| row.id).collect();
    assert_eq!(listed, [id("kept")]);
}

async fn a_marked_session_does_not_exist_also_after_a_crash<E: Engine>(engine: E) {
    with_a_family(engine.store()).await;
    assert_eq!(engine.store().marked().await.unwrap(), vec![]);
    assert!(engine.store().mark_deleted(&id("s")).await.unwrap());
    assert!(!engine.store().mark_deleted(&id("none")).await.unwrap());
    nothing_is_seen(engine.store()).await;
    let engine = engine.restart();
    let store = engine.store();
    nothing_is_seen(store).await;
    assert_eq!(store.marked().await.unwrap(), [id("s")]);
    assert_eq!(store.append(append("s", 2, &["a"])).await.unwrap(), Appended::Conflict);
    assert_eq!(store.append(append("s", 0, &["session_created"])).await.unwrap(), Appended::Conflict);
    assert_eq!(store.append(append("s_child", 1, &["a"])).await.unwrap(), Appended::Conflict);
    assert_eq!(store.intake(TENANT, "ann /v1/sessions", "k").await.unwrap(), Some(intake("k", "s")));
}

async fn erasing_takes_the_session_and_its_children_and_keeps_hashes<E: Engine>(engine: E) {
    with_a_family(engine.store()).await;
    engine.store().mark_deleted(&id("s")).await.unwrap();
    engine.store().erase(&id("s")).await.unwrap();
    let engine = engine.restart();
    let store = engine.store();
    nothing_is_seen(store).await;
    assert_eq!(store.marked().await.unwrap(), vec![]);
    let mut hash = intake("k", "s");
    hash.message_id = None;
    hash.seq = 0;
    assert_eq!(store.intake(TENANT, "ann /v1/sessions", "k").await.unwrap(), Some(hash.clone()));
    let mut again = append("s", 0, &["session_created"]);
    again.intake = vec![intake("k", "s")];
    assert_eq!(store.append(again).await.unwrap(), Appended::IntakeTaken(hash));
    assert_eq!(store.append(append("s_child", 1, &["a"])).await.unwrap(), Appended::Conflict);
    assert_eq!(store.intake(TENANT, "ann /v1/sessions", "k2").await.unwrap(), Some(intake("k2", "kept")));
    assert_eq!(store.read(&id("kept"), 0, Most::rows(9)).await.unwrap().rows.len(), 2);

    // What has its name later finds nothing of it.
    assert_eq!(store.append(append("s", 0, &["session_created"])).await.unwrap(), Appended::Committed(Position(1)));
    assert_eq!(store.read(&id("s"), 0, Most::rows(9)).await.unwrap().rows.len(), 1);
    assert_eq!(store.blob(&id("s"), &"d".into()).await.unwrap(), None);
    assert_eq!(store.item(&id("s"), "apr_1").await.unwrap(), None);
    assert_eq!(store.load(&id("s")).await.unwrap().unwrap().snapshot, None);
}

async fn only_what_is_marked_is_erased<E: Engine>(engine: E) {
    let store = engine.store();
    with_a_family(store).await;
    store.erase(&id("s")).await.unwrap();
    store.erase(&id("none")).await.unwrap();
    assert_eq!(store.load(&id("s")).await.unwrap().unwrap().position, Position(2));
    assert!(store.mark_deleted(&id("s_child")).await.unwrap());
    assert_eq!(store.marked().await.unwrap(), [id("s_child")]);
    store.erase(&id("s_child")).await.unwrap();
    assert_eq!(store.load(&id("s_grandchild")).await.unwrap(), None);
    assert_eq!(store.load(&id("s")).await.unwrap().unwrap().position, Position(2));
}

async fn an_orphan_cannot_be_made<E: Engine>(engine: E) {
    let store = engine.store();
    with_a_family(store).await;
    store.mark_deleted(&id("s")).await.unwrap();
    for orphan in [child("late", "s"), child("lost", "none")] {
        assert_eq!(store.append(orphan.clone()).await.unwrap(), Appended::Conflict);
        assert_eq!(store.overview(&orphan.session).await.unwrap(), None);
    }
}

async fn a_mark_is_behind_what_was_asked_before_it<E: Engine>(engine: E) {
    let store = engine.store();
    let create = store.append(append("s", 0, &["session_created"]));
    let mark = store.mark_deleted(&id("s"));
    let late = store.append(append("s", 1, &["a"]));
    let erase = store.erase(&id("s"));
    assert_eq!(create.await.unwrap(), Appended::Committed(Position(1)));
    assert!(mark.await.unwrap());
    assert_eq!(late.await.unwrap(), Appended::Conflict);
    erase.await.unwrap();
    assert_eq!(store.marked().await.unwrap(), vec![]);
}
