//! What stands in two layers that do not see each other: the table of providers and the tools, and what the configuration reads for them.

use std::collections::BTreeSet;

use secrecy::ExposeSecret;

use super::*;
use crate::config::variables::{BASE_URLS, KEYS};
use crate::domain::toolset::{CallKind, Policy};
use crate::test_folder::TestFolder;

fn configured(text: &str, env: &[(&str, &str)]) -> Config {
    let folder = TestFolder::empty();
    let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    Config::load(Some(&folder.write("p.toml", text)), env).unwrap()
}

#[test]
fn every_variable_of_the_table_is_read_and_no_other() {
    let table = Table::new();
    let keys: BTreeSet<&str> = table.rows().iter().filter_map(|row| row.key_var.as_deref()).collect();
    assert_eq!(keys, KEYS.into());
    let urls: BTreeSet<&str> = table.rows().iter().filter_map(|row| row.url_var.as_deref()).collect();
    assert_eq!(urls, BASE_URLS.into());
    for name in keys {
        assert_eq!(configured("", &[(name, "k")]).variables.key(name).map(ExposeSecret::expose_secret), Some("k"), "{name}");
    }
    for name in urls {
        assert_eq!(configured("", &[(name, "http://h/v1")]).variables.base_url(name), Some("http://h/v1"), "{name}");
    }
}

#[test]
fn every_tool_takes_the_operators_policy_and_every_body_a_limit() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let agents = Agents::new(&configured("", &[]), None, Arc::new(crate::app::SystemClock), &Meter::none()).unwrap();
    let tools = agents.every_tool();
    assert!(tools.len() > 5, "{tools:?}");
    for tool in tools {
        let name = tool.spec.name;
        let rules = configured(&format!("[tools.{name}]\npolicy = \"deny\"\n"), &[]).tools;
        assert_eq!(rules.policy(name), Some(Policy::Deny), "{name}");
        if tool.kind == CallKind::Body {
            let rules = configured(&format!("[tools.{name}]\ntimeout_s = 7\n"), &[]).tools;
            assert_eq!(rules.timeout(name), Some(Duration::from_secs(7)), "{name}");
        }
    }
}
