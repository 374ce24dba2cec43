//! Holds the rules of the tree that no compiler holds: the layers, the sizes, and what never stands in code.
//!
//! The rules are read off the text, after comments, strings and `#[cfg(test)]` items are blanked out where they do not count. A rule that
//! needs an exception gets it in [`EXCEPTIONS`], with the reason.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

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

const MAX_LINES: &[(&str, usize)] = &[("src", 400), ("static", 400), ("benches", 400), ("fuzz", 200), ("tests", 500)];

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

// ---- the sources

struct Source {
    /// The path, for reports.
    name: String,
    /// The top-level module that the file belongs to.
    module: String,
    /// How many modules deep the file stands: 1 for `src/store.rs`, 2 for `src/store/sqlite.rs`.
    depth: usize,
    text: String,
    /// `text` without comments and the insides of strings.
    code: String,
    /// `code` without test items; empty for a file of tests.
    shipped: String,
}

impl Source {
    fn new(path: &Path, text: String) -> Self {
        let parts: Vec<_> = path.iter().skip(1).map(|part| part.to_string_lossy().trim_end_matches(".rs").to_owned()).collect();
        let code = blank_comments_and_strings(&text);
        let is_test = parts.iter().skip(1).any(|part| part == "tests");
        let shipped = if is_test { String::new() } else { blank_test_items(&code) };
        Self { name: path.display().to_string(), module: parts[0].clone(), depth: parts.len(), text, code, shipped }
    }

    /// The top-level modules in paths that start at the crate's root, in tests too.
    fn modules_it_names(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for root in ["crate::", "portico::"] {
            for (at, _) in self.code.match_indices(root) {
                if !self.code[..at].ends_with(is_word) {
                    first_names(&self.code[at + root.len()..], &mut names);
                }
            }
        }
        names
    }

    /// Whether `super::super::` reaches the crate's root, where the layer rule could not read what follows.
    fn climbs_out(&self) -> bool {
        self.shipped.contains(&"super::".repeat(self.depth))
    }

    fn lines_with(&self, words: &[&str], code: &str) -> Vec<String> {
        let mut found = Vec::new();
        for (number, line) in code.lines().enumerate() {
            let has = |word: &&&str| line.match_indices(**word).any(|(at, _)| word.starts_with('.') || !line[..at].ends_with(is_word));
            found.extend(words.iter().filter(has).map(|word| format!("{}:{}: {word}", self.name, number + 1)));
        }
        found
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `a::b` gives a; `{a, b::{c, d}}` gives a and b.
fn first_names(path: &str, names: &mut BTreeSet<String>) {
    let word = |text: &str| text.trim_start().chars().take_while(|c| is_word(*c)).collect::<String>();
    let Some(group) = path.strip_prefix('{') else {
        names.insert(word(path));
        return;
    };
    let (mut depth, mut begin) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.insert(word(&group[begin..at]));
                begin = at + 1;
                if c == '}' {
                    return;
                }
            }
            _ => {}
        }
    }
}

/// The same text, every line in its place, with spaces for comments and for what stands in strings and character literals.
fn blank_comments_and_strings(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => 1 + end_of_string(&rest[1..]),
            'r' if !out.strip_suffix('b').unwrap_or(&out).ends_with(is_word) => raw_string(rest).unwrap_or(0),
            '\'' => character(rest).unwrap_or(0),
            _ => 0,
        };
        let (taken, left) = rest.split_at(if length == 0 { c.len_utf8() } else { length });
        if length == 0 {
            out.push_str(taken);
        } else {
            out.extend(taken.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        }
        rest = left;
    }
    out
}

/// The length of a string's rest, its closing quote included.
fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    text.len()
}

/// The length of the raw string that `text` starts with.
fn raw_string(text: &str) -> Option<usize> {
    let hashes = text[1..].chars().take_while(|c| *c == '#').count();
    let body = text[1 + hashes..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(2 + hashes + body.find(&close)? + close.len())
}

/// The length of the character literal that `text` starts with; `None` where it is a lifetime.
fn character(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first == '\\' {
        let (_, escaped) = chars.next()?;
        return Some(text[3..].find('\'').filter(|at| escaped == 'u' || escaped == 'x' || *at == 0)? + 4);
    }
    chars.next().filter(|(_, c)| *c == '\'').map(|(at, _)| at + 1)
}

/// Blanks each item that `#[cfg(test)]` stands before: up to its `;` or its closing brace.
fn blank_test_items(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut out = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        let (before, item) = rest.split_at(at);
        let (test, after) = item.split_at(MARK.len() + end_of_item(&item[MARK.len()..]));
        out.push_str(before);
        out.extend(test.chars().filter(|c| *c == '\n'));
        rest = after;
    }
    out + rest
}

fn end_of_item(code: &str) -> usize {
    let mut depth = 0;
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 && (c == ';' || c == '}') {
            return at + 1;
        }
    }
    code.len()
}

// ---- the tree

fn rust_sources() -> io::Result<Vec<Source>> {
    let texts = texts("src")?;
    Ok(texts
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|kind| kind == "rs"))
        .map(|(path, text)| Source::new(&path, text))
        .collect())
}

/// All files below a folder of the package that are text, with their paths from the package's root.
fn texts(folder: &str) -> io::Result<Vec<(PathBuf, String)>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut open = vec![PathBuf::from(folder)];
    let mut found = Vec::new();
    while let Some(path) = open.pop() {
        if SKIPPED.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        if root.join(&path).is_dir() {
            for entry in fs::read_dir(root.join(&path))? {
                open.push(path.join(entry?.file_name()));
            }
        } else if let Ok(text) = fs::read_to_string(root.join(&path)) {
            found.push((path, text));
        }
    }
    found.sort();
    Ok(found)
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
