//! Accounts of messaging platforms: what they cannot do without, and what no two may share.

use super::refused::refusal;
use super::*;
use crate::channel::access::{Access, Groups};

const WHOLE: &str = "phone_number_id = \"1\"\napp_secret = \"s\"\nverify_token = \"v\"\naccess_token = \"a\"\n";

fn account(more: &str) -> String {
    format!("[channels.whatsapp.main]\n{WHOLE}{more}\n")
}

#[test]
fn an_account_without_a_secret_stops_the_start_and_is_named_with_its_line() {
    for (key, in_file) in [
        ("phone_number_id", ""),
        ("app_secret", " or app_secret_file"),
        ("verify_token", " or verify_token_file"),
        ("access_token", " or access_token_file"),
    ] {
        let without: String = account("").lines().filter(|line| !line.starts_with(key)).map(|line| format!("{line}\n")).collect();
        let expected = format!("p.toml:1: channels.whatsapp.main: {key}{in_file} is missing; without it the account cannot be served");
        assert_eq!(refusal(&without, &[]), [expected]);
    }
    assert_eq!(refusal("\n[channels.whatsapp.main]\n", &[]).iter().filter(|p| p.starts_with("p.toml:2: ")).count(), 4);
}

#[test]
fn a_secret_may_stand_in_a_file_or_a_variable() {
    let folder = TestFolder::empty();
    let file = folder.write("token", "from a file\n");
    let text = account("").replace("access_token = \"a\"", &format!("access_token_file = {file:?}")).replace("app_secret = \"s\"\n", "");
    let config = loaded(&text, &[("PORTICO__CHANNELS__WHATSAPP__MAIN__APP_SECRET", "from a variable")]);
    let main = &config.channels.whatsapp["main"];
    let shown = |secret: &Option<secrecy::SecretString>| secrecy::ExposeSecret::expose_secret(secret.as_ref().unwrap()).to_owned();
    assert_eq!((shown(&main.access_token), shown(&main.app_secret)), ("from a file".to_owned(), "from a variable".to_owned()));
    assert!(!format!("{config:?}").contains("from a "));
}

#[test]
fn what_is_left_out_is_as_the_file_says() {
    let config = loaded(&account(""), &[]);
    let main = &config.channels.whatsapp["main"];
    assert_eq!((main.access, main.groups), (Access::Pairing, Groups::Disabled));
    assert_eq!((main.tenant.as_str(), main.agent.as_str()), ("default", "default"));
    assert_eq!((main.handoff_pause_s, main.pairing_attempts, main.max_age_s, main.debounce_ms), (1_800, 5, 86_400, None));
    let documented = include_str!("../../../config.toml");
    for line in
        ["#access = \"pairing\"", "#groups = \"disabled\"", "#handoff_pause_s = 1800", "#pairing_attempts = 5", "#max_age_s = 86400"]
    {
        assert!(documented.lines().any(|l| l == line), "{line}");
    }
}

#[test]
fn what_cannot_be_meant_is_refused_at_its_line() {
    let twin = format!("{}[channels.whatsapp.other]\n{WHOLE}", account(""));
    assert_eq!(
        refusal(&twin, &[]),
        ["p.toml:8: channels.whatsapp.other.phone_number_id: channels.whatsapp.main has the same; each number is one account"]
    );
    for (line, why) in [
        ("access = \"everyone\"", "access: must be one of \"pairing\", \"allowlist\", \"open\", \"disabled\", not \"everyone\""),
        ("groups = \"some\"", "groups: must be one of \"disabled\", \"mention\", \"all\", not \"some\""),
        ("agent = \"nobody\"", "agent: there is no [agents.nobody]"),
        ("tenant = \"a b\"", "tenant: must have 1 to 64 letters, digits, \"-\", \"_\", \".\", \"@\" and \"+\""),
        ("graph_url = \"graph\"", "graph_url: not a URL: relative URL without a base; it begins with http:// or https://"),
        ("pairing_attempts = 0", "pairing_attempts: must be 1 to 100, not 0"),
        (
            "allow = [\"+1 555\"]",
            "allow: must be a telephone number with its country code and nothing but digits, as 15550100001, or a user id, as US.1349, not \"+1 555\"",
        ),
        (
            "approvers = [\"ana\"]",
            "approvers: must be a telephone number with its country code and nothing but digits, as 15550100001, or a user id, as US.1349, not \"ana\"",
        ),
    ] {
        assert_eq!(refusal(&account(line), &[]), [format!("p.toml:6: channels.whatsapp.main.{why}")]);
    }
}

#[test]
fn what_no_request_could_be_made_of_is_refused_before_the_start() {
    let with = |from: &str, to: &str| refusal(&account("").replace(from, to), &[]);
    let control = "cannot be sent in a header: it has a line break or another control character in it";
    assert_eq!(with("\"a\"", "\"a\\nb\""), [format!("p.toml:5: channels.whatsapp.main.access_token: {control}")]);
    assert_eq!(with("\"a\"", "\"a\\tb\"").len(), 1);
    for (line, key, value) in [(3, "app_secret", "\"s\""), (4, "verify_token", "\"v\""), (5, "access_token", "\"a\"")] {
        assert_eq!(with(value, "\" \\n \""), [format!("p.toml:{line}: channels.whatsapp.main.{key}: must not be blank")]);
    }
    for id in ["+15550109000", "1/2", "1 2", " "] {
        let refused = with("phone_number_id = \"1\"", &format!("phone_number_id = \"{id}\""));
        let why = format!("must be Meta's id of the number, digits only, not {id:?}; the number itself is another");
        assert_eq!(refused, [format!("p.toml:2: channels.whatsapp.main.phone_number_id: {why}")]);
    }
    for url in ["https://graph.example/v26.0?x=1", "https://graph.example/v26.0#x"] {
        let refused = refusal(&account(&format!("graph_url = \"{url}\"")), &[]);
        assert_eq!(refused, ["p.toml:6: channels.whatsapp.main.graph_url: must end with its path, without \"?\" and \"#\""]);
    }
}

#[test]
fn a_secret_out_of_a_file_is_held_to_the_same() {
    let folder = TestFolder::empty();
    let file = folder.write("token", "two\nlines\n");
    let text = account("").replace("access_token = \"a\"", &format!("access_token_file = {file:?}"));
    let refused = refusal(&text, &[]);
    assert_eq!(refused.len(), 1, "{refused:?}");
    assert!(refused[0].starts_with("p.toml:5: channels.whatsapp.main.access_token_file: cannot be sent"), "{refused:?}");
}
