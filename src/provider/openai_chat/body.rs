//! A request as bytes. Pure, and the same bytes for the same request: what a ledger rebuilds is what was sent, and a provider's prefix cache
//! sees the same prefix.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use crate::domain::message::{ToolCall, calls_of, text_of};
use crate::domain::{Block, SurfaceMessage};
use crate::provider::ModelRequest;
use crate::provider::base64::Base64;
use crate::provider::files::{Files, Media, Seen};
use crate::provider::offered::offered;
use crate::provider::table::Quirks;

/// Bytes of a body beside prompt and tools that it has room for from the start: a short conversation and what escaping adds. A thousand turns
/// that begin at once would else hold twice their bodies.
const ROOM: usize = 2 * 1024;
/// A document's name where its sender gave none: the wire wants one.
const UNNAMED: &str = "document.pdf";

/// The whole body: the stable things first, the newest message last.
pub fn body(request: &ModelRequest, quirks: &Quirks) -> Vec<u8> {
    let tools = tools(request.tools.as_deref());
    // Strings, maps with string keys and JSON that was read before: nothing here can fail to serialise.
    let mut bytes = Vec::with_capacity(request.system.len() + request.tools.as_ref().map_or(0, |tools| tools.len()) + ROOM);
    match serde_json::to_writer(&mut bytes, &Body { request, quirks, tools }) {
        Ok(()) => bytes,
        Err(_) => Vec::new(),
    }
}

struct Body<'a> {
    request: &'a ModelRequest,
    quirks: &'a Quirks,
    tools: Vec<Tool<'a>>,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, quirks, tools } = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &request.model)?;
        if !tools.is_empty() {
            map.serialize_entry("tools", tools)?;
        }
        map.serialize_entry("stream", &true)?;
        if quirks.stream_options {
            map.serialize_entry("stream_options", &StreamOptions { include_usage: true })?;
        }
        if let Some(max) = request.parameters.max_output_tokens {
            map.serialize_entry(quirks.max_tokens_field, &max)?;
        }
        if let Some(effort) = effort(request, quirks, !tools.is_empty()) {
            map.serialize_entry("reasoning_effort", effort)?;
        }
        map.serialize_entry("messages", &messages(request, quirks))?;
        map.end()
    }
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

fn effort<'a>(request: &'a ModelRequest, quirks: &Quirks, has_tools: bool) -> Option<&'a str> {
    let asked = request.parameters.reasoning_effort.as_deref();
    let rule = quirks.effort_with_tools.iter().find(|(prefix, _)| request.model.starts_with(prefix));
    match rule {
        Some((_, instead)) if has_tools => *instead,
        _ => asked,
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a RawValue,
    description: &'a RawValue,
    parameters: &'a RawValue,
}

fn tools(blob: Option<&str>) -> Vec<Tool<'_>> {
    offered(blob)
        .into_iter()
        .map(|t| Tool { kind: "function", function: Function { name: t.name, description: t.description, parameters: t.schema } })
        .collect()
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: &'a str,
    },
    User {
        content: Content<'a>,
    },
    Assistant {
        /// Null where the answer was calls only; some servers refuse an empty text.
        content: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        reasoning_content: Option<String>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        content: &'a str,
    },
}

/// A plain text wherever it can be: not every server takes parts.
#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<Part<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Part<'a> {
    Text { text: Cow<'a, str> },
    ImageUrl { image_url: ImageUrl<'a> },
    File { file: FileData<'a> },
}

#[derive(Serialize)]
struct ImageUrl<'a> {
    url: DataUrl<'a>,
}

#[derive(Serialize)]
struct FileData<'a> {
    filename: &'a str,
    file_data: DataUrl<'a>,
}

struct DataUrl<'a>(&'a Seen);

impl Serialize for DataUrl<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("data:{};base64,{}", self.0.media.mime(), Base64(&self.0.bytes)))
    }
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    /// A string that holds JSON.
    arguments: &'a str,
}

fn messages<'a>(request: &'a ModelRequest, quirks: &Quirks) -> Vec<Message<'a>> {
    let system = (!request.system.is_empty()).then_some(Message::System { content: &request.system });
    system.into_iter().chain(request.messages.iter().map(|m| message(m, &request.files, quirks))).collect()
}

fn message<'a>(message: &'a SurfaceMessage, files: &'a Files, quirks: &Quirks) -> Message<'a> {
    match message {
        SurfaceMessage::User { text, files: own } => Message::User { content: content(files.message(text, own)) },
        SurfaceMessage::Assistant { content } => assistant(content, quirks),
        SurfaceMessage::ToolResult { tool_call_id, content, .. } => Message::Tool { tool_call_id: tool_call_id.as_str(), content },
    }
}

fn content<'a>((text, seen): (Cow<'a, str>, Vec<&'a Seen>)) -> Content<'a> {
    if seen.is_empty() {
        return Content::Text(text);
    }
    let said = (!text.is_empty()).then_some(Part::Text { text });
    Content::Parts(seen.into_iter().map(part).chain(said).collect())
}

fn part(seen: &Seen) -> Part<'_> {
    match seen.media {
        Media::Pdf => Part::File { file: FileData { filename: seen.name.as_deref().unwrap_or(UNNAMED), file_data: DataUrl(seen) } },
        Media::Jpeg | Media::Png | Media::Webp | Media::Gif => Part::ImageUrl { image_url: ImageUrl { url: DataUrl(seen) } },
    }
}

fn assistant<'a>(content: &'a [Block], quirks: &Quirks) -> Message<'a> {
    let tool_calls: Vec<Call<'a>> = calls_of(content).map(call).collect();
    let text = Some(text_of(content)).filter(|text| !text.is_empty() || tool_calls.is_empty());
    let replayed = quirks.replay_reasoning && !tool_calls.is_empty();
    Message::Assistant { content: text, reasoning_content: replayed.then(|| reasoning_of(content)), tool_calls }
}

