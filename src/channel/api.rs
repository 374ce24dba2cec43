//! A program that posts and reads. Nobody sits there; approvals are given over the same API by whoever holds the scope.

use std::time::Duration;

use crate::domain::ChannelProfile;
use crate::domain::event::input::Mode;
use crate::domain::profile::{Capabilities, LengthUnit};
use crate::domain::toolset::Policy;
use crate::prompt::tones;

pub static PROFILE: ChannelProfile = ChannelProfile {
    label: "api",
    tone: tones::PROGRAM,
    capabilities: Capabilities {
        attended: false,
        local_tools: false,
        streams: true,
        approvals: true,
        questions: false,
        markdown: true,
        tables: true,
        edit: false,
        typing: false,
        max_len: 0,
        unit: LengthUnit::Chars,
    },
    default_policy: Policy::Ask,
    mid_run: Mode::Followup,
    debounce: Duration::ZERO,
    max_steps: 10,
};
