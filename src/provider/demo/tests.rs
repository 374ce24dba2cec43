use std::sync::Arc;

use futures_util::StreamExt;

use super::*;
use crate::domain::event::model::Parameters;
use crate::domain::message::{calls_of, text_of};
use crate::domain::{AttachmentKind, File, SurfaceMessage};

const TOOLS: &str = r#"[{"name":"demo_lookup","description":"","schema":{}},{"name":"demo_booking","description":"","schema":{}}]"#;

fn request(messages: Vec<SurfaceMessage>, tools: Option<&str>) -> ModelRequest {
    ModelRequest {
        model: "demo".into(),
        system: "be kind".into(),
        tools: tools.map(Into::into),
        withheld: None,
        messages: messages.into_iter().map(Arc::new).collect(),
        files: Arc::default(),
        parameters: Parameters::default(),
    }
}

fn user(text: &str) -> SurfaceMessage {
    SurfaceMessage::user(text)
}

fn result(tool: &str, content: &str, is_error: bool) -> SurfaceMessage {
    SurfaceMessage::ToolResult { tool_call_id: "c".into(), tool: tool.into(), content: content.into(), is_error }
}

async fn run(request: ModelRequest) -> (Vec<ModelEvent>, Vec<Block>, Finish) {
    let batches: Vec<_> = Demo::new().stream(request).collect().await;
    let mut events: Vec<ModelEvent> = batches.into_iter().flat_map(Result::unwrap).collect();
    let Some(ModelEvent::Finished { content, finish, usage }) = events.pop() else { panic!("no terminal event") };
    assert!(usage.input > 0 && usage.output > 0);
    (events, content, finish)
}

async fn ask(text: &str, tools: Option<&str>) -> (Vec<ModelEvent>, Vec<Block>, Finish) {
    run(request(vec![user(text)], tools)).await
}

#[tokio::test(start_paused = true)]
async fn what_streams_is_what_is_finished_with() {
    let (events, content, finish) = ask("please think about a table", Some(TOOLS)).await;
    assert_eq!(finish, Finish::Stop);
    let mut streamed = [String::new(), String::new()];
    for event in &events {
        match event {
            ModelEvent::Reasoning { block: 0, text } => streamed[0].push_str(text),
            ModelEvent::Text { block: 1, text } => streamed[1].push_str(text),
            ModelEvent::Text { .. }
            | ModelEvent::Reasoning { .. }
            | ModelEvent::ToolInput { .. }
            | ModelEvent::Usage(_)
            | ModelEvent::Finished { .. } => {
                panic!("{event:?}")
            }
        }
    }
    assert_eq!(content, [Block::reasoning(streamed[0].clone()), Block::Text { text: streamed[1].clone() }]);
    assert!(events.len() > 20 && streamed[1].contains("| --- |"));
}

#[tokio::test(start_paused = true)]
async fn it_says_that_it_is_a_demo_and_what_to_do() {
    let (_, content, _) = ask("hello", Some(TOOLS)).await;
    let text = text_of(&content);
    for word in ["demo", "OPENAI_API_KEY", "look up", "book", "table"] {
        assert!(text.contains(word), "{word}");
    }
}

#[tokio::test(start_paused = true)]
async fn tools_are_called_by_keyword_and_only_if_offered() {
    for (text, tool, args) in [
        ("Look up a\nrowing boat, please!", "demo_lookup", r#"{"query":"rowing boat"}"#),
        ("how is the weather?", "demo_lookup", r#"{"query":"how is the weather"}"#),
        ("look it up", "demo_lookup", r#"{"query":"look it up"}"#),
        ("Can you BOOK me a table for two on Friday?", "demo_booking", r#"{"item":"table for two","when":"friday"}"#),
        ("book it", "demo_booking", r#"{"item":"book it","when":"as soon as possible"}"#),
    ] {
        let (events, content, finish) = ask(text, Some(TOOLS)).await;
        let call = calls_of(&content).next().unwrap();
        assert_eq!((call.tool.as_str(), call.args.as_str(), finish), (tool, args, Finish::ToolCalls));
        assert!(events.contains(&ModelEvent::ToolInput { block: 1, id: call.id.clone(), tool: tool.into() }));
        for tools in [None, Some("[]"), Some(r#"[{"name":"other","description":"","schema":{}}]"#)] {
            let (_, content, finish) = ask(text, tools).await;
            assert_eq!((calls_of(&content).count(), finish), (0, Finish::Stop));
            assert!(text_of(&content).contains(tool), "it says what it lacks");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn results_are_reported_as_they_are() {
    for (message, said) in [
        (result("demo_lookup", "Sunny, 21 degrees", false), "Sunny, 21 degrees"),
        (result("demo_booking", "denied by the user", true), "Nothing was booked. What I was told: denied by the user"),
        (result("demo_booking", "Table 4", false), "no outside effect"),
    ] {
        let (_, content, finish) = run(request(vec![user("book and look up"), message], Some(TOOLS))).await;
        assert_eq!((calls_of(&content).count(), finish), (0, Finish::Stop), "one round of tools is enough");
        assert!(text_of(&content).contains(said), "{content:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn it_says_what_came_and_that_it_cannot_see_it() {
    let (kind, mime) = (AttachmentKind::Image, "image/png".into());
    let image = File { attachment_id: "att_1".into(), kind, mime, filename: None, bytes: 9 };
    let message = |text: &str| SurfaceMessage::User { text: text.into(), files: vec![image.clone()] };
    let (_, content, _) = run(request(vec![message("show me a table")], None)).await;
    assert!(text_of(&content).starts_with("An image came with your message. I am a script and cannot look at it"), "{content:?}");
    assert!(text_of(&content).contains("| --- |"));
    assert!(text_of(&run(request(vec![message("")], None)).await.1).contains("Three things to try"));
}

#[tokio::test(start_paused = true)]
async fn the_same_call_later_in_a_conversation_has_its_own_id() {
    let id = async |messages| calls_of(&run(request(messages, Some(TOOLS))).await.1).next().unwrap().id.clone();
    let first = id(vec![user("weather")]).await;
    assert_eq!(id(vec![user("weather")]).await, first);
    assert_ne!(id(vec![user("weather"), result("demo_lookup", "x", false), user("weather")]).await, first);
}

#[tokio::test(start_paused = true)]
async fn it_asks_where_somebody_can_be_asked() {
    let terminal = r#"[{"name":"ask_user","description":"","schema":{}}]"#;
    let (_, content, finish) = ask("ask me something", Some(terminal)).await;
    let [call] = calls_of(&content).collect::<Vec<_>>()[..] else { panic!("{content:?}") };
    assert_eq!((call.tool.as_str(), finish), ("ask_user", Finish::ToolCalls));
    assert_eq!(call.args.object().unwrap()["questions"].as_array().unwrap().len(), 1);
    let (_, content, finish) = ask("ask me something", Some(TOOLS)).await;
    assert!(text_of(&content).contains("does not offer me the tool `ask_user`") && finish == Finish::Stop);
}
