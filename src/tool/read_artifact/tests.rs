use std::sync::Arc;

use futures_util::FutureExt;
use proptest::prelude::*;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::domain::ArtifactId;
use crate::domain::event::input::Trust;
use crate::tool::{Artifacts, Progress};

/// One artifact, or a store that fails.
#[derive(Clone, Debug)]
struct One(Result<Artifact, String>);

impl Artifacts for One {
    fn artifact(&self, id: &ArtifactId) -> BoxFuture<'static, Result<Option<Artifact>, String>> {
        let (found, id) = (self.0.clone(), id.clone());
        async move { found.map(|artifact| Some(artifact).filter(|a| a.clone().into_blob().0 == id)) }.boxed()
    }
}

fn artifact(text: &str) -> Artifact {
    Artifact { trust: Trust::Untrusted, text: text.into() }
}

fn id(artifact: &Artifact) -> String {
    artifact.clone().into_blob().0.into()
}

async fn call(kept: One, args: &serde_json::Value) -> Result<ToolOutput, ToolFailure> {
    let context = ToolContext { cancel: CancellationToken::new(), progress: Progress(Arc::new(|_| {})), artifacts: Arc::new(kept) };
    ReadArtifact.call(context, Args::from_model(&args.to_string())).await
}

/// What a call on this text gives: the line above, and what is below it.
async fn read(text: &str, offset: usize, limit: usize) -> (String, String) {
    let kept = artifact(text);
    let output = call(One(Ok(kept.clone())), &json!({"artifact_id": id(&kept), "offset": offset, "limit": limit})).await.unwrap();
    assert_eq!(output.trust, Trust::Untrusted);
    let (head, body) = output.content.split_once('\n').unwrap();
    (head.to_owned(), body.to_owned())
}

#[tokio::test]
async fn a_page_says_where_it_stands_and_what_is_next() {
    let (head, body) = read("a🙂bcdé", 1, 3).await;
    assert_eq!(body, "🙂bc");
    assert!(head.ends_with(": characters 1 to 4 of 6; next: offset 4]"), "{head}");
    let (head, body) = read("a🙂bcdé", 4, 3).await;
    assert_eq!(body, "dé");
    assert!(head.contains("4 to 6 of 6; this is its end"), "{head}");
    let (head, body) = read("abc", 3, 1).await;
    assert!(head.contains("3 to 3 of 3") && body.is_empty(), "{head}");
}

#[tokio::test]
async fn a_page_stays_under_the_cap_of_a_result() {
    let text = "é".repeat(100_000);
    let (_, body) = read(&text, 0, usize::MAX).await;
    assert_eq!(body.chars().count(), MOST_PAGE);
    let kept = artifact(&text);
    let usual = call(One(Ok(kept.clone())), &json!({"artifact_id": id(&kept)})).await.unwrap().content;
    assert!((USUAL_PAGE..USUAL_PAGE + 200).contains(&usual.chars().count()));
}

#[tokio::test]
async fn a_search_shows_places_that_a_page_finds() {
    let text = format!("{}The Needle\nhere{}NEEDLE{}", "é".repeat(100), "-".repeat(300), "🙂needle".repeat(30));
    let kept = artifact(&text);
    let find = |args: serde_json::Value| {
        let kept = One(Ok(kept.clone()));
        async move { call(kept, &args).await }
    };
    let found = find(json!({"artifact_id": id(&kept), "search": "needle"})).await.unwrap().content;
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines.len(), 1 + PLACES, "{found}");
    assert!(lines[0].contains("search on from offset"), "{found}");
    assert!(lines[1].starts_with("- offset 104: é") && lines[1].contains("The Needle here"), "{found}");
    for line in &lines[1..] {
        let offset = line.strip_prefix("- offset ").unwrap().split(':').next().unwrap().parse().unwrap();
        let (_, body) = read(&text, offset, 6).await;
        assert!(body.eq_ignore_ascii_case("needle"), "{line}");
    }
    let next = lines[0].rsplit("offset ").next().unwrap().trim_end_matches(']').parse::<usize>().unwrap();
    let rest = find(json!({"artifact_id": id(&kept), "search": "needle", "offset": next})).await.unwrap().content;
    assert_eq!(rest.lines().count(), 1 + 32 - PLACES, "{rest}");
    let none = find(json!({"artifact_id": id(&kept), "search": "nothing"})).await.unwrap().content;
    assert!(none.contains("on: 0]") && none.contains("does not stand"), "{none}");
}

