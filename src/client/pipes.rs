//! Output without a prompt: the answer to stdout, everything else to stderr; or, for scripts, every event of the feed as a line of JSON.

use std::io::Write;

use serde::Serialize;
use serde_json::value::RawValue;

use super::feed::RawEvent;
use super::printer::Tone;
use super::sink::{Paint, Sink};
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
    paint: Paint,
    at_line_start: bool,
    notes_at_line_start: bool,
    /// Reasoning is shown beside the notes.
    pub(super) with_reasoning: bool,
    /// Nobody reads stdout any more.
    pub(super) broken: bool,
}

impl Pipes {
    pub(super) fn new(format: Format, paint: Paint, out: Box<dyn Write + Send>, notes: Box<dyn Write + Send>) -> Self {
        Self { format, out, notes, paint, at_line_start: true, notes_at_line_start: true, with_reasoning: false, broken: false }
    }

    /// Something that the person has to know, whatever the format.
    pub(super) fn note(&mut self, tone: Tone, text: &str) {
        // The break goes to stderr too: stdout holds the agent's text and nothing of ours.
        let gap = if self.at_line_start && self.notes_at_line_start { "" } else { "\n" };
        self.notes_at_line_start = true;
        let text = self.paint.line(tone, text);
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

    fn write(&mut self, text: &str) {
        self.at_line_start = text.ends_with('\n');
        self.broken |= self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()).is_err();
    }
}

impl Sink for Pipes {
    fn text(&mut self, voice: Voice, text: &str) {
        let shown = self.paint.voice(voice, text);
        match voice {
            Voice::Answer if self.format == Format::Stream => self.write(&shown),
            Voice::Reasoning if self.with_reasoning && self.format != Format::Json => {
                self.notes_at_line_start = text.ends_with('\n');
                let _ = self.notes.write_all(shown.as_bytes());
            }
            Voice::Answer | Voice::Reasoning => {}
        }
    }

    fn end_line(&mut self) {
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
    use crate::client::printer::{Out, Tone};
    use crate::client::sink::{Paint, print};
    use crate::client::tests::Buffer;
    use crate::client::wire::Voice;

    #[test]
    fn stdout_holds_the_agents_text_and_nothing_else() {
        let (out, notes) = (Buffer::new(), Buffer::new());
        let mut pipes = Pipes::new(Format::Stream, Paint::Plain, Box::new(out.clone()), Box::new(notes.clone()));
        pipes.with_reasoning = true;
        let text = |voice, text: &str| Out::Text(voice, text.into());
        print(&mut pipes, vec![text(Voice::Reasoning, "hm"), Out::Break, text(Voice::Answer, "Hel")]);
        pipes.note(Tone::Note, "reconnecting...");
        let tool = Out::Line(Tone::Tool, "· bash".into());
        print(&mut pipes, vec![text(Voice::Answer, "lo"), Out::Break, tool]);
        assert_eq!((out.text().as_str(), notes.text().as_str()), ("Hello\n", "hm\n\nreconnecting...\n· bash\n"));
    }
}
