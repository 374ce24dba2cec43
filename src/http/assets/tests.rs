use std::collections::BTreeSet;
use std::path::Path;

use super::*;

/// Not for a browser: what the bundle is built from, and what goes with the package.
const NOT_SERVED: &[&str] = &["widget.js", "widget/", "package.json", "README.md", "LICENSE"];

#[test]
fn the_table_has_every_file_that_is_served_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("static");
    let mut there = BTreeSet::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                there.insert(path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    there.retain(|file| !NOT_SERVED.iter().any(|other| file == other || (other.ends_with('/') && file.starts_with(other))));
    let served: BTreeSet<String> = FILES.iter().map(|(file, _)| (*file).to_owned()).chain(["index.html".to_owned()]).collect();
    assert_eq!(served, there);
    assert_eq!(FILES.iter().map(|(file, _)| path(file)).collect::<BTreeSet<_>>().len(), FILES.len());
}

#[test]
fn a_kind_is_known_by_the_name() {
    let kinds = ["index.html", "client/api.js", "page.css", "client.d.ts", "vendor/LICENSES"].map(Kind::of);
    assert_eq!(kinds, [Kind::Page, Kind::Script, Kind::Style, Kind::Text, Kind::Text]);
}

#[test]
fn gzip_goes_to_who_takes_it() {
    let takes = |value: &'static str| takes_gzip(&HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(value))]));
    for value in ["gzip", "gzip, deflate, br", "br;q=1.0, GZIP;q=0.2", "*", "*;q=0, gzip", "deflate,gzip ; q=0.5"] {
        assert!(takes(value), "{value}");
    }
    for value in ["", "identity", "br", "gzip;q=0", "gzip; q=0.000", "*, gzip;q=0", "*;q=0", "x-gzip-like"] {
        assert!(!takes(value), "{value}");
    }
    assert!(!takes_gzip(&HeaderMap::new()));
}
