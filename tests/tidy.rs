//! Holds the rules of the tree that no compiler holds: the layers, the sizes, and what never stands in code.
//!
//! The rules are read off the text, after comments, strings and `#[cfg(test)]` items are blanked out where they do not count. A rule that
//! needs an exception gets it in [`EXCEPTIONS`], with the reason.

use std::io;
use std::path::Path;

#[path = "tidy/source.rs"]
mod source;

use source::{Source, rust_sources, texts};

/// A layer sees only the rows above its own, and modules of one row do not see each other.
const LAYERS: &[&[&str]] = &[
    // for tests, and for what every layer measures
    &["test_folder", "test_server", "meter"],
    &["domain"],
    &["store", "provider", "prompt"],
    &["tool"],
    &["agent"],
    &["session"],
    &["channel"],
    &["outbox"],
    &["http"],
    &["telemetry"],
    &["config", "client"],
    // the composition root, and what runs it, in the order of a start read backwards
    &["app"],
    &["server"],
    &["cli"],
    &["main"],
];

/// Narrower than the rows: what such a module sees at all.
const SEES_ONLY: &[(&str, &[&str])] = &[
    // pure: what it does is measured by who calls it
    ("domain", &["test_folder"]),
    // a client of the HTTP API like any other
    ("client", &["domain"]),
    // it yields events, and meets the store and the channels only through values and its port
    ("agent", &["domain", "provider", "prompt", "tool"]),
];

/// Narrower than the rows: who sees such a module at all.
const SEEN_ONLY_BY: &[(&str, &[&str])] = &[("config", &["app"])];

/// `(from, to, why)`: what the rows forbid and the design wants all the same.
const EXCEPTIONS: &[(&str, &str, &str)] =
    &[("cli", "config", "it reads the file that --config names before there is an app, and a chat needs the settings without one")];

/// Words that `domain` has no use for: it does no I/O and does not wait.
const NOT_IN_DOMAIN: &[&str] = &["metrics", "tokio", "axum", "reqwest", "rusqlite", "std::fs", "std::net", "std::process", "std::thread"];

const MAX_LINES: &[(&str, usize)] = &[("src", 400), ("static", 400), ("benches", 400), ("fuzz", 200), ("tests", 400)];

/// What would end the process, or was left lying about.
const NEVER_OUTSIDE_TESTS: &[&str] = &[".unwrap()", ".expect(", "panic!", "todo!", "unimplemented!", "dbg!"];

/// A task that no tracker knows outlives a stop.
const UNTRACKED: &[&str] = &["tokio::spawn(", "task::spawn("];

/// Folders of the tree that are not the project's text, and the files of the package managers.
const SKIPPED: &[&str] = &[".git", "target", "node_modules", ".cache", ".venv", "__pycache__", "vendor", "data", "Cargo.lock"];

#[test]
fn a_layer_sees_only_the_rows_above_it() -> io::Result<()> {
    let mut problems = Vec::new();
    for source in rust_sources()? {
        if source.module == "lib" {
            continue;
        }
        if row_of(&source.module).is_none() {
            problems.push(format!("{}: the module `{}` has no row in LAYERS", source.name, source.module));
        }
        for seen in source.modules_it_names() {
            if let Err(why) = may_see(&source.module, &seen) {
                problems.push(format!("{}: `{}` may not see `{seen}`: {why}", source.name, source.module));
            }
        }
        if source.climbs_out() {
            problems.push(format!("{}: a chain of `super::` leaves the module `{}`; say `crate::`", source.name, source.module));
        }
    }
    report(&problems);
    Ok(())
}

