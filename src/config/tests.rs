//! Loading as a whole, over real files. `refused` has what is turned away, `auth` keys, `documented` what `config.toml` must say.

use std::path::Path;
use std::time::Duration;

use secrecy::ExposeSecret;

use super::*;
use crate::domain::toolset::Policy;
use crate::telemetry::Format;
use crate::test_folder::TestFolder;

mod auth;
mod channels;
mod documented;
mod refused;

fn load(path: &Path, env: &[(&str, &str)]) -> Result<Config, ConfigError> {
    Config::load(Some(path), env.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())))
}

fn loaded(text: &str, env: &[(&str, &str)]) -> Config {
    let folder = TestFolder::empty();
    load(&folder.write("p.toml", text), env).unwrap()
}

fn key_of<'a>(config: &'a Config, provider: &str) -> &'a str {
    config.providers[provider].api_key.as_ref().unwrap().expose_secret()
}

#[test]
fn the_defaults_are_the_compiled_in_file() {
    let c = loaded("", &[]);
    assert_eq!((c.server.bind.to_string().as_str(), c.server.drain_ms), ("127.0.0.1:8080", 10_000));
    assert_eq!((c.store.kind, c.store.path.as_path()), (store::StoreKind::Sqlite, Path::new("data")));
    let default = agents::Agent {
        model: "auto".into(),
        reasoning_effort: None,
        max_steps: None,
        max_queue: 64,
        instructions: None,
        turn_deadline_s: 600,
    };
    assert_eq!((&c.agents.default, c.agents.named.len()), (&default, 0));
    assert!(c.providers.is_empty());
    assert_eq!((c.tools.abort_grace_ms, c.tools.policy("bash"), c.tools.policy("demo_lookup")), (2_000, Some(Policy::Ask), None));
    assert_eq!((c.approvals.expire_s, c.sessions.passivate_s, c.channels.web.allow_ask_user), (3_600, 600, false));
    assert_eq!((c.log.format, c.log.level.as_str()), (Format::Text, "info"));
    assert_eq!((c.net.allow_private.len(), c.tools.web_fetch.max_bytes), (0, None));
}

#[test]
fn a_list_in_a_variable_is_split_at_commas_and_replaces_the_files() {
    let networks =
        |text: &str, env: &[(&str, &str)]| loaded(text, env).net.allow_private.iter().map(|n| n.0.to_string()).collect::<Vec<_>>();
    let file = "[net]\nallow_private = [\"10.1.0.0/16\"]\n";
    assert_eq!(networks(file, &[]), ["10.1.0.0/16"]);
    assert_eq!(networks(file, &[("PORTICO__NET__ALLOW_PRIVATE", "127.0.0.1/32, fd00::/8")]), ["127.0.0.1/32", "fd00::/8"]);
}

#[test]
fn the_projects_own_file_loads_over_itself() {
    // Cargo runs tests in the package's folder, where `config.toml` is the defaults' own source.
    assert!(Path::new(USUAL_FILE).exists());
    let c = Config::load(None, std::iter::empty()).unwrap();
    assert_eq!(c.agents.default, loaded("", &[]).agents.default);
}

#[test]
fn a_file_wins_over_the_defaults_and_a_variable_over_the_file() {
    let text =
        "[server]\nbind = \"localhost:9000\"\ndrain_ms = 0x10\n[tools]\nabort_grace_ms = 5\n[tools.bash]\ntimeout_s = 7\ncwd = \"/srv\"\n";
    let env = [
        ("PORTICO__SERVER__DRAIN_MS", "30"),
        ("PORTICO__STORE__PATH", ""),
        ("PORTICO__TOOLS__DEMO_BOOKING__POLICY", "deny"),
        ("PORTICO__CHANNELS__WEB__ALLOW_ASK_USER", "true"),
        ("PORTICO__LOG__FORMAT", "json"),
        ("PORTICO_HOME", "someone else's"),
    ];
    let c = loaded(text, &env);
    assert_eq!((c.server.bind.to_string().as_str(), c.server.drain_ms), ("127.0.0.1:9000", 30));
    assert_eq!(c.store.path, Path::new("data"), "an empty variable counts as not set");
    assert_eq!(
        (c.tools.abort_grace_ms, c.tools.policy("bash"), c.tools.timeout("bash")),
        (5, Some(Policy::Ask), Some(Duration::from_secs(7)))
    );
    assert_eq!((c.tools.bash.cwd.as_deref(), c.tools.policy("demo_booking")), (Some(Path::new("/srv")), Some(Policy::Deny)));
    assert!(c.channels.web.allow_ask_user);
    assert_eq!(c.log.format, Format::Json);
    assert_eq!(loaded(text, &[]).server.drain_ms, 16);
}

