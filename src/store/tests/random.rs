//! Both engines, given the same random calls, give the same answers and end with the same contents. Each is the other's oracle: one is SQL,
//! the other is plain Rust.

use proptest::prelude::*;
use proptest::test_runner::Config;

use super::samples::{
    NOW, TENANT, alias, all_approvals, all_deliveries, all_pairings, all_sessions, append, approval, decided, delivery, id, intake, pairing,
};
use super::{Engine, Memory, Sqlite};
use crate::domain::delivery::DeliveryState;
use crate::domain::pending::Decision;
use crate::domain::{DigestId, Recipient, Timestamp};
use crate::store::{Append, DeliveryFilter, Most, PairingFilter, Position, SessionFilter, Slice, Snapshot, Store, StoredRecord};

const SESSIONS: [&str; 4] = ["s0", "s1", "s2", "s3"];
const KINDS: [&str; 3] = ["message", "done", "turn_start"];

#[derive(Clone, Debug)]
enum Call {
    Append {
        session: usize,
        lag: u64,
        texts: Vec<(usize, String)>,
        key: Option<u8>,
        wake_at: Option<u64>,
        item: Option<(u8, bool)>,
        child: bool,
        outside: Option<(u8, u8)>,
    },
    PutAliases(Vec<(u8, usize)>),
    /// A code, a number, perhaps another id.
    Pair(u8, u8, Option<u8>),
    Unpair(u8),
    Snapshot {
        session: usize,
        through_seq: u64,
    },
    Mark(usize),
    Erase(usize),
    Restart,
}

fn call() -> impl Strategy<Value = Call> {
    let session = 0..SESSIONS.len();
    let texts = prop::collection::vec((0..KINDS.len(), ".{0,40}"), 1..4);
    let key = prop::option::weighted(0.3, 0u8..6);
    let append = (
        session.clone(),
        prop_oneof![9 => Just(0u64), 1 => 1u64..3],
        texts,
        key,
        prop::option::of(0u64..9),
        prop::option::of(any::<(u8, bool)>()),
        prop::bool::weighted(0.2),
        prop::option::of(any::<(u8, u8)>()),
    )
        .prop_map(|(session, lag, texts, key, wake_at, item, child, outside)| Call::Append {
            session,
            lag,
            texts,
            key,
            wake_at,
            item,
            child,
            outside,
        });
    prop_oneof![
        12 => append,
        2 => prop::collection::vec((0u8..4, 0..SESSIONS.len()), 1..3).prop_map(Call::PutAliases),
        2 => (0u8..4, 0u8..3, prop::option::of(0u8..3)).prop_map(|(code, phone, user)| Call::Pair(code, phone, user)),
        1 => (0u8..4).prop_map(Call::Unpair),
        1 => (session.clone(), 0u64..9).prop_map(|(session, through_seq)| Call::Snapshot { session, through_seq }),
        1 => session.clone().prop_map(Call::Mark),
        1 => session.prop_map(Call::Erase),
        1 => Just(Call::Restart),
    ]
}

/// The append that the call means where the session stands at `head`; a lagging writer believes in an earlier place.
fn written(head: u64, call: &Call) -> Option<Append> {
    let Call::Append { session, lag, texts, key, wake_at, item, child, outside } = call else { return None };
    let name = SESSIONS[*session];
    let mut append = append(name, head.saturating_sub(*lag), &[]);
    append.records = texts
        .iter()
        .zip(append.expected.0 + 1..)
        .map(|((kind, text), seq)| StoredRecord { seq, kind: KINDS[*kind].into(), json: text.as_str().into() })
        .collect();
    append.overview.head = append.position().0;
    append.overview.parent = (*child && *session > 0).then(|| SESSIONS[session - 1].to_owned());
    append.overview.created_at = Timestamp(NOW.0 + *session as u64 % 2);
    append.intake = key.iter().map(|key| intake(&key.to_string(), name)).collect();
    append.wake_at = wake_at.map(Timestamp);
    append.blobs = vec![(texts[0].1.as_str().into(), texts[0].1.clone().into_bytes().into())];
    append.items = item
        .iter()
        .map(|(n, open)| {
            let item = approval(&format!("apr_{name}_{}", n % 3), Timestamp(u64::from(n % 3)));
            if *open { item } else { decided(item, Decision::Deny) }
        })
        .collect();
    if let Some((n, state)) = outside {
        append.aliases = vec![alias(&format!("phone:{}", n % 4), name)];
        let state = DeliveryState::ALL[usize::from(*state) % DeliveryState::ALL.len()];
        append.deliveries = vec![delivery(&format!("dlv_{name}_{}", n % 3), name, state, Timestamp(u64::from(n % 3)))];
    }
    Some(append)
}

