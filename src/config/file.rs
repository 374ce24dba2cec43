//! One file, judged alone: every unknown key and wrong value, with its line.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

use super::error::{Place, Problem};
use super::shape::{Given, Shape, join};

/// By whole key, where its value was given.
pub(super) type Places = BTreeMap<String, Place>;

/// A file that may be merged. Not `Debug`: its text may hold secrets.
pub(super) struct Layer {
    /// TOML that parses and fits the shape.
    pub(super) text: String,
    pub(super) places: Places,
}

/// Judges a file's text. A file need not have every key.
///
/// # Errors
/// All that is wrong with it, in the order of its lines. A file that is not TOML is not looked at further.
pub(super) fn check(name: &str, text: String, shape: &Shape) -> Result<Layer, Vec<Problem>> {
    let mut walk = Walk { name, text: &text, places: Places::new(), problems: Vec::new() };
    let (table, errors) = DeTable::parse_recoverable(&text);
    if errors.is_empty() {
        walk.table(shape, "", table.get_ref());
    }
    for error in errors {
        // Only the message: the error's own text would quote the line, and with it perhaps a key.
        let place = Place::file(name, error.span().map(|span| line_of(&text, &span)));
        walk.problems.push(place.problem(error.message()));
    }
    let Walk { places, mut problems, .. } = walk;
    problems.sort_by(|a, b| a.place.cmp(&b.place));
    if problems.is_empty() { Ok(Layer { text, places }) } else { Err(problems) }
}

struct Walk<'a> {
    name: &'a str,
    text: &'a str,
    places: Places,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn table(&mut self, shape: &Shape, path: &str, table: &DeTable<'_>) {
        for (key, value) in table {
            match shape.child(path, key.get_ref()) {
                Ok(child) => self.value(child, &join(path, key.get_ref()), &key.span(), value),
                Err(why) => self.report(&key.span(), why),
            }
        }
    }

    fn value(&mut self, shape: &Shape, path: &str, key: &Range<usize>, value: &Spanned<DeValue<'_>>) {
        match (shape, value.get_ref()) {
            (Shape::Table(_) | Shape::Named(_), DeValue::Table(table)) => self.table(shape, path, table),
            (Shape::List(each), DeValue::Array(items)) => items.iter().for_each(|item| self.value(each, path, &item.span(), item)),
            (Shape::Rows { row, required }, DeValue::Array(rows)) => {
                rows.iter().enumerate().for_each(|(n, table)| self.row(row, required, &format!("{path}[{n}]"), table));
            }
            (shape, value) => {
                if let Err(why) = shape.judge(given(value)) {
                    self.report(key, format!("{path}: {why}"));
                }
            }
        }
        self.places.insert(path.to_owned(), self.place(key));
    }

    fn row(&mut self, shape: &Shape, required: &[String], path: &str, row: &Spanned<DeValue<'_>>) {
        let at = row.span();
        if let DeValue::Table(table) = row.get_ref() {
            for name in required.iter().filter(|name| !table.iter().any(|(key, _)| key.get_ref() == name.as_str())) {
                self.report(&at, format!("{path}: {name} is missing"));
            }
        }
        self.value(shape, path, &at, row);
        self.places.insert(path.to_owned(), self.place(&at));
    }

    fn report(&mut self, at: &Range<usize>, message: String) {
        let problem = self.place(at).problem(message);
        self.problems.push(problem);
    }

    fn place(&self, at: &Range<usize>) -> Place {
        Place::file(self.name, Some(line_of(self.text, at)))
    }
}

fn given<'a>(value: &'a DeValue<'_>) -> Given<'a> {
    match value {
        DeValue::String(text) => Given::Text(text),
        DeValue::Integer(n) => integer(n).map_or(Given::Other("an integer beyond 64 bits"), Given::Integer),
        DeValue::Boolean(_) => Given::Switch,
        DeValue::Float(_) => Given::Other("a number with a fraction"),
        DeValue::Datetime(_) => Given::Other("a date or time"),
        DeValue::Array(_) => Given::Other("a list"),
        DeValue::Table(_) => Given::Other("a table"),
    }
}

fn integer(n: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(n.as_str(), n.radix()).ok()
}

fn line_of(text: &str, at: &Range<usize>) -> usize {
    1 + text.bytes().take(at.start).filter(|b| *b == b'\n').count()
}
