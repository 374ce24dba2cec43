use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use rustyline::highlight::Highlighter;

use super::{DRAWING, Hook, Screen, Shared};
use crate::client::printer::Tone;
use crate::client::sink::{Paint, Sink};
use crate::client::wire::Voice;

const ERASE: &str = "\r\x1b[K";

#[derive(Clone, Default)]
struct Terminal(Arc<Mutex<Vec<u8>>>);

impl Write for Terminal {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Desk {
    terminal: Terminal,
    shared: Shared,
    screen: Screen,
}

fn desk() -> Desk {
    let terminal = Terminal::default();
    let shared = Shared::new(Box::new(terminal.clone()), Paint::Plain);
    shared.lock().drawn_at = Instant::now().checked_sub(DRAWING * 2).unwrap();
    Desk { terminal, screen: Screen::new(shared.clone()), shared }
}

impl Desk {
    /// What was written since the last look.
    fn written(&self) -> String {
        String::from_utf8(std::mem::take(&mut *self.terminal.0.lock().unwrap())).unwrap()
    }

    /// The editor draws its line, long ago.
    fn draws(&self, line: &str) {
        self.draws_now(line);
        self.shared.lock().drawn_at = Instant::now().checked_sub(DRAWING * 2).unwrap();
    }

    fn draws_now(&self, line: &str) {
        let hook = Hook(self.shared.clone());
        hook.highlight_prompt("", true);
        hook.highlight(line, line.len());
    }
}

#[test]
fn streaming_text_takes_the_place_of_an_empty_prompt() {
    let mut d = desk();
    d.screen.set_busy(true);
    d.draws("");
    d.screen.text(Voice::Answer, "Hel");
    d.screen.text(Voice::Answer, "lo you");
    assert_eq!(d.written(), format!("{ERASE}Hello"));
}

#[test]
fn the_first_key_gets_a_line_of_its_own() {
    let mut d = desk();
    d.screen.set_busy(true);
    d.screen.text(Voice::Answer, "Hello ");
    d.written();
    d.draws_now("x");
    assert_eq!(d.written(), "\n");
}

#[test]
fn while_a_line_is_typed_whole_lines_appear_above_it() {
    let mut d = desk();
    d.screen.set_busy(true);
    d.draws("stop it");
    d.screen.text(Voice::Answer, "one\ntw");
    assert_eq!(d.written(), format!("{ERASE}one\n… stop it\r\x1b[9C"));
    d.screen.text(Voice::Answer, "o");
    assert_eq!(d.written(), "");
    d.screen.end_line();
    assert_eq!(d.written(), format!("{ERASE}two\n… stop it\r\x1b[9C"));
}

#[test]
fn a_typed_line_that_cannot_be_drawn_again_makes_output_wait() {
    for line in ["x".repeat(78), "größer".into()] {
        let mut d = desk();
        d.screen.set_busy(true);
        d.draws(&line);
        d.screen.line(Tone::Note, "note");
        assert_eq!((d.written().as_str(), d.screen.is_holding()), ("", false));
        d.shared.line_over();
        assert!(d.screen.is_holding());
        d.screen.flush();
        assert_eq!(d.written(), "note\n");
    }
}

#[test]
fn nothing_is_written_while_the_editor_draws() {
    let mut d = desk();
    d.screen.set_busy(true);
    d.draws_now("");
    d.shared.lock().drawn_at = Instant::now() + DRAWING;
    d.screen.text(Voice::Answer, "Hello ");
    assert_eq!((d.written().as_str(), d.screen.is_holding()), ("", true));
    d.draws("");
    d.screen.flush();
    assert_eq!(d.written(), format!("{ERASE}Hello"));
}

#[test]
fn the_prompt_comes_back_when_the_turn_is_over() {
    let mut d = desk();
    d.screen.set_busy(true);
    d.screen.text(Voice::Answer, "Hello ");
    d.screen.set_busy(false);
    d.screen.end_line();
    d.screen.line(Tone::Note, "— 1.0 s");
    let prompt = "› \r\x1b[2C";
    assert_eq!(d.written(), format!("Hello\n{prompt}{ERASE}— 1.0 s\n{prompt}"));
}

#[test]
fn a_line_is_for_the_wait_under_which_it_was_begun() {
    let mut d = desk();
    d.draws("y");
    d.screen.ask("apr_1", &["May it?".into()]);
    assert_eq!(d.shared.line_over().under, None);
    d.draws("");
    d.draws("y");
    d.draws("ye");
    assert_eq!(d.shared.line_over().under.as_deref(), Some("apr_1"));
    d.draws("");
    d.draws("n");
    d.draws("");
    d.screen.ask_over();
    d.draws("hi");
    assert_eq!(d.shared.line_over().under, None);
}