#[test]
fn every_exception_is_needed_and_says_why() -> io::Result<()> {
    let sources = rust_sources()?;
    let unused = EXCEPTIONS.iter().filter(|(from, to, why)| {
        why.is_empty() || !sources.iter().any(|source| source.module == *from && source.modules_it_names().contains(*to))
    });
    report(&unused.map(|(from, to, _)| format!("the exception {from} -> {to} is not used, or has no reason")).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn the_domain_does_no_io() -> io::Result<()> {
    let mut problems = Vec::new();
    for source in rust_sources()?.iter().filter(|source| source.module == "domain") {
        problems.extend(source.lines_with(NOT_IN_DOMAIN, &source.code));
    }
    report(&problems);
    Ok(())
}

#[test]
fn no_file_is_too_long() -> io::Result<()> {
    let mut problems = Vec::new();
    for (folder, most) in MAX_LINES {
        for (path, text) in texts(folder)? {
            let lines = text.lines().count();
            let is_code = path.extension().is_some_and(|kind| kind == "rs" || kind == "js" || kind == "mjs");
            if is_code && lines > *most {
                problems.push(format!("{}: {lines} lines, and {most} is the most", path.display()));
            }
        }
    }
    report(&problems);
    Ok(())
}

#[test]
fn every_source_says_what_it_is_for() -> io::Result<()> {
    let mut problems = Vec::new();
    for source in rust_sources()? {
        if source.name.ends_with("mod.rs") {
            problems.push(format!("{}: a folder's front file is `folder.rs` beside it", source.name));
        }
        // a `tests.rs` is for the file that it stands beside
        if !source.text.starts_with("//!") && !source.name.ends_with("/tests.rs") {
            problems.push(format!("{}: it does not start with `//!`", source.name));
        }
    }
    report(&problems);
    Ok(())
}

#[test]
fn nothing_outside_tests_panics_or_spawns_untracked() -> io::Result<()> {
    let mut problems = Vec::new();
    for source in rust_sources()? {
        problems.extend(source.lines_with(NEVER_OUTSIDE_TESTS, &source.shipped));
        problems.extend(source.lines_with(UNTRACKED, &source.shipped));
    }
    report(&problems);
    Ok(())
}

/// Neither one developer's folders nor the hosts that packages come from: a mirror must work as well.
#[test]
fn no_text_names_a_machine_or_a_registry() -> io::Result<()> {
    // in halves, or this file would name them
    let names = [
        ["/wo", "rk/"],
        ["crates", ".io"],
        ["pypi", ".org"],
        ["python", "hosted.org"],
        ["npm", "js.org"],
        ["npm", "js.com"],
        ["deb.", "debian.org"],
        ["proxy.", "golang.org"],
    ]
    .map(|halves| halves.concat());
    let mut problems = Vec::new();
    for (path, text) in texts("")? {
        for (number, line) in text.lines().enumerate() {
            let found = names.iter().filter(|name| line.contains(name.as_str()));
            problems.extend(found.map(|name| format!("{}:{}: {name}", path.display(), number + 1)));
        }
    }
    report(&problems);
    Ok(())
}

fn report(problems: &[String]) {
    assert!(problems.is_empty(), "\n  {}\n", problems.join("\n  "));
}

// ---- the layers

fn row_of(module: &str) -> Option<usize> {
    LAYERS.iter().position(|row| row.contains(&module))
}

fn may_see(from: &str, to: &str) -> Result<(), String> {
    let (Some(own), Some(other)) = (row_of(from), row_of(to)) else {
        return Ok(()); // an item of the crate's root, or a module that is reported once already
    };
    if from == to || EXCEPTIONS.iter().any(|(a, b, _)| (*a, *b) == (from, to)) {
        return Ok(());
    }
    if other == own {
        return Err("they stand in one row".into());
    }
    if other > own {
        return Err("it stands in a row below".into());
    }
    match SEES_ONLY.iter().find(|(module, _)| *module == from) {
        Some((_, all)) if !all.contains(&to) => return Err(format!("it sees only {}", all.join(", "))),
        Some(_) | None => {}
    }
    match SEEN_ONLY_BY.iter().find(|(module, _)| *module == to) {
        Some((_, all)) if !all.contains(&from) => Err(format!("only {} does", all.join(", "))),
        Some(_) | None => Ok(()),
    }
}

#[test]
fn the_reader_tells_code_from_what_only_looks_like_it() {
    let source = |text: &str| Source::new(Path::new("src/store/sqlite.rs"), text.into());
    let named = |text: &str| source(text).modules_it_names().into_iter().collect::<Vec<_>>().join(" ");
    assert_eq!(named("use crate::{agent::run, session::{self, http}};\nfn f() -> crate::tool::X {}"), "agent session tool");
    assert_eq!(named("// crate::agent\nlet s = \"crate::agent\"; let r = r#\"\"crate::agent\"#; let q = ['\"', '\\'']; x::<'a>()"), "");
    let shipped = "#[cfg(test)]\nmod tests { fn f() { x.unwrap() } }\nfn g(a: &'static str) { b.unwrap() }";
    assert_eq!(source(shipped).lines_with(&[".unwrap()"], &source(shipped).shipped), ["src/store/sqlite.rs:3: .unwrap()"]);
    assert!(source("use super::super::agent::run;").climbs_out());
    assert!(!source("use super::Position;").climbs_out());
}