#[tokio::test]
async fn what_is_not_there_is_said() {
    let kept = artifact("abc");
    let other = id(&artifact("another"));
    for wrong in [other.as_str(), "art_1", "", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"] {
        let failure = call(One(Ok(kept.clone())), &json!({"artifact_id": wrong})).await.unwrap_err();
        assert_eq!(failure.code, UNKNOWN_ARTIFACT, "{wrong}");
    }
    let failure = call(One(Ok(kept.clone())), &json!({"artifact_id": id(&kept), "offset": 4})).await.unwrap_err();
    assert!(failure.error.contains("3 characters"), "{failure:?}");
    let failure = call(One(Err("the disk is on fire".into())), &json!({"artifact_id": id(&kept)})).await.unwrap_err();
    assert!(failure.code == codes::TOOL_FAILED && !failure.error.contains("fire"), "{failure:?}");
    for args in [json!({"artifact_id": other, "limit": 0}), json!({"artifact_id": other, "search": ""}), json!({"offset": 1})] {
        assert!(ReadArtifact.check(&Args::from_model(&args.to_string())).is_err(), "{args}");
    }
}

proptest! {
    /// Pages one after another are the text, whatever its characters and their size.
    #[test]
    fn pages_make_up_the_text(text in ".{0,300}", limit in 1usize..50) {
        let (mut all, mut offset) = (String::new(), 0);
        loop {
            let whole = page(&text, "art_x", offset, limit);
            let (head, body) = whole.split_once('\n').unwrap();
            all.push_str(body);
            match head.rsplit_once("next: offset ") {
                Some((_, next)) => offset = next.trim_end_matches(']').parse().unwrap(),
                None => break,
            }
        }
        prop_assert_eq!(all, text);
    }

    #[test]
    fn a_search_finds_every_place(text in "[aAbé]{0,40}", offset in 0usize..10) {
        prop_assume!(offset <= text.chars().count());
        let found = search(&text, "art_x", "ab", offset);
        let lower: Vec<char> = text.to_ascii_lowercase().chars().collect();
        let places = lower.windows(2).skip(offset).filter(|w| w == &['a', 'b']).count();
        prop_assert_eq!(found.lines().filter(|l| l.starts_with("- offset")).count(), places);
    }

    /// Whatever room its step leaves it: who goes on from where each page says reads the whole text.
    #[test]
    fn shortened_pages_make_up_the_text(text in "[a\n\\]é🙂]{0,900}", limit in 1usize..700, rooms in prop::collection::vec(160usize..500, 1..20)) {
        let id = id(&artifact(&text));
        let (mut all, mut offset) = (String::new(), 0);
        for room in rooms.iter().cycle() {
            let page = shown_in(page(&text, &id, offset, limit), *room);
            prop_assert!(page.chars().count() <= *room, "{}", page);
            let (head, body) = page.split_once('\n').unwrap();
            all.push_str(body);
            let end = offset + body.chars().count();
            prop_assert!(head.contains(&format!("characters {offset} to {end} of {}", text.chars().count())), "{}", head);
            match head.rsplit_once("next: offset ") {
                Some((_, next)) => offset = next.trim_end_matches(']').parse().unwrap(),
                None => break,
            }
        }
        prop_assert_eq!(all, text);
    }

    #[test]
    fn shortened_searches_find_every_place(text in "[abxé\n]{0,400}", rooms in prop::collection::vec(200usize..700, 1..20)) {
        let id = id(&artifact(&text));
        let (mut found, mut offset) = (Vec::new(), 0);
        for room in rooms.iter().cycle() {
            let places = shown_in(search(&text, &id, "ab", offset), *room);
            prop_assert!(places.chars().count() <= *room, "{}", places);
            let (head, lines) = places.split_once('\n').unwrap();
            found.extend(lines.lines().filter_map(|l| l.strip_prefix("- offset ")?.split(':').next()?.parse::<usize>().ok()));
            match head.rsplit_once("search on from offset ") {
                Some((_, next)) => offset = next.trim_end_matches(']').parse().unwrap(),
                None => break,
            }
        }
        let chars: Vec<char> = text.chars().collect();
        let there: Vec<usize> = (0..chars.len()).filter(|i| chars[*i..].starts_with(&['a', 'b'])).collect();
        prop_assert_eq!(found, there);
    }
}

/// A result as the model sees it where its step has so much room.
fn shown_in(content: String, room: usize) -> String {
    if content.chars().count() <= room { content } else { ReadArtifact.within(&content, room).unwrap() }
}
