//! The accounts of messaging channels: the configuration, put to work.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use crate::channel::access::{Access, Rules, recipient};
use crate::channel::accounts::{Account, Accounts};
use crate::channel::whatsapp::{Settings, WhatsApp, client};
use crate::config::Config;
use crate::config::auth::Auth;
use crate::config::channels::whatsapp::{GRAPH_URL, WhatsApp as Configured};
use crate::domain::principal::DEFAULT_TENANT;
use crate::domain::{Recipient, Scope};

/// All accounts that are configured.
///
/// # Errors
/// When one lacks what it needs, or its HTTP client cannot be made.
pub(super) fn accounts(config: &Config) -> anyhow::Result<Accounts> {
    if config.channels.whatsapp.is_empty() {
        return Ok(Accounts::default());
    }
    let client = client().context("the HTTP client of WhatsApp")?;
    let accounts: anyhow::Result<Vec<Account>> =
        config.channels.whatsapp.iter().map(|(name, account)| whatsapp(config, name, account, client.clone())).collect();
    Ok(Accounts::new(accounts?))
}

fn whatsapp(config: &Config, name: &str, account: &Configured, client: reqwest::Client) -> anyhow::Result<Account> {
    // what is missing was refused, with its place, when the configuration was loaded
    let lacks = |key: &str| config.problem(&format!("channels.whatsapp.{name}"), format!("{key} is missing"));
    let settings = Settings {
        account: name.to_owned(),
        phone_number_id: account.phone_number_id.clone().ok_or_else(|| lacks("phone_number_id"))?,
        app_secret: account.app_secret.clone().ok_or_else(|| lacks("app_secret"))?,
        verify_token: account.verify_token.clone().ok_or_else(|| lacks("verify_token"))?,
        access_token: account.access_token.clone().ok_or_else(|| lacks("access_token"))?,
        graph_url: account.graph_url.clone().unwrap_or_else(|| GRAPH_URL.to_owned()),
    };
    Ok(Account::new(Arc::new(WhatsApp::new(settings, client)), rules(account)))
}

fn rules(account: &Configured) -> Rules {
    // what cannot be read was refused too
    let all = |list: &[String]| list.iter().filter_map(|id| recipient(id).ok()).collect::<BTreeSet<Recipient>>();
    Rules {
        tenant: account.tenant.clone(),
        agent: account.agent.clone(),
        access: account.access,
        allow: all(&account.allow),
        approvers: all(&account.approvers),
        groups: account.groups,
        handoff_pause: Duration::from_secs(account.handoff_pause_s),
        pairing_attempts: account.pairing_attempts,
        max_age: (account.max_age_s > 0).then(|| Duration::from_secs(account.max_age_s)),
    }
}

/// A start line for each account: where its platform calls, and who is answered.
pub(super) fn lines(config: &Config) -> Vec<String> {
    let line = |(name, account): (&String, &Configured)| {
        let (number, tenant) = (account.phone_number_id.as_deref().unwrap_or_default(), &account.tenant);
        format!(
            "WhatsApp {name}: webhook /channels/whatsapp/{name}, number id {number}, access {}, tenant {tenant}",
            account.access.as_str()
        )
    };
    config.channels.whatsapp.iter().map(line).collect()
}

/// What an operator may not have meant, a sentence for each. `asks` is whether any tool of that agent would ask for permission.
pub(super) fn warnings(config: &Config, asks: impl Fn(&str) -> bool) -> Vec<String> {
    let mut warnings = Vec::new();
    for (name, account) in &config.channels.whatsapp {
        let mut warn = |why: &str| warnings.push(format!("channels.whatsapp.{name}: {why}"));
        if account.access == Access::Open {
            warn("access = \"open\" answers everybody who has the number, at your expense");
        }
        if account.access == Access::Pairing && !has_admin(&config.auth, &account.tenant) {
            let tenant = &account.tenant;
            warn(&format!("nobody can let people of tenant {tenant:?} in: no key with the scope admin is of it"));
        }
        if account.graph_url.as_deref().is_some_and(is_unversioned) {
            warn("graph_url has no version: it belongs to it, as in https://graph.facebook.com/v26.0");
        }
        if account.graph_url.as_deref().is_some_and(is_bare) {
            warn("graph_url is neither https nor this machine: the access token goes over the network in the clear");
        }
        if !account.approvers.is_empty() && !asks(&account.agent) {
            warn("approvers have nothing to decide: no tool of its agent asks");
        }
    }
    warnings
}

/// Whether any key administers that tenant. The usual one has the local key, whatever else there is.
fn has_admin(auth: &Auth, tenant: &str) -> bool {
    tenant == DEFAULT_TENANT || auth.keys.iter().any(|key| key.tenant == tenant && key.scopes.contains(&Scope::Admin))
}

/// Whether no part of the path is a version, as `v26.0` is.
fn is_unversioned(url: &str) -> bool {
    let is_version = |part: &str| part.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    reqwest::Url::parse(url).is_ok_and(|url| !url.path().split('/').any(is_version))
}

/// Whether what is sent there can be read on the way.
fn is_bare(url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(url) else { return false };
    let is_here = url.host_str().is_some_and(|host| {
        let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
        host == "localhost" || address.is_ok_and(|address| address.is_loopback())
    });
    url.scheme() != "https" && !is_here
}

#[cfg(test)]
mod tests {
    use super::{is_bare, is_unversioned};

    #[test]
    fn the_version_is_a_part_of_the_path() {
        for url in ["https://graph.facebook.com/v26.0", "http://127.0.0.1:1/meta/v1/"] {
            assert!(!is_unversioned(url), "{url}");
        }
        for url in ["https://graph.facebook.com", "https://v26.example/graph", "https://graph.facebook.com/version"] {
            assert!(is_unversioned(url), "{url}");
        }
    }

    #[test]
    fn only_this_machine_may_be_spoken_to_in_the_clear() {
        for url in ["https://graph.facebook.com/v26.0", "http://127.0.0.1:1/v1", "http://[::1]:1", "http://localhost:1"] {
            assert!(!is_bare(url), "{url}");
        }
        for url in ["http://graph.facebook.com", "http://10.0.0.1", "http://localhost.example"] {
            assert!(is_bare(url), "{url}");
        }
    }
}
