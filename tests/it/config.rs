//! A configuration that is wrong is refused at the start, by name, file and line.

use std::path::{Path, PathBuf};

use crate::harness::gateway::{place, portico};
use crate::harness::{Gateway, Provider, Settings, soon};

/// Runs the binary to its end; exit code and everything it said.
async fn run(dir: &Path, args: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let output = soon("the end of the process", portico(dir, args).envs(variables.iter().copied()).output()).await.unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (output.status.code(), said)
}

/// A folder with `bad.toml`: a good beginning of two lines, then `rest` from line 3 on.
fn folder(rest: &str) -> PathBuf {
    let (dir, port) = place();
    std::fs::write(dir.join("bad.toml"), format!("[server]\nbind = \"127.0.0.1:{port}\"\n{rest}")).unwrap();
    dir
}

#[tokio::test]
async fn what_is_wrong_is_named_with_file_key_and_line() {
    for (rest, named) in [
        ("drain_mss = 5", ["bad.toml", "drain_mss", "3"]),
        ("drain_ms = \"long\"", ["bad.toml", "drain_ms", "3"]),
        ("[agents.default]\nmodel = \"mock\"\nmax_step = 3", ["bad.toml", "max_step", "5"]),
        ("[tools.bash]\npolicy = \"perhaps\"", ["bad.toml", "policy", "4"]),
        ("[providers.openai]\n\napi_key_file = \"no/such/file\"", ["bad.toml", "api_key_file", "5"]),
        ("[surprise]\nx = 1", ["bad.toml", "surprise", "3"]),
        ("[agents.default\nmodel = \"mock\"", ["bad.toml", "", "3"]),
    ] {
        let dir = folder(rest);
        for command in ["serve", "check"] {
            let (code, said) = run(&dir, &[command, "--config", "bad.toml"], &[]).await;
            assert!(code.is_some_and(|c| c != 0), "{command} {rest:?}: {code:?} {said}");
            assert!(named.iter().all(|word| said.contains(word)), "{command} {rest:?} is to name {named:?}: {said}");
            assert!(!said.contains("panicked"), "{said}");
        }
        std::fs::remove_dir_all(dir).unwrap();
    }
}

#[tokio::test]
async fn a_base_url_that_nothing_asks_is_said_and_stops_nothing() {
    let warning = "warning: providers.openai has a base_url but neither a key nor a model that asks it; set agents.default.model";
    let provider = "[providers.openai]\nbase_url = \"http://127.0.0.1:9/v1\"\n";
    let dir = folder(provider);
    let (code, said) = run(&dir, &["check", "--config", "bad.toml"], &[]).await;
    assert!(code == Some(0) && said.contains(warning), "{code:?} {said}");
    for used in ["api_key = \"sk-1\"\n", "[agents.default]\nmodel = \"my-model\"\n"] {
        std::fs::write(dir.join("used.toml"), format!("{provider}{used}")).unwrap();
        let (code, said) = run(&dir, &["check", "--config", "used.toml"], &[]).await;
        assert!(code == Some(0) && !said.contains("warning"), "{used}: {code:?} {said}");
    }
    std::fs::write(dir.join("other.toml"), "[agents.default]\nmodel = \"my-model\"\n").unwrap();
    let (code, said) = run(&dir, &["check", "--config", "other.toml"], &[]).await;
    assert!(code != Some(0) && said.contains("begins with none of claude-, grok-, kimi-"), "{code:?} {said}");
    std::fs::remove_dir_all(dir).unwrap();
}

/// An account, so set up that nothing about it is worth a warning.
fn account(name: &str, number: u32, more: &str) -> String {
    let secrets = "app_secret = \"s\"\nverify_token = \"v\"\naccess_token = \"a\"";
    format!("[channels.whatsapp.{name}]\nphone_number_id = \"{number}\"\n{secrets}\n{more}\n")
}

