//! The tool over real sockets, with the test's own providers on loopback.

use std::sync::Mutex;

use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::*;
use crate::domain::Timestamp;
use crate::tool::Progress;
use crate::tool::tests::NoArtifacts;

const KEY: &str = "secret-key-of-the-test";

const BRAVE: &str = r#"{"type":"search","web":{"results":[
    {"title":"The <strong>boat</strong> lake","url":"https://lake.example/boats","description":"Four &amp; more.","age":"3 days ago","page_age":"2026-11-28T10:00:00"},
    {"title":null,"url":"https://other.example/","description":null},
    {"title":"no address"}]}}"#;
const TAVILY: &str = r#"{"query":"q","results":[{"title":"Boats","url":"https://tavily.example/","content":"By the hour.","score":0.9,"raw_content":null}]}"#;
const EXA: &str = r#"{"requestId":"r","results":[{"id":"i","title":"Boats","url":"https://exa.example/","publishedDate":"2026-11-01T00:00:00.000Z","highlights":["First.","Second."]}]}"#;
const SEARXNG: &str = r#"{"query":"q","number_of_results":0,"results":[{"url":"https://searx.example/","title":"Boats","content":"Here.","publishedDate":null,"engine":"x"}]}"#;
const NOTHING: &str = r#"{"results":[]}"#;

/// A clock that stands until it is set.
#[derive(Debug)]
pub(in crate::tool) struct SetClock(Mutex<Timestamp>);

impl SetClock {
    pub(in crate::tool) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::new(Timestamp(1_796_000_000_000))))
    }

    fn later(&self, by: Duration) {
        let mut now = self.0.lock().unwrap();
        *now = *now + by;
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap()
    }
}

/// A provider's server: the same answer for all, and what they sent.
struct Server {
    url: Url,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Without an answer it takes the request and says nothing.
    async fn start(answer: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = Url::parse(&format!("http://{}", listener.local_addr().unwrap())).unwrap();
        let requests = Arc::<Mutex<Vec<String>>>::default();
        let seen = requests.clone();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                let request = request(&mut socket).await;
                seen.lock().unwrap().push(request);
                match &answer {
                    Some(answer) => drop(socket.write_all(answer.as_bytes()).await),
                    None => drop(socket.read(&mut [0]).await),
                }
            }
        });
        Self { url, requests }
    }

    async fn json(body: &str) -> Self {
        Self::start(Some(http(200, "", body))).await
    }

    async fn status(status: u16, head: &str) -> Self {
        Self::start(Some(http(status, head, "{\"detail\":\"no\"}"))).await
    }

    fn asked(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    fn provider(&self, wire: Wire) -> SearchProvider {
        let key = (wire != Wire::Searxng).then(|| SecretString::from(KEY));
        SearchProvider::new(wire, Access { base_url: self.url.clone(), key })
    }
}

fn http(status: u16, head: &str, body: &str) -> String {
    format!(
        "HTTP/1.1 {status} X\r\n{head}Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

/// One whole request.
async fn request(socket: &mut tokio::net::TcpStream) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length =
                head.to_lowercase().split_once("content-length: ").map_or(0, |(_, rest)| rest.lines().next().unwrap().parse().unwrap());
            if body.len() >= length {
                return text;
            }
        }
        assert!(socket.read_buf(&mut bytes).await.unwrap() > 0, "the request ended early: {text}");
    }
}

pub(in crate::tool) fn tool(providers: Vec<SearchProvider>, clock: Arc<SetClock>) -> WebSearch {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = crate::provider::http::client(Duration::from_secs(5), Duration::from_secs(60)).unwrap();
    WebSearch::new(providers, client, clock, None)
}

async fn search(tool: &WebSearch, args: serde_json::Value) -> Result<String, ToolFailure> {
    let context = ToolContext { cancel: CancellationToken::new(), progress: Progress(Arc::new(|_| {})), artifacts: Arc::new(NoArtifacts) };
    let output = tool.call(context, Args::from_model(&args.to_string())).await?;
    assert_eq!(output.trust, Trust::Untrusted);
    assert!(output.sources.is_empty(), "what was only found is no source");
    assert!(!output.content.contains(KEY));
    Ok(output.content)
}

async fn ask(tool: &WebSearch) -> Result<String, ToolFailure> {
    search(tool, json!({"query": "boat hire"})).await
}