async fn perform(store: &dyn Store, call: &Call) -> String {
    match call {
        Call::Append { session, .. } => {
            let (head, parent) = match store.overview(&id(SESSIONS[*session])).await.unwrap() {
                Some(row) => (row.head, Some(row.parent)),
                None => (0, None),
            };
            let mut append = written(head, call).unwrap();
            // Fixed at creation, as in a real ledger.
            if let Some(parent) = parent {
                append.overview.parent = parent;
            }
            format!("{:?}", store.append(append).await.unwrap())
        }
        Call::Snapshot { session, through_seq } => {
            let snapshot = Snapshot { fold_version: 1, through_seq: *through_seq, state: vec![*session as u8] };
            format!("{:?}", store.save_snapshot(&id(SESSIONS[*session]), snapshot).await.unwrap())
        }
        Call::Mark(session) => format!("{:?}", store.mark_deleted(&id(SESSIONS[*session])).await.unwrap()),
        Call::Erase(session) => format!("{:?}", store.erase(&id(SESSIONS[*session])).await.unwrap()),
        Call::PutAliases(named) => {
            let aliases = named.iter().map(|(n, session)| alias(&format!("phone:{n}"), SESSIONS[*session])).collect();
            format!("{:?}", store.put_aliases(aliases, Vec::new()).await.unwrap())
        }
        Call::Pair(code, phone, user) => {
            let user = user.map(|user| user.to_string());
            let asked = pairing(&code.to_string(), &phone.to_string(), user.as_deref(), Timestamp(u64::from(code % 2)));
            format!("{:?}", store.save_pairing(asked).await.map_err(|error| error.to_string()))
        }
        Call::Unpair(code) => format!("{:?}", store.delete_pairing(TENANT, &code.to_string()).await.unwrap()),
        Call::Restart => String::new(),
    }
}

/// All that can be read. Blobs are asked for by all of their names: also of a session that was erased since, or made again.
async fn contents(store: &dyn Store, blobs: &[DigestId]) -> Vec<String> {
    let mut all = Vec::new();
    for session in SESSIONS.map(id) {
        let exists = store.load(&session).await.unwrap().is_some();
        for blob in blobs {
            let found = store.blob(&session, blob).await.unwrap();
            assert!(exists || found.is_none(), "{blob} outlived {session}");
            all.push(format!("{found:?}"));
        }
        all.push(format!("{:?}", store.read(&session, 0, Most::rows(1000)).await.unwrap()));
        all.push(format!("{:?}", store.transcript(&session, 0, Most::rows(1000)).await.unwrap()));
        all.push(format!("{:?}", store.load(&session).await.unwrap()));
        all.push(format!("{:?}", store.overview(&session).await.unwrap()));
        all.push(format!("{:?}", store.aliases(&session).await.unwrap()));
        for delivery in (0..3).map(|n| format!("dlv_{session}_{n}")) {
            all.push(format!("{:?}", store.delivery(&delivery.as_str().into()).await.unwrap()));
            let after = Some(delivery.into());
            all.push(format!("{:?}", store.deliveries(DeliveryFilter { after, ..all_deliveries() }).await.unwrap()));
        }
        let of_it = DeliveryFilter { session: Some(session.clone()), ..all_deliveries() };
        all.push(format!("{:?}", store.deliveries(of_it).await.unwrap()));
        all.push(format!("{:?}", store.sessions(SessionFilter { after: Some(session), ..all_sessions() }).await.unwrap()));
    }
    for key in 0..6 {
        all.push(format!("{:?}", store.intake(TENANT, "ann /v1/sessions", &key.to_string()).await.unwrap()));
    }
    for n in 0..4 {
        all.push(format!("{:?}", store.alias(TENANT, "whatsapp:main", &format!("phone:{n}")).await.unwrap()));
        let code = n.to_string();
        all.push(format!("{:?}", store.pairing(TENANT, &code).await.unwrap()));
        all.push(format!("{:?}", store.pairings(PairingFilter { after: Some(code.clone()), ..all_pairings() }).await.unwrap()));
        for id in [Recipient::Phone(code.clone()), Recipient::User(code)] {
            all.push(format!("{:?}", store.pairing_of(TENANT, "whatsapp", "main", &id).await.unwrap()));
        }
    }
    for state in DeliveryState::ALL {
        all.push(format!("{:?}", store.deliveries(DeliveryFilter { state: Some(state), ..all_deliveries() }).await.unwrap()));
    }
    all.push(format!("{:?}", store.deliveries(all_deliveries()).await.unwrap()));
    all.push(format!("{:?}", store.pairings(all_pairings()).await.unwrap()));
    all.push(format!("{:?}", store.sessions(all_sessions()).await.unwrap()));
    all.push(format!("{:?}", store.approvals(all_approvals()).await.unwrap()));
    all.push(format!("{:?}", store.due(Timestamp(4), 2).await.unwrap()));
    all.push(format!("{:?}", store.marked().await.unwrap()));
    all
}

