//! A chat window on a page. Somebody reads along, but it is a visitor: no tools on the machine, and questions only where the operator allows
//! them.

use std::time::Duration;

use crate::domain::ChannelProfile;
use crate::domain::event::input::Mode;
use crate::domain::profile::{Capabilities, LengthUnit};
use crate::domain::toolset::Policy;
use crate::prompt::tones;

pub static PROFILE: ChannelProfile = ChannelProfile {
    label: "web",
    tone: tones::CHAT,
    capabilities: Capabilities {
        attended: true,
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
    mid_run: Mode::Steer,
    debounce: Duration::ZERO,
    max_steps: 10,
};

/// The profile where the operator lets the agent ask visitors.
pub fn with_questions() -> ChannelProfile {
    let mut profile = PROFILE.clone();
    profile.capabilities.questions = true;
    profile
}
