//! `[channels.whatsapp.NAME]`

use std::path::PathBuf;

use reqwest::header::HeaderValue;
use schemars::JsonSchema;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

use crate::channel::access::{Access, Groups, recipient};
use crate::config::error::{ConfigError, Problem};
use crate::config::{Config, check};
use crate::domain::principal::DEFAULT_TENANT;

/// Meta's own address, with the version that this build was written against.
pub const GRAPH_URL: &str = "https://graph.facebook.com/v26.0";

/// One number. What it cannot do without is checked after loading ([`WhatsApp::missing`]), so that it is named with its place.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatsApp {
    /// Meta's id of the number.
    #[schemars(length(min = 1))]
    pub phone_number_id: Option<String>,
    /// Proves that a request is Meta's. After loading this is the secret, however it was given; so with the two below.
    #[schemars(with = "String", length(min = 1))]
    pub app_secret: Option<SecretString>,
    #[schemars(with = "String", length(min = 1))]
    pub app_secret_file: Option<PathBuf>,
    /// What Meta is given when the webhook is set up.
    #[schemars(with = "String", length(min = 1))]
    pub verify_token: Option<SecretString>,
    #[schemars(with = "String", length(min = 1))]
    pub verify_token_file: Option<PathBuf>,
    /// What messages are sent with.
    #[schemars(with = "String", length(min = 1))]
    pub access_token: Option<SecretString>,
    #[schemars(with = "String", length(min = 1))]
    pub access_token_file: Option<PathBuf>,
    /// Where messages are sent to, version included; `None` is [`GRAPH_URL`].
    #[schemars(length(min = 1))]
    pub graph_url: Option<String>,
    #[serde(default)]
    pub access: Access,
    /// Telephone numbers and user ids, each as [`recipient`] reads it.
    #[serde(default)]
    pub allow: Vec<String>,
    #[serde(default)]
    pub approvers: Vec<String>,
    #[serde(default)]
    pub groups: Groups,
    #[serde(default = "default_tenant")]
    #[schemars(length(min = 1))]
    pub tenant: String,
    #[serde(default = "default_agent")]
    #[schemars(length(min = 1))]
    pub agent: String,
    /// In seconds.
    #[serde(default = "half_an_hour")]
    #[schemars(range(min = 0, max = 2_592_000))]
    pub handoff_pause_s: u64,
    #[serde(default = "five")]
    #[schemars(range(min = 1, max = 100))]
    pub pairing_attempts: u32,
    /// In seconds; 0 is any age.
    #[serde(default = "a_day")]
    #[schemars(range(min = 0, max = 2_592_000))]
    pub max_age_s: u64,
    /// In milliseconds; `None` is the channel's own.
    #[schemars(range(min = 0, max = 60_000))]
    pub debounce_ms: Option<u64>,
}

impl WhatsApp {
    /// The keys that it cannot do without and that are not set.
    fn missing(&self) -> impl Iterator<Item = &'static str> {
        let set = [
            ("phone_number_id", self.phone_number_id.is_some()),
            ("app_secret", self.app_secret.is_some()),
            ("verify_token", self.verify_token.is_some()),
            ("access_token", self.access_token.is_some()),
        ];
        set.into_iter().filter(|(_, is_set)| !is_set).map(|(key, _)| key)
    }
}

/// What no type says about the accounts, at the place of each.
pub(in crate::config) fn problems(config: &Config) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report = |key: String, why: String| {
        let ConfigError { problems: found } = config.problem(&key, why);
        problems.extend(found);
    };
    let accounts = &config.channels.whatsapp;
    for (name, account) in accounts {
        let at = format!("channels.whatsapp.{name}");
        for key in account.missing() {
            let in_file = if key == "phone_number_id" { String::new() } else { format!(" or {key}_file") };
            report(at.clone(), format!("{key}{in_file} is missing; without it the account cannot be served"));
        }
        for (key, secret) in
            [("app_secret", &account.app_secret), ("verify_token", &account.verify_token), ("access_token", &account.access_token)]
        {
            let Some(why) = secret.as_ref().and_then(|secret| unusable(key, secret.expose_secret())) else { continue };
            let in_file = format!("{at}.{key}_file");
            let key = if config.is_given(&in_file) { in_file } else { format!("{at}.{key}") };
            report(key, why.to_owned());
        }
        let same = |other: &WhatsApp| other.phone_number_id.is_some() && other.phone_number_id == account.phone_number_id;
        if let Some((other, _)) = accounts.iter().take_while(|(other, _)| *other < name).find(|(_, other)| same(other)) {
            report(format!("{at}.phone_number_id"), format!("channels.whatsapp.{other} has the same; each number is one account"));
        }
        for (key, list) in [("allow", &account.allow), ("approvers", &account.approvers)] {
            for why in list.iter().filter_map(|id| recipient(id).err()) {
                report(format!("{at}.{key}"), why);
            }
        }
        if !config.agents.has(&account.agent) {
            report(format!("{at}.agent"), format!("there is no [agents.{}]", account.agent));
        }
    }
    problems
}

/// What one value of an account must be, beyond its type.
pub(in crate::config) fn rule(key: &str) -> Option<check::Rule> {
    match key {
        "tenant" => Some(|text| crate::domain::principal::check_name(text).map_err(str::to_owned)),
        "phone_number_id" => Some(digits),
        "graph_url" => Some(graph_url),
        _ => None,
    }
}

/// It becomes a part of each address: nothing in it may lead elsewhere.
fn digits(text: &str) -> Result<(), String> {
    match !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => Ok(()),
        false => Err(format!("must be Meta's id of the number, digits only, not {text:?}; the number itself is another")),
    }
}

/// Paths are put behind it.
fn graph_url(text: &str) -> Result<(), String> {
    check::url(text)?;
    match text.contains(['?', '#']) {
        true => Err("must end with its path, without \"?\" and \"#\"".to_owned()),
        false => Ok(()),
    }
}

/// Why a secret cannot be the one that is meant; the secret is not shown.
fn unusable(key: &str, secret: &str) -> Option<&'static str> {
    if secret.trim().is_empty() {
        return Some("must not be blank");
    }
    let is_header_value = !secret.contains(char::is_control) && HeaderValue::from_str(secret).is_ok();
    (key == "access_token" && !is_header_value)
        .then_some("cannot be sent in a header: it has a line break or another control character in it")
}

fn default_tenant() -> String {
    DEFAULT_TENANT.to_owned()
}

fn default_agent() -> String {
    "default".to_owned()
}

fn half_an_hour() -> u64 {
    1_800
}

fn five() -> u32 {
    5
}

fn a_day() -> u64 {
    86_400
}
