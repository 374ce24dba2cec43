//! The terminal of an interactive chat: streaming text and a line that may be typed at any time, without garbling either.
//!
//! The line editor waits for keys all the time, also while a turn runs. While nothing is typed, output is written straight to the terminal,
//! over the prompt if one stands there. With the first key the editor draws its line on a line of its own; until that line is sent or
//! emptied, output appears above it in whole lines, and the line is drawn again below. A typed line that fills more than one row, or
//! whose width is not plain, makes output wait instead.
//!
//! The editor's drawing hooks ([`Hook`]) tell what stands on the terminal; they run just before the editor writes. (The editor's own
//! external printer is not used: with it, keys that arrive in one burst are not read until the next key.)

use std::borrow::Cow;
use std::io::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustyline::Helper;
use rustyline::completion::Completer;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::validate::Validator;

use super::page::Page;
use super::printer::Tone;
use super::sink::{Paint, Sink};
use super::wire::Voice;

/// The editor's prompt; [`State::prompt`] is drawn in its place and has its width.
pub(super) const PROMPT: &str = "› ";
const PROMPT_COLUMNS: usize = 2;
/// A hook runs just before the editor writes; for so long nothing else is written.
pub(super) const DRAWING: Duration = Duration::from_millis(20);

pub(super) struct Screen {
    shared: Shared,
}

/// What the async side and the editor's thread share.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<State>>);

struct State {
    /// The terminal.
    out: Box<dyn Write + Send>,
    /// The text's place on it; its columns are as of the last prompt.
    page: Page,
    mode: Mode,
    /// The cursor of streaming text is at the start of a line.
    at_line_start: bool,
    /// What is being typed, and where the cursor is in it, in bytes.
    line: String,
    position: usize,
    drawn_at: Instant,
    /// Output that could not be written yet.
    held: String,
    busy: bool,
    closing: bool,
    /// The editor is gone: no more prompts.
    gone: bool,
    /// The id of the wait that the prompt asks about.
    ask: Option<String>,
    /// The wait that was asked about when the typed line was begun.
    begun_under: Option<String>,
}

/// What the cursor's line holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Output.
    Streaming,
    /// The prompt, and what is being typed.
    Prompt,
}

/// A line that the editor gave back.
#[derive(Debug)]
pub(super) struct LineOver {
    pub(super) had_text: bool,
    /// The wait that was asked about when it was begun.
    pub(super) under: Option<String>,
}

