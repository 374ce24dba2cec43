//! The one table of providers: where a model's name leads, and what differs there.
//!
//! A row is data. What a server does otherwise than OpenAI stands in [`Quirks`], and what models of the Anthropic wire take in [`claude`],
//! never in an `if` over a name. [`builtin`] holds the rows that are compiled in; the configuration changes their base URL and adds rows.
//! Only wires that are built have rows.

use std::borrow::Cow;
use std::sync::Arc;

use secrecy::SecretString;

use super::Provider;
use super::anthropic::{Anthropic, AnthropicConfig};
use super::demo::Demo;
use super::files::Takes;
use super::openai_chat::{OpenAiChat, OpenAiChatConfig};

mod builtin;
pub mod claude;

type Text = Cow<'static, str>;

/// Assumed of a provider that is not built in and whose settings do not say.
const UNKNOWN_WINDOW: u64 = 128_000;

/// A provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// As in `request.provider` and `[providers.<id>]`.
    pub id: Text,
    /// Which model names lead here.
    pub models: Models,
    /// The variable that holds the key by the provider's own custom; `None` where it needs no key.
    pub key_var: Option<Text>,
    /// The variable that holds another base URL by that custom; `None` where there is no such custom.
    pub url_var: Option<Text>,
    /// Without a slash at its end; empty for `demo`.
    pub base_url: Text,
    pub wire: Wire,
    /// What `auto` asks for here.
    pub default_model: Option<Text>,
    /// For summaries; `None` takes the main model. A name as [`Table::resolve`] takes it.
    pub fast_model: Option<Text>,
    /// Tokens that a request and its answer may have together.
    pub window: u64,
    pub quirks: Quirks,
    /// Which files its models take. One that does not, and is sent some, refuses; it is then asked without.
    pub takes: Takes,
}

/// Which model names lead to a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Models {
    /// This one name.
    Name(Text),
    /// Names that begin so, sent as they are.
    Prefix(Text),
    /// Names that begin so, sent without it: the prefix is ours.
    Stripped(Text),
    /// Every name that no other row takes.
    Rest,
}

/// A protocol that is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    OpenAiChat,
    Anthropic,
    Demo,
}

/// What differs between servers of the OpenAI chat wire. Every system prompt goes out with the role `system`, which all of them take
/// (OpenAI's newer models read it as `developer`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quirks {
    /// `max_completion_tokens` (OpenAI) or `max_tokens` (everybody else).
    pub max_tokens_field: &'static str,
    /// It takes `stream_options: {include_usage}`.
    pub stream_options: bool,
    /// An assistant message that called tools goes back with its `reasoning_content`, even an empty one, or the request is refused.
    pub replay_reasoning: bool,
    /// Models, by how their names begin, that take no `reasoning_effort` beside tools; the second is what they want to hear instead.
    pub effort_with_tools: &'static [(&'static str, Option<&'static str>)],
}

impl Quirks {
    /// What servers have in common that call themselves compatible.
    pub const COMPATIBLE: Self =
        Self { max_tokens_field: "max_tokens", stream_options: true, replay_reasoning: false, effort_with_tools: &[] };
}

/// What the configuration says about a provider; `None` leaves it as it is.
#[derive(Clone, Debug, Default)]
pub struct Setting {
    /// An http or https URL: the configuration has judged it.
    pub base_url: Option<String>,
    pub wire: Option<Wire>,
    pub model_prefix: Option<String>,
    /// Tokens.
    pub window: Option<u64>,
    pub takes: Option<Takes>,
}

/// Why a provider's settings make no row.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingError {
    #[error("a provider that is not built in needs {key}")]
    Missing { key: &'static str },
    #[error("the built-in demo has no settings")]
    Fixed,
    #[error("base_url ends in /v1, which the wire \"anthropic\" adds by itself: leave it out")]
    Versioned,
}

/// All rows, in the order in which they are asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    rows: Vec<Row>,
}

impl Default for Table {
    fn default() -> Self {
        Self::new()
    }
}

impl Table {
    /// The built-in rows.
    pub fn new() -> Self {
        Self { rows: builtin::rows() }
    }

