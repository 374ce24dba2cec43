//! The command line.

mod token;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, Parser, Subcommand};
use secrecy::SecretString;
use tokio::runtime::Runtime;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::app::key_file::KeyFile;
use crate::app::{App, Welcome};
use crate::client::health::health;
use crate::client::{ChatOptions, chat};
use crate::config::{Config, ConfigError};
use crate::tool::web_fetch::pdf;
use crate::{server, telemetry};
use token::Token;

/// How long the store gets to close when the process is to end at once.
const AT_ONCE: Duration = Duration::from_millis(500);

/// A gateway that keeps one agent actor per session and delivers what the agent does to every channel.
#[derive(Debug, Parser)]
#[command(name = "portico", version, about)]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    /// Settings on top of the built-in ones; without it ./config.toml, where there is one.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the gateway (what plain `portico` does).
    Serve,
    /// Chat from the terminal.
    Chat(Chat),
    /// Check the configuration, and name what is wrong by file, key and line.
    Check,
    /// Make keys for who calls.
    #[command(subcommand)]
    Token(Token),
    /// Ask the running gateway whether it can do its work: 0 when it can, 1 when not. For containers and service managers.
    Health(Health),
    /// What the gateway starts for each PDF that it reads.
    #[command(name = pdf::COMMAND, hide = true)]
    ReadPdf,
}

#[derive(Debug, Args)]
struct Health {
    /// The gateway; by default the one that the settings describe.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
}

#[derive(Debug, Args)]
struct Chat {
    /// The gateway; by default the one that the settings describe.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// A session to take up.
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Post one message, print the answer and leave: with 0 when the turn completed, 1 when it did not, 2 when it waits for an approval or
    /// an answer that nobody at this terminal can give.
    #[arg(long, value_name = "TEXT")]
    message: Option<String>,
    /// Print every event of the feed as one line of JSON on stdout: `{"event": NAME, "id": CURSOR, "data": {..}}`, without `id` where the
    /// event moves no cursor. With --message it ends with the turn and the same exit codes.
    #[arg(long)]
    json: bool,
    /// The local key, or an API key with the scope cli; by default the local key is read from the store's folder.
    #[arg(long, env = "PORTICO_KEY", hide_env_values = true, value_name = "KEY")]
    key: Option<SecretString>,
}

impl Cli {
    /// Runs the command on a runtime of its own.
    ///
    /// # Errors
    /// What to tell the person, and nothing else.
    pub fn run_to_end(self) -> anyhow::Result<ExitCode> {
        // before anything else takes memory or starts threads: it has hard limits
        if let Some(Command::ReadPdf) = self.command {
            return Ok(pdf::reading::main());
        }
        run_to_end(self.run())?
    }

    async fn run(self) -> anyhow::Result<ExitCode> {
        match self.command {
            None | Some(Command::Serve) => serve(&load(self.config.as_deref())?).await,
            Some(Command::Check) => check(&load(self.config.as_deref())?),
            Some(Command::Token(token)) => token.run().map(|()| ExitCode::SUCCESS).context("stdout"),
            Some(Command::Health(Health { url })) => ask(url, load(self.config.as_deref())).await,
            Some(Command::ReadPdf) => Ok(pdf::reading::main()),
            Some(Command::Chat(options)) => talk(options, load(self.config.as_deref())).await,
        }
    }
}

/// When the future has ended, what is to be kept is kept. A page's parser or a name's lookup may hold its thread for long, and is not waited
/// for.
fn run_to_end<T>(future: impl Future<Output = T>) -> anyhow::Result<T> {
    let runtime = Runtime::new().context("the runtime")?;
    let ended = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(ended)
}

fn load(file: Option<&Path>) -> Result<Config, ConfigError> {
    Config::load(file, std::env::vars())
}

async fn serve(config: &Config) -> anyhow::Result<ExitCode> {
    telemetry::init(config.log.format, &config.log.level)?;
    server::raise_file_limit();
    let bind = config.server.bind;
    let listener = server::listen(bind).await.with_context(|| {
        format!("server.bind: {bind} cannot be listened on; if Portico runs already, give this one another port, or 0 for a free one")
    })?;
    let address = listener.local_addr()?;
    let app = App::new(config, address.port())?;
    app.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
    println!("Portico listens on http://{address}");
    println!(
        "Model: {}",
        if app.model == "demo" { "demo, offline; set OPENAI_API_KEY or ANTHROPIC_API_KEY for a real one" } else { &app.model }
    );
    app.set_up.iter().for_each(|line| println!("{line}"));
    match &app.welcome {
        Welcome::LocalKey { page } => println!("Page, with the local key: {page}"),
        Welcome::AdminKey { page, file } => println!("Page: {page}#key=KEY, with the administrator's key from {}", file.display()),
        Welcome::OwnKey { page } => println!("Page: {page}#key=KEY, with a key of [[auth.keys]]"),
    }
    // set up before anything is served, so that no signal is missed
    let (mut term, mut int) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut signalled = async || {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
        }
    };
    let stopping = CancellationToken::new();
    let closer = app.closer();
    let mut served = std::pin::pin!(server::run(listener, app, stopping.clone().cancelled_owned()));
    tokio::select! {
        served = &mut served => return served.map(|()| ExitCode::SUCCESS),
        () = signalled() => stopping.cancel(),
    }
    // a second signal ends the process at once; nothing is lost either way, and it is no crash
    tokio::select! {
        served = &mut served => served.map(|()| ExitCode::SUCCESS),
        () = signalled() => {
            // a store that does not close in time was not closed: the next start takes it for a crash
            let _ = tokio::time::timeout(AT_ONCE, closer.close()).await;
            Ok(ExitCode::from(130))
        }
    }
}

fn check(config: &Config) -> anyhow::Result<ExitCode> {
    App::check(config)?.iter().for_each(|warning| eprintln!("warning: {warning}"));
    println!("The configuration is in order.");
    Ok(ExitCode::SUCCESS)
}

async fn talk(options: Chat, config: Result<Config, ConfigError>) -> anyhow::Result<ExitCode> {
    let url = address(options.url, &config)?;
    let stored = || config.as_ref().ok().and_then(|config| KeyFile::Local.read(&config.store.path).ok());
    let key = options.key.or_else(stored);
    let session = options.session.map(Into::into);
    let exit = chat(ChatOptions { url, session, message: options.message, json: options.json, key }).await?;
    Ok(exit.into())
}

async fn ask(url: Option<String>, config: Result<Config, ConfigError>) -> anyhow::Result<ExitCode> {
    health(&address(url, &config)?).await.map_err(anyhow::Error::msg)?;
    println!("The gateway is ready.");
    Ok(ExitCode::SUCCESS)
}

/// The gateway's root. Where a URL is given, nothing need be read from the settings.
fn address(url: Option<String>, config: &Result<Config, ConfigError>) -> anyhow::Result<String> {
    match (url, config) {
        (Some(url), _) => Ok(url),
        (None, Ok(config)) => Ok(format!("http://{}", config.server.from_here(config.server.bind.port()))),
        (None, Err(error)) => anyhow::bail!("{error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_does_not_end_is_not_waited_for() {
        let (held, holds) = std::sync::mpsc::channel::<()>();
        let ended = run_to_end(async move { drop(tokio::task::spawn_blocking(move || holds.recv())) });
        assert!(ended.is_ok());
        drop(held);
    }
}
