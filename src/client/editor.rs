//! The line editor on a thread of its own, for it blocks. It decides by itself when the person leaves: once it has given the terminal back
//! and ended, nothing holds the terminal in raw mode.

use std::thread::JoinHandle;

use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;
use rustyline::{ColorMode, Config, Editor};
use tokio::sync::mpsc;

use super::screen::{Hook, PROMPT, Screen, Shared};
use super::sink::Paint;

/// Lines that nobody took yet; a paste of more makes the editor wait.
const TYPED_AHEAD: usize = 64;

/// What the person did.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Typed {
    /// A line that is not blank. `under`: the wait that was asked about when it was begun.
    Line { text: String, under: Option<String> },
    /// Ctrl-C; what stood on the line is cleared.
    Interrupt { had_text: bool },
    /// Nothing follows.
    Leave,
}

#[derive(Debug)]
pub(super) struct Keyboard {
    pub(super) typed: mpsc::Receiver<Typed>,
    thread: JoinHandle<()>,
}

/// Starts the editor; the first prompt is drawn at once.
///
/// # Errors
/// When the terminal cannot be used.
pub(super) fn start(paint: Paint) -> Result<(Keyboard, Screen), ReadlineError> {
    let shared = Shared::new(Box::new(std::io::stdout()), paint);
    // The hooks are called only where there may be colours; what they draw keeps to `paint`.
    let config = Config::builder().auto_add_history(true).color_mode(ColorMode::Forced).bracketed_paste(true).build();
    let mut editor: Editor<Hook, MemHistory> = Editor::with_history(config, MemHistory::new())?;
    editor.set_helper(Some(Hook(shared.clone())));
    let screen = Screen::new(shared.clone());
    let (sender, typed) = mpsc::channel(TYPED_AHEAD);
    let thread = std::thread::Builder::new().name("line-editor".into()).spawn(move || read_lines(editor, &shared, &sender))?;
    Ok((Keyboard { typed, thread }, screen))
}

/// The columns of the terminal that stdout is.
pub(super) fn columns() -> Option<usize> {
    let mut editor: Editor<(), MemHistory> = Editor::with_history(Config::default(), MemHistory::new()).ok()?;
    editor.dimensions().map(|(columns, _)| columns.into())
}

impl Keyboard {
    /// Waits until the terminal is given back. Only after [`Typed::Leave`].
    pub(super) fn join(self) {
        // A panic of the editor has been printed; its guards gave the terminal back.
        let _ = self.thread.join();
    }
}

fn read_lines(mut editor: Editor<Hook, MemHistory>, shared: &Shared, sender: &mpsc::Sender<Typed>) {
    let mut interrupted = false;
    loop {
        if let Some((columns, _)) = editor.dimensions() {
            shared.set_columns(columns.into());
        }
        let line = editor.readline(PROMPT);
        let over = shared.line_over();
        let at_rest = !over.had_text && !shared.is_busy();
        let typed = match line {
            _ if shared.is_closing() => Typed::Leave,
            Ok(text) if matches!(text.trim(), "/quit" | "/exit") => Typed::Leave,
            Ok(text) if text.trim().is_empty() => {
                interrupted = false;
                continue;
            }
            Ok(text) => Typed::Line { text, under: over.under },
            Err(ReadlineError::Interrupted) if interrupted && at_rest => Typed::Leave,
            Err(ReadlineError::Interrupted) => Typed::Interrupt { had_text: over.had_text },
            // Ctrl-D, or the terminal is gone
            Err(_) => Typed::Leave,
        };
        interrupted = at_rest && matches!(typed, Typed::Interrupt { .. });
        let leave = typed == Typed::Leave;
        if leave {
            shared.editor_gone();
        }
        if sender.blocking_send(typed).is_err() || leave {
            return;
        }
    }
}
