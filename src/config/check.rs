//! Rules about the merged values that no type says: of each alone, then of several together.

use super::Config;
use super::channels::whatsapp;
use super::error::{ConfigError, Problem};
use super::merge::Merged;
use super::server::{is_this_machine, parse_bind};
use crate::domain::api_key::KeyHash;
use crate::domain::principal::check_name;
use crate::telemetry;

/// # Errors
/// Every rule that is broken, at the place where the value was given last.
pub(super) fn alone(merged: &Merged) -> Result<(), ConfigError> {
    let mut problems: Vec<Problem> = merged
        .places
        .iter()
        .filter_map(|(key, place)| {
            let rule = rule_for(key)?;
            let why = rule(&merged.text(key)?).err()?;
            Some(place.problem(format!("{key}: {why}")))
        })
        .collect();
    problems.sort_by(|a, b| a.place.cmp(&b.place));
    ConfigError::unless_none(problems)
}

pub(super) type Rule = fn(&str) -> Result<(), String>;

fn rule_for(key: &str) -> Option<Rule> {
    match key {
        "server.bind" => Some(bind),
        "log.level" => Some(level),
        _ if key.starts_with("auth.keys[") => match key.rsplit('.').next() {
            Some("name" | "tenant") => Some(|text| check_name(text).map_err(str::to_owned)),
            Some("hash") => Some(|text| text.parse::<KeyHash>().map(drop).map_err(str::to_owned)),
            Some(_) | None => None,
        },
        _ if ["providers.", "tools.web_search."].iter().any(|table| key.starts_with(table)) && key.ends_with(".base_url") => Some(url),
        _ if key.starts_with("channels.whatsapp.") => whatsapp::rule(key.rsplit('.').next()?),
        _ => None,
    }
}

fn bind(text: &str) -> Result<(), String> {
    let bad = || format!("must be an address and a port, as 127.0.0.1:8080 or localhost:8080, not {text:?}");
    parse_bind(text).map(drop).ok_or_else(bad)
}

fn level(text: &str) -> Result<(), String> {
    telemetry::read(text).map(drop)
}

/// Whether requests can be sent there. A name or password in it is refused, because addresses are logged; so it is not shown either.
pub(super) fn url(text: &str) -> Result<(), String> {
    let url = reqwest::Url::parse(text).map_err(|e| format!("not a URL: {e}; it begins with http:// or https://"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold a name or password; use api_key".to_owned());
    }
    Ok(())
}

/// # Errors
/// Every rule that is broken, at one of the values that break it.
pub(super) fn together(config: &Config) -> Result<(), ConfigError> {
    let mut problems = Vec::new();
    if !config.auth.is_configured() && !is_this_machine(config.server.bind.ip()) {
        let why = "without configured auth Portico binds to loopback only: 127.0.0.1, [::1] or localhost; `portico token key` makes a key \
                   and its table for [[auth.keys]]";
        problems.extend(config.problem("server.bind", why).problems);
    }
    let keys = &config.auth.keys;
    for (n, key) in keys.iter().enumerate() {
        let mut report = |field, why: String| problems.extend(config.problem(&format!("auth.keys[{n}].{field}"), why).problems);
        let first = |n| config.place(&format!("auth.keys[{n}]")).map(|place| format!(" ({place})")).unwrap_or_default();
        if key.scopes.is_empty() {
            report("scopes", "a key without a scope is good for nothing; name one".to_owned());
        }
        if let Some(other) = keys[..n].iter().position(|other| (&other.tenant, &other.name) == (&key.tenant, &key.name)) {
            report("name", format!("{:?} is another key's name already{}; give each its own", key.name, first(other)));
        }
        if let Some(other) = keys[..n].iter().position(|other| other.hash == key.hash) {
            report("hash", format!("this is another key's hash already{}; make a new key for each with `portico token key`", first(other)));
        }
    }
    problems.extend(whatsapp::problems(config));
    ConfigError::unless_none(problems)
}
