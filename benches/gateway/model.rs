//! A model server that does what its prompt says: so many tokens, so far apart. OpenAI's chat wire, streamed.

use std::convert::Infallible;
use std::fmt;
use std::time::Duration;

use anyhow::Context;
use async_stream::stream;
use axum::Router;
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use bytes::Bytes;
use tokio::time::{Instant, interval_at};

use crate::{process, tokens};

/// What one write of a model at full speed holds: a fast server sends a few tokens at a time, and not its whole answer at once.
const TOKENS_PER_WRITE: usize = 16;
/// The script in a prompt begins with this.
const MARK: &str = "script:";

/// What a prompt asks for.
#[derive(Clone, Debug)]
pub struct Script {
    /// Letters, digits and `.`.
    pub id: String,
    pub tokens: usize,
    /// Between two tokens; zero is as fast as it goes.
    pub delay: Duration,
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{MARK}{},{},{};", self.id, self.tokens, self.delay.as_millis())
    }
}

impl Script {
    /// The last script of a request's body, wherever it stands.
    fn of(body: &str) -> Option<Self> {
        let (_, script) = body.rsplit_once(MARK)?;
        let mut parts = script.split_once(';')?.0.split(',');
        let id = parts.next()?.to_owned();
        let tokens = parts.next()?.parse().ok()?;
        Some(Self { id, tokens, delay: Duration::from_millis(parts.next()?.parse().ok()?) })
    }
}

pub async fn serve() -> anyhow::Result<()> {
    process::serve(Router::new().route("/v1/chat/completions", post(answer))).await.context("the model")
}

async fn answer(body: String) -> Response {
    let Some(script) = Script::of(&body) else { return axum::http::StatusCode::BAD_REQUEST.into_response() };
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(frames(script))).into_response()
}

fn frames(script: Script) -> impl futures_util::Stream<Item = Result<Bytes, Infallible>> {
    stream! {
        let at_once = if script.delay.is_zero() { TOKENS_PER_WRITE } else { 1 };
        // an interval of zero would panic, and is not asked
        let period = script.delay.max(Duration::from_millis(1));
        let mut interval = interval_at(Instant::now() + period, period);
        let mut next = 0;
        while next < script.tokens {
            if !script.delay.is_zero() {
                interval.tick().await;
            }
            let mut out = String::with_capacity(at_once * 160);
            let end = script.tokens.min(next + at_once);
            for index in next..end {
                out.push_str(r#"data: {"id":"chat","object":"chat.completion.chunk","model":"bench","choices":[{"index":0,"delta":{"content":""#);
                tokens::write(&mut out, &script.id, index);
                out.push_str("\"}}]}\n\n");
            }
            next = end;
            yield Ok(Bytes::from(out));
            // as if the tokens had to be thought of: whoever reads gets to read
            tokio::task::yield_now().await;
        }
        yield Ok(Bytes::from_static(
            b"data: {\"id\":\"chat\",\"object\":\"chat.completion.chunk\",\"model\":\"bench\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
        ));
    }
}
