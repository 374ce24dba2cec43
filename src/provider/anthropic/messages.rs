//! The conversation as this wire says it.
//!
//! Roles alternate, and a user begins and ends it. A user message has the results of all calls of the message in front of it first, then files
//! and text; no text is blank. The fold holds that each call has its result (invariant 5), so nothing is paired here.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;

use super::body::CacheControl;
use super::thinking::Kept;
use crate::domain::digest::sha256;
use crate::domain::message::ToolCall;
use crate::domain::{Args, Block, SurfaceMessage};
use crate::provider::ModelRequest;
use crate::provider::base64::Base64;
use crate::provider::files::{Media, Seen};

/// Stands for a user's message where the wire wants one and nobody wrote it: in front of an answer that nobody asked for, behind one that a
/// person gave in the agent's place, and for the result of a failed call that has no text.
const NOTHING_SAID: &str = "(nothing was said)";
/// The longest name that the wire takes, in characters.
const NAME_CHARS: usize = 128;

/// User messages that carry a mark for the cache, from the end.
const MARKED: usize = 2;

#[derive(Serialize)]
pub(super) struct Message<'a> {
    role: Role,
    content: Vec<Part<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    User,
    Assistant,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Document {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        title: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: &'a str,
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Cow<'a, RawValue>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        #[serde(skip_serializing_if = "str::is_empty")]
        content: &'a str,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'static str,
    data: Base64<'a>,
}

impl Message<'_> {
    /// It answers calls: the round that made them goes on.
    pub(super) fn has_result(&self) -> bool {
        self.content.iter().any(|part| matches!(part, Part::ToolResult { .. }))
    }

    pub(super) fn begins_with_thought(&self) -> bool {
        self.content.first().is_some_and(Part::is_thought)
    }
}

impl Part<'_> {
    fn is_thought(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }
}

/// All messages of a request, with their marks for the cache.
pub(super) fn messages<'a>(request: &'a ModelRequest, provider: &str) -> Vec<Message<'a>> {
    let mut said: Vec<Message<'a>> = vec![];
    for message in &request.messages {
        let (role, parts) = match &**message {
            SurfaceMessage::User { text: spoken, files } => {
                let (spoken, seen) = request.files.message(spoken, files);
                (Role::User, seen.into_iter().map(file).chain(text(spoken)).collect())
            }
            SurfaceMessage::ToolResult { tool_call_id, content, is_error, .. } => {
                (Role::User, vec![result(tool_call_id.as_str(), content, *is_error)])
            }
            SurfaceMessage::Assistant { content } => (Role::Assistant, answer(content, request, provider)),
        };
        add(&mut said, role, parts);
    }
    if said.first().is_none_or(|first| first.role == Role::Assistant) {
        said.insert(0, Message { role: Role::User, content: text(NOTHING_SAID).into_iter().collect() });
    }
    // The model would go on with an answer that stands last, or refuse it.
    if said.last().is_some_and(|last| last.role == Role::Assistant) {
        add(&mut said, Role::User, text(NOTHING_SAID).into_iter().collect());
    }
    for message in said.iter_mut().filter(|message| message.role == Role::User) {
        message.content.sort_by_key(|part| !matches!(part, Part::ToolResult { .. }));
    }
    for message in said.iter_mut().rev().filter(|message| message.role == Role::User).take(MARKED) {
        mark(message);
    }
    said
}

/// Neighbours of one role are one message.
fn add<'a>(said: &mut Vec<Message<'a>>, role: Role, parts: Vec<Part<'a>>) {
    match said.last_mut() {
        _ if parts.is_empty() => {}
        Some(last) if last.role == role => last.content.extend(parts),
        _ => said.push(Message { role, content: parts }),
    }
}

fn mark(message: &mut Message<'_>) {
    match message.content.last_mut() {
        Some(
            Part::Text { cache_control, .. }
            | Part::Image { cache_control, .. }
            | Part::Document { cache_control, .. }
            | Part::ToolResult { cache_control, .. },
        ) => *cache_control = Some(CacheControl::EPHEMERAL),
        Some(Part::Thinking { .. } | Part::RedactedThinking { .. } | Part::ToolUse { .. }) | None => {}
    }
}

fn text<'a>(text: impl Into<Cow<'a, str>>) -> Option<Part<'a>> {
    let text = text.into();
    (!text.trim().is_empty()).then_some(Part::Text { text, cache_control: None })
}

fn file(seen: &Seen) -> Part<'_> {
    let source = Source { kind: "base64", media_type: seen.media.mime(), data: Base64(&seen.bytes) };
    match seen.media {
        Media::Pdf => Part::Document { source, title: seen.name.as_deref(), cache_control: None },
        Media::Jpeg | Media::Png | Media::Webp | Media::Gif => Part::Image { source, cache_control: None },
    }
}

/// A result may be empty, but not that of a failure.
fn result<'a>(id: &'a str, content: &'a str, is_error: bool) -> Part<'a> {
    let content = if is_error && content.is_empty() { NOTHING_SAID } else { content };
    Part::ToolResult { tool_use_id: name(id), content, is_error, cache_control: None }
}

/// An answer. The wire refuses one that ends with a thought: what led to no word and no call is left out.
fn answer<'a>(content: &'a [Block], request: &ModelRequest, provider: &str) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = content.iter().filter_map(|block| answered(block, request, provider)).collect();
    while parts.pop_if(|last| last.is_thought()).is_some() {}
    parts
}

/// A block of an answer. Thoughts go back to the provider and model that had them, and to nobody else; so does no thought that was cut.
fn answered<'a>(block: &'a Block, request: &ModelRequest, provider: &str) -> Option<Part<'a>> {
    match block {
        Block::Text { text: spoken } => text(spoken.as_str()),
        Block::ToolCall(ToolCall { id, tool, args }) => Some(Part::ToolUse { id: name(id.as_str()), name: name(tool), input: input(args) }),
        Block::Reasoning { text, opaque } => Some(match Kept::of(opaque.as_ref()?, provider, &request.model)? {
            Kept::Signature(signature) => Part::Thinking { thinking: text, signature },
            Kept::Redacted(data) => Part::RedactedThinking { data },
        }),
    }
}

/// Arguments as the object that the wire wants. What the model sent otherwise, which is told it in the call's result, stands in a field of
/// one: it sees what it did, and the request is valid.
fn input(args: &Args) -> Cow<'_, RawValue> {
    let object = args.as_str().starts_with('{').then(|| serde_json::from_str::<&RawValue>(args.as_str()).ok()).flatten();
    match object {
        Some(object) => Cow::Borrowed(object),
        // `Args` is JSON, so this is.
        None => Cow::Owned(RawValue::from_string(format!("{{\"unparsed\":{}}}", args.as_str())).unwrap_or_default()),
    }
}

/// An id or a tool's name. The wire takes letters, digits, `_` and `-`; other providers, and models that make a tool up, have more. The same
/// name is the same here, and another one another.
pub(super) fn name(given: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if given.chars().all(fits) && (1..=NAME_CHARS).contains(&given.len()) {
        return Cow::Borrowed(given);
    }
    let digest = &sha256(given)[..8];
    let kept = given.chars().take(NAME_CHARS - digest.len() - 1).map(|c| if fits(c) { c } else { '_' });
    Cow::Owned(kept.chain(['_']).chain(digest.chars()).collect())
}
