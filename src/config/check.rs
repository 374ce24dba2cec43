//! Rules about the merged values that no type says.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tracing_subscriber::EnvFilter;

use super::error::{ConfigError, Problem};
use super::merge::Merged;
use super::server::parse_bind;

/// # Errors
/// Every rule that is broken, at the place where the value was given last.
pub(super) fn check(merged: &Merged) -> Result<(), ConfigError> {
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

type Rule = fn(&str) -> Result<(), String>;

fn rule_for(key: &str) -> Option<Rule> {
    match key {
        "server.bind" => Some(bind),
        "log.level" => Some(level),
        _ if key.starts_with("providers.") && key.ends_with(".base_url") => Some(url),
        _ => None,
    }
}

fn bind(text: &str) -> Result<(), String> {
    let address =
        parse_bind(text).ok_or_else(|| format!("must be an address and a port, as 127.0.0.1:8080 or localhost:8080, not {text:?}"))?;
    match address.ip() {
        IpAddr::V4(Ipv4Addr::LOCALHOST) | IpAddr::V6(Ipv6Addr::LOCALHOST) => Ok(()),
        // the other loopback addresses are no Host that is served
        IpAddr::V4(_) | IpAddr::V6(_) => {
            Err("without configured auth Portico binds to loopback only: 127.0.0.1, [::1] or localhost".to_owned())
        }
    }
}

fn level(text: &str) -> Result<(), String> {
    EnvFilter::try_new(text).map(drop).map_err(|e| format!("not a log filter: {e}"))
}

/// Whether requests can be sent there. A name or password in it is refused, because addresses are logged; so it is not shown either.
pub(super) fn url(text: &str) -> Result<(), String> {
    let url = reqwest::Url::parse(text).map_err(|e| format!("not a URL: {e}"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err("must begin with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not hold a name or password; use api_key".to_owned());
    }
    Ok(())
}
