//! What a channel may do, as a value. Code asks for capabilities, never for a channel's name.

use std::time::Duration;

use super::event::input::Mode;
use super::toolset::Policy;

/// A channel's tone, limits and capabilities.
#[derive(Clone, Debug, PartialEq)]
pub struct ChannelProfile {
    /// The channel's name on the wire: `cli`, `web`, `api`.
    pub label: &'static str,
    pub tone: Tone,
    pub capabilities: Capabilities,
    /// For tools whose policy the configuration does not say.
    pub default_policy: Policy,
    /// What a message is that comes while a turn runs and does not say.
    pub mid_run: Mode,
    /// How long input waits for more of it before a turn begins: people send a thought in several messages. Zero where it does not.
    pub debounce: Duration,
    /// Steps of a turn before its last, tool-less answer.
    pub max_steps: u32,
}

/// How the agent speaks on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tone {
    /// Where the words are read, in a sentence.
    pub preamble: &'static str,
    pub behaviour: &'static [&'static str],
    pub format: &'static [&'static str],
    /// How to set tables, or `None` where there are none.
    pub tables: Option<&'static str>,
    /// Pages that an answer rests on are named below it, where it names none of them.
    pub sources: bool,
}

/// What can be done on a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Somebody sits there while the turn runs.
    pub attended: bool,
    /// Tools that act on the machine of whoever runs the gateway.
    pub local_tools: bool,
    /// Text is shown while it is written.
    pub streams: bool,
    /// Somebody can be asked for permission.
    pub approvals: bool,
    /// Somebody can be asked questions.
    pub questions: bool,
    /// Markdown is shown as what it means.
    pub markdown: bool,
    /// So are its tables.
    pub tables: bool,
    /// A message that was sent can be changed.
    pub edit: bool,
    /// It can show that somebody writes.
    pub typing: bool,
    /// The longest message, in `unit`s; 0 is no limit.
    pub max_len: usize,
    pub unit: LengthUnit,
}

/// What a channel counts a message's length in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LengthUnit {
    Chars,
    Utf16,
    Bytes,
}
