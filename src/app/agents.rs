//! Which model, prompt and tools a turn gets: the configuration, put to work.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Context;

use crate::agent::{Blob, End, Limits, ModelChoice};
use crate::channel;
use crate::config::Config;
use crate::config::agents::Agent;
use crate::config::providers;
use crate::domain::event::model::Parameters;
use crate::domain::toolset::{Candidate, Toolset};
use crate::domain::{ChannelProfile, Clock};
use crate::meter::Meter;
use crate::prompt::{SystemParts, system_prompt, tools_json};
use crate::provider::Provider;
use crate::provider::files::Takes;
use crate::provider::http::{CONNECT_TIMEOUT, READ_TIMEOUT, client};
use crate::provider::metered::Metered;
use crate::provider::table::{Models, Row, Setting, Table, Wire};
use crate::session::{Prepared, Setup, Want};
use crate::tool::ask_user::AskUser;
use crate::tool::bash::{Bash, BashConfig};
use crate::tool::demo::{DemoBooking, DemoLookup};
use crate::tool::net_guard::{GuardedClient, Lookup, NetGuard, SystemLookup};
use crate::tool::read_artifact::ReadArtifact;
use crate::tool::web_fetch::pdf::PdfReader;
use crate::tool::web_fetch::{FetchLimits, WebFetch};
use crate::tool::web_search::WebSearch;
use crate::tool::{Tool, Toolbox};

mod profiles;
pub(super) mod search;

use profiles::AccountProfiles;

/// Requests of one step.
const ATTEMPTS: u32 = 3;
/// Tool bodies that run at once.
const POOL: usize = 10;
/// Kits that are kept; a few days of the usual ones.
const KITS_KEPT: usize = 64;
/// What the agent is called in its prompt.
const NAME: &str = "Portico";
/// The provider that brings its own tools.
const DEMO: &str = "demo";

/// The agents of this gateway.
#[derive(Debug)]
pub(super) struct Agents {
    table: Table,
    providers: BTreeMap<String, Arc<dyn Provider>>,
    profiles: BTreeMap<&'static str, Arc<ChannelProfile>>,
    accounts: BTreeMap<(String, String), AccountProfiles>,
    agents: BTreeMap<String, Agent>,
    /// What `auto` means.
    auto: String,
    /// Providers that a conversation may be sent to: with a key, with a base URL of the operator's, or needing neither.
    usable: BTreeSet<String>,
    toolbox: Arc<Toolbox>,
    /// The toolbox of the demo model: the same, and its own two offline tools.
    demo_toolbox: Arc<Toolbox>,
    abort_grace: Duration,
    kits: Mutex<BTreeMap<KitKey, Arc<Kit>>>,
}

/// Agent, channel, whether somebody can approve there, whether it is the demo's, and day.
type KitKey = (String, String, bool, bool, String);

/// What an agent is told on a channel, on a day.
#[derive(Debug)]
struct Kit {
    system: Blob,
    tools: Option<Blob>,
    toolset: Arc<Toolset>,
}

impl Kit {
    fn new(want: &Want<'_>, agent: &Agent, profile: &ChannelProfile, toolbox: &Toolbox) -> Self {
        let toolset = toolbox.toolset(profile);
        let system = system_prompt(&SystemParts {
            name: NAME,
            profile,
            tools: &toolset,
            operator: agent.instructions.as_deref(),
            message: want.instructions,
            now: want.started_at,
        });
        Self { system: Blob::new(system), tools: tools_json(&toolset).map(Blob::new), toolset: Arc::new(toolset) }
    }
}

