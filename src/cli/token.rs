//! `portico token`: new keys.

use std::collections::BTreeSet;
use std::io::Write;

use clap::{Args, Subcommand};
use secrecy::ExposeSecret;

use crate::app::key_file::new_api_key;
use crate::domain::Scope;
use crate::domain::api_key::KeyHash;
use crate::domain::principal::{DEFAULT_TENANT, check_name};

#[derive(Debug, Subcommand)]
pub(super) enum Token {
    /// Make an API key. The first line of stdout is the key, which is kept nowhere; the rest is the table for the gateway's configuration,
    /// which has only the key's hash.
    Key(NewKey),
}

#[derive(Debug, Args)]
pub(super) struct NewKey {
    /// What the key is called in records; by default the beginning of its hash.
    #[arg(long, value_parser = name)]
    name: Option<String>,
    /// Whose data it reaches.
    #[arg(long, default_value = DEFAULT_TENANT, value_parser = name)]
    tenant: String,
    #[arg(long = "scope", value_name = "SCOPE", help = allows(), default_values = ["sessions:read", "sessions:write"])]
    scopes: Vec<Scope>,
}

fn allows() -> String {
    format!("What it allows; give one or more: {}", Scope::ALL.map(Scope::as_str).join(", "))
}

fn name(text: &str) -> Result<String, &'static str> {
    check_name(text).map(|()| text.to_owned())
}

impl Token {
    /// # Errors
    /// When stdout cannot be written.
    pub(super) fn run(self) -> std::io::Result<()> {
        let Self::Key(NewKey { name, tenant, scopes }) = self;
        let key = new_api_key();
        let hash = KeyHash::of(key.expose_secret());
        let name = name.unwrap_or_else(|| format!("key-{}", hash.short()));
        let scopes: BTreeSet<Scope> = scopes.into_iter().collect();
        let scopes = scopes.iter().map(|scope| format!("{:?}", scope.as_str())).collect::<Vec<_>>().join(", ");
        // names have no character that TOML would have escaped
        let table = format!("[[auth.keys]]\nname = \"{name}\"\nhash = \"{hash}\"\ntenant = \"{tenant}\"\nscopes = [{scopes}]\n");
        eprintln!(
            "The first line is the key, shown this once: give it to who calls. Put the table below it into the gateway's configuration, and \
             start the gateway again."
        );
        let mut out = std::io::stdout().lock();
        out.write_all(format!("{}\n\n{table}", key.expose_secret()).as_bytes())?;
        out.flush()
    }
}
