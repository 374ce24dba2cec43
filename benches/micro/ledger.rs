//! Ledgers to measure with: whole turns with a tool call each, as the wire has them.

use portico::domain::{Overview, Record, SessionId, SessionState};
use portico::store::StoredRecord;

/// The records of one turn.
const TURN: [&str; 12] = [
    r#""turn":T,"type":"turn_start","message_ids":["in_T"]"#,
    r#""turn":T,"step":1,"type":"step_start""#,
    r#""turn":T,"step":1,"type":"request","attempt":1,"provider":"openai","model":"m","parameters":{},"system_digest":"s""#,
    r#""turn":T,"step":1,"type":"message","message_id":"a_T","content":[{"type":"text","text":"Let me look that up."},{"type":"tool_call","id":"c_T","tool":"web_fetch","args":{"url":"http://example.com/a"}}],"finish":"tool_calls","usage":{"input":900,"cache_read":0,"cache_write":0,"output":20,"reasoning":0}"#,
    r#""turn":T,"step":1,"type":"tool_start","tool_call_id":"c_T","tool":"web_fetch","args":{"url":"http://example.com/a"}"#,
    r#""turn":T,"step":1,"type":"tool_end","tool_call_id":"c_T","tool":"web_fetch","content":"A page of some length, with what was asked for.","preview":"A page","bytes":48,"duration_ms":12,"trust":"untrusted""#,
    r#""turn":T,"step":1,"type":"step_end""#,
    r#""turn":T,"step":2,"type":"step_start""#,
    r#""turn":T,"step":2,"type":"request","attempt":1,"provider":"openai","model":"m","parameters":{},"system_digest":"s""#,
    r#""turn":T,"step":2,"type":"message","message_id":"b_T","content":[{"type":"text","text":"It is as you thought: the page says so in its second paragraph."}],"finish":"stop","usage":{"input":990,"cache_read":0,"cache_write":0,"output":20,"reasoning":0}"#,
    r#""turn":T,"step":2,"type":"step_end""#,
    r#""turn":T,"type":"done","reason":"completed","answer":"It is as you thought: the page says so in its second paragraph.","message_ids":["in_T"],"tool_calls":[{"tool_call_id":"c_T","tool":"web_fetch","status":"ok","duration_ms":12}],"steps":2,"total_time_ms":900,"usage":{"input":1890,"cache_read":0,"cache_write":0,"output":40,"reasoning":0},"tokens_per_second":44.0"#,
];
const CREATED: &str = r#""type":"session_created","channel":"web","agent":"default","tenant":"t","principal":"p""#;
const QUEUED: &str = r#""type":"message_queued","message_id":"in_T","target":"next_turn","mode":"followup","text":"What does the page say?","author":"p","trust":"user""#;

/// A ledger of that many records, as it is stored.
pub(crate) fn texts(count: usize) -> Vec<String> {
    let turn = |number: usize| {
        let number = number.to_string();
        [QUEUED]
            .iter()
            .chain(&TURN)
            .map(|text| text.replace("_T", &format!("_{number}")).replace(":T", &format!(":{number}")))
            .collect::<Vec<_>>()
    };
    let bodies = [CREATED.to_owned()].into_iter().chain((1..).flat_map(turn)).take(count);
    let at = "2026-11-30T21:00:00.000Z";
    bodies.enumerate().map(|(i, body)| format!(r#"{{"seq":{},"at":"{at}",{body}}}"#, i + 1)).collect()
}

/// One of each type, from a turn in the middle of a ledger.
pub(crate) fn one_of_each() -> Vec<StoredRecord> {
    let records = stored(&texts(14));
    let first = |at: usize| records[..at].iter().all(|other| other.kind != records[at].kind);
    (0..records.len()).filter(|at| first(*at)).map(|at| records[at].clone()).collect()
}

pub(crate) fn records(texts: &[String]) -> Vec<Record> {
    texts.iter().map(|text| Record::from_json(text).unwrap()).collect()
}

pub(crate) fn stored(texts: &[String]) -> Vec<StoredRecord> {
    let stored = |text: &String| {
        let record = Record::from_json(text).unwrap();
        StoredRecord { seq: record.seq(), kind: record.event.kind().into(), json: text.as_str().into() }
    };
    texts.iter().map(stored).collect()
}

pub(crate) fn fold(records: &[Record]) -> SessionState {
    let mut state = SessionState::default();
    for record in records {
        state.apply(record).unwrap();
    }
    state
}

/// Of a session of that name, as of those records.
pub(crate) fn overview(id: &SessionId, state: &SessionState) -> Overview {
    Overview::of(id, state).unwrap()
}
