//! The variables `PORTICO__SECTION__KEY`, judged before they are merged. Empty ones count as not set.

use std::collections::{BTreeMap, HashMap};

use super::error::{Place, Problem};
use super::file::Places;
use super::shape::{Given, Shape, join};

/// Two underscores between the parts: one could not be told from those in the keys' own names.
pub(super) const PREFIX: &str = "PORTICO";
pub(super) const SEPARATOR: &str = "__";

/// Variables that may be merged. Not `Debug`: they may hold secrets.
#[derive(Default)]
pub(super) struct Environment {
    /// By the variable's name. The struct's types read them, so that a key made of digits stays the string it is.
    pub(super) single: HashMap<String, String>,
    /// By whole key: values for lists, split at commas. A list replaces the file's.
    pub(super) lists: BTreeMap<String, Vec<String>>,
    pub(super) places: Places,
}

impl Environment {
    /// Picks this program's variables out of `env`.
    ///
    /// # Errors
    /// Every variable that names no key or whose value does not fit.
    pub(super) fn check(env: &[(String, String)], shape: &Shape) -> Result<Self, Vec<Problem>> {
        let mut checked = Self::default();
        let mut problems = Vec::new();
        for (name, value) in env {
            if value.is_empty() {
                continue;
            }
            let Some(rest) = name.strip_prefix(PREFIX).and_then(|rest| rest.strip_prefix(SEPARATOR)) else {
                problems.extend(meant(shape, name).map(|meant| Place::Variable(name.clone()).problem(format!("did you mean {meant}?"))));
                continue;
            };
            if let Err(why) = checked.take(shape, name, &rest.to_lowercase(), value) {
                problems.push(Place::Variable(name.clone()).problem(why));
            }
        }
        problems.sort_by(|a, b| a.place.cmp(&b.place));
        if problems.is_empty() { Ok(checked) } else { Err(problems) }
    }

    fn take(&mut self, shape: &Shape, name: &str, parts: &str, value: &str) -> Result<(), String> {
        let (key, shape) = find(shape, parts)?;
        if let Some(other) = self.places.get(&key) {
            return Err(format!("{key} is given too ({other}); keep one of the two"));
        }
        if let Shape::List(each) = shape {
            let items: Vec<String> = value.split(',').map(|item| item.trim().to_owned()).collect();
            items.iter().try_for_each(|item| judge(each, item)).map_err(|why| format!("{key}: {why}"))?;
            self.lists.insert(key.clone(), items);
        } else {
            judge(shape, value).map_err(|why| format!("{key}: {why}"))?;
            self.single.insert(name.to_owned(), value.to_owned());
        }
        self.places.insert(key, Place::Variable(name.to_owned()));
        Ok(())
    }
}

/// The variable of this program that a name with single underscores stands for; `None` where the name is another program's.
fn meant(shape: &Shape, name: &str) -> Option<String> {
    let (section, key) = name.strip_prefix(PREFIX)?.strip_prefix('_')?.split_once('_')?;
    find(shape, &format!("{section}{SEPARATOR}{key}").to_lowercase()).ok()?;
    Some(format!("{PREFIX}{SEPARATOR}{section}{SEPARATOR}{key}"))
}

fn find<'a>(shape: &'a Shape, parts: &str) -> Result<(String, &'a Shape), String> {
    parts.split(SEPARATOR).try_fold((String::new(), shape), |(path, shape), part| Ok((join(&path, part), shape.child(&path, part)?)))
}

/// A variable is text; what else it can be read as depends on what is wanted.
fn judge(shape: &Shape, value: &str) -> Result<(), String> {
    let given = match (shape, value.parse(), value) {
        (Shape::Integer { .. }, Ok(n), _) => Given::Integer(n),
        (Shape::Switch, _, "true" | "false") => Given::Switch,
        (_, _, value) => Given::Text(value),
    };
    shape.judge(given)
}
