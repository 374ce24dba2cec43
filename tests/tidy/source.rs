//! The tree as the rules read it: which module a file belongs to, and its text without what is no code, or no shipped code.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::SKIPPED;

pub(crate) struct Source {
    /// The path, for reports.
    pub(crate) name: String,
    /// The top-level module that the file belongs to.
    pub(crate) module: String,
    /// How many modules deep the file stands: 1 for `src/store.rs`, 2 for `src/store/sqlite.rs`.
    pub(crate) depth: usize,
    pub(crate) text: String,
    /// `text` without comments and the insides of strings.
    pub(crate) code: String,
    /// `code` without test items; empty for a file of tests.
    pub(crate) shipped: String,
}

impl Source {
    pub(crate) fn new(path: &Path, text: String) -> Self {
        let parts: Vec<_> = path.iter().skip(1).map(|part| part.to_string_lossy().trim_end_matches(".rs").to_owned()).collect();
        let code = blank_comments_and_strings(&text);
        let is_test = parts.iter().skip(1).any(|part| part == "tests");
        let shipped = if is_test { String::new() } else { blank_test_items(&code) };
        Self { name: path.display().to_string(), module: parts[0].clone(), depth: parts.len(), text, code, shipped }
    }

    /// The top-level modules in paths that start at the crate's root, in tests too.
    pub(crate) fn modules_it_names(&self) -> BTreeSet<String> {
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
    pub(crate) fn climbs_out(&self) -> bool {
        self.shipped.contains(&"super::".repeat(self.depth))
    }

    pub(crate) fn lines_with(&self, words: &[&str], code: &str) -> Vec<String> {
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

pub(crate) fn rust_sources() -> io::Result<Vec<Source>> {
    let texts = texts("src")?;
    Ok(texts
        .into_iter()
        .filter(|(path, _)| path.extension().is_some_and(|kind| kind == "rs"))
        .map(|(path, text)| Source::new(&path, text))
        .collect())
}

/// All files below a folder of the package that are text, with their paths from the package's root.
pub(crate) fn texts(folder: &str) -> io::Result<Vec<(PathBuf, String)>> {
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
