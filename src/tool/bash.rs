//! A shell command on the operator's machine, for the operator's own terminal only.
//!
//! The command runs in its own process group, without input and without secrets in its environment, and leaves nothing running: not after
//! its end, a timeout or a cancel, and not when the body is dropped. It is no sandbox: what runs has the gateway's own rights, which is
//! why a person is asked. Read [`run`] first; [`group`] ends processes, [`streams`] and [`capture`] hold the output, [`report`] words it.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{Tool, ToolContext, ToolFailure, ToolOutput, parse};
use crate::domain::Args;
use crate::domain::event::tool::codes;
use crate::domain::toolset::{Needs, Policy, ToolSpec};

mod capture;
mod group;
mod report;
mod run;
mod streams;
#[cfg(test)]
mod tests;

pub const NAME: &str = "bash";

/// Variables with one of these in their name hold what a command, and whoever reads its output, must not see.
const SECRET_WORDS: [&str; 4] = ["KEY", "SECRET", "TOKEN", "PASSWORD"];

/// The gateway's own settings, some of them secret under any name.
const OWN_PREFIX: &str = "PORTICO_";

/// Limits of commands, and where they run.
#[derive(Clone, Debug)]
pub struct BashConfig {
    /// For a command that does not say; 2 minutes unless the operator says otherwise.
    pub timeout: Duration,
    /// The most that a command may ask for; 10 minutes unless the operator says otherwise.
    pub max_timeout: Duration,
    /// Where commands run; the process's own directory when `None`.
    pub directory: Option<PathBuf>,
}

impl Default for BashConfig {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(120), max_timeout: Duration::from_secs(600), directory: None }
    }
}

/// The tool `bash`.
#[derive(Clone)]
pub struct Bash {
    config: Arc<BashConfig>,
    shell: &'static Path,
    environment: Arc<[(OsString, OsString)]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    command: String,
    timeout_s: Option<u64>,
}

impl Bash {
    /// With the environment that this process has now, less its secrets.
    pub fn new(config: BashConfig) -> Self {
        Self::with_environment(config, env::vars_os())
    }

    /// With this environment, less its secrets.
    pub fn with_environment(config: BashConfig, environment: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let environment = environment.into_iter().filter(|(name, _)| !is_secret(name)).collect();
        // A default above the most is a slip of the operator's; the shorter of the two holds.
        let config = BashConfig { timeout: config.timeout.min(config.max_timeout), ..config };
        Self { config: Arc::new(config), shell: shell(), environment }
    }

    fn parse(&self, args: &Args) -> Result<(String, Duration), String> {
        let Command { command, timeout_s } = parse(args)?;
        if command.trim().is_empty() || command.contains('\0') {
            return Err("command must not be empty, nor contain a NUL character".into());
        }
        let most = self.config.max_timeout;
        match timeout_s.map(Duration::from_secs) {
            None => Ok((command, self.config.timeout)),
            Some(asked) if !asked.is_zero() && asked <= most => Ok((command, asked)),
            Some(_) => Err(format!("timeout_s must be between 1 and {}", most.as_secs())),
        }
    }

    async fn run(self, context: ToolContext, args: Args) -> Result<ToolOutput, ToolFailure> {
        let (command, timeout) = self.parse(&args).map_err(|error| ToolFailure::new(codes::INVALID_ARGUMENTS, error))?;
        if context.cancel.is_cancelled() {
            return Err(ToolFailure::new(codes::ABORTED_BEFORE_DISPATCH, "cancelled before it started"));
        }
        let directory = self.config.directory.as_ref();
        let order = run::Order { shell: self.shell, command: &command, directory, environment: &self.environment, timeout };
        match run::run(order, context).await {
            Ok(outcome) => report::report(&outcome, timeout),
            Err(error) => Err(ToolFailure::new(codes::TOOL_FAILED, format!("the shell could not be started: {error}"))),
        }
    }
}

impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        let (usual, most) = (self.config.timeout.as_secs(), self.config.max_timeout.as_secs());
        ToolSpec {
            name: NAME,
            description: format!(
                "Runs a shell command on the user's machine and returns exit code, stdout and stderr. There is no input and no terminal; each \
                 call is a new shell, and what it leaves in the background is ended. Of long output the middle is left out. The limit is \
                 {usual} seconds unless timeout_s says otherwise."
            ),
            schema: json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "What the shell runs."},
                    "timeout_s": {"type": "integer", "minimum": 1, "maximum": most, "description": "Seconds it may take."}
                },
                "required": ["command"],
                "additionalProperties": false
            }),
        }
    }

    fn default_policy(&self) -> Option<Policy> {
        Some(Policy::Ask)
    }

    fn needs(&self) -> Needs {
        Needs::LocalTools
    }

    /// Longer than any command may take, so that the body reports its own timeout together with what was printed.
    fn timeout(&self) -> Duration {
        self.config.max_timeout + Duration::from_secs(5)
    }

    fn check(&self, args: &Args) -> Result<(), String> {
        self.parse(args).map(drop)
    }

    fn call(&self, context: ToolContext, args: Args) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(self.clone().run(context, args))
    }
}

impl fmt::Debug for Bash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bash").field("config", &self.config).field("shell", &self.shell).finish_non_exhaustive()
    }
}

fn shell() -> &'static Path {
    ["/bin/bash", "/usr/bin/bash"].map(Path::new).into_iter().find(|path| path.exists()).unwrap_or(Path::new("/bin/sh"))
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_uppercase();
    name.starts_with(OWN_PREFIX) || SECRET_WORDS.iter().any(|word| name.contains(word))
}