impl Agents {
    /// `own` is where the gateway listens; `None` where it does not.
    ///
    /// # Errors
    /// When the configuration names what does not exist, or TLS cannot be set up.
    pub(super) fn new(config: &Config, own: Option<SocketAddr>, clock: Arc<dyn Clock>, meter: &Meter) -> anyhow::Result<Self> {
        let mut table = Table::new();
        for (id, provider) in &config.providers {
            let wire = provider.wire.map(wire);
            let (base_url, model_prefix) = (provider.base_url.clone(), provider.model_prefix.clone());
            let takes = provider.takes.as_ref().map(takes);
            let setting = Setting { base_url, wire, model_prefix, window: None, takes };
            table.configure(id, setting).map_err(|why| config.problem(&format!("providers.{id}"), why))?;
        }
        let usual: Vec<_> = table.rows().iter().filter_map(|row| Some((row.id.to_string(), usual_url(config, row)?))).collect();
        for (id, url) in usual.into_iter().filter(|(id, _)| !has_url(config, id)) {
            let setting = Setting { base_url: Some(url), ..Setting::default() };
            table.configure(&id, setting).with_context(|| format!("the usual variable of the provider {id}"))?;
        }
        let key = |id: &str, variable: Option<&str>| {
            let configured = config.providers.get(id).and_then(|p| p.api_key.clone());
            configured.or_else(|| variable.and_then(|name| config.variables.key(name).cloned()))
        };
        let http = client(CONNECT_TIMEOUT, READ_TIMEOUT).context("the HTTP client of the providers")?;
        let rows = table.rows().iter();
        let metered = |provider| Arc::new(Metered::new(provider, meter.clone())) as Arc<dyn Provider>;
        let provider = |row: &Row| metered(row.provider(key(&row.id, row.key_var.as_deref()), http.clone()));
        let providers = rows.map(|row| (row.id.to_string(), provider(row))).collect();
        let auto = table.auto(|row| key(&row.id, row.key_var.as_deref()).is_some()).to_owned();
        let named = config.agents.named.iter().map(|(name, agent)| (name.clone(), agent.clone()));
        let agents = named.chain([("default".to_owned(), config.agents.default.clone())]).collect();
        let usable = |row: &Row| {
            let own = has_url(config, &row.id) || usual_url(config, row).is_some();
            own || row.key_var.is_none() || key(&row.id, row.key_var.as_deref()).is_some()
        };
        let usable = table.rows().iter().filter(|row| usable(row)).map(|row| row.id.to_string()).collect();
        let search = search::web_search(config, http.clone(), clock.clone());
        let fetch = web_fetch(config, own, clock).context("the HTTP client of web_fetch")?;
        let built = Self {
            usable,
            table,
            providers,
            profiles: profiles::channels(config),
            accounts: profiles::accounts(config),
            agents,
            auto,
            toolbox: Arc::new(toolbox(config, &fetch, &search, vec![])),
            demo_toolbox: Arc::new(toolbox(config, &fetch, &search, vec![Arc::new(DemoLookup), Arc::new(DemoBooking)])),
            abort_grace: Duration::from_millis(config.tools.abort_grace_ms),
            kits: Mutex::default(),
        };
        for (name, agent) in &built.agents {
            built.row(agent, None).map_err(|why| config.problem(&format!("agents.{name}.model"), why))?;
        }
        Ok(built)
    }

    /// What the default agent answers with, for the start line.
    pub(super) fn default_model(&self) -> String {
        let row = self.agents.get("default").and_then(|agent| self.row(agent, None).ok());
        row.map_or_else(String::new, |(row, model)| if row.id == DEMO { DEMO.into() } else { format!("{model} ({})", row.id) })
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.agents.keys().cloned().collect()
    }

    /// Whether a tool of that agent asks for permission where somebody can give it.
    pub(super) fn asks(&self, agent: &str) -> bool {
        let Some(model) = self.agents.get(agent).and_then(|agent| self.model(agent, None).ok()) else { return false };
        let has = |profile: &ChannelProfile| self.toolbox_for(&model).toolset(profile).names().count();
        channel::ADAPTERS.iter().any(|profile| has(&profiles::with_approvals(profile)) > has(profile))
    }

    /// A turn that only approvers wait for may ask them.
    fn profile_of(&self, want: &Want<'_>) -> Option<Arc<ChannelProfile>> {
        let own = want.account.and_then(|account| self.account(want.channel, account));
        match own.filter(|own| own.can_decide(want.addresses)) {
            Some(own) => Some(own.approving.clone()),
            None => self.profile(want.channel, want.account),
        }
    }

    fn account(&self, channel: &str, account: &str) -> Option<&AccountProfiles> {
        self.accounts.get(&(channel.to_owned(), account.to_owned()))
    }

    /// Every tool that any turn could have.
    pub(super) fn every_tool(&self) -> Vec<Candidate> {
        self.profiles.values().next().map(|profile| self.demo_toolbox.candidates(profile)).unwrap_or_default()
    }

