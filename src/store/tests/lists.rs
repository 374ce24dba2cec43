//! The lists across sessions: order, filters, pages.

use super::samples::{NOW, TENANT, all_approvals, all_sessions, append, approval, child, decided, id, question};
use super::{Engine, on_each_engine};
use crate::domain::Timestamp;
use crate::domain::pending::Decision;
use crate::store::{ApprovalFilter, Pending, SessionFilter, Store};

on_each_engine!(
    sessions_are_newest_first_in_pages,
    sessions_are_filtered_and_children_hidden,
    a_row_shows_the_newest_append,
    approvals_are_oldest_first_in_pages,
    approvals_are_filtered,
    an_item_keeps_what_later_appends_do_not_name,
    what_waits_is_counted_in_all_sessions,
);

async fn listed(store: &dyn Store, filter: SessionFilter) -> Vec<String> {
    store.sessions(filter).await.unwrap().rows.iter().map(|row| row.id.to_string()).collect()
}

async fn approvals(store: &dyn Store, filter: ApprovalFilter) -> Vec<String> {
    store.approvals(filter).await.unwrap().rows.iter().map(|(session, item)| format!("{session}/{}", item.id())).collect()
}

async fn sessions_are_newest_first_in_pages<E: Engine>(engine: E) {
    let store = engine.store();
    for (session, age_ms) in [("z_old", 5), ("b", 1), ("a", 1), ("c", 1), ("d_new", 0)] {
        let mut create = append(session, 0, &["session_created"]);
        create.overview.created_at = Timestamp(NOW.0 - age_ms);
        store.append(create).await.unwrap();
    }
    let mut seen = Vec::new();
    let mut filter = SessionFilter { limit: 2, ..all_sessions() };
    loop {
        let page = listed(store, filter.clone()).await;
        let Some(last) = page.last() else { break };
        filter.after = Some(last.as_str().into());
        seen.push(page.clone());
    }
    assert_eq!(seen, [vec!["d_new", "c"], vec!["b", "a"], vec!["z_old"]]);
    assert_eq!(listed(store, SessionFilter { after: Some(id("unknown")), ..all_sessions() }).await, [""; 0]);
    let foreign = SessionFilter { tenant: "other".into(), after: Some(id("d_new")), ..all_sessions() };
    assert_eq!(listed(store, foreign).await, [""; 0]);
}

async fn sessions_are_filtered_and_children_hidden<E: Engine>(engine: E) {
    let store = engine.store();
    for (session, tenant, owner, channel) in
        [("s1", TENANT, "ann", "web"), ("s2", TENANT, "bob", "web"), ("s3", TENANT, "ann", "cli"), ("s4", "other", "ann", "web")]
    {
        let mut create = append(session, 0, &["session_created"]);
        create.overview.tenant = tenant.into();
        create.overview.owner = owner.into();
        create.overview.channel = channel.into();
        store.append(create).await.unwrap();
    }
    store.append(child("s5", "s1")).await.unwrap();
    let owner = Some("ann".to_owned());
    let channel = Some("web".to_owned());
    assert_eq!(listed(store, all_sessions()).await, ["s3", "s2", "s1"]);
    assert_eq!(listed(store, SessionFilter { owner: owner.clone(), ..all_sessions() }).await, ["s3", "s1"]);
    assert_eq!(listed(store, SessionFilter { channel: channel.clone(), ..all_sessions() }).await, ["s2", "s1"]);
    assert_eq!(listed(store, SessionFilter { owner, channel, ..all_sessions() }).await, ["s1"]);
    assert_eq!(store.overview(&id("s5")).await.unwrap().unwrap().parent.as_deref(), Some("s1"));
}

async fn a_row_shows_the_newest_append<E: Engine>(engine: E) {
    let store = engine.store();
    store.append(append("s", 0, &["session_created"])).await.unwrap();
    let mut renamed = append("s", 1, &["session_updated"]);
    renamed.overview.title = None;
    renamed.overview.pending = Vec::new();
    store.append(renamed.clone()).await.unwrap();
    assert_eq!(store.sessions(all_sessions()).await.unwrap().rows, [renamed.overview]);
}

