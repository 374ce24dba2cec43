//! What models of the Anthropic wire take, by how their names begin. Limits and kinds of thinking are as Anthropic publishes them.

/// What a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claude {
    /// The longest answer that is asked for where the request does not say, in tokens. The wire requires one; thinking counts.
    pub max_tokens: u64,
    pub thinking: Thinking,
}

/// How a model is asked to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    Never,
    /// With a number of tokens for it.
    Budget,
    /// As much as it finds right, guided by one of these efforts, the least first.
    Adaptive {
        efforts: &'static [&'static str],
        off: Off,
    },
}

/// How a model that thinks by itself is asked not to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Off {
    /// It does not, unless it is asked to.
    Omit,
    /// `thinking.type` is this word.
    Word(&'static str),
    /// It cannot be; the least effort comes nearest.
    Never,
}

/// Every effort there is, on any wire, the least first.
pub const EFFORTS: [&str; 6] = ["minimal", "low", "medium", "high", "xhigh", "max"];

const FOUR: &[&str] = &["low", "medium", "high", "max"];
const FIVE: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// The first that fits holds.
const RULES: &[(&str, Claude)] = &[
    ("claude-3-5-", Claude { max_tokens: 8_192, thinking: Thinking::Never }),
    ("claude-3-7-", Claude { max_tokens: 32_000, thinking: Thinking::Budget }),
    ("claude-3-", Claude { max_tokens: 4_096, thinking: Thinking::Never }),
    ("claude-opus-4-6", adaptive(FOUR, Off::Omit)),
    ("claude-opus-4-7", adaptive(FIVE, Off::Omit)),
    ("claude-opus-4-8", adaptive(FIVE, Off::Omit)),
    ("claude-sonnet-4-6", adaptive(FOUR, Off::Omit)),
    ("claude-opus-4", Claude { max_tokens: 32_000, thinking: Thinking::Budget }),
    ("claude-sonnet-4", Claude { max_tokens: 32_000, thinking: Thinking::Budget }),
    ("claude-haiku-4", Claude { max_tokens: 32_000, thinking: Thinking::Budget }),
    ("claude-opus-5-5", adaptive(FIVE, Off::Never)),
    ("claude-fable-", adaptive(FIVE, Off::Never)),
    ("claude-mythos-", adaptive(FIVE, Off::Never)),
    ("claude-sonnet-5-5", adaptive(FIVE, Off::Word("between_tools"))),
    ("claude-", adaptive(FIVE, Off::Word("disabled"))),
];

/// What other makers' models take that speak this wire: its first form.
const OTHER: Claude = Claude { max_tokens: 8_192, thinking: Thinking::Budget };

const fn adaptive(efforts: &'static [&'static str], off: Off) -> Claude {
    Claude { max_tokens: 64_000, thinking: Thinking::Adaptive { efforts, off } }
}

/// What this model takes. Gateways write things in front of a name.
pub fn claude(model: &str) -> Claude {
    let name = model.find("claude-").map_or(model, |at| &model[at..]);
    RULES.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or(OTHER, |(_, rule)| *rule)
}