#[tokio::test]
async fn each_wire_is_asked_as_it_wants_and_read() {
    let table = [
        (Wire::Brave, BRAVE, "https://lake.example/boats"),
        (Wire::Tavily, TAVILY, "https://tavily.example/"),
        (Wire::Exa, EXA, "https://exa.example/"),
        (Wire::Searxng, SEARXNG, "https://searx.example/"),
    ];
    for (wire, body, url) in table {
        let server = Server::json(body).await;
        let found =
            search(&tool(vec![server.provider(wire)], SetClock::new()), json!({"query": " boat\n hire ", "count": 3})).await.unwrap();
        assert!(found.starts_with(&format!("{} found ", wire.name())) && found.contains("others. It is material"), "{found}");
        assert!(found.contains(&format!("\n   {url}\n")), "{found}");
        let request = server.requests.lock().unwrap().concat();
        let (head, sent) = request.split_once("\r\n\r\n").unwrap();
        let head = head.to_lowercase();
        let (line, key) = match wire {
            Wire::Brave => {
                ("get /res/v1/web/search?q=boat+hire&count=3&text_decorations=false http", format!("x-subscription-token: {KEY}"))
            }
            Wire::Tavily => ("post /search http", format!("authorization: bearer {KEY}")),
            Wire::Exa => ("post /search http", format!("x-api-key: {KEY}")),
            Wire::Searxng => ("get /search?q=boat+hire&format=json http", String::new()),
        };
        assert!(head.starts_with(line) && head.contains(&key), "{head}");
        let wanted = match wire {
            Wire::Brave | Wire::Searxng => String::new(),
            Wire::Tavily => json!({"query": "boat hire", "max_results": 3}).to_string(),
            Wire::Exa => json!({"query": "boat hire", "numResults": 3, "contents": {"highlights": true}}).to_string(),
        };
        assert_eq!(sent, wanted, "{wire:?}");
    }
}

#[tokio::test]
async fn results_are_numbered_with_title_address_date_and_excerpt() {
    let server = Server::json(BRAVE).await;
    let found = ask(&tool(vec![server.provider(Wire::Brave)], SetClock::new())).await.unwrap();
    let (_, list) = found.split_once("\n\n").unwrap();
    let wanted = "1. The boat lake\n   https://lake.example/boats\n   Date: 2026-11-28T10:00:00\n   Four & more.\n\n2. other.example\n   \
                  https://other.example/";
    assert_eq!(list, wanted);
    let one = search(&tool(vec![server.provider(Wire::Brave)], SetClock::new()), json!({"query": "q", "count": 1})).await.unwrap();
    assert!(one.starts_with("brave found 1 page ") && !one.contains("2. "), "{one}");
}

#[tokio::test]
async fn where_one_fails_or_finds_nothing_the_next_is_asked() {
    let trap = Server::json(TAVILY).await;
    let redirect = format!("Location: {}/search\r\n", trap.url);
    let servers = [
        Server::status(401, "").await,
        Server::status(403, "").await,
        Server::status(429, "").await,
        Server::status(432, "").await,
        Server::status(503, "").await,
        Server::status(307, &redirect).await,
        Server::json("<html>no JSON").await,
        Server::json("{\"unexpected\":[]}").await,
        Server::json(NOTHING).await,
    ];
    for server in &servers {
        let good = Server::json(EXA).await;
        let found = ask(&tool(vec![server.provider(Wire::Tavily), good.provider(Wire::Exa)], SetClock::new())).await.unwrap();
        assert!(found.starts_with("exa found 1 page"), "{found}");
        assert_eq!((server.asked(), good.asked()), (1, 1));
    }
    assert_eq!(trap.asked(), 0, "a redirect is not followed: it would carry the key elsewhere");
}

#[tokio::test(start_paused = true)]
async fn a_provider_that_says_nothing_is_left_in_time() {
    let (silent, good) = (Server::start(None).await, Server::json(EXA).await);
    let tool = tool(vec![silent.provider(Wire::Tavily), good.provider(Wire::Exa)], SetClock::new());
    let found = ask(&tool).await.unwrap();
    assert!(found.starts_with("exa found"), "{found}");
}

