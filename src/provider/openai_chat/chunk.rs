//! The shapes of a response, as tolerant as servers are loose: everything may be absent or null, unknown fields are skipped, and text is
//! borrowed from the frame where it holds no escape.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::provider::text::Text;

/// One frame: a `chat.completion.chunk`, or a whole `chat.completion` of a server that does not stream.
#[derive(Deserialize)]
pub(super) struct Chunk<'a> {
    #[serde(borrow)]
    pub(super) choices: Option<Vec<Choice<'a>>>,
    pub(super) usage: Option<Usage>,
    #[serde(borrow)]
    pub(super) error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(borrow, alias = "message")]
    pub(super) delta: Option<Delta<'a>>,
    #[serde(borrow)]
    pub(super) finish_reason: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Delta<'a> {
    #[serde(borrow)]
    pub(super) content: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) refusal: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning_content: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reasoning: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tool_calls: Option<Vec<Fragment<'a>>>,
}

/// A piece of a tool call.
#[derive(Deserialize)]
pub(super) struct Fragment<'a> {
    pub(super) index: Option<u64>,
    #[serde(borrow)]
    pub(super) id: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) function: Option<Function<'a>>,
}

#[derive(Default, Deserialize)]
pub(super) struct Function<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    /// A string by the protocol; an object of some servers.
    #[serde(borrow)]
    pub(super) arguments: Option<&'a RawValue>,
}

#[derive(Clone, Copy, Deserialize)]
pub(super) struct Usage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's name for `cached_tokens`.
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl Usage {
    /// Disjoint counts. This wire counts cached tokens into the prompt, and reasoning into the completion.
    pub(super) fn disjoint(&self) -> crate::domain::Usage {
        let prompt = self.prompt_tokens.unwrap_or_default();
        let completion = self.completion_tokens.unwrap_or_default();
        let cached = self.prompt_tokens_details.and_then(|d| d.cached_tokens).or(self.prompt_cache_hit_tokens);
        let reasoning = self.completion_tokens_details.and_then(|d| d.reasoning_tokens);
        let (cached, reasoning) = (cached.unwrap_or_default().min(prompt), reasoning.unwrap_or_default());
        crate::domain::Usage {
            input: prompt - cached,
            cache_read: cached,
            cache_write: 0,
            // Some servers leave reasoning out of the completion already: then it is larger than what it should be part of.
            output: completion.checked_sub(reasoning).unwrap_or(completion),
            reasoning,
        }
    }
}

impl Function<'_> {
    /// The piece of the arguments that this fragment brings: the string's text, or an object's own bytes.
    pub(super) fn arguments(&self) -> Cow<'_, str> {
        let raw = self.arguments.map(RawValue::get).unwrap_or_default();
        match serde_json::from_str::<Text<'_>>(raw) {
            Ok(text) => text.0,
            Err(_) => Cow::Borrowed(raw),
        }
    }
}
