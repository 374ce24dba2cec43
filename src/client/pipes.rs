//! Output without a prompt: the answer to stdout, everything else to stderr; or, for scripts, every event of the feed as a line of JSON.

use std::io::Write;

use serde::Serialize;
use serde_json::value::RawValue;

use super::feed::RawEvent;
use super::page::Page;
use super::printer::Tone;
use super::sink::Sink;
use super::wire::Voice;

/// What stdout is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// A person watches: text as it comes.
    Stream,
    /// A pipe: only what is final, for nothing can be taken back there.
    Final,
    /// Events as lines of JSON.
    Json,
}

pub(super) struct Pipes {
    pub(super) format: Format,
    out: Box<dyn Write + Send>,
    notes: Box<dyn Write + Send>,
    /// Of the terminal where a person watches; elsewhere it breaks no line.
    page: Page,
    voice: Voice,
    at_line_start: bool,
    notes_at_line_start: bool,
    /// Stdout and stderr are one terminal: notes are broken as text is, and reasoning is shown beside them.
    pub(super) is_watched: bool,
    /// Nobody reads stdout any more.
    pub(super) broken: bool,
}

impl Pipes {
    pub(super) fn new(format: Format, page: Page, out: Box<dyn Write + Send>, notes: Box<dyn Write + Send>) -> Self {
        Self {
            format,
            out,
            notes,
            page,
            voice: Voice::Answer,
            at_line_start: true,
            notes_at_line_start: true,
            is_watched: false,
            broken: false,
        }
    }

    /// Something that the person has to know, whatever the format.
    pub(super) fn note(&mut self, tone: Tone, text: &str) {
        // The break goes to stderr too: stdout holds the agent's text and nothing of ours.
        let gap = if self.at_line_start && self.notes_at_line_start { "" } else { "\n" };
        self.notes_at_line_start = true;
        let text = match self.is_watched {
            true => {
                self.page.part();
                self.page.lines(tone, text)
            }
            false => self.page.paint.line(tone, text).into_owned(),
        };
        // Without a stderr there is nobody to tell.
        let _ = writeln!(self.notes, "{gap}{text}");
    }

    /// A turn's answer, whole.
    pub(super) fn final_answer(&mut self, answer: &str) {
        if self.format == Format::Final {
            self.write(&format!("{answer}\n"));
        }
    }

    pub(super) fn event(&mut self, event: &RawEvent) {
        #[derive(Serialize)]
        struct Line<'a> {
            event: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            id: Option<&'a str>,
            data: Data<'a>,
        }
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Data<'a> {
            Json(&'a RawValue),
            Text(&'a str),
        }
        if self.format != Format::Json {
            return;
        }
        let data = serde_json::from_str(&event.data).map_or(Data::Text(&event.data), Data::Json);
        let line = Line { event: &event.event, id: event.id.as_deref(), data };
        match serde_json::to_string(&line) {
            Ok(line) => self.write(&format!("{line}\n")),
            Err(error) => self.note(Tone::Bad, &error.to_string()),
        }
    }

    fn draw(&mut self, text: &str) {
        match self.voice {
            _ if text.is_empty() => {}
            Voice::Answer => self.write(text),
            Voice::Reasoning => {
                self.notes_at_line_start = text.ends_with('\n');
                let _ = self.notes.write_all(text.as_bytes());
            }
        }
    }

    fn write(&mut self, text: &str) {
        self.at_line_start = text.ends_with('\n');
        self.broken |= self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).is_err();
    }
}

impl Sink for Pipes {
    fn text(&mut self, voice: Voice, text: &str) {
        let is_shown = match voice {
            Voice::Answer => self.format == Format::Stream,
            Voice::Reasoning => self.is_watched && self.format != Format::Json,
        };
        if is_shown {
            self.voice = voice;
            let shown = self.page.text(voice, text);
            self.draw(&shown);
        }
    }

    fn void(&mut self) {
        self.page.void();
        self.end_line();
    }

    fn end_line(&mut self) {
        let rest = self.page.rest();
        self.draw(&rest);
        if !self.at_line_start {
            self.write("\n");
        }
        if !std::mem::replace(&mut self.notes_at_line_start, true) {
            let _ = self.notes.write_all(b"\n");
        }
    }

    fn line(&mut self, tone: Tone, line: &str) {
        if self.format != Format::Json {
            self.note(tone, line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Format, Pipes};
    use crate::client::page::Page;
    use crate::client::printer::{Out, Tone};
    use crate::client::sink::{Paint, print};
    use crate::client::tests::Buffer;
    use crate::client::wire::Voice;

    #[test]
    fn stdout_holds_the_agents_text_and_nothing_else() {
        let (out, notes) = (Buffer::new(), Buffer::new());
        let mut pipes = Pipes::new(Format::Stream, Page::new(Paint::Plain, 80), Box::new(out.clone()), Box::new(notes.clone()));
        pipes.is_watched = true;
        let text = |voice, text: &str| Out::Text(voice, text.into());
        print(&mut pipes, vec![text(Voice::Reasoning, "hm"), Out::Break, text(Voice::Answer, "Hello wor")]);
        pipes.note(Tone::Note, "reconnecting...");
        let tool = Out::Line(Tone::Tool, "· bash".into());
        print(&mut pipes, vec![text(Voice::Answer, "ld"), Out::Break, tool]);
        assert_eq!((out.text().as_str(), notes.text().as_str()), ("Hello… world\n", "hm\n\nreconnecting...\n· bash\n"));
    }
}