    /// The provider of a model, and its name there. Fail closed: a conversation is sent to no provider that was not set up.
    fn row<'a>(&'a self, agent: &'a Agent, chosen: Option<&'a str>) -> Result<(&'a Row, &'a str), String> {
        let name = chosen.unwrap_or(&agent.model);
        let name = if name == "auto" { &self.auto } else { name };
        let (row, model) =
            self.table.resolve(name).filter(|_| !name.is_empty()).ok_or_else(|| format!("no provider has a model {name:?}"))?;
        if self.usable.contains(&*row.id) {
            return Ok((row, model));
        }
        let variable = row.key_var.as_deref().unwrap_or("api_key");
        let guessed = match row.models {
            Models::Rest => {
                format!("; a name that begins with none of {} is taken for one of {}", self.table.prefixes().join(", "), row.id)
            }
            Models::Name(_) | Models::Prefix(_) | Models::Stripped(_) => String::new(),
        };
        Err(format!(
            "the model {name:?} is of the provider {id:?}, which is not set up: give {variable}, or [providers.{id}] base_url{guessed}",
            id = row.id
        ))
    }

    /// What the operator said about a provider and no agent makes use of.
    pub(super) fn idle_providers(&self, config: &Config) -> Vec<String> {
        let used: BTreeSet<&str> = self.agents.values().filter_map(|agent| self.row(agent, None).ok()).map(|(row, _)| &*row.id).collect();
        let has_key = |id: &str| {
            let variable = self.table.get(id).and_then(|row| row.key_var.as_deref());
            config.providers[id].api_key.is_some() || variable.is_some_and(|name| config.variables.key(name).is_some())
        };
        let idle = config.providers.keys().filter(|id| has_url(config, id) && !has_key(id) && !used.contains(id.as_str()));
        idle.map(|id| format!("providers.{id} has a base_url but neither a key nor a model that asks it; set agents.default.model"))
            .collect()
    }

    fn model(&self, agent: &Agent, chosen: Option<&str>) -> Result<ModelChoice, End> {
        let (row, model) = self.row(agent, chosen).map_err(|why| End::error("model_not_found", why))?;
        let missing = || End::error("model_not_found", format!("the provider {:?} is not there", row.id));
        let provider = self.providers.get(&*row.id).ok_or_else(missing)?.clone();
        let reasoning_effort = agent.reasoning_effort.map(|effort| effort.as_str().to_owned());
        Ok(ModelChoice { provider, model: model.to_owned(), parameters: Parameters { max_output_tokens: None, reasoning_effort } })
    }

    /// The prompt and the tools of a turn. Most turns of a day have the same, and are given the same.
    fn kit(&self, want: &Want<'_>, agent: &Agent, profile: &ChannelProfile, toolbox: &Arc<Toolbox>) -> Arc<Kit> {
        let make = || Arc::new(Kit::new(want, agent, profile, toolbox));
        if want.instructions.is_some() {
            return make();
        }
        let demo = Arc::ptr_eq(toolbox, &self.demo_toolbox);
        let approvals = profile.capabilities.approvals;
        let key = (want.agent.to_owned(), want.channel.to_owned(), approvals, demo, want.started_at.date());
        let mut kits = self.kits.lock().unwrap_or_else(PoisonError::into_inner);
        if kits.len() > KITS_KEPT {
            kits.clear();
        }
        kits.entry(key).or_insert_with(make).clone()
    }

    fn toolbox_for(&self, model: &ModelChoice) -> &Arc<Toolbox> {
        if model.provider.id() == DEMO { &self.demo_toolbox } else { &self.toolbox }
    }
}

fn wire(configured: providers::Wire) -> Wire {
    match configured {
        providers::Wire::OpenaiChat => Wire::OpenAiChat,
        providers::Wire::Anthropic => Wire::Anthropic,
    }
}

fn takes(configured: &BTreeSet<providers::Takes>) -> Takes {
    let images = if configured.contains(&providers::Takes::Image) { Takes::IMAGES } else { Takes::NOTHING };
    Takes { documents: configured.contains(&providers::Takes::Document), ..images }
}

/// The operator said where this provider is.
fn has_url(config: &Config, id: &str) -> bool {
    config.providers.get(id).is_some_and(|provider| provider.base_url.is_some())
}

/// Where the provider's usual variable says that it is.
fn usual_url(config: &Config, row: &Row) -> Option<String> {
    row.url_var.as_deref().and_then(|name| config.variables.base_url(name)).map(str::to_owned)
}

