//! A ledger read back: each type's fold, ten thousand records, a snapshot, and what a view makes of a record.

use divan::counter::ItemsCount;
use divan::{Bencher, black_box};
use portico::domain::view::May;
use portico::domain::{Record, SessionState, View};

use super::ledger;

const MANY: usize = 10_000;

/// From a record's text to the state. The `message_queued` and what follows it stand on what is before them.
#[divan::bench(args = 0..14)]
fn apply(bencher: Bencher<'_, '_>, index: usize) {
    let records = ledger::records(&ledger::texts(14));
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
