//! A strict reader of the Prometheus text format, version 0.0.4, written from its documentation.
//!
//! It refuses what a scraper might put up with: a family without its help or type, one that stands in two places, a sample twice, a label
//! that is not escaped, a histogram that does not add up.

use std::collections::BTreeMap;

type Labels = BTreeMap<String, String>;

/// One answer of `GET /metrics`.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    pub(super) families: BTreeMap<String, Family>,
}

#[derive(Debug)]
pub(super) struct Family {
    pub(super) kind: String,
    pub(super) help: String,
    /// By the sample's own name and labels.
    pub(super) samples: BTreeMap<(String, Labels), f64>,
}

impl Exposition {
    #[track_caller]
    pub(super) fn parse(text: &str) -> Self {
        assert!(text.ends_with('\n'), "the last line is ended");
        let mut exposition = Self::default();
        let (mut open, mut help) = (String::new(), None);
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                let (name, words) = rest.split_once(' ').unwrap_or_else(|| panic!("no help in {line:?}"));
                help = Some((name.to_owned(), words.to_owned()));
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap_or_else(|| panic!("no type in {line:?}"));
                let Some((_, words)) = help.take().filter(|(of, _)| of == name) else { panic!("no help stands before {line:?}") };
                let family = Family { kind: kind.into(), help: words, samples: BTreeMap::new() };
                assert!(exposition.families.insert(name.into(), family).is_none(), "{name} stands in two places");
                open = name.into();
            } else {
                let (name, labels, value) = sample(line);
                let suffixes = ["", "_bucket", "_sum", "_count"];
                assert!(suffixes.iter().any(|suffix| name == format!("{open}{suffix}")), "{line:?} in the family {open}");
                let family = exposition.families.get_mut(&open).unwrap_or_else(|| panic!("no type stands before {line:?}"));
                assert!(family.samples.insert((name, labels), value).is_none(), "twice: {line:?}");
            }
        }
        exposition.families.iter().for_each(|(name, family)| family.check(name));
        exposition
    }

    /// The sample's value; 0 where there is none yet.
    pub(super) fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let labels: Labels = labels.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let key = (name.to_owned(), labels);
        self.families.values().find_map(|family| family.samples.get(&key)).copied().unwrap_or_default()
    }

    /// All samples of that name together.
    pub(super) fn sum(&self, name: &str) -> f64 {
        self.families.values().flat_map(|family| &family.samples).filter(|((n, _), _)| n == name).map(|(_, value)| value).sum()
    }
}

impl Family {
    fn check(&self, name: &str) {
        match self.kind.as_str() {
            "counter" => {
                assert!(name.ends_with("_total"), "{name}");
                assert!(self.samples.values().all(|v| *v >= 0.0 && v.fract() == 0.0), "{name}: {self:?}");
            }
            "gauge" => assert!(self.samples.keys().all(|(n, _)| n == name), "{name}: {self:?}"),
            "histogram" => self.check_histogram(name),
            other => panic!("{name} is a {other}"),
        }
    }

    fn check_histogram(&self, name: &str) {
        let mut buckets: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        for ((sample, labels), value) in self.samples.iter().filter(|((n, _), _)| n.ends_with("_bucket")) {
            let mut labels = labels.clone();
            let bound = labels.remove("le").unwrap_or_else(|| panic!("{sample} has no bound"));
            let bound = if bound == "+Inf" { f64::INFINITY } else { bound.parse().unwrap() };
            buckets.entry(labels).or_default().push((bound, *value));
        }
        for (labels, mut buckets) in buckets {
            buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
            assert!(buckets.windows(2).all(|pair| pair[0].1 <= pair[1].1), "{name}{labels:?} is cumulative: {buckets:?}");
            let count = self.samples.get(&(format!("{name}_count"), labels.clone()));
            assert_eq!(buckets.last().map(|(bound, count)| (*bound, count)), count.map(|c| (f64::INFINITY, c)), "{name}{labels:?}");
            assert!(self.samples.contains_key(&(format!("{name}_sum"), labels.clone())), "{name}{labels:?} has a sum");
        }
    }
}

/// `name{label="value",...} value`
fn sample(line: &str) -> (String, Labels, f64) {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != ':').unwrap_or_else(|| panic!("no value in {line:?}"));
    let (name, mut rest) = line.split_at(end);
    let mut labels = Labels::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, after) = rest.split_once("=\"").unwrap_or_else(|| panic!("no label in {line:?}"));
            let (value, after) = quoted(after, line);
            assert!(labels.insert(label.to_owned(), value).is_none(), "{label} twice in {line:?}");
            rest = after.strip_prefix(',').unwrap_or(after);
        }
        rest = &rest[1..];
    }
    let value = rest.strip_prefix(' ').unwrap_or_else(|| panic!("no value in {line:?}"));
    (name.to_owned(), labels, value.parse().unwrap_or_else(|e| panic!("{line:?}: {e}")))
}

/// The value up to its closing quote, and what follows.
fn quoted<'l>(text: &'l str, line: &str) -> (String, &'l str) {
    let (mut value, mut chars) = (String::new(), text.char_indices());
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, &text[at + 1..]),
            '\\' => value.push(match chars.next() {
                Some((_, 'n')) => '\n',
                Some((_, c @ ('\\' | '"'))) => c,
                other => panic!("{other:?} is escaped in {line:?}"),
            }),
            c => value.push(c),
        }
    }
    panic!("a label has no end in {line:?}")
}
