//! The hand on its timing. The port's contract is in `store/tests`.

use futures_util::FutureExt;

use super::MemoryStore;
use crate::store::tests::samples::{append, id};
use crate::store::{Appended, Position, Store};

#[tokio::test]
async fn a_held_append_commits_when_the_test_says_so() {
    let store = MemoryStore::new();
    store.hold_appends();
    let mut first = store.append(append("s", 0, &["session_created"]));
    let mut second = store.append(append("s", 1, &["a"]));
    assert!((&mut first).now_or_never().is_none());
    assert_eq!(store.load(&id("s")).await.unwrap(), None);

    assert_eq!(store.commit_held(1), 1);
    assert_eq!(first.await.unwrap(), Appended::Committed(Position(1)));
    assert!((&mut second).now_or_never().is_none());

    store.release_appends();
    assert_eq!(second.await.unwrap(), Appended::Committed(Position(2)));
    assert_eq!(store.append(append("s", 2, &["b"])).now_or_never().unwrap().unwrap(), Appended::Committed(Position(3)));
}

#[tokio::test]
async fn a_test_can_wait_for_appends_to_arrive() {
    let store = MemoryStore::new();
    store.hold_appends();
    let mut arrived = std::pin::pin!(store.until_held(2));
    drop(store.append(append("s", 0, &["session_created"])));
    assert!(arrived.as_mut().now_or_never().is_none());
    drop(store.append(append("t", 0, &["session_created"])));
    arrived.as_mut().now_or_never().unwrap();
    assert_eq!(store.commit_held(usize::MAX), 2);
}

#[tokio::test]
async fn one_append_fails_and_is_not_written() {
    let store = MemoryStore::new();
    store.fail_next_append();
    store.append(append("s", 0, &["session_created"])).await.unwrap_err();
    assert_eq!(store.append(append("s", 0, &["session_created"])).await.unwrap(), Appended::Committed(Position(1)));
}

#[tokio::test]
async fn one_answer_is_lost_and_its_append_written() {
    let store = MemoryStore::new();
    store.lose_next_answer();
    store.append(append("s", 0, &["session_created"])).await.unwrap_err();
    assert_eq!(store.append(append("s", 0, &["session_created"])).await.unwrap(), Appended::Conflict);
    assert_eq!(store.load(&id("s")).await.unwrap().unwrap().position, Position(1));
}

#[tokio::test]
async fn a_crash_keeps_what_was_committed_and_ends_the_process_before_it() {
    let store = MemoryStore::new();
    store.append(append("s", 0, &["session_created"])).await.unwrap();
    store.hold_appends();
    let held = store.append(append("s", 1, &["a"]));
    let next = store.reopen();
    held.await.unwrap_err();
    assert!(!next.stopped_gracefully());
    assert_eq!(next.load(&id("s")).await.unwrap().unwrap().position, Position(1));

    store.append(append("s", 1, &["ghost"])).await.unwrap_err();
    store.load(&id("s")).await.unwrap_err();
    assert_eq!(next.append(append("s", 1, &["a"])).await.unwrap(), Appended::Committed(Position(2)));
}
