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
    let order = config.tools.web_search.order.as_ref();
    let wires: Vec<Wire> = order.map_or_else(|| Wire::ALL.into(), |order| order.iter().copied().map(wire).collect());
    let mut providers: Vec<SearchProvider> = Vec::new();
    for wire in wires {
        if providers.iter().all(|known| known.name() != wire.name())
            && let Some(access) = access(config, wire)
        {
            providers.push(SearchProvider::new(wire, access));
        }
    }
    WebSearch::new(providers, client, clock, config.tools.timeout("web_search"))
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
