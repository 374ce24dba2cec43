//! `[providers.NAME]`

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;

/// By the id of a built-in provider, or a new name.
pub type Providers = BTreeMap<String, Provider>;

/// What the operator says about a provider; what is `None` is as the built-in table has it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Provider {
    /// Where its API is, as the provider's own SDKs have it: with `/v1` for OpenAI's wire, without for Anthropic's; http or https.
    #[schemars(length(min = 1))]
    pub base_url: Option<String>,
    /// The key to call it with. After loading this is the key, however it was given.
    #[schemars(with = "String", length(min = 1))]
    pub api_key: Option<SecretString>,
    /// A file that holds the key instead.
    #[schemars(with = "String", length(min = 1))]
    pub api_key_file: Option<PathBuf>,
    /// What it speaks.
    #[schemars(with = "Wire")]
    pub wire: Option<Wire>,
    /// A model whose name begins so belongs to this provider.
    #[schemars(length(min = 1))]
    pub model_prefix: Option<String>,
    /// Which files its models take as they are.
    #[schemars(with = "Vec<Takes>")]
    pub takes: Option<BTreeSet<Takes>>,
}

/// Files that a model may take: pictures, and PDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Takes {
    Image,
    Document,
}

/// The wires that this build speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(extend("x-otherwise" = "this build does not speak other wires"))]
pub enum Wire {
    OpenaiChat,
    Anthropic,
}