impl Shared {
    pub(super) fn new(out: Box<dyn Write + Send>, paint: Paint) -> Self {
        Self(Arc::new(Mutex::new(State {
            out,
            page: Page::new(paint, 80),
            mode: Mode::Streaming,
            at_line_start: true,
            line: String::new(),
            position: 0,
            drawn_at: Instant::now(),
            held: String::new(),
            busy: false,
            closing: false,
            gone: false,
            ask: None,
            begun_under: None,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A turn runs, so that Ctrl-C is for it.
    pub(super) fn is_busy(&self) -> bool {
        self.lock().busy
    }

    /// The chat is over; whatever is typed next leaves.
    pub(super) fn is_closing(&self) -> bool {
        self.lock().closing
    }

    pub(super) fn set_columns(&self, columns: usize) {
        self.lock().page.columns = columns;
    }

    pub(super) fn line_over(&self) -> LineOver {
        let mut state = self.lock();
        state.mode = Mode::Streaming;
        state.new_row();
        LineOver { had_text: !std::mem::take(&mut state.line).is_empty(), under: state.begun_under.take() }
    }

    pub(super) fn editor_gone(&self) {
        self.lock().gone = true;
    }
}

impl Screen {
    pub(super) fn new(shared: Shared) -> Self {
        Self { shared }
    }

    pub(super) fn set_busy(&mut self, busy: bool) {
        self.shared.lock().busy = busy;
    }

    /// Shows what a person is asked; from here on a line that is begun is for this wait.
    pub(super) fn ask(&mut self, id: &str, lines: &[String]) {
        self.shared.lock().ask = Some(id.to_owned());
        self.line(Tone::Person, &lines.join("\n"));
    }

    pub(super) fn ask_over(&mut self) {
        self.shared.lock().ask = None;
    }

    /// The last words: the next key press that ends a line leaves.
    pub(super) fn close(&mut self, why: &str) {
        self.shared.lock().closing = true;
        self.line(Tone::Bad, &format!("{why}\npress Enter to leave"));
    }

    /// Output waits that [`Screen::flush`] can write once [`DRAWING`] is over.
    pub(super) fn is_holding(&self) -> bool {
        let state = self.shared.lock();
        !state.held.is_empty() && state.writable().is_some()
    }

    pub(super) fn flush(&mut self) {
        self.shared.lock().flush();
    }
}

impl State {
    /// How much of what is held may be written, in bytes; `None` while it has to wait for the line that is being typed.
    fn writable(&self) -> Option<usize> {
        match self.mode {
            Mode::Prompt if !self.line.is_empty() => {
                let fits = self.line.len() + PROMPT_COLUMNS < self.page.columns;
                let is_plain = self.line.bytes().all(|b| (b' '..=b'~').contains(&b));
                self.held.rfind('\n').map(|end| end + 1).filter(|_| fits && is_plain)
            }
            Mode::Prompt | Mode::Streaming => Some(self.held.len()),
        }
    }

    /// Writes what may be written now, and the prompt where one belongs.
    fn flush(&mut self) {
        if self.mode == Mode::Prompt && (self.held.is_empty() || self.drawn_at.elapsed() <= DRAWING) {
            return;
        }
        let Some(end) = self.writable() else { return };
        let output: String = self.held.drain(..end).collect();
        let mut text = String::new();
        if self.mode == Mode::Prompt {
            text.push_str("\r\x1b[K");
            self.at_line_start = true;
        }
        text.push_str(&output);
        if !output.is_empty() {
            self.at_line_start = output.ends_with('\n');
        }
        let wants_prompt = !self.gone && self.at_line_start && (!self.busy || self.ask.is_some() || !self.line.is_empty());
        self.mode = if wants_prompt { Mode::Prompt } else { Mode::Streaming };
        if wants_prompt {
            text.push_str(&self.prompt());
            text.push_str(&self.line);
            text.push_str(&format!("\r\x1b[{}C", PROMPT_COLUMNS + self.position));
        }
        self.write(&text);
    }

    fn prompt(&self) -> String {
        let (tone, prompt) = match (&self.ask, self.busy) {
            (Some(_), _) => (Tone::Bad, "? "),
            (None, true) => (Tone::Note, "… "),
            (None, false) => (Tone::Person, PROMPT),
        };
        self.page.paint.line(tone, prompt).into_owned()
    }

    /// The cursor stands at the start of a row; what is held goes on from there too.
    fn new_row(&mut self) {
        self.at_line_start = true;
        if self.held.is_empty() {
            self.page.new_row();
        }
    }

    /// A terminal that is gone is noticed by the editor.
    fn write(&mut self, text: &str) {
        let _ = self.out.write_all(text.as_bytes());
        let _ = self.out.flush();
    }

    fn is_at_line_start(&self) -> bool {
        match self.held.is_empty() {
            true => self.at_line_start || self.mode == Mode::Prompt,
            false => self.held.ends_with('\n'),
        }
    }
}

impl Sink for Screen {
    fn text(&mut self, voice: Voice, text: &str) {
        let mut state = self.shared.lock();
        let text = state.page.text(voice, text);
        state.held.push_str(&text);
        state.flush();
    }

    fn void(&mut self) {
        self.shared.lock().page.void();
        self.end_line();
    }

    fn end_line(&mut self) {
        let mut state = self.shared.lock();
        let rest = state.page.rest();
        state.held.push_str(&rest);
        if !state.is_at_line_start() {
            state.held.push('\n');
        }
        state.flush();
    }

    fn line(&mut self, tone: Tone, line: &str) {
        let mut state = self.shared.lock();
        if !state.is_at_line_start() {
            state.held.push('\n');
        }
        state.page.part();
        let text = state.page.lines(tone, line);
        state.held.push_str(&text);
        state.held.push('\n');
        state.flush();
    }
}

/// The editor's drawing hooks.
pub(super) struct Hook(pub(super) Shared);

impl Highlighter for Hook {
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, _prompt: &'p str, _default: bool) -> Cow<'b, str> {
        let mut state = self.0.lock();
        if state.mode == Mode::Streaming && !state.at_line_start {
            state.write("\n");
        }
        state.mode = Mode::Prompt;
        state.new_row();
        state.drawn_at = Instant::now();
        Cow::Owned(state.prompt())
    }

    fn highlight<'l>(&self, line: &'l str, position: usize) -> Cow<'l, str> {
        let mut state = self.0.lock();
        if state.line.is_empty() {
            state.begun_under = state.ask.clone().filter(|_| !line.is_empty());
        }
        line.clone_into(&mut state.line);
        state.position = position;
        Cow::Borrowed(line)
    }

    /// Always, so that no key is drawn without the hooks above.
    fn highlight_char(&self, _line: &str, _position: usize, _kind: CmdKind) -> bool {
        true
    }
}

impl Completer for Hook {
    type Candidate = String;
}
impl Hinter for Hook {
    type Hint = String;
}
impl Validator for Hook {}
impl Helper for Hook {}

#[cfg(test)]
mod tests;