#[tokio::test]
async fn what_nobody_can_administer_or_reach_is_said_before_it_hurts() {
    let search = "[tools.web_search]\norder = [\"searxng\", \"tavily\", \"brave\"]\nbrave = { api_key = \"b\" }\n";
    let main = account("main", 1, "tenant = \"other\"\ngraph_url = \"https://graph.facebook.com\"");
    let dir = folder(&format!("{search}{main}"));
    let (code, said) = run(&dir, &["check", "--config", "bad.toml"], &[]).await;
    let expected = [
        "warning: tools.web_search.order: searxng has no base_url, and is passed over",
        "warning: tools.web_search.order: tavily has no key, and is passed over",
        "warning: channels.whatsapp.main: nobody can let people of tenant \"other\" in: no key with the scope admin is of it",
        "warning: channels.whatsapp.main: graph_url has no version: it belongs to it, as in https://graph.facebook.com/v26.0",
    ];
    let warnings: Vec<&str> = said.lines().filter(|line| line.starts_with("warning")).collect();
    assert_eq!((code, warnings.as_slice()), (Some(0), expected.as_slice()), "{said}");
    let hash = format!("sha256:{}", "a".repeat(64));
    let key = |scope: &str| format!("[[auth.keys]]\nname = \"k\"\nhash = \"{hash}\"\ntenant = \"other\"\nscopes = [\"{scope}\"]\n");
    for (scope, warned) in [("admin", false), ("approve", true)] {
        let text = format!("{}{}", key(scope), account("main", 1, "tenant = \"other\""));
        std::fs::write(dir.join("keys.toml"), text).unwrap();
        let (code, said) = run(&dir, &["check", "--config", "keys.toml"], &[]).await;
        assert!(code == Some(0) && said.contains("nobody can let people") == warned, "{scope}: {code:?} {said}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn the_start_says_which_accounts_and_searches_there_are() {
    let provider = Provider::start().await;
    let search = "[tools.web_search.searxng]\nbase_url = \"http://127.0.0.1:9\"\n[tools.web_search.brave]\napi_key = \"b\"\n";
    let tables = format!("{}{}{search}", account("main", 106, ""), account("sales", 107, "access = \"open\"\ntenant = \"acme\""));
    let with = |tables| Settings { tables, ..Settings::default() };
    provider.offers(&["web_search"]);
    let gateway = Gateway::with(&provider, with(&tables)).await;
    for line in [
        "WhatsApp main: webhook /channels/whatsapp/main, number id 106, access pairing, tenant default",
        "WhatsApp sales: webhook /channels/whatsapp/sales, number id 107, access open, tenant acme",
        "Web search: brave, searxng",
    ] {
        assert!(gateway.log().lines().any(|said| said == line), "{line}: {}", gateway.log());
    }
    let log = Gateway::with(&provider, with("")).await.log();
    assert!(!log.contains("WhatsApp") && !log.contains("Web search"), "{log}");
}

#[tokio::test]
async fn a_bad_variable_is_named_and_no_secret_is_shown() {
    let dir = folder("drain_mss = 5\n[providers.openai]\napi_key = \"sk-very-secret\"");
    let (_, said) = run(&dir, &["check", "--config", "bad.toml"], &[]).await;
    assert!(!said.contains("sk-very-secret"), "{said}");
    std::fs::remove_dir_all(dir).unwrap();
    let dir = folder("");
    let (code, said) = run(&dir, &["check", "--config", "bad.toml"], &[("PORTICO__SERVER__DRAIN_MS", "soon")]).await;
    assert!(code.is_some_and(|c| c != 0) && said.contains("PORTICO__SERVER__DRAIN_MS"), "{code:?} {said}");
    let (code, said) = run(&dir, &["check", "--config", "missing.toml"], &[]).await;
    assert!(code.is_some_and(|c| c != 0) && said.contains("missing.toml"), "{code:?} {said}");
    let (code, said) = run(&dir, &["check", "--config", "bad.toml"], &[]).await;
    assert_eq!(code, Some(0), "a good one is good: {said}");
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn without_auth_only_the_loopback_is_served() {
    let (dir, port) = place();
    std::fs::write(dir.join("open.toml"), format!("[server]\nbind = \"0.0.0.0:{port}\"\n[store]\npath = \"store\"\n")).unwrap();
    let (code, said) = run(&dir, &["serve", "--config", "open.toml"], &[]).await;
    assert!(code.is_some_and(|c| c != 0) && said.contains("server.bind") && said.contains("portico token key"), "{code:?} {said}");
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn a_second_process_on_the_same_folder_refuses_to_start() {
    let provider = Provider::start().await;
    let gateway = Gateway::start(&provider).await;
    let (dir, port) = place();
    let store = gateway.dir.join("store");
    std::fs::write(dir.join("second.toml"), format!("[server]\nbind = \"127.0.0.1:{port}\"\n[store]\npath = {store:?}\n")).unwrap();
    let (code, said) = run(&dir, &["serve", "--config", "second.toml"], &[]).await;
    assert!(code.is_some_and(|c| c != 0) && !said.contains("panicked"), "{code:?} {said}");
    let id = gateway.session().await;
    assert_eq!(gateway.ask(&id, "hi").await["answer"], "re: hi", "the first is not disturbed");
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn help_names_the_commands() {
    let (dir, _) = place();
    let (code, said) = run(&dir, &["--help"], &[]).await;
    assert_eq!(code, Some(0));
    for command in ["serve", "chat", "check", "token", "health"] {
        assert!(said.contains(command), "{said}");
    }
    std::fs::remove_dir_all(dir).unwrap();
}
