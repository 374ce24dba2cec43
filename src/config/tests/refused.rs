//! What is refused, word for word and with its line.

use super::*;

/// The problems of a file and variables, the file's folder left out.
pub(super) fn refusal(text: &str, env: &[(&str, &str)]) -> Vec<String> {
    let folder = TestFolder::empty();
    let path = folder.write("p.toml", text);
    let error = load(&path, env).expect_err(text).to_string();
    error.replace(&format!("{}/", folder.path().display()), "").lines().map(str::to_owned).collect()
}

#[test]
fn in_files() {
    for (text, expected) in [
        ("\n[server]\nbnd = 1", "p.toml:3: unknown key server.bnd; did you mean server.bind?"),
        ("[server]\npublic_url = \"x\"", "p.toml:2: unknown key server.public_url"),
        ("# no\n[sevrer]\nbind = 1", "p.toml:2: unknown key sevrer; did you mean server?"),
        ("[channels.telegram.main]", "p.toml:1: unknown key channels.telegram"),
        ("[tools.bsh]\npolicy = \"deny\"", "p.toml:1: unknown key tools.bsh; did you mean tools.bash?"),
        ("[tools]\nabort_grace = 1", "p.toml:2: unknown key tools.abort_grace; did you mean tools.abort_grace_ms?"),
        ("[tools.ask_user]\ntimeout_s = 1", "p.toml:2: unknown key tools.ask_user.timeout_s"),
        ("[agents.default]\nfallback_models = []", "p.toml:2: unknown key agents.default.fallback_models"),
        ("[agents.Support]", "p.toml:1: agents.Support: a name has 1 to 64 lower-case letters, digits, \"-\" and \"_\""),
        ("[providers.\"a.b\"]", "p.toml:1: providers.a.b: a name has 1 to 64 lower-case letters, digits, \"-\" and \"_\""),
        ("server = 1", "p.toml:1: server: expected a table, found an integer"),
        ("[tools]\nbash = \"ask\"", "p.toml:2: tools.bash: expected a table, found a string"),
        ("[[server]]\nbind = 1", "p.toml:1: server: expected a table, found a list"),
        ("server.drain_ms = \"5\"", "p.toml:1: server.drain_ms: expected an integer, found a string"),
        ("server.drain_ms = 5.0", "p.toml:1: server.drain_ms: expected an integer, found a number with a fraction"),
        ("server.drain_ms = 99999999999999999999", "p.toml:1: server.drain_ms: expected an integer, found an integer beyond 64 bits"),
        ("server.drain_ms = 600_001", "p.toml:1: server.drain_ms: must be 0 to 600000, not 600001"),
        ("server.drain_ms = -1", "p.toml:1: server.drain_ms: must be 0 to 600000, not -1"),
        ("server.bind = 8080", "p.toml:1: server.bind: expected a string, found an integer"),
        ("channels.web.allow_ask_user = \"true\"", "p.toml:1: channels.web.allow_ask_user: expected true or false, found a string"),
        ("providers.x.api_key = 123", "p.toml:1: providers.x.api_key: expected a string, found an integer"),
        ("providers.x.api_key = \"\"", "p.toml:1: providers.x.api_key: must not be empty"),
        ("store.path = \"\"", "p.toml:1: store.path: must not be empty"),
        ("store.kind = \"redis\"", "p.toml:1: store.kind: must be \"sqlite\", not \"redis\"; this build has no other store"),
        (
            "providers.x.wire = \"gemini\"",
            "p.toml:1: providers.x.wire: must be one of \"openai_chat\", \"anthropic\", not \"gemini\"; this build does not speak other wires",
        ),
        (
            "providers.x.takes = [\"image\", \"audio\"]",
            "p.toml:1: providers.x.takes: must be one of \"image\", \"document\", not \"audio\"",
        ),
        ("tools.bash.policy = \"maybe\"", "p.toml:1: tools.bash.policy: must be one of \"allow\", \"ask\", \"deny\", not \"maybe\""),
        (
            "log.level = \"warning\"",
            "p.toml:1: log.level: \"warning\" is not a level; levels are off, error, warn, info, debug, trace; did you mean warn?",
        ),
        ("log.format = \"xml\"", "p.toml:1: log.format: must be one of \"text\", \"json\", not \"xml\""),
        ("tools.bash.timeout_s = 0", "p.toml:1: tools.bash.timeout_s: must be 1 to 86400, not 0"),
        ("approvals.expire_s = 0", "p.toml:1: approvals.expire_s: must be 1 to 2592000, not 0"),
        ("sessions.passivate_s = 0", "p.toml:1: sessions.passivate_s: must be 1 to 86400, not 0"),
        ("agents.default.turn_deadline_s = 0", "p.toml:1: agents.default.turn_deadline_s: must be 1 to 604800, not 0"),
        ("agents.default.max_steps = 0", "p.toml:1: agents.default.max_steps: must be 1 to 1000, not 0"),
        ("agents.default.max_queue = 0", "p.toml:1: agents.default.max_queue: must be 1 to 10000, not 0"),
        (
            "\n[server]\nbind = \"0.0.0.0:80\"",
            "p.toml:3: server.bind: without configured auth Portico binds to loopback only: 127.0.0.1, [::1] or localhost; `portico token key` makes a key and its table for [[auth.keys]]",
        ),
        (
            "server.bind = \"example.org:80\"",
            "p.toml:1: server.bind: must be an address and a port, as 127.0.0.1:8080 or localhost:8080, not \"example.org:80\"",
        ),
        (
            "log.level = \"portico=loud\"",
            "p.toml:1: log.level: not a log filter: error parsing level filter: expected one of \"off\", \"error\", \"warn\", \"info\", \"debug\", \"trace\", or a number 0-5",
        ),
        (
            "[net]\nallow_private = [\n  \"10.0.0.0/8\",\n  \"localhost\",\n]",
            "p.toml:4: net.allow_private: must be a network such as 127.0.0.1/32 or fd00::/8, not \"localhost\"",
        ),
        (
            "[net]\nallow_private = [\"127.0.0.1\"]",
            "p.toml:2: net.allow_private: must be a network such as 127.0.0.1/32 or fd00::/8, not \"127.0.0.1\"",
        ),
        (
            "[net]\nallow_private = [\"10.0.0.0/33\"]",
            "p.toml:2: net.allow_private: must be a network such as 127.0.0.1/32 or fd00::/8, not \"10.0.0.0/33\"",
        ),
        ("[net]\nallow_private = [7]", "p.toml:2: net.allow_private: expected a string, found an integer"),
        ("[net]\nallow_private = \"10.0.0.0/8\"", "p.toml:2: net.allow_private: expected a list, found a string"),
        ("tools.web_fetch.max_bytes = 1", "p.toml:1: tools.web_fetch.max_bytes: must be 1024 to 33554432, not 1"),
        ("providers.x.base_url = \"ftp://a/\"", "p.toml:1: providers.x.base_url: must begin with http:// or https://"),
        (
            "providers.x.base_url = \"a\"",
            "p.toml:1: providers.x.base_url: not a URL: relative URL without a base; it begins with http:// or https://",
        ),
        ("providers.x.base_url = \"https://me:pw@a/\"", "p.toml:1: providers.x.base_url: must not hold a name or password; use api_key"),
    ] {
        assert_eq!(refusal(text, &[]), [expected], "{text}");
    }
}

