//! The operator's own terminal: the one channel with tools that act on the machine.

use std::time::Duration;

use crate::domain::ChannelProfile;
use crate::domain::event::input::Mode;
use crate::domain::profile::{Capabilities, LengthUnit};
use crate::domain::toolset::Policy;
use crate::prompt::tones;

pub static PROFILE: ChannelProfile = ChannelProfile {
    label: "cli",
    tone: tones::TERMINAL,
    capabilities: Capabilities {
        attended: true,
        local_tools: true,
        streams: true,
        approvals: true,
        questions: true,
        markdown: false,
        tables: true,
        edit: false,
        typing: false,
        max_len: 0,
        unit: LengthUnit::Chars,
    },
    default_policy: Policy::Ask,
    mid_run: Mode::Steer,
    debounce: Duration::ZERO,
    max_steps: 10,
};
