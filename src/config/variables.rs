//! The variables that the providers' own SDKs read, so that a key that is already there just works.
//!
//! Only values: which variable belongs to which provider, and that configuration wins over it, is the table's and `app`'s knowledge. The same
//! for the variables of search providers.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::check;
use super::error::{Place, Problem};

/// The names that are read, for keys.
pub const KEYS: [&str; 7] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "XAI_API_KEY",
    "MOONSHOT_API_KEY",
    "DEEPSEEK_API_KEY",
    "OPENROUTER_API_KEY",
    "OLLAMA_CLOUD_API_KEY",
];

/// The names that are read, for base URLs.
pub const BASE_URLS: [&str; 2] = ["OPENAI_BASE_URL", "ANTHROPIC_BASE_URL"];

/// The names that are read, for keys of search providers.
pub const SEARCH_KEYS: [&str; 3] = ["BRAVE_API_KEY", "TAVILY_API_KEY", "EXA_API_KEY"];

/// The names that are read, for addresses of search providers.
pub const SEARCH_URLS: [&str; 1] = ["SEARXNG_URL"];

/// The usual variables that are set and not empty.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    keys: BTreeMap<&'static str, SecretString>,
    base_urls: BTreeMap<&'static str, String>,
}

impl Variables {
    /// The key in the variable of this name, one of [`KEYS`] or [`SEARCH_KEYS`].
    pub fn key(&self, name: &str) -> Option<&SecretString> {
        self.keys.get(name)
    }

    /// The URL in the variable of this name, one of [`BASE_URLS`] or [`SEARCH_URLS`].
    pub fn base_url(&self, name: &str) -> Option<&str> {
        self.base_urls.get(name).map(String::as_str)
    }

    pub(super) fn read(env: &[(String, String)]) -> Result<Self, Problem> {
        let mut read = Self::default();
        for (name, value) in env {
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            if let Some(key) = KEYS.into_iter().chain(SEARCH_KEYS).find(|k| k == name) {
                read.keys.insert(key, SecretString::from(value));
            } else if let Some(url) = BASE_URLS.into_iter().chain(SEARCH_URLS).find(|u| u == name) {
                check::url(value).map_err(|why| Place::Variable(name.clone()).problem(why))?;
                read.base_urls.insert(url, value.to_owned());
            }
        }
        Ok(read)
    }
}
