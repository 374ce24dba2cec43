//! Recorded streams of each wire, cut at every byte. `recorded/README.md` says where each comes from.

use crate::domain::event::model::Parameters;
use crate::provider::http::decode::{Answer, Decoder};
use crate::provider::{ModelEvent, ModelRequest, anthropic, openai_chat};

/// A recording.
pub(crate) struct Recorded {
    pub(crate) name: &'static str,
    pub(crate) text: &'static str,
    wire: Wire,
    /// Stands in the line with which the answer is whole, and in no line before it; `None` where it never is.
    terminal: Option<&'static str>,
}

enum Wire {
    Anthropic,
    OpenAiChat,
}

pub(crate) fn request() -> ModelRequest {
    ModelRequest {
        model: "m".into(),
        system: "s".into(),
        tools: None,
        withheld: None,
        messages: vec![],
        files: std::sync::Arc::default(),
        parameters: Parameters::default(),
    }
}

const STOP: Option<&str> = Some("\"type\":\"message_stop\"");
const FINISH: Option<&str> = Some("\"finish_reason\":\"");

macro_rules! recorded {
    ($wire:ident, $name:literal, $terminal:expr) => {
        Recorded { name: $name, text: include_str!(concat!("recorded/", $name, ".sse")), wire: Wire::$wire, terminal: $terminal }
    };
}

pub(crate) const RECORDED: &[Recorded] = &[
    recorded!(Anthropic, "anthropic/text", STOP),
    recorded!(Anthropic, "anthropic/thinking", STOP),
    recorded!(Anthropic, "anthropic/redacted", STOP),
    recorded!(Anthropic, "anthropic/parallel", STOP),
    recorded!(Anthropic, "anthropic/omitted", STOP),
    recorded!(Anthropic, "anthropic/overloaded", None),
    recorded!(OpenAiChat, "openai_chat/text", FINISH),
    recorded!(OpenAiChat, "openai_chat/reasoning", FINISH),
    recorded!(OpenAiChat, "openai_chat/call", FINISH),
    recorded!(OpenAiChat, "openai_chat/parallel", FINISH),
];

/// All events of a stream that comes in these pieces and then ends, and the code of its error if it ends with one.
type Read = (Vec<ModelEvent>, Result<(), &'static str>);

impl Recorded {
    pub(crate) fn named(name: &str) -> &'static Self {
        RECORDED.iter().find(|recorded| recorded.name == name).unwrap()
    }

    pub(crate) fn read<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
        match self.wire {
            Wire::Anthropic => read(anthropic::decode::decoder(request(), "anthropic".into(), |_| b"the body".to_vec()), pieces),
            Wire::OpenAiChat => read(openai_chat::decode::decoder(request(), |_| b"the body".to_vec()), pieces),
        }
    }

    pub(crate) fn whole(&self) -> Read {
        self.read([self.text.as_bytes()])
    }

    /// Where the line ends with which the answer is whole.
    fn whole_at(&self) -> usize {
        let Some(marker) = self.terminal else { return usize::MAX };
        let at = self.text.find(marker).unwrap();
        at + self.text[at..].find('\n').unwrap()
    }
}

fn read<'a>(mut decoder: Decoder<impl Answer>, pieces: impl IntoIterator<Item = &'a [u8]>) -> Read {
    let mut events = Vec::new();
    let pushed = pieces.into_iter().try_for_each(|piece| decoder.push(piece, &mut events));
    let end = pushed.and_then(|()| decoder.finish(&mut events)).map_err(|error| error.code);
    (events, end)
}

/// What readers were shown, letter by letter, so that it does not matter how it was batched.
fn shown(events: &[ModelEvent]) -> Vec<(u32, String)> {
    let letters = |block: &u32, text: &str| text.chars().map(|c| (*block, c.to_string())).collect::<Vec<_>>();
    let one = |event: &ModelEvent| match event {
        ModelEvent::Text { block, text } | ModelEvent::Reasoning { block, text } => letters(block, text),
        ModelEvent::ToolInput { block, id, tool } => vec![(*block, format!("{id} {tool}"))],
        ModelEvent::Usage(_) | ModelEvent::Finished { .. } => vec![],
    };
    events.iter().flat_map(one).collect()
}

#[test]
fn each_is_whole_or_fails_as_it_should() {
    for recorded in RECORDED {
        let (events, end) = recorded.whole();
        let finished = events.iter().filter(|event| matches!(event, ModelEvent::Finished { .. })).count();
        assert_eq!(end, if recorded.terminal.is_some() { Ok(()) } else { Err("overloaded") }, "{}", recorded.name);
        assert_eq!(finished, usize::from(recorded.terminal.is_some()), "{}", recorded.name);
        assert!(!shown(&events).is_empty(), "{}", recorded.name);
    }
}

#[test]
fn cut_in_two_anywhere_it_reads_the_same() {
    for recorded in RECORDED {
        let (bytes, whole) = (recorded.text.as_bytes(), recorded.whole());
        for cut in 0..=bytes.len() {
            let (head, tail) = bytes.split_at(cut);
            assert_eq!(recorded.read([head, tail]), whole, "{} cut at {cut}", recorded.name);
        }
    }
}

#[test]
fn byte_by_byte_it_reads_the_same() {
    for recorded in RECORDED {
        for size in [1, 2, 3, 7] {
            assert_eq!(recorded.read(recorded.text.as_bytes().chunks(size)), recorded.whole(), "{} by {size}", recorded.name);
        }
    }
}

#[test]
fn ended_anywhere_it_is_an_answer_only_if_it_was_whole() {
    for recorded in RECORDED {
        let all = shown(&recorded.whole().0);
        for end in 0..recorded.text.len() {
            let (events, result) = recorded.read([&recorded.text.as_bytes()[..end]]);
            let finished = matches!(events.last(), Some(ModelEvent::Finished { .. }));
            assert_eq!(result.is_ok(), end >= recorded.whole_at(), "{} ended at {end}: {result:?}", recorded.name);
            assert_eq!(finished, result.is_ok(), "{} ended at {end}", recorded.name);
            assert!(all.starts_with(&shown(&events)), "{} ended at {end}: {events:?}", recorded.name);
            let honest = matches!(result, Ok(()) | Err("transport_cut" | "server_error" | "overloaded"));
            assert!(honest, "{} ended at {end}: {result:?}", recorded.name);
        }
    }
}