/// Four approvals and a question in two sessions, and one of another tenant.
async fn with_approvals(store: &dyn Store) {
    let at = |ms| Timestamp(NOW.0 + ms);
    let mut first = append("s1", 0, &["a"]);
    first.items =
        vec![approval("apr_d", at(3)), approval("apr_b", at(1)), question("qst_1"), decided(approval("apr_e", at(4)), Decision::Expired)];
    let mut second = append("s2", 0, &["a"]);
    second.items = vec![approval("apr_c", at(1)), decided(approval("apr_a", at(2)), Decision::Deny)];
    second.overview.owner = "bob".into();
    let mut foreign = append("s3", 0, &["a"]);
    foreign.items = vec![approval("apr_f", at(0))];
    foreign.overview.tenant = "other".into();
    for append in [first, second, foreign] {
        store.append(append).await.unwrap();
    }
}

async fn approvals_are_oldest_first_in_pages<E: Engine>(engine: E) {
    let store = engine.store();
    with_approvals(store).await;
    let mut seen = Vec::new();
    let mut filter = ApprovalFilter { limit: 2, ..all_approvals() };
    loop {
        let page = approvals(store, filter.clone()).await;
        let Some((_, last)) = page.last().and_then(|last| last.split_once('/')) else { break };
        filter.after = Some(last.into());
        seen.push(page);
    }
    assert_eq!(seen, [vec!["s1/apr_b", "s2/apr_c"], vec!["s2/apr_a", "s1/apr_d"], vec!["s1/apr_e"]]);
    for unknown in ["apr_none", "qst_1", "apr_f"] {
        assert_eq!(approvals(store, ApprovalFilter { after: Some(unknown.into()), ..all_approvals() }).await, [""; 0]);
    }
}

async fn approvals_are_filtered<E: Engine>(engine: E) {
    let store = engine.store();
    with_approvals(store).await;
    let status = |status: &str| ApprovalFilter { status: Some(status.into()), ..all_approvals() };
    assert_eq!(approvals(store, status("pending")).await, ["s1/apr_b", "s2/apr_c", "s1/apr_d"]);
    assert_eq!(approvals(store, status("decided")).await, ["s2/apr_a"]);
    assert_eq!(approvals(store, status("expired")).await, ["s1/apr_e"]);
    assert_eq!(approvals(store, ApprovalFilter { session: Some(id("s2")), ..all_approvals() }).await, ["s2/apr_c", "s2/apr_a"]);
    assert_eq!(approvals(store, ApprovalFilter { owner: Some("bob".into()), ..status("pending") }).await, ["s2/apr_c"]);
    store.mark_deleted(&id("s2")).await.unwrap();
    assert_eq!(approvals(store, status("pending")).await, ["s1/apr_b", "s1/apr_d"]);
}

async fn an_item_keeps_what_later_appends_do_not_name<E: Engine>(engine: E) {
    let store = engine.store();
    with_approvals(store).await;
    let mut later = append("s1", 1, &["tool_approval"]);
    later.items = vec![decided(approval("apr_b", Timestamp(NOW.0 + 1)), Decision::AllowOnce)];
    store.append(later.clone()).await.unwrap();
    assert_eq!(store.item(&id("s1"), "apr_b").await.unwrap().as_ref(), later.items.first());
    assert_eq!(store.item(&id("s1"), "apr_d").await.unwrap().unwrap().status(), "pending");
    assert_eq!(store.item(&id("s1"), "qst_1").await.unwrap(), Some(question("qst_1")));
    let pending = ApprovalFilter { status: Some("pending".into()), ..all_approvals() };
    assert_eq!(approvals(store, pending).await, ["s2/apr_c", "s1/apr_d"]);
}

async fn what_waits_is_counted_in_all_sessions<E: Engine>(engine: E) {
    let store = engine.store();
    assert_eq!(store.pending().await.unwrap(), Pending::default());
    with_approvals(store).await;
    let counts = |approvals, questions| Pending { approvals, questions, client_calls: 0 };
    assert_eq!(store.pending().await.unwrap(), counts(4, 1));
    let mut later = append("s1", 1, &["tool_approval"]);
    later.items = vec![decided(approval("apr_b", Timestamp(NOW.0 + 1)), Decision::AllowOnce)];
    store.append(later).await.unwrap();
    assert_eq!(store.pending().await.unwrap(), counts(3, 1));
    store.mark_deleted(&id("s1")).await.unwrap();
    assert_eq!(store.pending().await.unwrap(), counts(2, 0));
    let engine = engine.restart();
    assert_eq!(engine.store().pending().await.unwrap(), counts(2, 0));
}
