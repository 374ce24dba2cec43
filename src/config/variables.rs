//! The variables that the providers' own SDKs read, so that a key that is already there just works.
//!
//! Only values: which variable belongs to which provider, and that configuration wins over it, is the table's and `app`'s knowledge.

use std::collections::BTreeMap;

use secrecy::SecretString;

use super::check;
use super::error::{Place, Problem};

/// The names that are read, for keys.
pub const KEYS: [&str; 6] =
    ["OPENAI_API_KEY", "XAI_API_KEY", "MOONSHOT_API_KEY", "DEEPSEEK_API_KEY", "OPENROUTER_API_KEY", "OLLAMA_CLOUD_API_KEY"];

const OPENAI_BASE_URL: &str = "OPENAI_BASE_URL";

/// The usual variables that are set and not empty.
#[derive(Clone, Debug, Default)]
pub struct Variables {
    keys: BTreeMap<&'static str, SecretString>,
    /// `OPENAI_BASE_URL`
    pub openai_base_url: Option<String>,
}

impl Variables {
    /// The key in the variable of this name, one of [`KEYS`].
    pub fn key(&self, name: &str) -> Option<&SecretString> {
        self.keys.get(name)
    }

    pub(super) fn read(env: &[(String, String)]) -> Result<Self, Problem> {
        let mut read = Self::default();
        for (name, value) in env {
            let value = value.trim();
            if value.is_empty() {
                continue;
            }
            if let Some(key) = KEYS.into_iter().find(|k| k == name) {
                read.keys.insert(key, SecretString::from(value));
            } else if name == OPENAI_BASE_URL {
                check::url(value).map_err(|why| Place::Variable(name.clone()).problem(why))?;
                read.openai_base_url = Some(value.to_owned());
            }
        }
        Ok(read)
    }
}