#[test]
fn in_variables() {
    for (name, value, expected) in [
        ("PORTICO__SERVER__BNID", "x", "PORTICO__SERVER__BNID: unknown key server.bnid; did you mean server.bind?"),
        ("PORTICO__SERVER__BIND__IP", "x", "PORTICO__SERVER__BIND__IP: unknown key server.bind.ip"),
        ("PORTICO__SERVER", "x", "PORTICO__SERVER: server: expected a table, found a string"),
        ("PORTICO__", "x", "PORTICO__: unknown key "),
        ("PORTICO__SERVER__DRAIN_MS", "soon", "PORTICO__SERVER__DRAIN_MS: server.drain_ms: expected an integer, found a string"),
        ("PORTICO__APPROVALS__EXPIRE_S", "0", "PORTICO__APPROVALS__EXPIRE_S: approvals.expire_s: must be 1 to 2592000, not 0"),
        (
            "PORTICO__CHANNELS__WEB__ALLOW_ASK_USER",
            "yes",
            "PORTICO__CHANNELS__WEB__ALLOW_ASK_USER: channels.web.allow_ask_user: expected true or false, found a string",
        ),
        (
            "PORTICO__SERVER__BIND",
            "[::]:80",
            "PORTICO__SERVER__BIND: server.bind: without configured auth Portico binds to loopback only: 127.0.0.1, [::1] or localhost; `portico token key` makes a key and its table for [[auth.keys]]",
        ),
        (
            "PORTICO__NET__ALLOW_PRIVATE",
            "127.0.0.1/32,10.0.0.0",
            "PORTICO__NET__ALLOW_PRIVATE: net.allow_private: must be a network such as 127.0.0.1/32 or fd00::/8, not \"10.0.0.0\"",
        ),
        (
            "PORTICO__NET__ALLOW_PRIVATE",
            "a,,b",
            "PORTICO__NET__ALLOW_PRIVATE: net.allow_private: must be a network such as 127.0.0.1/32 or fd00::/8, not \"a\"",
        ),
        ("PORTICO_SERVER_BIND", "127.0.0.1:1", "PORTICO_SERVER_BIND: did you mean PORTICO__SERVER__BIND?"),
        ("PORTICO_SERVER_DRAIN_MS", "1", "PORTICO_SERVER_DRAIN_MS: did you mean PORTICO__SERVER__DRAIN_MS?"),
        ("OPENAI_BASE_URL", "localhost", "OPENAI_BASE_URL: not a URL: relative URL without a base; it begins with http:// or https://"),
    ] {
        assert_eq!(refusal("", &[(name, value)]), [expected]);
    }
}

