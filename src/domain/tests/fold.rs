//! For every ledger: the fold is a function of the records alone, wherever it is cut; and every record is its text.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;

use super::walk::{KINDS, ledger};
use crate::domain::event::AttemptEffect;
use crate::domain::event::model::Model;
use crate::domain::message::calls_of;
use crate::domain::{AgentEvent, Record, SessionState, SurfaceMessage};

fn fold<'a>(mut state: SessionState, records: impl IntoIterator<Item = &'a Record>) -> SessionState {
    for record in records {
        state.apply(record).unwrap();
    }
    state
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_snapshot_at_any_cut_and_the_tail_are_the_whole(bytes in vec(any::<u8>(), 0..240)) {
        let records = ledger(&bytes);
        let whole = fold(SessionState::default(), &records);
        let mut state = SessionState::default();
        for cut in 0..=records.len() {
            let snapshot = serde_json::to_vec(&state).unwrap();
            let again: SessionState = serde_json::from_slice(&snapshot).unwrap();
            prop_assert_eq!(&again, &state);
            prop_assert_eq!(&fold(again, &records[cut..]), &whole);
            if let Some(record) = records.get(cut) {
                state.apply(record).unwrap();
            }
        }
    }

    #[test]
    fn a_record_is_its_text(bytes in vec(any::<u8>(), 0..400)) {
        for record in ledger(&bytes) {
            let text = record.to_json().unwrap();
            prop_assert!(!text.contains('\n'));
            let again = Record::from_json(&text).unwrap();
            prop_assert_eq!(&again, &record);
            prop_assert_eq!(again.to_json().unwrap(), text);
        }
    }

    /// Before any request: each call has exactly one result, in the model's order, right behind its message.
    #[test]
    fn the_surface_of_every_request_is_paired(bytes in vec(any::<u8>(), 0..600)) {
        let mut state = SessionState::default();
        for record in ledger(&bytes) {
            if matches!(record.event, AgentEvent::Model(Model::Request(_))) {
                assert_paired(&state);
            }
            state.apply(&record).unwrap();
        }
    }

    /// What a type says of the attempt is what the fold does with it, for every type of the vocabulary.
    #[test]
    fn an_attempt_opens_and_closes_as_its_records_say(bytes in vec(any::<u8>(), 0..600)) {
        let mut state = SessionState::default();
        for record in ledger(&bytes) {
            let before = state.attempt.is_some();
            state.apply(&record).unwrap();
            let effect = match (before, state.attempt.is_some()) {
                (false, true) => AttemptEffect::Opens,
                (true, false) => AttemptEffect::Closes,
                // a turn's end closes whatever there is
                _ if record.event.kind() == "done" => AttemptEffect::Closes,
                _ => AttemptEffect::None,
            };
            prop_assert_eq!(record.event.attempt(), effect, "{}", record.event.kind());
        }
    }

    /// A ledger with a hole, or a record twice, is refused.
    #[test]
    fn what_does_not_follow_is_refused(bytes in vec(any::<u8>(), 20..100), at in any::<prop::sample::Index>()) {
        let records = ledger(&bytes);
        let at = at.index(records.len());
        let mut state = fold(SessionState::default(), &records[..at]);
        if let Some(next) = records.get(at + 1) {
            prop_assert!(state.clone().apply(next).is_err());
        }
        state.apply(&records[at]).unwrap();
        prop_assert!(state.apply(&records[at]).is_err());
    }
}

fn assert_paired(state: &SessionState) {
    let mut expected: Vec<&str> = Vec::new();
    for message in &state.surface.messages {
        match message.as_ref() {
            SurfaceMessage::ToolResult { tool_call_id, .. } => {
                assert!(!expected.is_empty(), "a result of {tool_call_id} without its call");
                assert_eq!(expected.remove(0), tool_call_id.as_str());
            }
            SurfaceMessage::User { .. } => assert!(expected.is_empty(), "{expected:?} have no result"),
            SurfaceMessage::Assistant { content } => {
                assert!(expected.is_empty(), "{expected:?} have no result");
                expected.extend(calls_of(content).map(|c| c.id.as_str()));
            }
        }
    }
    assert!(expected.is_empty(), "{expected:?} have no result");
}

#[test]
fn the_walk_makes_every_type() {
    let mut seen = BTreeSet::new();
    for seed in 0..200_u32 {
        let bytes: Vec<u8> = (0..300_u32).map(|i| (seed.wrapping_mul(2_654_435_761).wrapping_add(i * i * 40_503) >> 13) as u8).collect();
        seen.extend(ledger(&bytes).iter().map(|r| r.event.kind().to_owned()));
    }
    let missing: Vec<_> = KINDS.iter().filter(|k| !seen.contains(**k)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