fn web_fetch(config: &Config, own: Option<SocketAddr>, clock: Arc<dyn Clock>) -> anyhow::Result<WebFetch> {
    let guard = NetGuard::new(config.net.allow_private.iter().map(|network| network.0)).without(own);
    let max_bytes = config.tools.web_fetch.max_bytes.and_then(|bytes| usize::try_from(bytes).ok());
    let limits = max_bytes.map_or_else(FetchLimits::default, |most| FetchLimits { max_bytes: most, max_pdf_bytes: most });
    let lookup: Arc<dyn Lookup> = Arc::new(SystemLookup);
    let pdfs = PdfReader::own().context("the program that reads PDFs")?;
    Ok(WebFetch::new(GuardedClient::new(guard, &lookup)?, limits, clock, pdfs))
}

fn toolbox(config: &Config, fetch: &WebFetch, search: &WebSearch, extra: Vec<Arc<dyn Tool>>) -> Toolbox {
    let usual = BashConfig::default();
    let limit = config.tools.timeout("bash");
    let bash = Bash::new(BashConfig {
        timeout: limit.unwrap_or(usual.timeout),
        // the operator's limit is one: no command may ask for more
        max_timeout: limit.unwrap_or(usual.max_timeout),
        directory: config.tools.bash.cwd.clone(),
    });
    let mut tools: Vec<Arc<dyn Tool>> =
        vec![Arc::new(bash), Arc::new(AskUser), Arc::new(ReadArtifact), Arc::new(search.clone()), Arc::new(fetch.clone())];
    tools.extend(extra);
    let policy = |tool: &Arc<dyn Tool>| config.tools.policy(tool.spec().name).map(|policy| (tool.spec().name.to_owned(), policy));
    // bash has its limit from its own settings: it is the command's, and reported by it
    let limit = |tool: &Arc<dyn Tool>| config.tools.timeout(tool.spec().name).map(|limit| (tool.spec().name.to_owned(), limit));
    let timeouts = tools.iter().filter(|tool| tool.spec().name != "bash").filter_map(limit).collect();
    Toolbox { policies: tools.iter().filter_map(policy).collect(), timeouts, tools }
}

impl Setup for Agents {
    fn prepare(&self, want: &Want<'_>) -> Result<Prepared, End> {
        let unknown = |what: String| End::error("unavailable", what);
        let agent = self.agents.get(want.agent).ok_or_else(|| unknown(format!("the agent {:?} is not configured any more", want.agent)))?;
        let profile = self.profile_of(want).ok_or_else(|| unknown(format!("there is no channel {:?}", want.channel)))?;
        let model = self.model(agent, want.model)?;
        let toolbox = self.toolbox_for(&model).clone();
        let kit = self.kit(want, agent, &profile, &toolbox);
        Ok(Prepared {
            model,
            system: kit.system.clone(),
            tools: kit.tools.clone(),
            toolset: kit.toolset.clone(),
            toolbox,
            limits: Limits {
                max_steps: agent.max_steps.unwrap_or(profile.max_steps),
                deadline: Duration::from_secs(agent.turn_deadline_s),
                abort_grace: self.abort_grace,
                attempts: ATTEMPTS,
                pool: POOL,
            },
        })
    }

    fn profile(&self, channel: &str, account: Option<&str>) -> Option<Arc<ChannelProfile>> {
        let own = account.and_then(|account| self.account(channel, account)).map(|own| own.usual.clone());
        own.or_else(|| self.profiles.get(channel).cloned())
    }

    fn toolset(&self, channel: &str, account: Option<&str>, agent: &str) -> Option<Arc<Toolset>> {
        let model = self.model(self.agents.get(agent)?, None).ok()?;
        let of = |profile: &ChannelProfile| self.toolbox_for(&model).toolset(profile);
        let usual = of(self.profiles.get(channel)?);
        let own = account.and_then(|account| self.account(channel, account)).filter(|own| own.has_approvers());
        Some(Arc::new(match own {
            Some(own) => profiles::for_approvers_too(usual, &of(&own.approving)),
            None => usual,
        }))
    }

    fn knows_model(&self, agent: &str, model: &str) -> Result<(), String> {
        let agent = self.agents.get(agent).ok_or_else(|| format!("there is no agent {agent:?}"))?;
        // a caller may be far from the settings, which the operator's words are about
        let words =
            |_| format!("this gateway answers with no model {model:?}; leave it out for the agent's own, or ask who runs the gateway");
        self.row(agent, Some(model)).map(drop).map_err(words)
    }

    fn max_queue(&self, agent: &str) -> usize {
        self.agents.get(agent).map_or(1, |a| a.max_queue as usize)
    }
}

#[cfg(test)]
mod tests;
