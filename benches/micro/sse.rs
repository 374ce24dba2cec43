//! The wire: a model's stream in, a reader's frames out.

use divan::counter::BytesCount;
use divan::{Bencher, black_box};
use portico::domain::Cursor;
use portico::domain::sse::Parser;
use portico::http::sse::items;
use portico::session::FeedItem;
use portico::session::reader::Name;

/// Frames of one measurement.
const FRAMES: usize = 1_000;

/// A model's frames, in pieces as a network brings them.
#[divan::bench(args = [64, 1_500, 65_536])]
fn parse(bencher: Bencher<'_, '_>, piece: usize) {
    let frame = r#"data: {"id":"chat","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" word"}}]}"#;
    let stream = format!("{frame}\n\n").repeat(FRAMES);
    bencher.counter(BytesCount::of_str(&stream)).bench_local(|| {
        let (mut parser, mut events) = (Parser::new(), 0);
        for bytes in stream.as_bytes().chunks(piece) {
            parser.push(bytes);
            while let Some(event) = parser.next() {
                black_box(event.unwrap());
                events += 1;
            }
        }
        assert_eq!(events, FRAMES);
    });
}

/// Events of one pull, as one write.
#[divan::bench(args = [1, 16, 256])]
fn encode(bencher: Bencher<'_, '_>, events: usize) {
    let data = r#"{"message_id":"01890000000000000000000000000000","block":0,"text":" word"}"#;
    let event = |n: usize| FeedItem::Event { id: Cursor { seq: 7, n: n as u64 }, event: Name::Live("text_delta"), data: data.into() };
    let pulled: Vec<_> = (1..=events).map(event).collect();
    bencher.counter(BytesCount::of_str(&items(&pulled))).bench_local(|| items(black_box(&pulled)));
}
