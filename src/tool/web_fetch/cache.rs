//! Pages that were read a short while ago, for whoever asks for the same address: research comes back to its pages, and so do colleagues.
//!
//! Only what was read well is kept, never where its server says otherwise, and nothing of it is on disk. Whether an address may be reached is
//! judged again at each use, by who looks here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{CACHE_CONTROL, HeaderMap};
use url::Url;

use super::article::Page;
use crate::domain::Timestamp;

/// How long a page is kept: as long as somebody works on one question.
const KEPT_FOR: Duration = Duration::from_secs(5 * 60);
/// The most pages, and the most bytes of their texts together and of one.
const MOST_PAGES: usize = 64;
const MOST_BYTES: usize = 8 * 1024 * 1024;
const MOST_BYTES_OF_ONE: usize = MOST_BYTES / 4;

/// What was read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) page: Page,
    pub(super) fetched_at: Timestamp,
    /// Bytes of the body that were read.
    pub(super) bytes: usize,
    /// The bytes after which the body was left; `None` where all of it was read.
    pub(super) cut_at_bytes: Option<usize>,
}

#[derive(Debug, Default)]
pub(super) struct Cache(Mutex<VecDeque<Entry>>);

#[derive(Debug)]
struct Entry {
    address: Url,
    good_until: Timestamp,
    read: Arc<Read>,
}

impl Cache {
    /// What this address gave lately.
    pub(super) fn get(&self, address: &Url, now: Timestamp) -> Option<Arc<Read>> {
        let address = bare(address);
        let entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.iter().find(|entry| entry.address == address && entry.good_until > now).map(|entry| entry.read.clone())
    }

    /// Keeps what `address` itself, behind all redirects, gave with these headers. The oldest make room.
    pub(super) fn put(&self, address: &Url, headers: &HeaderMap, read: &Arc<Read>) {
        let Some(kept_for) = lifetime(headers).filter(|_| read.page.markdown.len() <= MOST_BYTES_OF_ONE) else { return };
        let (address, now) = (bare(address), read.fetched_at);
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.address != address && entry.good_until > now);
        entries.push_back(Entry { address, good_until: now + kept_for, read: read.clone() });
        while entries.len() > MOST_PAGES || entries.iter().map(|entry| entry.read.page.markdown.len()).sum::<usize>() > MOST_BYTES {
            entries.pop_front();
        }
    }
}

/// How long an answer may be kept; `None` for not at all. What is only for one reader (`private`) may be: no request says who asks.
fn lifetime(headers: &HeaderMap) -> Option<Duration> {
    let mut kept_for = KEPT_FOR;
    for value in headers.get_all(CACHE_CONTROL) {
        let text = String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase();
        for directive in text.split(',').map(str::trim) {
            match directive.split_once('=').unwrap_or((directive, "")) {
                ("no-store" | "no-cache", _) => return None,
                ("max-age", seconds) => {
                    let seconds = seconds.trim_matches('"').parse().unwrap_or(0);
                    kept_for = kept_for.min(Duration::from_secs(seconds));
                }
                _ => {}
            }
        }
    }
    (!kept_for.is_zero()).then_some(kept_for)
}

/// What is asked of a server: it never sees a fragment.
fn bare(address: &Url) -> Url {
    let mut bare = address.clone();
    bare.set_fragment(None);
    bare
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp(1_796_000_000_000);

    fn url(path: &str) -> Url {
        Url::parse(&format!("https://a.example/{path}")).unwrap()
    }

    fn read(bytes: usize, at: Timestamp) -> Arc<Read> {
        Arc::new(Read { page: Page { markdown: "x".repeat(bytes), ..Page::default() }, fetched_at: at, bytes, cut_at_bytes: None })
    }

    fn headers(control: &[&'static str]) -> HeaderMap {
        control.iter().map(|text| (CACHE_CONTROL, text.parse().unwrap())).collect()
    }

    #[test]
    fn a_page_is_there_for_some_minutes_under_its_own_address() {
        let cache = Cache::default();
        cache.put(&url("x#part"), &HeaderMap::new(), &read(1, NOW));
        let after = |wait: Duration, path: &str| cache.get(&url(path), NOW + wait).is_some();
        assert!(after(Duration::ZERO, "x") && after(KEPT_FOR - Duration::from_secs(1), "x#other"));
        assert!(!after(KEPT_FOR, "x") && !after(Duration::ZERO, "x?q") && !after(Duration::ZERO, "y"));
    }

    #[test]
    fn its_server_may_forbid_or_shorten_it() {
        let kept = |control: &[&'static str], wait: u64| {
            let cache = Cache::default();
            cache.put(&url("x"), &headers(control), &read(1, NOW));
            cache.get(&url("x"), NOW + Duration::from_secs(wait)).is_some()
        };
        assert!(kept(&["public, max-age=86400"], 299) && !kept(&["max-age=86400"], 300) && kept(&["private"], 0));
        assert!(kept(&["max-age=60"], 59) && !kept(&["max-age=60"], 60));
        for never in [&["No-Store"][..], &["private", "no-store"], &["no-cache"], &["max-age=0"], &["max-age=soon"]] {
            assert!(!kept(never, 0), "{never:?}");
        }
    }

    #[test]
    fn pages_and_bytes_are_bounded_and_the_oldest_go() {
        let cache = Cache::default();
        for i in 0..=MOST_PAGES {
            cache.put(&url(&i.to_string()), &HeaderMap::new(), &read(1, NOW));
        }
        assert!(cache.get(&url("0"), NOW).is_none() && cache.get(&url("1"), NOW).is_some());
        for path in ["a", "b", "c", "d", "e"] {
            cache.put(&url(path), &HeaderMap::new(), &read(MOST_BYTES_OF_ONE, NOW));
        }
        assert!(cache.get(&url("a"), NOW).is_none() && cache.get(&url("b"), NOW).is_some());
        cache.put(&url("huge"), &HeaderMap::new(), &read(MOST_BYTES_OF_ONE + 1, NOW));
        assert!(cache.get(&url("huge"), NOW).is_none());
    }

    #[test]
    fn the_newest_of_an_address_counts() {
        let cache = Cache::default();
        cache.put(&url("x"), &HeaderMap::new(), &read(1, NOW));
        cache.put(&url("x"), &HeaderMap::new(), &read(2, NOW + Duration::from_secs(1)));
        assert_eq!(cache.get(&url("x"), NOW + Duration::from_secs(2)).unwrap().bytes, 2);
    }
}
