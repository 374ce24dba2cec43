//! The cursor: what is printed is parsed as the same, and what is parsed prints as one cursor, whatever it was spelled like.

#![no_main]

use libfuzzer_sys::fuzz_target;
use portico::domain::Cursor;

fuzz_target!(|input: &[u8]| {
    if let Ok(text) = std::str::from_utf8(input)
        && let Ok(cursor) = text.parse::<Cursor>()
    {
        assert!(text.bytes().all(|b| b.is_ascii_digit() || b == b'.'), "{text:?} is no cursor");
        round_trip(cursor);
    }
    if let Some((seq, rest)) = input.split_first_chunk::<8>()
        && let Some((n, _)) = rest.split_first_chunk::<8>()
    {
        round_trip(Cursor { seq: u64::from_le_bytes(*seq), n: u64::from_le_bytes(*n) });
    }
});

fn round_trip(cursor: Cursor) {
    let printed = cursor.to_string();
    assert_eq!(printed.parse(), Ok(cursor), "{printed}");
}