#[test]
fn loopback_has_three_spellings() {
    for (bind, address) in [("127.0.0.1:0", "127.0.0.1:0"), ("[::1]:80", "[::1]:80"), ("localhost:81", "127.0.0.1:81")] {
        assert_eq!(loaded("", &[("PORTICO__SERVER__BIND", bind)]).server.bind.to_string(), address);
    }
}

#[test]
fn an_agent_has_from_the_default_what_it_leaves_out() {
    let text = "[agents.default]\nmax_steps = 3\n[agents.support]\nmodel = \"kimi-k2\"\n[agents.bare]\n[agents.9-lives]\nmax_queue = 9\n";
    let c = loaded(text, &[("PORTICO__AGENTS__BY_ENV__INSTRUCTIONS", "Be brief."), ("PORTICO__AGENTS__DEFAULT__MAX_QUEUE", "5")]);
    let (default, named) = (&c.agents.default, &c.agents.named);
    assert_eq!((default.model.as_str(), default.max_steps, default.max_queue), ("auto", Some(3), 5));
    assert_eq!(named.get("bare"), Some(default));
    assert_eq!(named.get("support"), Some(&agents::Agent { model: "kimi-k2".into(), ..default.clone() }));
    assert_eq!(named.get("9-lives"), Some(&agents::Agent { max_queue: 9, ..default.clone() }));
    assert_eq!(named.get("by_env"), Some(&agents::Agent { instructions: Some("Be brief.".into()), ..default.clone() }));
    assert_eq!(named.get("nobody"), None);
}

#[test]
fn a_key_is_taken_as_it_is() {
    let text = "[providers.ollama-cloud]\napi_key = \"from-file\"\nwire = \"openai_chat\"\n";
    // Read as numbers or words these would not come back as they were.
    for key in ["007", "1e5", "true", "a,b", "9"] {
        let c = loaded(text, &[("PORTICO__PROVIDERS__OLLAMA-CLOUD__API_KEY", key)]);
        assert_eq!(key_of(&c, "ollama-cloud"), key);
    }
    let c = loaded(text, &[]);
    assert_eq!((key_of(&c, "ollama-cloud"), c.providers["ollama-cloud"].wire), ("from-file", Some(providers::Wire::OpenaiChat)));
}

#[test]
fn a_secret_may_stand_in_a_file_of_its_own() {
    let folder = TestFolder::empty();
    let secret = folder.write("key", "sk-in-a-file\n");
    let config = folder
        .write("p.toml", &format!("[providers.x_file]\nbase_url = \"http://localhost:1/v1\"\n[providers.x]\napi_key_file = {secret:?}\n"));
    let c = load(&config, &[]).unwrap();
    assert_eq!((key_of(&c, "x"), c.providers["x"].api_key_file.as_deref()), ("sk-in-a-file", Some(secret.as_path())));
    assert!(c.providers["x_file"].api_key.is_none());
    let other = folder.write("other", "sk-other");
    let c = load(&config, &[("PORTICO__PROVIDERS__X__API_KEY_FILE", other.to_str().unwrap())]).unwrap();
    assert_eq!(key_of(&c, "x"), "sk-other");
}

#[test]
fn the_usual_variables_are_read() {
    let c = loaded(
        "",
        &[("OPENAI_API_KEY", " sk-usual\n"), ("XAI_API_KEY", ""), ("OPENAI_BASE_URL", "http://localhost:1/v1"), ("SOME_API_KEY", "x")],
    );
    assert_eq!(c.variables.key("OPENAI_API_KEY").unwrap().expose_secret(), "sk-usual");
    assert!(c.variables.key("XAI_API_KEY").is_none() && c.variables.key("SOME_API_KEY").is_none());
    assert_eq!(c.variables.base_url("OPENAI_BASE_URL"), Some("http://localhost:1/v1"));
    assert_eq!(loaded("", &[("OPENAI_BASE_URL", " ")]).variables.base_url("OPENAI_BASE_URL"), None);
    for name in variables::KEYS {
        assert_eq!(loaded("", &[(name, "k")]).variables.key(name).unwrap().expose_secret(), "k");
    }
}

#[test]
fn debug_shows_no_secret() {
    let folder = TestFolder::empty();
    let secret = folder.write("key", "hush-file");
    let config = folder.write("p.toml", &format!("[providers.a]\napi_key = \"hush-key\"\n[providers.b]\napi_key_file = {secret:?}\n"));
    let c = load(&config, &[("PORTICO__PROVIDERS__C__API_KEY", "hush-variable"), ("OPENAI_API_KEY", "hush-usual")]).unwrap();
    assert_eq!((key_of(&c, "a"), key_of(&c, "b"), key_of(&c, "c")), ("hush-key", "hush-file", "hush-variable"));
    let shown = format!("{c:?} {c:#?}");
    assert!(!shown.contains("hush"), "{shown}");
}
