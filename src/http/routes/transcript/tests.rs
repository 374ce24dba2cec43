use proptest::prelude::*;

use super::*;
use crate::domain::event::input::{MessageQueued, MessageRemoved, Mode, RemovedReason, Target, Trust, TurnStart};
use crate::domain::event::model::Message;
use crate::domain::message::Finish;
use crate::domain::record::Head;
use crate::domain::{Block, Usage};
use crate::store::memory::MemoryStore;
use crate::store::tests::samples;
use crate::store::{Append, Appended};

/// What may come next: a message of a person, its fate, or an answer.
#[derive(Clone, Debug)]
enum Next {
    Queued,
    /// Of those that wait, this one.
    Claimed(usize),
    Removed(usize),
    Answered,
    Silent,
}

fn next() -> impl Strategy<Value = Next> {
    prop_oneof![
        3 => Just(Next::Queued),
        2 => (0usize..4).prop_map(Next::Claimed),
        2 => (0usize..4).prop_map(Next::Removed),
        2 => Just(Next::Answered),
        1 => Just(Next::Silent),
    ]
}

/// Place, turn and text.
type Said = (Seq, Option<u32>, String);

/// The ledger's records from the second on, and the rows that they mean.
fn ledger(steps: &[Next]) -> (Vec<Record>, Vec<Said>) {
    let (mut records, mut rows, mut waiting) = (Vec::new(), Vec::<Said>::new(), Vec::<Seq>::new());
    for (step, seq) in steps.iter().zip(2..) {
        let turn = seq as u32;
        let message_id = |seq: Seq| MessageId::from(format!("msg_{seq}"));
        let event: AgentEvent = match step {
            Next::Claimed(i) if !waiting.is_empty() => {
                let of = waiting.remove(i % waiting.len());
                rows.iter_mut().filter(|row| row.0 == of).for_each(|row| row.1 = Some(turn));
                TurnStart { message_ids: vec![message_id(of)] }.into()
            }
            Next::Removed(i) if !waiting.is_empty() => {
                let of = waiting.remove(i % waiting.len());
                rows.retain(|row| row.0 != of);
                MessageRemoved { message_id: message_id(of), by: "p".into(), reason: RemovedReason::TakenBack }.into()
            }
            Next::Queued | Next::Claimed(_) | Next::Removed(_) => {
                waiting.push(seq);
                rows.push((seq, None, format!("q{seq}")));
                MessageQueued {
                    message_id: message_id(seq),
                    target: Target::NextTurn,
                    mode: Mode::Followup,
                    text: format!("q{seq}"),
                    author: "p".into(),
                    trust: Trust::User,
                    reply_to: None,
                    attachments: Vec::new(),
                    model: None,
                    instructions: None,
                }
                .into()
            }
            Next::Answered | Next::Silent => {
                let text = if matches!(step, Next::Answered) { format!("a{seq}") } else { String::new() };
                if !text.is_empty() {
                    rows.push((seq, Some(turn), text.clone()));
                }
                let content = vec![Block::Text { text }];
                let message = Message {
                    message_id: message_id(seq),
                    content,
                    finish: Finish::Stop,
                    usage: Usage::default(),
                    interrupted: false,
                    author: None,
                };
                message.into()
            }
        };
        let of_turn = matches!(event, AgentEvent::Input(Input::TurnStart(_)) | AgentEvent::Model(_)).then_some(turn);
        records.push(Record { head: Head { seq, at: Timestamp(0), turn: of_turn, step: None }, event });
    }
    (records, rows)
}

async fn stored(records: &[Record]) -> MemoryStore {
    let store = MemoryStore::new();
    let mut append: Append = samples::append("s", 0, &["session_created"]);
    append.records.extend(records.iter().map(|record| StoredRecord {
        seq: record.seq(),
        kind: record.event.kind().into(),
        json: record.to_json().unwrap().into(),
    }));
    assert!(matches!(store.append(append).await, Ok(Appended::Committed(_))));
    store
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn pages_make_up_the_transcript(steps in prop::collection::vec(next(), 0..150), limit in 1usize..6) {
        let (records, expected) = ledger(&steps);
        let (session, store) = (SessionId::from("s"), block_on(stored(&records)));
        let (mut rows, mut after) = (Vec::new(), 0);
        loop {
            let read = block_on(page(&store, &session, after, limit)).unwrap();
            prop_assert!(read.data.len() <= limit);
            rows.extend(read.data.iter().map(|row| (row.seq, row.turn, row.text.clone())));
            let Some(next) = read.next_cursor else {
                prop_assert_eq!(read.cursor, (records.len() + 1).to_string());
                break;
            };
            prop_assert!(!read.data.is_empty() && read.cursor == next);
            after = next.parse().unwrap();
        }
        prop_assert_eq!(rows, expected);
    }
}

#[test]
fn a_page_is_not_read_on_for_ever_and_ends_at_its_bytes() {
    let text = "x".repeat(Most::BYTES / 2);
    let (mut records, _) = ledger(&[Next::Answered, Next::Answered, Next::Answered, Next::Answered]);
    for record in &mut records {
        if let AgentEvent::Model(Model::Message(message)) = &mut record.event {
            message.content = vec![Block::Text { text: text.clone() }];
        }
    }
    let (session, store) = (SessionId::from("s"), block_on(stored(&records)));
    let read = block_on(page(&store, &session, 0, 100)).unwrap();
    assert_eq!((read.data.len(), read.next_cursor.as_deref()), (2, Some("3")));
}
