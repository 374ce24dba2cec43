//! `[auth]`: who is let in, and what of it is refused.

use super::refused::refusal;
use super::*;
use crate::domain::Scope;
use crate::domain::api_key::KeyHash;

/// A key's table of four lines.
fn key(name: &str, key: &str, rest: &str) -> String {
    format!("[[auth.keys]]\nname = \"{name}\"\nhash = \"{}\"\n{rest}\n", KeyHash::of(key))
}

const READS: &str = "scopes = [\"sessions:read\"]";

#[test]
fn keys_are_read_in_their_order() {
    let text = key("ci", "pk_1", READS) + &key("shop", "pk_2", "scopes = [\"approve:own\", \"admin\", \"admin\"]\ntenant = \"acme\"");
    let c = loaded(&text, &[]);
    let (ci, shop) = (&c.auth.keys[0], &c.auth.keys[1]);
    assert_eq!((ci.name.as_str(), ci.hash, ci.tenant.as_str()), ("ci", KeyHash::of("pk_1"), "default"));
    assert_eq!(ci.scopes, [Scope::SessionsRead].into());
    assert_eq!((shop.tenant.as_str(), &shop.scopes), ("acme", &[Scope::ApproveOwn, Scope::Admin].into()));
    assert!(c.auth.is_configured() && !loaded("", &[]).auth.is_configured());
}

#[test]
fn one_name_in_two_tenants_is_two_keys() {
    let text = key("ci", "pk_1", READS) + &key("ci", "pk_2", &format!("{READS}\ntenant = \"acme\""));
    assert_eq!(loaded(&text, &[]).auth.keys.len(), 2);
}

#[test]
fn with_auth_every_address_will_do() {
    let open = ("PORTICO__SERVER__BIND", "0.0.0.0:80");
    assert!(loaded(&key("ci", "pk_1", READS), &[open]).server.bind.ip().is_unspecified());
    assert!(loaded("", &[open, ("PORTICO__AUTH__ADMIN_KEY", "true")]).auth.is_configured());
    for not in ["auth.admin_key = false", "auth.keys = []"] {
        let problems = refusal(not, &[open]);
        assert!(problems.len() == 1 && problems[0].contains("portico token key"), "{not}: {problems:?}");
    }
}

#[test]
fn what_is_wrong_with_a_key_is_named_at_its_line() {
    let at = |field: &str, value: &str| key("ci", "pk_1", READS) + &key("b", "pk_2", READS).replacen(field, value, 1);
    let unknown =
        "must be one of \"sessions:read\", \"sessions:write\", \"cli\", \"approve\", \"approve:own\", \"tokens\", \"admin\", not \"read\"";
    for (text, expected) in [
        (at("sessions:read", "read"), format!("p.toml:8: auth.keys[1].scopes: {unknown}")),
        (at(READS, "scopes = []"), "p.toml:8: auth.keys[1].scopes: a key without a scope is good for nothing; name one".into()),
        (at(READS, ""), "p.toml:5: auth.keys[1]: scopes is missing".into()),
        (at("hash", "has"), "p.toml:7: unknown key auth.keys[1].has; did you mean auth.keys[1].hash?".into()),
        (at("\"b\"", "\"b c\""), format!("p.toml:6: auth.keys[1].name: {}", check_name("b c"))),
        (at("\"b\"", "\"ci\""), "p.toml:6: auth.keys[1].name: \"ci\" is another key's name already (p.toml:1); give each its own".into()),
        (at("name", "tenant = \"\"\nname"), "p.toml:6: auth.keys[1].tenant: must not be empty".into()),
        ("auth.admin_key = 1".into(), "p.toml:1: auth.admin_key: expected true or false, found an integer".into()),
        ("[auth.keys]".into(), "p.toml:1: auth.keys: expected a list of tables, found a table".into()),
    ] {
        let told = refusal(&text, &[]);
        assert!(told.contains(&expected), "{text}\n{told:?}\n{expected}");
    }
    let twice = refusal(&(key("a", "pk_1", READS) + &key("b", "pk_1", READS)), &[]);
    assert!(twice[0].starts_with("p.toml:7: auth.keys[1].hash: this is another key's hash already (p.toml:1);"), "{twice:?}");
    let variable = refusal("", &[("PORTICO__AUTH__KEYS", "pk_hush")]);
    assert_eq!(variable, ["PORTICO__AUTH__KEYS: auth.keys: expected a list of tables, found a string"]);
}

fn check_name(name: &str) -> &'static str {
    crate::domain::principal::check_name(name).unwrap_err()
}

#[test]
fn a_key_in_place_of_its_hash_is_said_and_not_shown() {
    for (given, said) in [("pk_hush", "this is a key and not its hash"), ("hush", "must be \"sha256:\"")] {
        let text = format!("[[auth.keys]]\nname = \"ci\"\n{READS}\nhash = \"{given}\"\n");
        let told = refusal(&text, &[]);
        assert!(told[0].starts_with(&format!("p.toml:4: auth.keys[0].hash: {said}")), "{told:?}");
        assert!(!told.concat().contains("hush"), "{told:?}");
    }
}
