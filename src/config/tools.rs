//! `[tools]` and `[tools.NAME]`
//!
//! Tools are fields and not a map, so that a rule for a tool that does not exist is refused: a `deny` with a typing error in its name
//! would deny nothing.

use std::path::PathBuf;
use std::time::Duration;

use schemars::JsonSchema;
use secrecy::SecretString;
use serde::Deserialize;

use crate::domain::toolset::Policy;

/// Rules for tools.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tools {
    /// How long an abort waits for started bodies before it ends them, in milliseconds; 0 does not wait.
    #[schemars(range(max = 60_000))]
    pub abort_grace_ms: u64,
    /// Commands on the operator's machine.
    #[serde(default)]
    pub bash: BashRules,
    /// Questions to the person at the other end.
    #[serde(default)]
    pub ask_user: QuestionRules,
    /// Reading on in long results.
    #[serde(default)]
    pub read_artifact: ToolRules,
    /// Pages of the web.
    #[serde(default)]
    pub web_fetch: FetchRules,
    /// Searches of the web.
    #[serde(default)]
    pub web_search: SearchRules,
    /// The demo's offline look-up.
    #[serde(default)]
    pub demo_lookup: ToolRules,
    /// The demo's pretended booking.
    #[serde(default)]
    pub demo_booking: ToolRules,
}

impl Tools {
    /// The operator's policy for the tool of this name; `None` where nothing was said.
    pub fn policy(&self, tool: &str) -> Option<Policy> {
        match tool {
            "bash" => self.bash.policy,
            "ask_user" => self.ask_user.policy,
            "read_artifact" => self.read_artifact.policy,
            "web_fetch" => self.web_fetch.policy,
            "web_search" => self.web_search.policy,
            "demo_lookup" => self.demo_lookup.policy,
            "demo_booking" => self.demo_booking.policy,
            _ => None,
        }
    }

    /// The operator's limit for one call of the tool of this name; `None` where nothing was said.
    pub fn timeout(&self, tool: &str) -> Option<Duration> {
        let seconds = match tool {
            "bash" => self.bash.timeout_s,
            "read_artifact" => self.read_artifact.timeout_s,
            "web_fetch" => self.web_fetch.timeout_s,
            "web_search" => self.web_search.timeout_s,
            "demo_lookup" => self.demo_lookup.timeout_s,
            "demo_booking" => self.demo_booking.timeout_s,
            _ => None,
        };
        seconds.map(Duration::from_secs)
    }
}

/// What can be said about a tool whose body runs here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolRules {
    /// Whether it may run; `None` is the tool's or the channel's own default.
    #[schemars(with = "Policy")]
    pub policy: Option<Policy>,
    /// How long one call may take, in seconds; `None` is the tool's own limit.
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_s: Option<u64>,
}

/// What can be said about `bash`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BashRules {
    /// Whether it may run; `None` is the tool's or the channel's own default.
    #[schemars(with = "Policy")]
    pub policy: Option<Policy>,
    /// How long one command may take, in seconds; `None` is the tool's own limit.
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_s: Option<u64>,
    /// The folder in which commands start; `None` is the gateway's own.
    #[schemars(with = "String", length(min = 1))]
    pub cwd: Option<PathBuf>,
}

/// What can be said about `web_fetch`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FetchRules {
    /// Whether it may run; `None` is the tool's or the channel's own default.
    #[schemars(with = "Policy")]
    pub policy: Option<Policy>,
    /// How long one fetch may take, redirects and reading included, in seconds; `None` is the tool's own limit.
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_s: Option<u64>,
    /// The most bytes of a page that are read; `None` is the tool's own limit.
    #[schemars(range(min = 1_024, max = 33_554_432))]
    pub max_bytes: Option<u64>,
}

/// What can be said about `web_search`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRules {
    /// Whether it may run; `None` is the tool's or the channel's own default.
    #[schemars(with = "Policy")]
    pub policy: Option<Policy>,
    /// How long one search may take, all providers together, in seconds; `None` is the tool's own limit.
    #[schemars(range(min = 1, max = 86_400))]
    pub timeout_s: Option<u64>,
    /// The providers that are asked, in this order; `None` is all that are set up.
    #[schemars(with = "Vec<SearchEngine>")]
    pub order: Option<Vec<SearchEngine>>,
    #[serde(default)]
    pub brave: SearchAccess,
    #[serde(default)]
    pub tavily: SearchAccess,
    #[serde(default)]
    pub exa: SearchAccess,
    #[serde(default)]
    pub searxng: SearchInstance,
}

/// The search providers that this build can ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SearchEngine {
    Brave,
    Tavily,
    Exa,
    Searxng,
}

/// A search provider that lets in who has a key.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchAccess {
    /// The key. After loading this is the key, however it was given in the settings.
    #[schemars(with = "String", length(min = 1))]
    pub api_key: Option<SecretString>,
    /// A file that holds the key instead.
    #[schemars(with = "String", length(min = 1))]
    pub api_key_file: Option<PathBuf>,
    /// Where it is, if not at its own address; http or https.
    #[schemars(length(min = 1))]
    pub base_url: Option<String>,
}

/// A search provider that the operator runs, or knows.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInstance {
    /// Where it is; http or https.
    #[schemars(length(min = 1))]
    pub base_url: Option<String>,
}

/// What can be said about a tool that is a question: it has no body that could take too long.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionRules {
    /// Whether it may be asked; `None` is the tool's or the channel's own default.
    #[schemars(with = "Policy")]
    pub policy: Option<Policy>,
}
