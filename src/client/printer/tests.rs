use super::{Out, Printer};
use crate::client::transcript::{Join, Transcript};
use crate::client::wire;
use crate::domain::MessageId;

/// The screen as a person would read it; `<..>` are lines of the client itself.
#[derive(Default)]
struct Screen {
    transcript: Transcript,
    printer: Printer,
    text: String,
}

impl Screen {
    fn feed(&mut self, event: &str, data: &str) -> &mut Self {
        self.transcript.apply(wire::read(event, data));
        for out in self.printer.update(&self.transcript) {
            match out {
                Out::Text(_, text) => self.text.push_str(&text),
                Out::Break | Out::Void if self.text.is_empty() || self.text.ends_with('\n') => {}
                Out::Break | Out::Void => self.text.push('\n'),
                Out::Line(_, line) => {
                    let gap = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { "\n" };
                    self.text.push_str(&format!("{gap}<{line}>\n"));
                }
            }
        }
        self
    }

    fn delta(&mut self, id: &str, block: u32, text: &str) -> &mut Self {
        self.feed("text_delta", &format!(r#"{{"message_id":"{id}","block":{block},"text":"{text}"}}"#))
    }

    fn message(&mut self, seq: u32, id: &str, text: &str) -> &mut Self {
        self.feed(
            "message",
            &format!(r#"{{"seq":{seq},"turn":1,"message_id":"{id}","content":[{{"type":"text","text":"{text}"}}],"finish":"stop"}}"#),
        )
    }
}

#[test]
fn streamed_text_is_printed_once() {
    let mut s = Screen::default();
    s.delta("m1", 0, "Hel").delta("m1", 0, "lo").message(5, "m1", "Hello");
    assert_eq!(s.text, "Hello\n");
}

#[test]
fn a_message_brings_what_the_deltas_did_not() {
    let mut s = Screen::default();
    s.delta("m1", 0, "Hel").message(5, "m1", "Hello").message(9, "m2", "Whole");
    assert_eq!(s.text, "Hello\nWhole\n");
}

#[test]
fn withdrawn_text_is_said_and_the_new_text_printed() {
    let mut s = Screen::default();
    s.delta("m1", 0, "Wrong");
    s.feed("retry", r#"{"seq":4,"turn":1,"attempt":1,"code":"transport_cut","delay_ms":1500,"discarded":true}"#);
    s.delta("m2", 0, "Right").message(6, "m2", "Right");
    assert_eq!(s.text, "Wrong\n<(the text above is withdrawn: the model's answer broke off; asking again in 1.5 s)>\nRight\n");
}

#[test]
fn a_retry_before_any_text_withdraws_nothing() {
    let mut s = Screen::default();
    s.feed("retry", r#"{"seq":4,"turn":1,"attempt":1,"code":"overloaded","delay_ms":500,"discarded":false}"#);
    assert_eq!(s.text, "<the model is busy; asking again>\n");
}

#[test]
fn a_join_elsewhere_repeats_nothing_that_still_holds() {
    let mut s = Screen::default();
    s.delta("m1", 0, "Hello wo");
    s.transcript.join(Join::Elsewhere);
    s.delta("m1", 0, "Hello").delta("m1", 0, " world");
    assert_eq!(s.text, "Hello world");
}

#[test]
fn a_join_elsewhere_withdraws_what_no_longer_holds() {
    let mut s = Screen::default();
    s.delta("m1", 0, "Hello");
    s.transcript.join(Join::Elsewhere);
    s.delta("m2", 0, "Other");
    assert_eq!(s.text, "Hello\n<(the text above is withdrawn: here is the new one)>\nOther");
}

#[test]
fn a_message_that_contradicts_the_screen_is_printed_whole() {
    let mut s = Screen::default();
    s.delta("m1", 0, "Hello").message(5, "m1", "Help");
    assert_eq!(s.text, "Hello\n<(the text above is withdrawn: here is what stands)>\nHelp\n");
}

#[test]
fn a_turn_that_ends_without_its_text_says_so_and_prints_its_answer() {
    let mut s = Screen::default();
    s.delta("m1", 0, "Hello");
    s.feed("done", r#"{"seq":7,"turn":1,"reason":"error","code":"provider","answer":"Sorry.","total_time_ms":1250}"#);
    assert_eq!(s.text, "Hello\n<(the text above is withdrawn: the turn ended without it)>\nSorry.\n<— failed: provider · 1.2 s>\n");
}

#[test]
fn tools_have_a_line_each() {
    let mut s = Screen::default();
    s.delta("m1", 0, "I look.").feed("message", r#"{"seq":4,"message_id":"m1","content":[{"type":"text","text":"I look."},{"type":"tool_call","id":"c","tool":"bash"}],"finish":"tool_calls"}"#);
    s.feed("tool_start", r#"{"seq":5,"tool_call_id":"c","tool":"bash","args":{"command":"ls"}}"#);
    s.feed("tool_end", r#"{"seq":6,"tool_call_id":"c","tool":"bash","duration_ms":12}"#);
    s.feed("tool_error", r#"{"seq":7,"tool_call_id":"d","tool":"bash","code":"TOOL_TIMEOUT","error":"too slow"}"#);
    s.feed("tool_denied", r#"{"seq":8,"tool_call_id":"e","tool":"bash","reason":"no"}"#);
    assert_eq!(s.text, "I look.\n<· bash {\"command\":\"ls\"}>\n<✓ bash 12 ms>\n<✗ bash: too slow>\n<✗ bash denied: no>\n");
}

#[test]
fn own_messages_are_on_the_screen_already_and_others_are_named() {
    let queued = |seq: u32, id: &str, text: &str| format!(r#"{{"seq":{seq},"message_id":"{id}","text":"{text}","author":"ada"}}"#);
    let mut s = Screen::default();
    s.feed("hello", r#"{"session_id":"s","head":1}"#);
    s.printer.posting("mine");
    s.feed("message_queued", &queued(2, "u1", "mine"));
    s.printer.posted("mine", Some(MessageId::from("u1")));
    s.printer.posting("late");
    s.printer.posted("late", Some(MessageId::from("u2")));
    s.feed("message_queued", &queued(3, "u2", "late")).feed("message_queued", &queued(4, "u3", "mine"));
    assert_eq!(s.text, "<» ada from another client: mine>\n");
}

#[test]
fn after_a_reset_the_conversation_is_printed_again() {
    let mut s = Screen::default();
    s.message(5, "m1", "Hello").feed("reset", r#"{"reason":"ahead","from_seq":1}"#).message(5, "m1", "Hello");
    assert_eq!(s.text, "Hello\n<the gateway starts the conversation over; here it is again>\nHello\n");
}

#[test]
fn a_restart_is_said_once() {
    let mut s = Screen::default();
    s.delta("m1", 0, "Hello");
    s.feed("retry", r#"{"seq":4,"turn":1,"attempt":1,"code":"restart","delay_ms":0,"discarded":true}"#);
    s.feed("turn_continued", r#"{"seq":5,"turn":1,"count":1,"cause":"stop"}"#);
    assert_eq!(s.text, "Hello\n<(the text above is withdrawn: the gateway restarted; answering again)>\n");
    s.feed("turn_continued", r#"{"seq":6,"turn":1,"count":2,"cause":"stop"}"#);
    assert!(s.text.ends_with("<the gateway restarted; the turn goes on>\n"), "{}", s.text);
}

#[test]
fn the_time_that_a_person_took_is_named_apart() {
    let mut s = Screen::default();
    let at = |second: u32| format!(r#""at":"2026-11-30T21:00:{second:02}.000Z""#);
    let asked = |seq: u32, id: &str, second| format!(r#"{{"seq":{seq},{},"approval_id":"{id}","tool":"bash","args":{{}}}}"#, at(second));
    let decided = |seq: u32, id: &str, second| {
        format!(r#"{{"seq":{seq},{},"approval_id":"{id}","tool_call_id":"c","decision":"allow_once"}}"#, at(second))
    };
    s.feed("approval_requested", &asked(2, "a", 10)).feed("approval_requested", &asked(3, "b", 12));
    s.feed("tool_approval", &decided(4, "a", 15)).feed("tool_approval", &decided(5, "b", 20));
    s.feed("done", &format!(r#"{{"seq":6,{},"turn":1,"reason":"completed","total_time_ms":12500}}"#, at(22)));
    assert_eq!(s.text, "<→ allowed once>\n<→ allowed once>\n<— 2.5 s, and 10.0 s waiting for a person>\n");
}

#[test]
fn a_question_stands_on_the_screen_already_and_only_history_names_its_tool() {
    let start = |seq: u32| format!(r#"{{"seq":{seq},"tool_call_id":"q","tool":"ask_user","args":{{}}}}"#);
    let mut s = Screen::default();
    s.feed("hello", r#"{"session_id":"s","head":3}"#).feed("tool_start", &start(3));
    s.feed("tool_start", &start(4)).feed("tool_end", r#"{"seq":5,"tool_call_id":"q","tool":"ask_user","duration_ms":0}"#);
    s.feed("tool_denied", r#"{"seq":6,"tool_call_id":"q","tool":"ask_user","reason":"declined"}"#);
    assert_eq!(s.text, "<· ask_user {}>\n");
}
