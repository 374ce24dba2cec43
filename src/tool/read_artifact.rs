//! Reads on in a result that was too long to be shown whole.
//!
//! A page stays under what the model sees of one result, so that none of it is kept a second time; where its step has less room, it is a
//! shorter page ([`shown`]). It reads only what its own session keeps.

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::json;

use super::{Nature, Tool, ToolContext, ToolFailure, ToolOutput, parse};
use crate::domain::event::tool::codes;
use crate::domain::toolset::ToolSpec;
use crate::domain::{Args, Artifact};

pub const NAME: &str = Artifact::READER;

/// The session has no artifact of that id.
pub const UNKNOWN_ARTIFACT: &str = "UNKNOWN_ARTIFACT";

/// Characters of a page, where the call does not say.
const USUAL_PAGE: usize = 20_000;
/// The most characters of a page: under the 50,000 of a result, with room for the line above it.
const MOST_PAGE: usize = 45_000;
/// The most characters of a text that is searched for.
const MOST_SEARCH: usize = 200;
/// Places that one search shows.
const PLACES: usize = 20;
/// Characters before and behind a place that was found.
const AROUND: usize = 80;

mod shown;

use shown::{PLACE, Page, Places};

/// The tool `read_artifact`.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReadArtifact;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    artifact_id: String,
    offset: Option<usize>,
    limit: Option<usize>,
    search: Option<String>,
}

impl Wanted {
    fn parse(args: &Args) -> Result<Self, String> {
        let wanted: Self = parse(args)?;
        if wanted.limit == Some(0) {
            return Err(format!("limit must be between 1 and {MOST_PAGE}"));
        }
        match wanted.search.as_ref().map(|text| text.chars().count()) {
            None | Some(1..=MOST_SEARCH) => Ok(wanted),
            Some(_) => Err(format!("search must have 1 to {MOST_SEARCH} characters; leave it out to read")),
        }
    }

    async fn run(self, context: ToolContext) -> Result<ToolOutput, ToolFailure> {
        let id = &self.artifact_id;
        let unknown = || ToolFailure::new(UNKNOWN_ARTIFACT, format!("there is no artifact {id:?} in this conversation"));
        let known = id.parse().map_err(|_| unknown())?;
        let found = context.artifacts.artifact(&known).await;
        let failed = |_| ToolFailure::new(codes::TOOL_FAILED, "it cannot be read now; try again");
        let Artifact { text, trust } = found.map_err(failed)?.ok_or_else(unknown)?;
        let (offset, whole) = (self.offset.unwrap_or(0), text.chars().count());
        if offset > whole {
            return Err(ToolFailure::new(codes::INVALID_ARGUMENTS, format!("it ends before offset {offset}: it has {whole} characters")));
        }
        let content = match &self.search {
            Some(needle) => search(&text, id, needle, offset, whole),
            None => page(&text, id, offset, self.limit.unwrap_or(USUAL_PAGE).min(MOST_PAGE), whole),
        };
        Ok(ToolOutput::new(content, trust))
    }
}

impl Tool for ReadArtifact {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME,
            description: "Reads on in a long result of an earlier tool call. A result that is too long to be shown whole is kept as an \
                          artifact and names its id. Give an offset to read from there, or a text to search for, which shows where it stands."
                .into(),
            schema: json!({
                "type": "object",
                "properties": {
                    "artifact_id": {"type": "string", "description": "As the result names it."},
                    "offset": {"type": "integer", "minimum": 0, "description": "The character to begin at; 0 is the first."},
                    "limit": {
                        "type": "integer",
                        "minimum": 1,
                        "maximum": MOST_PAGE,
                        "description": format!("Characters to read; {USUAL_PAGE} when left out.")
                    },
                    "search": {
                        "type": "string",
                        "minLength": 1,
                        "maxLength": MOST_SEARCH,
                        "description": "Shows the places of this text from offset on, upper and lower case of a to z alike, instead of a page."
                    }
                },
                "required": ["artifact_id"],
                "additionalProperties": false
            }),
        }
    }

    fn nature(&self) -> Nature {
        Nature::Reads
    }

    fn within(&self, content: &str, room: usize) -> Option<String> {
        Some(shown::within(content, room))
    }

    fn check(&self, args: &Args) -> Result<(), String> {
        Wanted::parse(args).map(drop)
    }

    fn call(&self, context: ToolContext, args: Args) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async move {
            let wanted = Wanted::parse(&args).map_err(|error| ToolFailure::new(codes::INVALID_ARGUMENTS, error))?;
            wanted.run(context).await
        })
    }
}

/// So many characters from `offset` on, under a line that says where they stand and what is next.
fn page(text: &str, id: &str, offset: usize, limit: usize, whole: usize) -> String {
    let rest = &text[place_of(text, offset)..];
    Page { id, offset, whole }.over(&rest[..place_of(rest, limit)])
}

/// The byte at which the character of that number begins, or the text's end.
fn place_of(text: &str, number: usize) -> usize {
    text.char_indices().nth(number).map_or(text.len(), |(at, _)| at)
}

/// Where the needle stands from `offset` on, each place with what is around it.
fn search(text: &str, id: &str, needle: &str, offset: usize, whole: usize) -> String {
    let start = place_of(text, offset);
    // of the same length, so that places in it are places in the text
    let (lowered, needle) = (text[start..].to_ascii_lowercase(), needle.to_ascii_lowercase());
    let mut found = lowered.match_indices(&needle).map(|(at, _)| start + at);
    let (mut lines, mut counted, mut at) = (Vec::new(), offset, start);
    for place in found.by_ref().take(PLACES) {
        (counted, at) = (counted + text[at..place].chars().count(), place);
        lines.push(format!("{PLACE}{counted}: {}", around(text, place, needle.len())));
    }
    let more = found.next().map(|_| counted + 1);
    let places = Places { id, whole, offset, more };
    if lines.is_empty() {
        lines.push("The text does not stand there.".into());
    }
    places.over(&lines.join("\n"))
}

/// The place with its surroundings, on one line.
fn around(text: &str, place: usize, length: usize) -> String {
    let end = place + length;
    let before = text[..place].char_indices().rev().take(AROUND).last().map_or(place, |(at, _)| at);
    let behind = text[end..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| end + at);
    text[before..behind].replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
