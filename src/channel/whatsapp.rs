//! WhatsApp, over Meta's Cloud API. Nobody sits at a keyboard: answers are read on a phone, when the person looks again.

use std::time::Duration;

use crate::domain::ChannelProfile;
use crate::domain::event::input::Mode;
use crate::domain::profile::{Capabilities, LengthUnit};
use crate::domain::toolset::Policy;
use crate::prompt::tones;

pub static PROFILE: ChannelProfile = ChannelProfile {
    label: "whatsapp",
    tone: tones::PHONE,
    capabilities: Capabilities {
        attended: false,
        local_tools: false,
        streams: false,
        approvals: false,
        questions: false,
        markdown: false,
        tables: false,
        edit: false,
        typing: true,
        // Meta takes 4,096 of a unit that it does not name; UTF-16 is safe either way, and leaves room
        max_len: 4_000,
        unit: LengthUnit::Utf16,
    },
    default_policy: Policy::Ask,
    mid_run: Mode::Followup,
    debounce: Duration::from_millis(1_500),
    max_steps: 25,
};
