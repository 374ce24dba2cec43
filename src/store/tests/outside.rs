//! Aliases, deliveries and pairings: what they are found by, their order, and what an erasure takes.

use super::samples::{NOW, TENANT, alias, all_deliveries, all_pairings, append, delivery, id, pairing};
use super::{Engine, on_each_engine};
use crate::domain::delivery::DeliveryState::{self, Dead, Queued, Sent};
use crate::domain::pairing::PairingStatus;
use crate::domain::{Recipient, Timestamp};
use crate::store::{DeliveryFilter, PairingFilter, Store};

on_each_engine!(
    a_name_leads_to_its_session_until_that_is_deleted,
    an_append_names_no_other_session,
    deliveries_are_newest_first_in_pages,
    deliveries_are_filtered_and_go_with_their_session,
    a_stranger_is_found_by_code_and_by_each_id,
    a_code_is_one_strangers,
    pairings_are_newest_first_in_pages,
);

async fn named(store: &dyn Store, name: &str) -> Option<String> {
    store.alias(TENANT, "whatsapp:main", name).await.unwrap().map(|session| session.to_string())
}

async fn a_name_leads_to_its_session_until_that_is_deleted<E: Engine>(engine: E) {
    let store = engine.store();
    let mut first = append("s", 0, &["session_created"]);
    first.aliases = vec![alias("phone:1", "s"), alias("user:US.1", "s")];
    store.append(first).await.unwrap();
    store.append(append("t", 0, &["session_created"])).await.unwrap();
    assert_eq!(named(store, "phone:1").await.as_deref(), Some("s"));
    assert_eq!(store.alias("other", "whatsapp:main", "phone:1").await.unwrap(), None);
    assert_eq!(store.aliases(&id("s")).await.unwrap(), [alias("phone:1", "s"), alias("user:US.1", "s")]);

    // the newest writer has it, and nobody has what would outlive its session
    store.put_aliases(vec![alias("phone:1", "t"), alias("phone:2", "s"), alias("phone:3", "none")], Vec::new()).await.unwrap();
    assert_eq!(named(store, "phone:1").await.as_deref(), Some("t"));
    assert_eq!(named(store, "phone:3").await, None);

    // one that moved on is not taken away with what it was
    store.put_aliases(vec![alias("phone:4", "s")], Vec::new()).await.unwrap();
    store.put_aliases(Vec::new(), vec![alias("phone:4", "s"), alias("phone:1", "s")]).await.unwrap();
    assert_eq!((named(store, "phone:4").await, named(store, "phone:1").await.as_deref()), (None, Some("t")));

    store.mark_deleted(&id("s")).await.unwrap();
    assert_eq!(named(store, "phone:2").await, None, "of a session that is marked");
    store.put_aliases(vec![alias("phone:2", "t")], Vec::new()).await.unwrap();
    store.erase(&id("s")).await.unwrap();
    let engine = engine.restart();
    let store = engine.store();
    assert_eq!(store.aliases(&id("s")).await.unwrap(), []);
    assert_eq!(named(store, "user:US.1").await, None);
    assert_eq!(named(store, "phone:2").await.as_deref(), Some("t"), "it had moved on before the erasure");
}

async fn an_append_names_no_other_session<E: Engine>(engine: E) {
    let mut foreign = append("s", 0, &["session_created"]);
    foreign.aliases = vec![alias("phone:1", "t")];
    engine.store().append(foreign).await.unwrap_err();
}

/// Two of `s`, one of `t`, whose owner is bob, and one of another tenant.
async fn with_deliveries(store: &dyn Store) {
    let at = |ms| Timestamp(NOW.0 + ms);
    let mut first = append("s", 0, &["session_created"]);
    first.deliveries = vec![delivery("dlv_a", "s", Queued, at(1)), delivery("dlv_c", "s", Sent, at(2))];
    let mut second = append("t", 0, &["session_created"]);
    second.overview.owner = "bob".into();
    second.deliveries = vec![delivery("dlv_b", "t", Queued, at(2))];
    let mut foreign = append("u", 0, &["session_created"]);
    foreign.overview.tenant = "other".into();
    foreign.deliveries = vec![delivery("dlv_d", "u", Queued, at(0))];
    for append in [first, second, foreign] {
        store.append(append).await.unwrap();
    }
}

async fn listed(store: &dyn Store, filter: DeliveryFilter) -> Vec<String> {
    store.deliveries(filter).await.unwrap().rows.iter().map(|row| row.delivery_id.to_string()).collect()
}

async fn deliveries_are_newest_first_in_pages<E: Engine>(engine: E) {
    let store = engine.store();
    with_deliveries(store).await;
    let mut seen = Vec::new();
    let mut filter = DeliveryFilter { limit: 1, ..all_deliveries() };
    loop {
        let page = store.deliveries(filter.clone()).await.unwrap();
        seen.extend(page.rows.iter().map(|row| row.delivery_id.to_string()));
        filter.after = page.rows.last().map(|row| row.delivery_id.clone());
        if !page.more {
            break;
        }
    }
    assert_eq!(seen, ["dlv_c", "dlv_b", "dlv_a"]);
    for unknown in ["dlv_none", "dlv_d"] {
        assert_eq!(listed(store, DeliveryFilter { after: Some(unknown.into()), ..all_deliveries() }).await, [""; 0]);
    }
}

