use std::path::Path;

use super::all;
use crate::meter::{Kind, Metric};

/// What `docs/OPERATIONS.md` has to say of a metric.
fn row(metric: &Metric) -> String {
    let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
    format!("| `{}` | {} | {} | {} |", metric.name, metric.kind.as_str(), labels.join(", "), metric.help)
}

#[test]
fn the_documentation_lists_what_there_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/OPERATIONS.md");
    let page = std::fs::read_to_string(path).unwrap();
    let listed: Vec<&str> = page.lines().filter(|line| line.starts_with("| `portico_")).collect();
    let there: Vec<String> = all().map(row).collect();
    assert!(listed == there, "the table should read\n\n{}\n", there.join("\n"));
}

#[test]
fn names_say_what_and_in_which_unit() {
    for Metric { name, kind, labels, help } in all() {
        let snake = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
        assert!(name.starts_with("portico_") && snake(name) && labels.iter().all(|label| snake(label)), "{name}");
        assert_eq!(name.ends_with("_total"), *kind == Kind::Counter, "{name}");
        assert!(help.ends_with('.') && !help.contains('\n') && !help.contains('|'), "{name}: {help}");
        if let Kind::Histogram(bounds) = kind {
            let unit = ["_seconds", "_steps", "_size"].iter().any(|unit| name.ends_with(unit));
            assert!(unit && bounds.windows(2).all(|pair| pair[0] < pair[1]), "{name}: {bounds:?}");
        }
    }
    let mut names: Vec<_> = all().map(|metric| metric.name).collect();
    names.sort_unstable();
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "no name twice: {names:?}");
}
