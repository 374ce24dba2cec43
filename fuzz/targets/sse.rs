//! The parser of event streams: however its bytes are cut, the same events come out, and what it holds has a bound.

#![no_main]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};

use libfuzzer_sys::fuzz_target;
use portico::domain::sse::Parser;

/// The largest limit that is held to its bound: beyond, it would take most of the time.
const LARGEST_HELD: usize = 64;

/// Line buffer, data, name, and id twice: each as long as a line, three times where no byte of it is UTF-8, and twice for a vector's room.
const fn most_held(limit: usize) -> usize {
    5 * 3 * 2 * limit + 512
}

/// Counts what is allocated.
struct Counting;

static LIVE: AtomicIsize = AtomicIsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size() as isize, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Debug, PartialEq)]
enum Seen {
    Event { name: String, data: String, id: String },
    TooLong,
}

/// All that a stream gives in these pieces, and what a reconnect would send.
fn read<'a>(limit: usize, pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<Seen>, String, Option<u64>) {
    let mut parser = Parser::with_limit(limit);
    let mut seen = Vec::new();
    for piece in pieces {
        parser.push(piece);
        drain(&mut parser, |event| seen.push(event));
    }
    let last_event_id = parser.last_event_id().to_owned();
    if let Some(last) = parser.finish() {
        seen.push(shown(last));
    }
    assert!(parser.next().is_none(), "nothing comes after the end");
    (seen, last_event_id, parser.retry_ms())
}

fn drain(parser: &mut Parser, mut each: impl FnMut(Seen)) {
    while let Some(event) = parser.next() {
        each(shown(event));
    }
}

fn shown(event: Result<portico::domain::sse::Event<'_>, portico::domain::sse::TooLong>) -> Seen {
    match event {
        Ok(event) => Seen::Event { name: event.name.into(), data: event.data.into_owned(), id: event.id.into() },
        Err(_) => Seen::TooLong,
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((&cut, stream)) = input.split_first() else { return };
    // from less than a field's name to more than the seeds' lines
    let limit = 8 << (cut % 10);
    let whole = read(limit, std::iter::once(stream));
    assert_eq!(whole, read(limit, stream.chunks(1)), "byte by byte");
    let mut left = stream;
    let mut size = usize::from(cut);
    let uneven = std::iter::from_fn(|| {
        size = (size * 5 + 3) % 17;
        let (piece, rest) = left.split_at(size.min(left.len()));
        left = rest;
        (!piece.is_empty() || !left.is_empty()).then_some(piece)
    });
    assert_eq!(whole, read(limit, uneven), "in uneven pieces");

    if limit > LARGEST_HELD {
        return;
    }
    let before = LIVE.load(Ordering::Relaxed);
    let mut parser = Parser::with_limit(limit);
    // said again and again: one that made the parser hold more each time would go over the bound
    for piece in std::iter::repeat_n(stream, 1 + 2 * most_held(limit) / stream.len().max(64)).flat_map(|stream| stream.chunks(64)) {
        parser.push(piece);
        drain(&mut parser, drop);
    }
    let held = LIVE.load(Ordering::Relaxed) - before;
    assert!(held <= isize::try_from(most_held(limit)).unwrap(), "the parser holds {held} bytes");
});