#[test]
fn a_variable_puts_a_files_bad_address_right() {
    assert!(!loaded("server.bind = \"0.0.0.0:80\"", &[("PORTICO__SERVER__BIND", "localhost:1")]).server.bind.ip().is_unspecified());
}

#[test]
fn one_key_in_two_variables() {
    let env = [("PORTICO__LOG__LEVEL", "info"), ("PORTICO__log__level", "debug")];
    assert_eq!(refusal("", &env), ["PORTICO__log__level: log.level is given too (PORTICO__LOG__LEVEL); keep one of the two"]);
}

#[test]
fn every_problem_is_told_at_once() {
    let text = "[store]\npath = \"\"\n[server]\nbnd = 1\ndrain_ms = true\n";
    let env = [("PORTICO__STORE__KINT", "x"), ("PORTICO__LOG__FORMAT", "xml")];
    assert_eq!(
        refusal(text, &env),
        [
            "p.toml:2: store.path: must not be empty",
            "p.toml:4: unknown key server.bnd; did you mean server.bind?",
            "p.toml:5: server.drain_ms: expected an integer, found a boolean",
            "PORTICO__LOG__FORMAT: log.format: must be one of \"text\", \"json\", not \"xml\"",
            "PORTICO__STORE__KINT: unknown key store.kint; did you mean store.kind?",
        ]
    );
}

#[test]
fn text_that_is_not_toml_is_not_quoted() {
    for text in ["[providers.x]\napi_key = \"hush\n", "[providers.x]\napi_key = hush\n"] {
        let problems = refusal(text, &[]);
        assert!(problems[0].starts_with("p.toml:2: "), "{problems:?}");
        assert!(problems.iter().all(|p| !p.contains("hush")), "{problems:?}");
    }
    assert_eq!(refusal("[log]\nlevel = \"a\"\nlevel = \"b\"\n", &[]), ["p.toml:3: duplicate key"]);
}

#[test]
fn secrets_in_files() {
    let folder = TestFolder::empty();
    let (missing, empty, full) = (folder.path().join("missing"), folder.write("empty", " \n"), folder.write("full", "hush"));
    let given = |path: &Path| format!("[providers.x]\napi_key_file = {path:?}\n");
    let key = "providers.x.api_key_file";
    assert_eq!(
        refusal(&given(&missing), &[]),
        [format!("p.toml:2: {key}: cannot read {}: No such file or directory (os error 2)", missing.display())]
    );
    assert_eq!(refusal(&given(&empty), &[]), [format!("p.toml:2: {key}: {} is empty", empty.display())]);
    let twice = format!("{}api_key = \"hush\"\n", given(&full));
    assert_eq!(refusal(&twice, &[]), [format!("p.toml:2: {key}: providers.x.api_key is given too (p.toml:3); keep one of the two")]);
    let variable = "PORTICO__PROVIDERS__X__API_KEY";
    assert_eq!(
        refusal(&given(&full), &[(variable, "hush")]),
        [format!("p.toml:2: {key}: providers.x.api_key is given too ({variable}); keep one of the two")]
    );
}

#[test]
fn a_named_file_must_exist() {
    let folder = TestFolder::empty();
    let path = folder.path().join("none.toml");
    let error = load(&path, &[]).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: cannot read it: No such file or directory (os error 2)", path.display()));
}
