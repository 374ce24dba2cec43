//! The pages that an answer rests on, named below it where the reader has nothing else to check it by.

use std::fmt::Write;

use crate::domain::event::tool::Source;

/// How many pages are named: more is a list that nobody on a phone reads.
const MOST: usize = 5;
/// The most characters of a page's title.
const MOST_TITLE: usize = 80;

/// The answer with its sources below it; as it is where it names one of them, or rests on none.
pub(super) fn with_sources(answer: String, sources: &[Source]) -> String {
    if sources.is_empty() || sources.iter().any(|source| names(&answer, &source.url)) {
        return answer;
    }
    let mut text = answer;
    text.push_str("\n\nSources:");
    for Source { title, url } in sources.iter().take(MOST) {
        let title = title.as_deref().map(plain).filter(|title| !title.is_empty());
        // Writing to a String cannot fail.
        let _ = match title {
            Some(title) => write!(text, "\n- {title}: {url}"),
            None => write!(text, "\n- {url}"),
        };
    }
    text
}

/// Whether the answer has this address, in the ways in which people and models shorten one.
fn names(answer: &str, url: &str) -> bool {
    let bare = url.split_once("://").map_or(url, |(_, rest)| rest);
    let bare = bare.strip_prefix("www.").unwrap_or(bare);
    let bare = bare.split_once('#').map_or(bare, |(before, _)| before).trim_end_matches('/');
    !bare.is_empty() && answer.contains(bare)
}

/// A title that formats nothing and hides nothing: it is the page's own word.
fn plain(title: &str) -> String {
    let marks = |c: char| "*_~`[]<>|\\#".contains(c) || c.is_control();
    let words: String = title.chars().map(|c| if marks(c) { ' ' } else { c }).collect();
    let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST_TITLE) {
        Some((end, _)) => format!("{}…", line[..end].trim_end()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(title: Option<&str>, url: &str) -> Source {
        Source { title: title.map(str::to_owned), url: url.into() }
    }

    fn added(answer: &str, sources: &[Source]) -> String {
        with_sources(answer.into(), sources).strip_prefix(answer).unwrap().to_owned()
    }

    #[test]
    fn pages_are_named_below_an_answer_that_names_none() {
        let pages = [source(Some("Boats"), "https://a.example/boats"), source(None, "https://b.example/")];
        assert_eq!(added("Twelve.", &pages), "\n\nSources:\n- Boats: https://a.example/boats\n- https://b.example/");
        assert_eq!(added("Twelve.", &[]), "");
    }

    #[test]
    fn an_answer_that_names_one_is_left_as_it_is() {
        let pages = [source(None, "https://www.a.example/boats/"), source(None, "https://b.example/x#top")];
        for answer in ["See https://www.a.example/boats/.", "(a.example/boats)", "[b](http://b.example/x)"] {
            assert_eq!(added(answer, &pages), "", "{answer}");
        }
        assert_ne!(added("See a.example for more.", &pages), "", "the site is not the page");
    }

    #[test]
    fn five_at_most() {
        let pages: Vec<Source> = (0..9).map(|i| source(None, &format!("https://a.example/{i}"))).collect();
        let lines = added("x", &pages);
        assert!(lines.contains("/4") && !lines.contains("/5"), "{lines}");
    }

    #[test]
    fn a_title_formats_nothing() {
        let line = added("x", &[source(Some("*Win* [here](http://evil.example)\n# now"), "https://a.example/")]);
        assert_eq!(line, "\n\nSources:\n- Win here (http://evil.example) now: https://a.example/");
        let long = added("x", &[source(Some(&"é".repeat(500)), "https://a.example/")]);
        assert_eq!(long.chars().filter(|c| *c == 'é').count(), MOST_TITLE);
    }
}
