use super::{Join, Transcript};
use crate::client::wire;

fn feed(transcript: &mut Transcript, events: &[(&str, &str)]) {
    for (event, data) in events {
        transcript.apply(wire::read(event, data));
    }
}

fn live(transcript: &Transcript) -> String {
    transcript.live.iter().map(|((id, block), live)| format!("{id}/{block}:{} ", live.text)).collect()
}

const A: (&str, &str) = ("text_delta", r#"{"message_id":"m1","block":1,"text":"Hel"}"#);
const B: (&str, &str) = ("text_delta", r#"{"message_id":"m1","block":1,"text":"lo"}"#);
const THINK: (&str, &str) = ("reasoning_delta", r#"{"message_id":"m1","block":0,"text":"hm"}"#);

#[test]
fn deltas_append_by_message_and_block() {
    let mut t = Transcript::default();
    feed(&mut t, &[THINK, A, B, ("text_delta", r#"{"message_id":"m2","block":1,"text":"x"}"#)]);
    assert_eq!(live(&t), "m1/0:hm m1/1:Hello m2/1:x ");
}

#[test]
fn a_message_of_the_agent_replaces_everything_live() {
    let mut t = Transcript::default();
    let message = r#"{"seq":4,"turn":1,"step":1,"type":"message","message_id":"m1","content":[{"type":"reasoning"},{"type":"text","text":"Hello"}],"finish":"stop"}"#;
    feed(&mut t, &[THINK, A, ("message", message)]);
    assert_eq!(live(&t), "");
    assert_eq!(t.entries.len(), 1);
}

#[test]
fn a_message_of_a_person_touches_no_live_text() {
    let mut t = Transcript::default();
    let human = r#"{"seq":4,"type":"message","message_id":"h","content":[{"type":"text","text":"hi"}],"finish":"stop","author":"human"}"#;
    feed(&mut t, &[A, ("message", human), B]);
    assert_eq!(live(&t), "m1/1:Hello ");
}

#[test]
fn only_a_discarding_retry_drops() {
    let retry = |seq: u32, discarded: bool| {
        format!(r#"{{"seq":{seq},"type":"retry","attempt":1,"code":"cut","delay_ms":1,"discarded":{discarded}}}"#)
    };
    let mut t = Transcript::default();
    feed(&mut t, &[A, ("retry", &retry(4, false))]);
    assert_eq!(live(&t), "m1/1:Hel ");
    feed(&mut t, &[("retry", &retry(5, true))]);
    assert_eq!(live(&t), "");
}

#[test]
fn done_drops_and_ends_turn_and_waits() {
    let mut t = Transcript::default();
    feed(
        &mut t,
        &[
            ("hello", r#"{"session_id":"s","head":1,"approvals":[],"questions":[],"client_calls":[]}"#),
            ("turn_start", r#"{"seq":2,"turn":1,"type":"turn_start","message_ids":["u"]}"#),
            ("question_asked", r#"{"seq":3,"turn":1,"type":"question_asked","question_id":"q","tool_call_id":"c","questions":[]}"#),
            A,
        ],
    );
    assert_eq!((t.turn, t.asks.len()), (Some(1), 1));
    feed(&mut t, &[("done", r#"{"seq":4,"turn":1,"type":"done","reason":"aborted","answer":""}"#)]);
    assert_eq!((t.turn, t.asks.len(), live(&t)), (None, 0, String::new()));
}

#[test]
fn a_join_elsewhere_drops_and_one_at_the_own_last_id_goes_on() {
    let mut t = Transcript::default();
    feed(&mut t, &[A]);
    t.join(Join::OwnLastId);
    feed(&mut t, &[B]);
    assert_eq!(live(&t), "m1/1:Hello ");
    t.join(Join::Elsewhere);
    feed(&mut t, &[A]);
    assert_eq!(live(&t), "m1/1:Hel ");
}

#[test]
fn a_reset_empties_and_the_replay_fills_again() {
    let queued = r#"{"seq":2,"type":"message_queued","message_id":"u","text":"hi"}"#;
    let mut t = Transcript::default();
    feed(&mut t, &[("message_queued", queued), A, ("reset", r#"{"reason":"ahead","from_seq":1}"#)]);
    assert!(t.entries.is_empty() && t.live.is_empty());
    assert_eq!(t.generation, 1);
    feed(&mut t, &[("message_queued", queued)]);
    assert_eq!(t.entries.len(), 1);
}

#[test]
fn a_record_counts_once() {
    let queued = r#"{"seq":2,"type":"message_queued","message_id":"u","text":"hi"}"#;
    let mut t = Transcript::default();
    feed(&mut t, &[("message_queued", queued), ("message_queued", queued)]);
    assert_eq!(t.entries.len(), 1);
}

#[test]
fn of_the_past_only_what_hello_names_still_waits() {
    let asked = |seq: u32, id: &str| {
        format!(
            r#"{{"seq":{seq},"turn":1,"type":"approval_requested","approval_id":"{id}","tool_call_id":"c","tool":"bash","args":{{}},"decisions":["allow_once","deny"]}}"#
        )
    };
    let hello = r#"{"session_id":"s","head":9,"turn":2,"approvals":[{"approval_id":"a2","tool":"bash","args":{"b":1.0},"decisions":["deny"]}],"questions":[],"client_calls":[]}"#;
    let mut t = Transcript::default();
    feed(
        &mut t,
        &[
            ("hello", hello),
            ("approval_requested", &asked(3, "a1")),
            ("done", r#"{"seq":5,"turn":1,"type":"done","reason":"completed","answer":""}"#),
            ("approval_requested", &asked(8, "a2")),
        ],
    );
    assert_eq!(t.asks.iter().map(|a| a.id()).collect::<Vec<_>>(), ["a2"]);
    assert_eq!(t.turn, Some(2));
    feed(
        &mut t,
        &[
            ("approval_requested", &asked(10, "a3")),
            ("tool_approval", r#"{"seq":11,"approval_id":"a2","tool_call_id":"c","decision":"deny"}"#),
        ],
    );
    assert_eq!(t.asks.iter().map(|a| a.id()).collect::<Vec<_>>(), ["a3"]);
}

#[test]
fn what_it_cannot_read_harms_nothing() {
    let mut t = Transcript::default();
    feed(&mut t, &[A, ("hologram", "{}"), ("message", "{"), ("heartbeat", "{}"), B]);
    assert_eq!(live(&t), "m1/1:Hello ");
}
