//! The search providers that the operator set up, by the settings and the usual variables.

use std::sync::Arc;

use secrecy::SecretString;
use url::Url;

use crate::config::Config;
use crate::config::tools::{SearchAccess, SearchEngine};
use crate::domain::Clock;
use crate::tool::web_search::{Access, SearchProvider, WebSearch, Wire};

/// The tool, with whoever can be asked; without anybody it is absent from every channel.
pub(super) fn web_search(config: &Config, client: reqwest::Client, clock: Arc<dyn Clock>) -> WebSearch {
    let providers = order(config).into_iter().filter_map(|wire| Some(SearchProvider::new(wire, access(config, wire)?)));
    WebSearch::new(providers.collect(), client, clock, config.tools.timeout("web_search"))
}

/// Who is asked, in order, for the start line; `None` where there is nobody.
pub(in crate::app) fn line(config: &Config) -> Option<String> {
    let asked: Vec<&str> = order(config).into_iter().filter(|wire| access(config, *wire).is_some()).map(Wire::name).collect();
    (!asked.is_empty()).then(|| format!("Web search: {}", asked.join(", ")))
}

/// Whom the operator named and nobody can ask, a sentence each.
pub(in crate::app) fn passed_over(config: &Config) -> Vec<String> {
    let named = config.tools.web_search.order.as_ref().map(|_| order(config)).unwrap_or_default();
    let lacks = |wire: Wire| match wire {
        Wire::Brave | Wire::Tavily | Wire::Exa => "key",
        Wire::Searxng => "base_url",
    };
    let passed_over = named.into_iter().filter(|wire| access(config, *wire).is_none());
    passed_over.map(|wire| format!("tools.web_search.order: {} has no {}, and is passed over", wire.name(), lacks(wire))).collect()
}

/// Each once.
fn order(config: &Config) -> Vec<Wire> {
    let said = config.tools.web_search.order.as_ref();
    let wires: Vec<Wire> = said.map_or_else(|| Wire::ALL.into(), |order| order.iter().copied().map(wire).collect());
    let mut once: Vec<Wire> = Vec::new();
    for wire in wires {
        if once.iter().all(|known| known.name() != wire.name()) {
            once.push(wire);
        }
    }
    once
}

/// `None` where there is no key, or no address.
fn access(config: &Config, wire: Wire) -> Option<Access> {
    let rules = &config.tools.web_search;
    let (said, variable) = match wire {
        Wire::Brave => (&rules.brave, "BRAVE_API_KEY"),
        Wire::Tavily => (&rules.tavily, "TAVILY_API_KEY"),
        Wire::Exa => (&rules.exa, "EXA_API_KEY"),
        Wire::Searxng => {
            let url = rules.searxng.base_url.as_deref().or_else(|| config.variables.base_url("SEARXNG_URL"))?;
            return Some(Access { base_url: parsed(url)?, key: None });
        }
    };
    let key = key(config, said, variable)?;
    let url = said.base_url.as_deref().or(wire.usual_url())?;
    Some(Access { base_url: parsed(url)?, key: Some(key) })
}

fn key(config: &Config, said: &SearchAccess, variable: &str) -> Option<SecretString> {
    said.api_key.clone().or_else(|| config.variables.key(variable).cloned())
}

/// Every address was judged when the settings were read.
fn parsed(url: &str) -> Option<Url> {
    Url::parse(url).ok()
}

fn wire(engine: SearchEngine) -> Wire {
    match engine {
        SearchEngine::Brave => Wire::Brave,
        SearchEngine::Tavily => Wire::Tavily,
        SearchEngine::Exa => Wire::Exa,
        SearchEngine::Searxng => Wire::Searxng,
    }
}
