//! The rows that are compiled in. Prefixes, variables, addresses and windows are as the providers publish them.

use crate::provider::files::{Media, Takes};

use super::{Models, Quirks, Row, Text, Wire};

/// Id and model of the scripted provider.
pub(super) const DEMO: &str = "demo";

const OPENAI: Quirks = Quirks {
    max_tokens_field: "max_completion_tokens",
    stream_options: true,
    replay_reasoning: false,
    // On this wire these models refuse function tools beside an effort, and the newest also beside their own default.
    effort_with_tools: &[("gpt-5.2", None), ("gpt-5.4", None), ("gpt-5.5", None), ("gpt-5.6", Some("none"))],
};
const REPLAYS: Quirks = Quirks { replay_reasoning: true, ..Quirks::COMPATIBLE };

pub(super) fn rows() -> Vec<Row> {
    vec![
        Row {
            key_var: Some("OPENAI_API_KEY".into()),
            url_var: Some("OPENAI_BASE_URL".into()),
            default_model: Some("gpt-5.6-sol".into()),
            fast_model: Some("gpt-5.6-luna".into()),
            window: 1_047_576,
            quirks: OPENAI,
            takes: Takes::BOTH,
            ..row("openai", Models::Rest, "https://api.openai.com/v1")
        },
        Row {
            key_var: Some("ANTHROPIC_API_KEY".into()),
            url_var: Some("ANTHROPIC_BASE_URL".into()),
            wire: Wire::Anthropic,
            default_model: Some("claude-sonnet-5-5".into()),
            fast_model: Some("claude-haiku-5-5".into()),
            // The newest have a million; this is what every model of the row has.
            window: 200_000,
            takes: Takes::BOTH,
            ..row("anthropic", prefix("claude-"), "https://api.anthropic.com")
        },
        Row {
            key_var: Some("XAI_API_KEY".into()),
            default_model: Some("grok-4-1-fast-reasoning".into()),
            fast_model: Some("grok-4-1-fast-reasoning".into()),
            window: 131_072,
            takes: Takes { images: &[Media::Jpeg, Media::Png], ..Takes::NOTHING },
            ..row("xai", prefix("grok-"), "https://api.x.ai/v1")
        },
        Row {
            key_var: Some("MOONSHOT_API_KEY".into()),
            default_model: Some("kimi-k2-5".into()),
            fast_model: Some("kimi-k2-5".into()),
            window: 131_072,
            quirks: REPLAYS,
            ..row("moonshot", prefix("kimi-"), "https://api.moonshot.cn/v1")
        },
        Row {
            key_var: Some("DEEPSEEK_API_KEY".into()),
            default_model: Some("deepseek-v4-pro".into()),
            fast_model: Some("deepseek-v4-flash".into()),
            window: 1_000_000,
            quirks: REPLAYS,
            ..row("deepseek", prefix("deepseek-"), "https://api.deepseek.com")
        },
        Row {
            key_var: Some("OPENROUTER_API_KEY".into()),
            default_model: Some("openrouter:openai/gpt-4o-mini".into()),
            fast_model: Some("openrouter:openai/gpt-4o-mini".into()),
            window: 128_000,
            ..row("openrouter", stripped("openrouter:"), "https://openrouter.ai/api/v1")
        },
        Row { window: 128_000, ..row("ollama", stripped("ollama:"), "http://127.0.0.1:11434/v1") },
        Row {
            key_var: Some("OLLAMA_CLOUD_API_KEY".into()),
            window: 128_000,
            ..row("ollama-cloud", stripped("ollama-cloud:"), "https://ollama.com/v1")
        },
        Row { wire: Wire::Demo, default_model: Some(DEMO.into()), window: 128_000, ..row(DEMO, Models::Name(DEMO.into()), "") },
    ]
}

fn row(id: &'static str, models: Models, base_url: &'static str) -> Row {
    Row {
        id: id.into(),
        models,
        key_var: None,
        url_var: None,
        base_url: base_url.into(),
        wire: Wire::OpenAiChat,
        default_model: None,
        fast_model: None,
        window: 0,
        quirks: Quirks::COMPATIBLE,
        takes: Takes::NOTHING,
    }
}

fn prefix(text: &'static str) -> Models {
    Models::Prefix(Text::Borrowed(text))
}

fn stripped(text: &'static str) -> Models {
    Models::Stripped(Text::Borrowed(text))
}
