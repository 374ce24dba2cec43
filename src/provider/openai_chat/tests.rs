use proptest::prelude::*;

use super::decode;
use crate::domain::{Block, Finish, Usage};
use crate::provider::http::decode::Decoder;
use crate::provider::tests::recorded::request;
use crate::provider::{ErrorClass, ModelError, ModelEvent};

mod files;
mod network;
mod tolerance;

fn decoder() -> Decoder<decode::ChatAnswer> {
    decode::decoder(request(), |_| b"the body".to_vec())
}

/// All events of a stream that comes in these pieces and then ends.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<Vec<ModelEvent>, (ErrorClass, &'static str)> {
    let mut decoder = decoder();
    let mut all = Vec::new();
    let coded = |error: ModelError| (error.class, error.code);
    for piece in pieces {
        decoder.push(piece, &mut all).map_err(coded)?;
    }
    decoder.finish(&mut all).map_err(coded)?;
    Ok(all)
}

/// The terminal event of a stream of these frames.
fn finished(frames: &[&str]) -> (Vec<Block>, Finish, Usage) {
    let text: String = frames.iter().map(|frame| format!("data: {frame}\n\n")).collect();
    match read([text.as_bytes()]).unwrap().pop() {
        Some(ModelEvent::Finished { content, finish, usage }) => (content, finish, usage),
        other => panic!("{other:?}"),
    }
}

/// A stream as OpenAI sends it.
const RECORDED: &str = concat!(
    "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"refusal\":null},\"logprobs\":null,\"finish_reason\":null}],\"usage\":null}\n\n",
    "data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Grüß \\\"dich\\\" \"},\"finish_reason\":null}]}\n\n",
    "data: {\"id\":\"chatcmpl-1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"🙂 \\ud83d\\ude42\"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_a\",\"type\":\"function\",\"function\":{\"name\":\"look\",\"arguments\":\"\"}}]},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"call_b\",\"type\":\"function\",\"function\":{\"name\":\"see\",\"arguments\":\"\"}}]},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"q\\\": \"}}]},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{\"}},{\"index\":0,\"function\":{\"arguments\":\"1.0}\"}}]},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"}\"}}]},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":100,\"completion_tokens\":30,\"total_tokens\":130,\"prompt_tokens_details\":{\"cached_tokens\":64},\"completion_tokens_details\":{\"reasoning_tokens\":10}}}\n\n",
    "data: [DONE]\n\n",
);

/// A stream as compatible servers send it: CRLF, no space, comments, reasoning, usage beside the end, no `[DONE]`, no last blank line.
const COMPATIBLE: &str = concat!(
    ": keep-alive\r\n\r\n",
    "data:{\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":null,\"reasoning_content\":\"你好\"}}]}\r\n\r\n",
    "event: message\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"\",\"reasoning\":\" hm\"}}]}\r\n\r\n",
    ": OPENROUTER PROCESSING\r\n\r\n",
    "data:{\"choices\":[{\"delta\":{\"content\":\"é\"}}]}\r\n\r\n",
    "data:{\"choices\":[{\"delta\":{\"content\":\"!\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":2}}",
);

#[test]
fn a_stream_of_openai_is_read() {
    let mut events = read([RECORDED.as_bytes()]).unwrap();
    let counts = events.extract_if(.., |event| matches!(event, ModelEvent::Usage(_))).count();
    assert_eq!(counts, 1, "told before the end, too");
    let text = "Grüß \"dich\" 🙂 🙂";
    assert_eq!(
        events[..3],
        [
            ModelEvent::Text { block: 0, text: text.into() },
            ModelEvent::ToolInput { block: 1, id: "call_a".into(), tool: "look".into() },
            ModelEvent::ToolInput { block: 2, id: "call_b".into(), tool: "see".into() },
        ]
    );
    let [ModelEvent::Finished { content, finish, usage }] = &events[3..] else { panic!("{events:?}") };
    assert_eq!(
        serde_json::to_string(content).unwrap(),
        r#"[{"type":"text","text":"Grüß \"dich\" 🙂 🙂"},{"type":"tool_call","id":"call_a","tool":"look","args":{"q":1.0}},{"type":"tool_call","id":"call_b","tool":"see","args":{}}]"#
    );
    assert_eq!(*finish, Finish::ToolCalls);
    assert_eq!(*usage, Usage { input: 36, cache_read: 64, cache_write: 0, output: 20, reasoning: 10 });
}

#[test]
fn a_stream_of_a_compatible_server_is_read() {
    let events = read([COMPATIBLE.as_bytes()]).unwrap();
    assert!(matches!(events[0], ModelEvent::Usage(_)));
    assert_eq!(events[1], ModelEvent::Reasoning { block: 0, text: "你好 hm".into() });
    assert_eq!(events[2], ModelEvent::Text { block: 1, text: "é!".into() });
    let ModelEvent::Finished { content, finish, usage } = &events[3] else { panic!("{events:?}") };
    assert_eq!(content.len(), 2);
    assert_eq!((*finish, usage.input, usage.output), (Finish::Stop, 5, 2));
}

