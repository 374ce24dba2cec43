//! Two offline tools for the demo model: one that looks something up, one that asks before it acts. Both touch nothing outside, and say so.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{Nature, Tool, ToolContext, ToolFailure, ToolOutput, parse};
use crate::domain::Args;
use crate::domain::digest::sha256;
use crate::domain::event::input::Trust;
use crate::domain::event::tool::codes;
use crate::domain::toolset::{Policy, ToolSpec};

/// Looks in a small catalogue that is part of the program.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoLookup;

/// Makes up a confirmation, once somebody has approved it.
#[derive(Clone, Copy, Debug, Default)]
pub struct DemoBooking;

/// Name and description; every entry is invented.
const CATALOGUE: [(&str, &str); 6] = [
    ("rowing boat", "seats four, on the lake, by the hour, 12 coins"),
    ("city bicycle", "with basket and lock, by the day, 9 coins"),
    ("meeting room", "eight chairs, a screen, a window to the yard, by the hour, 20 coins"),
    ("reading desk", "quiet room, lamp, by the day, 5 coins"),
    ("garden tour", "ninety minutes with a guide, up to ten people, 8 coins each"),
    ("pottery class", "an evening, clay included, up to six people, 25 coins each"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Lookup {
    query: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Booking {
    item: String,
    when: String,
}

impl Tool for DemoLookup {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "demo_lookup",
            description: "Looks in a small catalogue of made-up offers. Demonstration data, offline: it knows nothing of the real world."
                .into(),
            schema: json!({
                "type": "object",
                "properties": {"query": {"type": "string", "description": "What to look for, in a few words."}},
                "required": ["query"],
                "additionalProperties": false
            }),
        }
    }

    fn nature(&self) -> Nature {
        Nature::Reads
    }

    fn check(&self, args: &Args) -> Result<(), String> {
        parse::<Lookup>(args).map(drop)
    }

    fn call(&self, _context: ToolContext, args: Args) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move { output(parse::<Lookup>(&args).map(|lookup| find(&lookup.query))) })
    }
}

impl Tool for DemoBooking {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "demo_booking",
            description: "Pretends to book an offer, after a person has approved it. A demonstration: nothing outside changes.".into(),
            schema: json!({
                "type": "object",
                "properties": {
                    "item": {"type": "string", "description": "The offer, as demo_lookup names it."},
                    "when": {"type": "string", "description": "Day and time, in plain words."}
                },
                "required": ["item", "when"],
                "additionalProperties": false
            }),
        }
    }

    fn default_policy(&self) -> Option<Policy> {
        Some(Policy::Ask)
    }

    fn effects(&self) -> bool {
        false
    }

    fn idempotent(&self) -> bool {
        true
    }

    fn check(&self, args: &Args) -> Result<(), String> {
        let booking: Booking = parse(args)?;
        match booking.item.trim().is_empty() || booking.when.trim().is_empty() {
            true => Err("item and when must not be empty".into()),
            false => Ok(()),
        }
    }

    fn call(&self, _context: ToolContext, args: Args) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move { output(parse::<Booking>(&args).map(|booking| confirm(&booking))) })
    }
}

fn output(content: Result<String, String>) -> Result<ToolOutput, ToolFailure> {
    content.map(|content| ToolOutput::new(content, Trust::Trusted)).map_err(|error| ToolFailure::new(codes::INVALID_ARGUMENTS, error))
}

/// What asks for all that there is.
const EVERYTHING: [&str; 3] = ["everything", "all", "calendar"];
/// Days of the whole calendar: enough that a model is not shown all of it, which is what there is to try.
const DAYS: u32 = 366;