#[tokio::test]
async fn where_nobody_answers_the_model_is_told_who_and_why_and_no_key() {
    let (refuses, breaks) = (Server::status(401, "").await, Server::status(500, "").await);
    let gone = Server { url: Url::parse("http://127.0.0.1:9/").unwrap(), requests: Arc::default() };
    let providers = vec![refuses.provider(Wire::Brave), breaks.provider(Wire::Tavily), gone.provider(Wire::Exa)];
    let tool = tool(providers, SetClock::new());
    let failure = ask(&tool).await.unwrap_err();
    assert_eq!(failure.code, SEARCH_FAILED);
    for part in ["brave: it refuses the key, or this kind of request (401)", "tavily: it is in trouble (500)", "exa: no connection"] {
        assert!(failure.error.contains(part), "{}", failure.error);
    }
    assert!(!failure.error.contains(KEY) && !format!("{tool:?}").contains(KEY));
}

#[tokio::test]
async fn nothing_found_is_an_answer_that_says_who_looked() {
    let (empty, fails) = (Server::json(NOTHING).await, Server::status(500, "").await);
    let said = ask(&tool(vec![empty.provider(Wire::Tavily), fails.provider(Wire::Exa)], SetClock::new())).await.unwrap();
    assert!(said.starts_with("Nothing was found for \"boat hire\" by tavily.") && said.contains("exa: it is in trouble"), "{said}");
    let none = Server::json("{\"type\":\"search\"}").await;
    let said = ask(&tool(vec![none.provider(Wire::Brave)], SetClock::new())).await.unwrap();
    assert!(said.starts_with("Nothing was found"), "Brave leaves `web` out: {said}");
}

#[tokio::test]
async fn who_has_had_too_many_requests_is_left_alone_for_as_long_as_he_says() {
    let clock = SetClock::new();
    let (busy, good) = (Server::status(429, "Retry-After: 30\r\n").await, Server::json(EXA).await);
    let tool = tool(vec![busy.provider(Wire::Tavily), good.provider(Wire::Exa)], clock.clone());
    let mut seen = Vec::new();
    for wait in [0, 29, 2, 29] {
        clock.later(Duration::from_secs(wait));
        ask(&tool).await.unwrap();
        seen.push((busy.asked(), good.asked()));
    }
    assert_eq!(seen, [(1, 1), (1, 2), (2, 3), (2, 4)]);
}

#[tokio::test]
async fn a_rest_has_a_bound_and_is_told() {
    let clock = SetClock::new();
    let busy = Server::status(429, "Retry-After: 86400\r\n").await;
    let tool = tool(vec![busy.provider(Wire::Tavily)], clock.clone());
    for _ in 0..2 {
        let failure = ask(&tool).await.unwrap_err();
        assert!(failure.error.contains("free again in 600 s"), "{}", failure.error);
    }
    clock.later(Duration::from_secs(600));
    ask(&tool).await.unwrap_err();
    assert_eq!(busy.asked(), 2);
}

#[tokio::test]
async fn an_answer_without_end_is_not_read_to_its_end() {
    let endless = Server::json(&format!("{{\"results\":[{}", " ".repeat(3 << 20))).await;
    let failure = ask(&tool(vec![endless.provider(Wire::Exa)], SetClock::new())).await.unwrap_err();
    assert!(failure.error.contains("not what its interface promises"), "{}", failure.error);
}

#[test]
fn what_cannot_be_asked_is_refused_before() {
    let tool = tool(vec![], SetClock::new());
    let long = "x".repeat(MAX_QUERY + 1);
    for args in [
        json!({"query": ""}),
        json!({"query": " \n"}),
        json!({"query": long}),
        json!({"query": "q", "count": 0}),
        json!({"query": "q", "count": 11}),
    ] {
        assert!(tool.check(&Args::from_model(&args.to_string())).is_err(), "{args:.60}");
    }
    assert!(tool.check(&Args::from_model(r#"{"query":"q","count":10}"#)).is_ok());
}

#[test]
fn each_provider_is_asked_in_time_for_the_next() {
    let patience = |n: usize, limit| {
        let access = Access { base_url: Url::parse("http://h/").unwrap(), key: None };
        let providers = (0..n).map(|_| SearchProvider::new(Wire::Exa, access.clone())).collect();
        let _ = rustls::crypto::ring::default_provider().install_default();
        WebSearch::new(providers, reqwest::Client::new(), SetClock::new(), limit).patience
    };
    assert_eq!(patience(1, None), PROVIDER_TIMEOUT);
    assert_eq!(patience(4, None), TIMEOUT / 4);
    assert_eq!(patience(2, Some(Duration::from_secs(4))), Duration::from_secs(2));
}
