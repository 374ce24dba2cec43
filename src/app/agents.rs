//! Which model, prompt and tools a turn gets: the configuration, put to work.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use crate::agent::{Blob, End, Limits, ModelChoice};
use crate::channel;
use crate::config::Config;
use crate::config::agents::Agent;
use crate::domain::ChannelProfile;
use crate::domain::event::model::Parameters;
use crate::domain::toolset::{Candidate, Toolset};
use crate::prompt::{SystemParts, system_prompt, tools_json};
use crate::provider::Provider;
use crate::provider::http::{CONNECT_TIMEOUT, READ_TIMEOUT, client};
use crate::provider::table::{Setting, Table};
use crate::session::{Prepared, Setup, Want};
use crate::tool::ask_user::AskUser;
use crate::tool::bash::{Bash, BashConfig};
use crate::tool::demo::{DemoBooking, DemoLookup};
use crate::tool::{Tool, Toolbox};

/// The most that a command may ask for.
const BASH_MAX: Duration = Duration::from_secs(600);
/// Requests of one step.
const ATTEMPTS: u32 = 3;
/// Tool bodies that run at once.
const POOL: usize = 10;
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
    agents: BTreeMap<String, Agent>,
    /// What `auto` means.
    auto: String,
    toolbox: Arc<Toolbox>,
    /// The toolbox of the demo model: the same, and its own two offline tools.
    demo_toolbox: Arc<Toolbox>,
    abort_grace: Duration,
}

impl Agents {
    pub(super) fn new(config: &Config) -> anyhow::Result<Self> {
        let mut table = Table::new();
        for (id, provider) in &config.providers {
            let window = provider.context_window.map(u64::from);
            table.configure(id, Setting { base_url: provider.base_url.clone(), model_prefix: provider.model_prefix.clone(), window })?;
        }
        let own_url = config.providers.get("openai").is_some_and(|p| p.base_url.is_some());
        if let Some(url) = config.variables.openai_base_url.clone().filter(|_| !own_url) {
            table.configure("openai", Setting { base_url: Some(url), ..Setting::default() })?;
        }
        let key = |id: &str, variable: Option<&str>| {
            let configured = config.providers.get(id).and_then(|p| p.api_key.clone());
            configured.or_else(|| variable.and_then(|name| config.variables.key(name).cloned()))
        };
        let http = client(CONNECT_TIMEOUT, READ_TIMEOUT).context("the HTTP client of the providers")?;
        let rows = table.rows().iter();
        let providers = rows.map(|row| (row.id.to_string(), row.provider(key(&row.id, row.key_var.as_deref()), http.clone()))).collect();
        let auto = table.auto(|row| key(&row.id, row.key_var.as_deref()).is_some()).to_owned();
        let named = config.agents.named.iter().map(|(name, agent)| (name.clone(), agent.clone()));
        let agents = named.chain([("default".to_owned(), config.agents.default.clone())]).collect();
        Ok(Self {
            table,
            providers,
            profiles: profiles(config),
            agents,
            auto,
            toolbox: Arc::new(toolbox(config, vec![])),
            demo_toolbox: Arc::new(toolbox(config, vec![Arc::new(DemoLookup), Arc::new(DemoBooking)])),
            abort_grace: Duration::from_millis(config.tools.abort_grace_ms),
        })
    }

    pub(super) fn names(&self) -> Vec<String> {
        self.agents.keys().cloned().collect()
    }

    /// Every tool that any turn could have.
    pub(super) fn every_tool(&self) -> Vec<Candidate> {
        self.profiles.values().next().map(|profile| self.demo_toolbox.candidates(profile)).unwrap_or_default()
    }

    /// The provider and its name of the model.
    fn model(&self, agent: &Agent, chosen: Option<&str>) -> Result<ModelChoice, End> {
        let name = chosen.unwrap_or(&agent.model);
        let name = if name == "auto" { &self.auto } else { name };
        let unknown = || End::error("model_not_found", format!("no provider has a model {name:?}"));
        let (row, model) = self.table.resolve(name).ok_or_else(unknown)?;
        let provider = self.providers.get(&*row.id).ok_or_else(unknown)?.clone();
        Ok(ModelChoice { provider, model: model.to_owned(), parameters: Parameters::default() })
    }

    fn toolbox_for(&self, model: &ModelChoice) -> &Arc<Toolbox> {
        if model.provider.id() == DEMO { &self.demo_toolbox } else { &self.toolbox }
    }
}

fn profiles(config: &Config) -> BTreeMap<&'static str, Arc<ChannelProfile>> {
    let adjusted = |profile: &ChannelProfile| match profile.label {
        "web" if config.channels.web.allow_ask_user => channel::web::with_questions(),
        _ => profile.clone(),
    };
    channel::PROFILES.iter().map(|profile| (profile.label, Arc::new(adjusted(profile)))).collect()
}

fn toolbox(config: &Config, extra: Vec<Arc<dyn Tool>>) -> Toolbox {
    let bash = Bash::new(BashConfig {
        timeout: config.tools.timeout("bash").unwrap_or(Duration::from_secs(120)),
        max_timeout: BASH_MAX,
        directory: config.tools.bash.cwd.clone(),
    });
    let mut tools: Vec<Arc<dyn Tool>> = vec![Arc::new(bash), Arc::new(AskUser)];
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
        let profile = self.profile(want.channel).ok_or_else(|| unknown(format!("there is no channel {:?}", want.channel)))?;
        let model = self.model(agent, want.model)?;
        let toolbox = self.toolbox_for(&model).clone();
        let toolset = toolbox.toolset(&profile);
        let system = system_prompt(&SystemParts {
            name: NAME,
            profile: &profile,
            tools: &toolset,
            operator: agent.instructions.as_deref(),
            messages: want.instructions.as_slice(),
            now: want.started_at,
        });
        Ok(Prepared {
            model,
            system: Blob::new(system),
            tools: tools_json(&toolset).map(Blob::new),
            toolset: Arc::new(toolset),
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

    fn profile(&self, channel: &str) -> Option<Arc<ChannelProfile>> {
        self.profiles.get(channel).cloned()
    }

    fn toolset(&self, channel: &str, agent: &str) -> Option<Arc<Toolset>> {
        let model = self.model(self.agents.get(agent)?, None).ok()?;
        Some(Arc::new(self.toolbox_for(&model).toolset(self.profiles.get(channel)?)))
    }

    fn max_queue(&self, agent: &str) -> usize {
        self.agents.get(agent).map_or(1, |a| a.max_queue as usize)
    }
}