/// The entries that share a word with the query; without any, the names of all.
fn find(query: &str) -> String {
    let query = query.to_lowercase();
    let words: Vec<&str> = query.split(|c: char| !c.is_alphanumeric()).filter(|w| w.len() > 2).collect();
    if words.iter().any(|word| EVERYTHING.contains(word)) {
        return calendar();
    }
    let hits = CATALOGUE.iter().filter(|(name, text)| words.iter().any(|w| name.contains(w) || text.contains(w)));
    let lines: Vec<String> = hits.map(|(name, text)| format!("- {name}: {text}")).collect();
    if lines.is_empty() {
        let names = CATALOGUE.map(|(name, _)| name).join(", ");
        return format!("Demo data, made up: nothing in the catalogue fits. It has: {names}.");
    }
    format!("Demo data, made up. Offers that fit:\n{}", lines.join("\n"))
}

/// Each offer on each day of a year. Longer than a model sees of one result.
fn calendar() -> String {
    let days = (1..=DAYS).flat_map(|day| CATALOGUE.map(|(name, _)| format!("- day {day}: {name}, free")));
    format!("Demo data, made up. Everything, day by day:\n{}", days.collect::<Vec<_>>().join("\n"))
}

/// The same call always has the same number, so that a repeated run is seen to be the same.
fn confirm(Booking { item, when }: &Booking) -> String {
    let digest = sha256(format!("{item}\n{when}"));
    let number = digest[..8].to_uppercase();
    format!(
        "Demo confirmation DEMO-{number} for {item}, {when}. This is a demonstration: nothing was really booked, nobody was charged or told."
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::tool::Progress;
    use crate::tool::tests::NoArtifacts;

    async fn run(tool: &dyn Tool, args: &str) -> Result<ToolOutput, ToolFailure> {
        let context =
            ToolContext { cancel: CancellationToken::new(), progress: Progress(Arc::new(|_| {})), artifacts: Arc::new(NoArtifacts) };
        tool.call(context, Args::from_model(args)).await
    }

    #[tokio::test]
    async fn a_lookup_finds_by_word_and_says_that_it_is_a_demo() {
        let found = run(&DemoLookup, r#"{"query":"A BOAT, please"}"#).await.unwrap().content;
        assert!(found.contains("rowing boat") && !found.contains("pottery"), "{found}");
        assert!(found.starts_with("Demo data"), "{found}");
        let nothing = run(&DemoLookup, r#"{"query":"submarine"}"#).await.unwrap().content;
        assert!(nothing.contains("nothing in the catalogue fits") && nothing.contains("garden tour"), "{nothing}");
    }

    /// The cap of a result is the agent's; a look-up of everything is there to be over it.
    #[tokio::test]
    async fn a_lookup_of_everything_is_longer_than_a_model_is_shown() {
        let found = run(&DemoLookup, r#"{"query":"everything"}"#).await.unwrap().content;
        assert!(found.chars().count() > 50_000 && found.starts_with("Demo data, made up"), "{}", found.len());
        assert!(found.ends_with("- day 366: pottery class, free"), "{}", &found[found.len() - 60..]);
    }

    #[tokio::test]
    async fn a_booking_is_deterministic_and_books_nothing() {
        let first = run(&DemoBooking, r#"{"item":"rowing boat","when":"Monday"}"#).await.unwrap().content;
        assert_eq!(first, run(&DemoBooking, r#"{"item":"rowing boat","when":"Monday"}"#).await.unwrap().content);
        assert_ne!(first, run(&DemoBooking, r#"{"item":"rowing boat","when":"Sunday"}"#).await.unwrap().content);
        assert!(first.contains("nothing was really booked"), "{first}");
        assert!(!DemoBooking.effects() && DemoBooking.default_policy() == Some(Policy::Ask));
    }

    #[tokio::test]
    async fn wrong_arguments_are_refused_before_and_in_the_call() {
        for args in ["{}", r#"{"query":1}"#, r#"{"query":"a","query":"b"}"#, r#"{"query":"a","limit":3}"#, "[1]", "{"] {
            assert!(DemoLookup.check(&Args::from_model(args)).is_err(), "{args}");
            assert_eq!(run(&DemoLookup, args).await.unwrap_err().code, codes::INVALID_ARGUMENTS, "{args}");
        }
        assert!(DemoBooking.check(&Args::from_model(r#"{"item":" ","when":"now"}"#)).is_err());
    }
}