fn call(call: &ToolCall) -> Call<'_> {
    Call { id: call.id.as_str(), kind: "function", function: Called { name: &call.tool, arguments: call.args.as_str() } }
}

fn reasoning_of(content: &[Block]) -> String {
    content.iter().fold(String::new(), |mut all, block| {
        if let Block::Reasoning { text, .. } = block {
            all.push_str(text);
        }
        all
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::event::model::Parameters;
    use crate::domain::{Args, ToolCallId};
    use crate::provider::table::Table;

    fn quirks(id: &str) -> Quirks {
        Table::new().get(id).unwrap().quirks
    }

    fn request(messages: Vec<SurfaceMessage>) -> ModelRequest {
        ModelRequest {
            model: "m".into(),
            system: "be brief".into(),
            tools: Some(r#"[{"name":"look","description":"Looks.","schema":{"type":"object","properties":{"z":{},"a":{}}}}]"#.into()),
            withheld: None,
            messages: messages.into_iter().map(Arc::new).collect(),
            files: Arc::default(),
            parameters: Parameters { max_output_tokens: Some(99), reasoning_effort: None },
        }
    }

    fn conversation() -> Vec<SurfaceMessage> {
        let id = ToolCallId::from("c1");
        let call = ToolCall { id: id.clone(), tool: "look".into(), args: Args::from_model("{\"z\":1.0, \"a\":2}") };
        vec![
            SurfaceMessage::user("hi \"you\""),
            SurfaceMessage::Assistant { content: vec![Block::reasoning("hm"), Block::ToolCall(call)] },
            SurfaceMessage::ToolResult { tool_call_id: id, tool: "look".into(), content: "seen".into(), is_error: false },
            SurfaceMessage::Assistant { content: vec![Block::reasoning("so"), Block::Text { text: "done".into() }] },
        ]
    }

    fn text(request: &ModelRequest, id: &str) -> String {
        String::from_utf8(body(request, &quirks(id))).unwrap()
    }

    #[test]
    fn the_bytes_are_stable() {
        let expected = concat!(
            r#"{"model":"m","tools":[{"type":"function","function":{"name":"look","description":"Looks.","parameters":{"type":"object","properties":{"z":{},"a":{}}}}}],"#,
            r#""stream":true,"stream_options":{"include_usage":true},"max_completion_tokens":99,"messages":[{"role":"system","content":"be brief"},"#,
            r#"{"role":"user","content":"hi \"you\""},"#,
            r#"{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"z\":1.0,\"a\":2}"}}]},"#,
            r#"{"role":"tool","tool_call_id":"c1","content":"seen"},{"role":"assistant","content":"done"}]}"#,
        );
        assert_eq!(text(&request(conversation()), "openai"), expected);
    }

    #[test]
    fn a_longer_conversation_keeps_the_bytes_in_front() {
        let shorter = text(&request(conversation()), "openai");
        let mut longer = conversation();
        longer.push(SurfaceMessage::user("more"));
        assert!(text(&request(longer), "openai").starts_with(shorter.strip_suffix("]}").unwrap()));
    }

    #[test]
    fn reasoning_goes_back_only_where_it_must_and_then_even_empty() {
        let deepseek = text(&request(conversation()), "deepseek");
        assert!(deepseek.contains(r#""content":null,"reasoning_content":"hm","tool_calls""#), "{deepseek}");
        assert!(!deepseek.contains(r#""so""#) && deepseek.contains(r#""max_tokens":99"#));
        let mut messages = conversation();
        let SurfaceMessage::Assistant { content } = &mut messages[1] else { unreachable!() };
        content.remove(0);
        assert!(text(&request(messages), "deepseek").contains(r#""reasoning_content":"","tool_calls""#));
        assert!(!text(&request(conversation()), "openrouter").contains("reasoning_content"));
    }

    #[test]
    fn effort_beside_tools_is_what_the_model_takes() {
        let mut request = request(conversation());
        request.parameters.reasoning_effort = Some("high".into());
        let effort = |request: &ModelRequest| {
            let body: serde_json::Value = serde_json::from_slice(&body(request, &quirks("openai"))).unwrap();
            body["reasoning_effort"].as_str().map(str::to_owned)
        };
        for (model, with, without) in
            [("gpt-5", Some("high"), "high"), ("gpt-5.4-mini", None, "high"), ("gpt-5.6-sol", Some("none"), "high")]
        {
            request.model = model.into();
            request.tools = Some(r#"[{"name":"a","description":"b","schema":{}}]"#.into());
            assert_eq!(effort(&request).as_deref(), with, "{model}");
            request.tools = None;
            assert_eq!(effort(&request).as_deref(), Some(without), "{model}");
        }
    }

    #[test]
    fn withheld_tools_are_not_named() {
        let mut request = request(conversation());
        request.tools = None;
        let without = text(&request, "openai");
        request.withheld = Some(r#"[{"name":"look","description":"Looks.","schema":{}}]"#.into());
        assert_eq!(text(&request, "openai"), without);
        assert!(!without.contains("tools") && !without.contains("tool_choice"), "{without}");
    }

    #[test]
    fn no_tools_and_no_system_leave_no_trace() {
        let mut request = request(vec![]);
        (request.tools, request.system) = (None, "".into());
        request.parameters = Parameters::default();
        assert_eq!(text(&request, "openai"), r#"{"model":"m","stream":true,"stream_options":{"include_usage":true},"messages":[]}"#);
    }
}
