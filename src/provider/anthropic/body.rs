//! A request as bytes. Pure, and the same bytes for the same request: what a ledger rebuilds is what was sent.
//!
//! The provider caches what stands in front of a mark, and takes four of them: one on the last tool, one on the system text, one on each of
//! the last two user messages, so that the one before finds what the last request wrote. Tools stand in front of all, so those that the last
//! answer of a turn may no longer call are still named, in the same bytes.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::messages::{messages, name};
use super::thinking::{Asked, asked};
use crate::domain::SurfaceMessage;
use crate::domain::message::calls_of;
use crate::provider::ModelRequest;
use crate::provider::offered::offered;
use crate::provider::table::claude::claude;

/// The whole body: the stable things first, the newest message last. `provider` is the table's id: what it gave goes back to it alone.
///
/// No `temperature` is ever sent, and no `tool_choice` but `none`: a model that thinks refuses them.
pub fn body(request: &ModelRequest, provider: &str) -> Vec<u8> {
    // Strings, numbers and JSON that was read before: nothing here can fail to serialise.
    serde_json::to_vec(&Body { request, provider }).unwrap_or_default()
}

struct Body<'a> {
    request: &'a ModelRequest,
    provider: &'a str,
}

impl Serialize for Body<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { request, provider } = self;
        let max_tokens = request.parameters.max_output_tokens.unwrap_or_else(|| claude(&request.model).max_tokens);
        let messages = messages(request, provider);
        let Asked { thinking, output_config } = asked(request, &messages, max_tokens);
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("model", &request.model)?;
        map.serialize_entry("max_tokens", &max_tokens)?;
        map.serialize_entry("stream", &true)?;
        if let Some(thinking) = thinking {
            map.serialize_entry("thinking", &thinking)?;
        }
        if let Some(config) = output_config {
            map.serialize_entry("output_config", &config)?;
        }
        let named = tools(request.tools.as_deref().or(request.withheld.as_deref()));
        let called = if named.is_empty() { called(request) } else { Vec::new() };
        if !named.is_empty() {
            map.serialize_entry("tools", &named)?;
        } else if !called.is_empty() {
            map.serialize_entry("tools", &called)?;
        }
        if request.tools.is_none() && !(named.is_empty() && called.is_empty()) {
            map.serialize_entry("tool_choice", &ToolChoice { kind: "none" })?;
        }
        if !request.system.trim().is_empty() {
            map.serialize_entry("system", &[System { kind: "text", text: &request.system, cache_control: CacheControl::EPHEMERAL }])?;
        }
        map.serialize_entry("messages", &messages)?;
        map.end()
    }
}

/// A mark: what stands in front of its end is worth caching. It holds for five minutes, and each use renews it.
#[derive(Clone, Copy, Serialize)]
pub(super) struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl CacheControl {
    pub(super) const EPHEMERAL: Self = Self { kind: "ephemeral" };
}

#[derive(Serialize)]
struct System<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    cache_control: CacheControl,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a RawValue,
    description: &'a RawValue,
    input_schema: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

fn tools(blob: Option<&str>) -> Vec<Tool<'_>> {
    let said = offered(blob).into_iter().map(|tool| Tool {
        name: tool.name,
        description: tool.description,
        input_schema: tool.schema,
        cache_control: None,
    });
    let mut tools: Vec<Tool<'_>> = said.collect();
    if let Some(last) = tools.last_mut() {
        last.cache_control = Some(CacheControl::EPHEMERAL);
    }
    tools
}

/// A tool that may not be called: the wire refuses a conversation with calls in it that defines no tools.
#[derive(Serialize)]
struct Called<'a> {
    name: Cow<'a, str>,
    input_schema: AnyObject,
}

#[derive(Serialize)]
struct AnyObject {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct ToolChoice {
    #[serde(rename = "type")]
    kind: &'static str,
}

/// The tools that the conversation called, each once, the first first.
fn called(request: &ModelRequest) -> Vec<Called<'_>> {
    let mut called: Vec<Called<'_>> = Vec::new();
    for message in &request.messages {
        let SurfaceMessage::Assistant { content } = &**message else { continue };
        for name in calls_of(content).map(|call| name(&call.tool)) {
            if called.iter().all(|tool| tool.name != name) {
                called.push(Called { name, input_schema: AnyObject { kind: "object" } });
            }
        }
    }
    called
}
