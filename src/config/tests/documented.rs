//! `config.toml` says everything: each key of the structs stands in it, set or commented out, under a comment of its own.

use std::collections::BTreeSet;

use super::super::file;
use super::super::variables::{BASE_URLS, KEYS, SEARCH_KEYS, SEARCH_URLS};
use super::*;

/// The file with every "#key = value" and "#[table]" set.
fn uncommented() -> String {
    BUILT_IN.lines().map(|line| line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Every key that a shape has; `*` for a name that the operator chooses.
fn keys(path: &str, shape: &Shape, found: &mut BTreeSet<String>) {
    match shape {
        Shape::Table(keys_here) => keys_here.iter().for_each(|(name, child)| keys(&shape::join(path, name), child, found)),
        Shape::Named(each) => keys(&shape::join(path, "*"), each, found),
        Shape::Rows { row, .. } => keys(&format!("{path}[0]"), row, found),
        Shape::Opaque => panic!("{path}: nothing would judge its value"),
        Shape::Text { .. } | Shape::Word { .. } | Shape::Network | Shape::Integer { .. } | Shape::Switch | Shape::List(_) => {
            found.insert(path.to_owned());
        }
    }
}

#[test]
fn every_key_stands_in_the_file() {
    let shape = Shape::of::<Config>();
    let mut wanted = BTreeSet::new();
    keys("", &shape, &mut wanted);
    assert!(wanted.contains("providers.*.api_key_file") && wanted.contains("tools.bash.cwd"), "{wanted:?}");

    let mut stands = file::check("uncommented", uncommented(), &shape).unwrap().places;
    // tables, a list of them and each of its rows have a place too
    let all: Vec<String> = stands.keys().cloned().collect();
    let is_table = |key: &str| key.ends_with(']') || all.iter().any(|other| other.starts_with(&format!("{key}.")));
    stands.retain(|key, _| !is_table(key) && key != "auth.keys");
    let starred = |key: &String| match key.split('.').collect::<Vec<_>>()[..] {
        [map @ ("agents" | "providers"), _, key] => format!("{map}.*.{key}"),
        ["channels", map @ "whatsapp", _, key] => format!("channels.{map}.*.{key}"),
        _ => key.clone(),
    };
    assert_eq!(stands.keys().map(starred).collect::<BTreeSet<_>>(), wanted);
}

#[test]
fn every_key_has_a_comment_of_its_own() {
    let lines: Vec<&str> = BUILT_IN.lines().collect();
    for pair in lines.windows(2) {
        let key = pair[1].trim_start_matches('#');
        if !pair[1].starts_with("# ") && key.contains(" = ") {
            assert!(pair[0].starts_with("# "), "no comment above {:?}", pair[1]);
        }
    }
}

#[test]
fn the_ranges_it_names_are_the_ones_that_hold() {
    let shape = Shape::of::<Config>();
    let mut comment = String::new();
    let mut path = String::new();
    let mut checked = 0;
    for line in BUILT_IN.lines() {
        let set = line.trim_start_matches('#');
        if line.is_empty() || line == "#" || line.starts_with("# ") {
            comment = if line.is_empty() { String::new() } else { comment + line };
        } else if let Some(table) = set.strip_prefix('[') {
            path = table.trim_matches(['[', ']']).to_owned();
            comment.clear();
        } else {
            let whole = shape::join(&path, set.split(" = ").next().unwrap());
            let at = whole.split('.').fold(&shape, |shape, part| {
                let table = if let Shape::Rows { row, .. } = shape { row } else { shape };
                table.child("", part).unwrap()
            });
            if let Shape::Integer { min, max } = at {
                assert!(comment.contains(&format!(" {min} to {max}")), "{whole}: {comment}");
                checked += 1;
            }
            comment.clear();
        }
    }
    assert_eq!(checked, 18);
}

#[test]
fn a_container_is_handed_every_variable_that_is_read() {
    let compose = include_str!("../../../docker-compose.yml");
    for name in KEYS.into_iter().chain(BASE_URLS).chain(SEARCH_KEYS).chain(SEARCH_URLS).chain(["RUST_LOG"]) {
        assert!(compose.lines().any(|line| line.trim() == format!("- {name}")), "{name}");
        assert!(BUILT_IN.contains(name), "{name} is not in config.toml");
    }
}