async fn deliveries_are_filtered_and_go_with_their_session<E: Engine>(engine: E) {
    let store = engine.store();
    with_deliveries(store).await;
    let in_state = |state: DeliveryState| DeliveryFilter { state: Some(state), ..all_deliveries() };
    assert_eq!(listed(store, in_state(Queued)).await, ["dlv_b", "dlv_a"]);
    assert_eq!(listed(store, DeliveryFilter { owner: Some("bob".into()), ..all_deliveries() }).await, ["dlv_b"]);
    let mut later = append("s", 1, &["delivery"]);
    later.deliveries = vec![delivery("dlv_a", "s", Dead, Timestamp(NOW.0 + 1))];
    store.append(later).await.unwrap();
    assert_eq!(listed(store, DeliveryFilter { session: Some(id("s")), ..in_state(Dead) }).await, ["dlv_a"]);
    assert_eq!(store.delivery(&"dlv_a".into()).await.unwrap().unwrap().state, Dead);
    store.mark_deleted(&id("s")).await.unwrap();
    assert_eq!(listed(store, all_deliveries()).await, ["dlv_b"]);
    assert_eq!(store.delivery(&"dlv_a".into()).await.unwrap(), None);
    store.erase(&id("s")).await.unwrap();
    store.append(append("s", 0, &["session_created"])).await.unwrap();
    assert_eq!(listed(store, all_deliveries()).await, ["dlv_b"], "what has its name later finds nothing of it");
}

async fn a_stranger_is_found_by_code_and_by_each_id<E: Engine>(engine: E) {
    let asked = pairing("AAAA", "1", Some("US.1"), NOW);
    engine.store().save_pairing(asked.clone()).await.unwrap();
    let engine = engine.restart();
    let store = engine.store();
    assert_eq!(store.pairing(TENANT, "AAAA").await.unwrap(), Some(asked.clone()));
    assert_eq!(store.pairing("other", "AAAA").await.unwrap(), None);
    for known in &asked.ids {
        assert_eq!(store.pairing_of(TENANT, "whatsapp", "main", known).await.unwrap(), Some(asked.clone()));
        assert_eq!(store.pairing_of(TENANT, "whatsapp", "second", known).await.unwrap(), None);
    }
    // another code and fewer ids take the place of what was
    let again = pairing("BBBB", "1", None, NOW);
    store.save_pairing(again.clone()).await.unwrap();
    assert_eq!(store.pairing(TENANT, "AAAA").await.unwrap(), None);
    assert_eq!(store.pairing_of(TENANT, "whatsapp", "main", &Recipient::User("US.1".into())).await.unwrap(), None);
    assert!(store.delete_pairing(TENANT, "BBBB").await.unwrap());
    assert!(!store.delete_pairing(TENANT, "BBBB").await.unwrap());
    assert_eq!(store.pairing_of(TENANT, "whatsapp", "main", &again.ids[0]).await.unwrap(), None);
}

async fn a_code_is_one_strangers<E: Engine>(engine: E) {
    let store = engine.store();
    store.save_pairing(pairing("AAAA", "1", None, NOW)).await.unwrap();
    store.save_pairing(pairing("AAAA", "2", None, NOW)).await.unwrap_err();
    assert_eq!(store.pairing(TENANT, "AAAA").await.unwrap().unwrap().ids, [Recipient::Phone("1".into())]);
    assert_eq!(store.pairing_of(TENANT, "whatsapp", "main", &Recipient::Phone("2".into())).await.unwrap(), None);
}

async fn pairings_are_newest_first_in_pages<E: Engine>(engine: E) {
    let store = engine.store();
    for (code, phone, ms) in [("A", "1", 1), ("B", "2", 3), ("C", "3", 2)] {
        let mut asked = pairing(code, phone, None, Timestamp(ms));
        if code == "C" {
            asked.status = PairingStatus::Admitted;
        }
        store.save_pairing(asked).await.unwrap();
    }
    let codes = async |filter: PairingFilter| {
        let page = store.pairings(filter).await.unwrap();
        (page.rows.into_iter().map(|row| row.code).collect::<Vec<_>>().concat(), page.more)
    };
    assert_eq!(codes(PairingFilter { limit: 2, ..all_pairings() }).await, ("BC".into(), true));
    assert_eq!(codes(PairingFilter { after: Some("C".into()), ..all_pairings() }).await, ("A".into(), false));
    assert_eq!(codes(PairingFilter { status: Some(PairingStatus::Admitted), ..all_pairings() }).await, ("C".into(), false));
    assert_eq!(codes(PairingFilter { after: Some("none".into()), ..all_pairings() }).await, (String::new(), false));
}