async fn compare(calls: Vec<Call>) {
    let (mut sqlite, mut memory) = (Sqlite::start(), Memory::start());
    for call in &calls {
        if matches!(call, Call::Restart) {
            (sqlite, memory) = (sqlite.restart(), memory.restart());
        }
        assert_eq!(perform(sqlite.store(), call).await, perform(memory.store(), call).await, "{call:?}");
    }
    let blobs: Vec<DigestId> = calls.iter().filter_map(|call| written(0, call)).map(|append| append.blobs[0].0.clone()).collect();
    assert_eq!(contents(sqlite.store(), &blobs).await, contents(memory.store(), &blobs).await);
    (sqlite, memory) = (sqlite.restart(), memory.restart());
    assert_eq!(contents(sqlite.store(), &blobs).await, contents(memory.store(), &blobs).await);
}

/// Appends over several sessions, all asked before any is answered, so that groups form.
async fn write_and_read_back<E: Engine>(appends: Vec<(usize, Vec<String>)>) {
    let engine = E::start();
    let mut ledgers: [Vec<StoredRecord>; SESSIONS.len()] = Default::default();
    let mut answers = Vec::new();
    for (session, texts) in appends {
        let ledger = &mut ledgers[session];
        let mut append = append(SESSIONS[session], ledger.len() as u64, &[]);
        let record = |(json, seq): (String, u64)| StoredRecord { seq, kind: "message".into(), json: json.into() };
        append.records = texts.into_iter().zip(append.expected.0 + 1..).map(record).collect();
        ledger.extend(append.records.clone());
        answers.push((append.position(), engine.store().append(append)));
    }
    for (position, answer) in answers {
        assert_eq!(answer.await.unwrap(), crate::store::Appended::Committed(position));
    }
    expect(engine.store(), &ledgers).await;
    expect(engine.restart().store(), &ledgers).await;
}

async fn expect(store: &dyn Store, ledgers: &[Vec<StoredRecord>]) {
    for (session, ledger) in SESSIONS.map(id).iter().zip(ledgers) {
        assert_eq!(store.read(session, 0, Most::rows(usize::MAX)).await.unwrap().rows, *ledger);
        let whole = Slice { rows: ledger.clone(), more: false };
        assert_eq!(store.transcript(session, 0, Most::rows(usize::MAX)).await.unwrap(), (whole, ledger.len() as u64));
        let position = store.load(session).await.unwrap().map(|loaded| loaded.position);
        assert_eq!(position, (!ledger.is_empty()).then_some(Position(ledger.len() as u64)));
    }
}

fn block_on(future: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future);
}

proptest! {
    #![proptest_config(Config { cases: 32, ..Config::default() })]

    #[test]
    fn the_engines_agree(calls in prop::collection::vec(call(), 1..40)) {
        block_on(compare(calls));
    }

    #[test]
    fn what_is_appended_reads_back(appends in prop::collection::vec((0..SESSIONS.len(), prop::collection::vec(".{0,300}", 1..5)), 1..30)) {
        block_on(write_and_read_back::<Sqlite>(appends.clone()));
        block_on(write_and_read_back::<Memory>(appends));
    }
}
