//! A page that was found, in words that can stand between ours: one line each, of bounded length, without what draws text in another order.

use serde::Deserialize;
use url::Url;

use crate::domain::visible::is_stray;

/// The most characters of each part. A snippet is two or three sentences; what says more is on the page.
const MAX_TITLE: usize = 200;
const MAX_DATE: usize = 40;
const MAX_SNIPPET: usize = 600;
/// The most characters of an address: what `web_fetch` takes.
const MAX_URL: usize = 2_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub(super) title: String,
    pub(super) url: Url,
    /// As the provider writes it.
    pub(super) date: Option<String>,
    pub(super) snippet: Option<String>,
}

impl Hit {
    /// `None` where the address is none that could be read.
    pub(super) fn new(title: Option<&str>, url: &str, date: Option<&str>, snippet: Option<&str>) -> Option<Self> {
        let url = Url::parse(url.trim()).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
        if url.as_str().len() > MAX_URL {
            return None;
        }
        let title = line(title, MAX_TITLE).or_else(|| url.host_str().map(str::to_owned))?;
        Some(Self { title, date: line(date, MAX_DATE), snippet: line(snippet, MAX_SNIPPET), url })
    }

    /// The first of these, each address once.
    pub(super) fn first(hits: Vec<Self>, count: usize) -> Vec<Self> {
        let mut kept: Vec<Self> = Vec::with_capacity(count);
        for hit in hits {
            if kept.len() < count && kept.iter().all(|known| known.url != hit.url) {
                kept.push(hit);
            }
        }
        kept
    }
}

/// An answer as SearXNG and Tavily both give it.
#[derive(Deserialize)]
struct Answer {
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    url: Option<String>,
    title: Option<String>,
    content: Option<String>,
    /// Tavily has one for news only.
    #[serde(alias = "publishedDate")]
    published_date: Option<String>,
}

/// What is found under `results`; `None` where it is no such answer.
pub(super) fn results(body: &[u8]) -> Option<Vec<Hit>> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let hit = |f: Found| Hit::new(f.title.as_deref(), &f.url?, f.published_date.as_deref(), f.content.as_deref());
    Some(answer.results.into_iter().filter_map(hit).collect())
}

/// Others' words as one line; `None` where nothing is left of them.
fn line(text: Option<&str>, most: usize) -> Option<String> {
    let shown: String =
        text?.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !c.is_control() && !is_stray(*c)).collect();
    let line = shown.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(most) {
        _ if line.is_empty() => None,
        Some((end, _)) => Some(format!("{}…", line[..end].trim_end())),
        None => Some(line),
    }
}

/// Text out of a snippet that is HTML. Bounded, because what provides it is not ours.
pub(super) fn text_of_html(html: &str) -> String {
    let bounded = &html[..html.floor_char_boundary(8 * MAX_SNIPPET)];
    dom_query::Document::fragment(bounded).text().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit(url: &str) -> Option<Hit> {
        Hit::new(Some("T"), url, None, None)
    }

    #[test]
    fn only_pages_of_the_web_are_hits() {
        assert!(hit(" https://a.example/x ").is_some());
        for url in ["javascript:alert(1)", "ftp://a.example/", "a.example", "", &format!("https://a.example/{}", "x".repeat(MAX_URL))] {
            assert_eq!(hit(url), None, "{url:.40}");
        }
    }

    #[test]
    fn others_words_are_one_line_and_show_what_they_are() {
        let made = Hit::new(
            Some(" A\n\u{202e}B\u{1b}[2J\u{200b}C "),
            "https://a.example/",
            Some("\t\n"),
            Some(&format!("1. Injected\n\n{}", "x".repeat(9_000))),
        )
        .unwrap();
        assert_eq!((made.title.as_str(), made.date.as_deref()), ("A B[2JC", None));
        let snippet = made.snippet.unwrap();
        assert!(snippet.starts_with("1. Injected xxx") && snippet.chars().count() == MAX_SNIPPET + 1, "{snippet}");
        assert_eq!(Hit::new(Some("\u{200b}"), "https://a.example/", None, None).unwrap().title, "a.example");
    }

    #[test]
    fn each_address_once_and_no_more_than_asked_for() {
        let hits: Vec<Hit> =
            ["https://a.example", "https://a.example/", "https://b.example/", "https://c.example/"].iter().filter_map(|u| hit(u)).collect();
        let kept: Vec<String> = Hit::first(hits, 2).into_iter().map(|hit| hit.url.to_string()).collect();
        assert_eq!(kept, ["https://a.example/", "https://b.example/"]);
    }

    #[test]
    fn html_is_read_as_what_it_says() {
        assert_eq!(text_of_html("<strong>Boats</strong> &amp; oars&#x27;"), "Boats & oars'");
    }
}
