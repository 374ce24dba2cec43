//! `[agents.NAME]`

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// The agents. What one leaves out it has from `default`.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "BTreeMap<String, Agent>")]
pub struct Agents {
    /// The agent of sessions that name none.
    pub default: Agent,
    /// The others, by name.
    pub named: BTreeMap<String, Agent>,
}

impl Agents {
    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        name == "default" || self.named.contains_key(name)
    }
}

impl TryFrom<BTreeMap<String, Agent>> for Agents {
    type Error = &'static str;

    fn try_from(mut named: BTreeMap<String, Agent>) -> Result<Self, Self::Error> {
        let default = named.remove("default").ok_or("agents.default is missing")?;
        Ok(Self { default, named })
    }
}

/// One agent.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    /// The model's name, its provider's prefix included; `auto` is the first provider that has a key, else `demo`.
    #[schemars(length(min = 1))]
    pub model: String,
    /// How much the model thinks before it speaks; `None` leaves that to it.
    #[schemars(with = "Effort")]
    pub reasoning_effort: Option<Effort>,
    /// Steps of a turn before its last, tool-less answer; `None` is the channel's own number.
    #[schemars(range(min = 1, max = 1_000))]
    pub max_steps: Option<u32>,
    /// Messages that may wait in a session.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_queue: u32,
    /// The operator's words for the system prompt.
    pub instructions: Option<String>,
    /// How long a turn may take, in seconds.
    #[schemars(range(min = 1, max = 604_800))]
    pub turn_deadline_s: u64,
}

/// How much a model thinks. Its wire says it as its provider takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    None,
    Minimal,
    Low,
    Medium,
    High,
    Xhigh,
    Max,
}

impl Effort {
    /// The word that providers have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }
}
