//! A ledger read back: each type's fold, ten thousand records, a snapshot, and what a view makes of a record.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use portico::domain::view::May;
use portico::domain::{Record, SessionState, View};

use super::ledger;

const MANY: usize = 10_000;

/// The types of a turn, in the order in which they first come.
const KINDS: [&str; 10] =
    ["session_created", "message_queued", "turn_start", "step_start", "request", "message", "tool_start", "tool_end", "step_end", "done"];

/// The first record of that type, onto what stands before it.
#[divan::bench(args = KINDS)]
fn apply(bencher: Bencher<'_, '_>, kind: &str) {
    let records = ledger::records(&ledger::texts(14));
    let index = records.iter().position(|record| record.event.kind() == kind).unwrap();
    let before = ledger::fold(&records[..index]);
    bencher.with_inputs(|| before.clone()).bench_local_values(|mut state| {
        state.apply(black_box(&records[index])).unwrap();
        state
    });
}

#[divan::bench(sample_count = 20)]
fn ten_thousand_records(bencher: Bencher<'_, '_>) {
    let texts = ledger::texts(MANY);
    bencher.counter(ItemsCount::new(MANY)).bench_local(|| {
        let mut state = SessionState::default();
        for text in &texts {
            state.apply(&Record::from_json(text).unwrap()).unwrap();
        }
        state
    });
}

#[divan::bench(sample_count = 20)]
fn snapshot_of_ten_thousand(bencher: Bencher<'_, '_>) {
    let snapshot = serde_json::to_vec(&ledger::fold(&ledger::records(&ledger::texts(MANY)))).unwrap();
    bencher.bench_local(|| serde_json::from_slice::<SessionState>(black_box(&snapshot)).unwrap());
}

#[divan::bench(args = [View::Chat, View::Owner, View::Admin])]
fn project_one_of_each(bencher: Bencher<'_, '_>, view: View) {
    let records = ledger::one_of_each();
    bencher.counter(ItemsCount::new(records.len())).bench_local(|| {
        for record in &records {
            black_box(view.project(&record.kind, &record.json, May::Look));
        }
    });
}
