//! Pages that were read a short while ago, for whoever asks for the same address: research comes back to its pages, and so do colleagues.
//!
//! Only what was read well is kept, never where its server says otherwise (`Cache-Control`, `Pragma`, `Expires`, less its `Age`), and nothing
//! of it is on disk. Whether an address may be reached is
//! judged again at each use, by who looks here.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{AGE, CACHE_CONTROL, DATE, EXPIRES, HeaderMap, HeaderName, HeaderValue, PRAGMA};
use url::Url;

use super::article::Page;
use crate::domain::Timestamp;
use crate::provider::http::retry_after::http_date;

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
        let Some(kept_for) = lifetime(headers, read.fetched_at).filter(|_| read.page.markdown.len() <= MOST_BYTES_OF_ONE) else { return };
        let (address, now) = (bare(address), read.fetched_at);
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| entry.address != address && entry.good_until > now);
        entries.push_back(Entry { address, good_until: now + kept_for, read: read.clone() });
        while entries.len() > MOST_PAGES || entries.iter().map(|entry| entry.read.page.markdown.len()).sum::<usize>() > MOST_BYTES {
            entries.pop_front();
        }
    }
}

/// How long an answer may be kept; `None` for not at all. What is only for one reader (`private`) may be: no request says who asks. What a
/// server says in `Cache-Control` goes before the older headers (RFC 9111, 5.2 to 5.4).
fn lifetime(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let fresh_for = match headers.contains_key(CACHE_CONTROL) {
        true => controlled(headers)?,
        false if words(headers, PRAGMA).any(|word| word == "no-cache") => return None,
        false => None,
    };
    let fresh_for = fresh_for.or_else(|| expires_in(headers, now));
    let age = headers.get(AGE).and_then(|age| age.to_str().ok()?.trim().parse().ok()).map_or(Duration::ZERO, Duration::from_secs);
    let kept_for = fresh_for.map_or(KEPT_FOR, |fresh_for| fresh_for.saturating_sub(age).min(KEPT_FOR));
    (!kept_for.is_zero()).then_some(kept_for)
}

/// `None` where it may not be kept, else the least `max-age`, if any.
fn controlled(headers: &HeaderMap) -> Option<Option<Duration>> {
    let mut least = None;
    for directive in words(headers, CACHE_CONTROL) {
        match directive.split_once('=').unwrap_or((directive.as_str(), "")) {
            ("no-store" | "no-cache", _) => return None,
            ("max-age", seconds) => {
                let seconds = Duration::from_secs(seconds.trim_matches('"').parse().unwrap_or(0));
                least = Some(least.map_or(seconds, |least: Duration| least.min(seconds)));
            }
            _ => {}
        }
    }
    Some(least)
}

/// By its server's own clock, where it tells the time. A date that cannot be read is past.
fn expires_in(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let date = |name| headers.get(name).map(|value: &HeaderValue| value.to_str().ok().and_then(http_date));
    let expires = date(EXPIRES)?.map(Timestamp::from_system).unwrap_or_default();
    let now = date(DATE).flatten().map_or(now, Timestamp::from_system);
    Some(expires.since(now))
}

/// What stands between the commas of all headers of that name.
fn words(headers: &HeaderMap, name: HeaderName) -> impl Iterator<Item = String> {
    let values = headers.get_all(name).iter().map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase());
    values.flat_map(|text| text.split(',').map(|word| word.trim().to_owned()).collect::<Vec<_>>())
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
    fn older_headers_count_where_there_is_no_newer_one() {
        let kept = |pairs: &[(HeaderName, &'static str)]| {
            let headers: HeaderMap = pairs.iter().map(|(name, text)| (name.clone(), text.parse().unwrap())).collect();
            lifetime(&headers, NOW).map(|kept_for| kept_for.as_secs())
        };
        let (noon, past) = ((DATE, "Tue, 01 Dec 2026 12:00:00 GMT"), (EXPIRES, "Tue, 01 Dec 2026 11:00:00 GMT"));
        let in_a_minute = (EXPIRES, "Tue, 01 Dec 2026 12:01:00 GMT");
        assert_eq!(kept(&[(PRAGMA, "No-Cache")]), None);
        assert_eq!(kept(&[(PRAGMA, "no-cache"), (CACHE_CONTROL, "max-age=60")]), Some(60));
        assert_eq!(kept(&[noon.clone(), in_a_minute.clone()]), Some(60));
        assert_eq!([kept(&[noon.clone(), past.clone()]), kept(&[(EXPIRES, "0")])], [None, None]);
        assert_eq!(kept(&[noon, past, (CACHE_CONTROL, "public, max-age=70"), (AGE, "30")]), Some(40));
        assert_eq!(kept(&[(CACHE_CONTROL, "max-age=60"), (AGE, "60")]), None);
        assert_eq!(kept(&[(AGE, "86400")]), Some(300), "it says nothing of how long");
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