    /// Applies `[providers.<id>]`: changes a row, or adds one. Added rows are asked first, so that their prefix may lie within another's.
    ///
    /// # Errors
    /// When the settings lack what a new row needs, or change what cannot be changed.
    pub fn configure(&mut self, id: &str, setting: Setting) -> Result<(), SettingError> {
        let base_url = setting.base_url.map(|url| Text::from(url.trim_end_matches('/').to_owned()));
        let missing = |key| SettingError::Missing { key };
        let known = self.rows.iter_mut().find(|row| row.id == id);
        let wire = setting.wire.or(known.as_ref().map(|row| row.wire)).unwrap_or(Wire::OpenAiChat);
        if wire == Wire::Anthropic && base_url.as_ref().is_some_and(|url| url.ends_with("/v1")) {
            return Err(SettingError::Versioned);
        }
        if let Some(row) = known {
            if row.wire == Wire::Demo {
                return Err(SettingError::Fixed);
            }
            row.wire = wire;
            row.base_url = base_url.unwrap_or_else(|| row.base_url.clone());
            row.window = setting.window.unwrap_or(row.window);
            row.takes = setting.takes.unwrap_or(row.takes);
            if let Some(prefix) = setting.model_prefix {
                row.models = models(prefix);
            }
            return Ok(());
        }
        let row = Row {
            id: id.to_owned().into(),
            models: models(setting.model_prefix.filter(|p| !p.is_empty()).ok_or_else(|| missing("model_prefix"))?),
            key_var: None,
            url_var: None,
            base_url: base_url.ok_or_else(|| missing("base_url"))?,
            wire,
            default_model: None,
            fast_model: None,
            window: setting.window.unwrap_or(UNKNOWN_WINDOW),
            quirks: Quirks::COMPATIBLE,
            takes: setting.takes.unwrap_or(Takes::NOTHING),
        };
        self.rows.insert(0, row);
        Ok(())
    }

    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub fn get(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// How the names of models begin, or what they are, that lead to one row.
    pub fn prefixes(&self) -> Vec<&str> {
        let own = self.rows.iter().filter_map(|row| match &row.models {
            Models::Name(text) | Models::Prefix(text) | Models::Stripped(text) => Some(&**text),
            Models::Rest => None,
        });
        own.collect()
    }

    /// The row that a model's name leads to, and the name as its provider knows it. `None` only if no row takes the rest.
    pub fn resolve<'a>(&self, model: &'a str) -> Option<(&Row, &'a str)> {
        let taken = |row: &Row| match &row.models {
            Models::Name(name) => (model == name).then_some(model),
            Models::Prefix(prefix) => model.starts_with(&**prefix).then_some(model),
            Models::Stripped(prefix) => model.strip_prefix(&**prefix).filter(|rest| !rest.is_empty()),
            Models::Rest => None,
        };
        let rest = || self.rows.iter().find(|row| row.models == Models::Rest).map(|row| (row, model));
        self.rows.iter().find_map(|row| taken(row).map(|name| (row, name))).or_else(rest)
    }

    /// What `auto` means: the default model of the first row that has one and a key, else `demo`. A name as [`Table::resolve`] takes it.
    pub fn auto(&self, has_key: impl Fn(&Row) -> bool) -> &str {
        self.rows.iter().filter(|row| has_key(row)).find_map(|row| row.default_model.as_deref()).unwrap_or(builtin::DEMO)
    }
}

impl Row {
    /// The provider of this row.
    pub fn provider(&self, key: Option<SecretString>, client: reqwest::Client) -> Arc<dyn Provider> {
        match self.wire {
            Wire::OpenAiChat => Arc::new(OpenAiChat::new(OpenAiChatConfig {
                id: self.id.to_string(),
                base_url: self.base_url.to_string(),
                key,
                quirks: self.quirks,
                takes: self.takes,
                client,
            })),
            Wire::Anthropic => Arc::new(Anthropic::new(AnthropicConfig {
                id: self.id.to_string(),
                base_url: self.base_url.to_string(),
                key,
                takes: self.takes,
                client,
            })),
            Wire::Demo => Arc::new(Demo::new()),
        }
    }
}

/// A prefix that ends in a separator is a name we gave the provider, and not part of its model's name.
fn models(prefix: String) -> Models {
    match prefix.as_str() {
        "" => Models::Rest,
        p if p.ends_with([':', '/']) => Models::Stripped(prefix.into()),
        _ => Models::Prefix(prefix.into()),
    }
}

#[cfg(test)]
mod tests;
