//! The fold: whatever records come, in whatever order, each is folded in or refused, and the state is one that a snapshot keeps.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portico::domain::{Overview, Record, SessionState};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let mut state = SessionState::default();
    let mut folded = Vec::new();
    for line in text.lines() {
        let Ok(mut record) = Record::from_json(line) else { continue };
        // a hole is refused before anything else is looked at: not what is looked for here
        record.head.seq = state.head + 1;
        if state.apply(&record).is_ok() {
            state.open_items().for_each(|item| assert!(state.item(item.id()).is_some()));
            folded.push(record);
            continue;
        }
        // a state that has refused a record is not used any further: the next one goes to another that has come as far
        state = SessionState::default();
        for record in &folded {
            state.apply(record).expect("what was folded in once is folded in again");
        }
    }
    let overview = Overview::of(&"ses_1".into(), &state);
    assert_eq!(overview.is_some(), state.profile.is_some());
    let snapshot = serde_json::to_vec(&state).expect("a state can be saved");
    let restored: SessionState = serde_json::from_slice(&snapshot).expect("a saved state can be read");
    assert_eq!(restored, state);
});