#[test]
fn text_of_one_push_is_one_event() {
    let frames = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n".repeat(50);
    let mut events = Vec::new();
    decoder().push(frames.as_bytes(), &mut events).unwrap();
    assert_eq!(events, [ModelEvent::Text { block: 0, text: "a".repeat(50) }]);
    let counted = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}],\"usage\":{\"prompt_tokens\":5}}\n\n".repeat(50);
    let mut events = Vec::new();
    decoder().push(counted.as_bytes(), &mut events).unwrap();
    let usage = Usage { input: 5, ..Usage::default() };
    assert_eq!(events, [ModelEvent::Usage(usage), ModelEvent::Text { block: 0, text: "a".repeat(50) }], "also with a count at each");
}

#[test]
fn every_cut_of_a_stream_reads_the_same() {
    for stream in [RECORDED, COMPATIBLE] {
        let bytes = stream.as_bytes();
        let whole = read([bytes]).unwrap();
        for cut in 0..=bytes.len() {
            assert_eq!(read([&bytes[..cut], &bytes[cut..]]).unwrap(), whole, "cut at {cut}");
        }
        assert_eq!(read(bytes.chunks(1)).unwrap(), whole);
    }
}

#[test]
fn a_stream_that_ends_early_is_never_an_answer() {
    let end = RECORDED.find("\"finish_reason\":\"tool_calls\"").unwrap();
    for cut in 0..=end {
        match read([&RECORDED.as_bytes()[..cut]]) {
            Err((ErrorClass::Retry, "transport_cut" | "invalid_response")) => {}
            other => panic!("cut at {cut}: {other:?}"),
        }
    }
}

/// Frames that are well formed and make no sense together.
fn frames() -> impl Strategy<Value = String> {
    let fragment = (
        prop_oneof![Just(""), Just("\"index\":0,"), Just("\"index\":1,")],
        prop_oneof![Just(""), Just("\"id\":\"a\","), Just("\"id\":\"b\","), Just("\"id\":\"\",")],
        prop_oneof![Just(""), Just("\"name\":\"x\","), Just("\"name\":\"y\",")],
        prop_oneof![Just("\"{\""), Just("\"}\""), Just("\"{}\""), Just("{\"k\":1}"), Just("null"), Just("\"\"")],
    )
        .prop_map(|(index, id, name, args)| format!("{{{index}{id}\"function\":{{{name}\"arguments\":{args}}}}}"));
    let delta = prop_oneof![
        Just("\"content\":\"é\\n\"".to_owned()),
        Just("\"reasoning\":\"r\",\"reasoning_content\":\"r\"".to_owned()),
        prop::collection::vec(fragment, 1..3).prop_map(|f| format!("\"tool_calls\":[{}]", f.join(","))),
    ];
    prop::collection::vec(delta, 0..12).prop_map(|deltas| {
        let mut text: String = deltas.iter().map(|d| format!("data: {{\"choices\":[{{\"delta\":{{{d}}}}}]}}\n\n")).collect();
        text.push_str("data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n");
        text
    })
}

proptest! {
    #[test]
    fn whatever_the_fragments_the_answer_is_well_formed(text in frames(), size in 1usize..40) {
        let events = read([text.as_bytes()]).unwrap();
        prop_assert_eq!(&read(text.as_bytes().chunks(size)).unwrap(), &events);
        let Some(ModelEvent::Finished { content, .. }) = events.last() else { panic!("{events:?}") };
        let calls: Vec<_> = crate::domain::message::calls_of(content).collect();
        let ids: std::collections::HashSet<_> = calls.iter().map(|call| &call.id).collect();
        prop_assert_eq!(ids.len(), calls.len(), "every id is one call's");
        prop_assert!(calls.iter().all(|call| !call.tool.is_empty() && !call.id.as_str().is_empty()));
        let mut told = Vec::new();
        for event in &events {
            match event {
                ModelEvent::ToolInput { block, id, tool } => {
                    prop_assert!(matches!(&content[*block as usize], Block::ToolCall(c) if c.id == *id && c.tool == *tool));
                    told.push(id);
                }
                ModelEvent::Text { block, .. } => assert!(matches!(content[*block as usize], Block::Text { .. })),
                ModelEvent::Reasoning { block, .. } => assert!(matches!(content[*block as usize], Block::Reasoning { .. })),
                ModelEvent::Usage(_) | ModelEvent::Finished { .. } => {}
            }
        }
        prop_assert_eq!(told, calls.iter().map(|call| &call.id).collect::<Vec<_>>(), "each call is told once");
    }

    #[test]
    fn no_input_panics(bytes: Vec<u8>, text in "(data: ?(\\{\"choices\":\\[\\{\"delta\":[\\{\\}\\[\\]\":,a-z0-9]{0,20}|\\[DONE\\])\r?\n\n?){0,4}") {
        let _ = read([bytes.as_slice(), text.as_bytes()]);
        let _ = decoder().whole(&bytes, &mut Vec::new());
    }
}
