use proptest::prelude::*;

use super::{Parser, TooLong};

type Seen = (String, String, String);

fn drain(parser: &mut Parser, seen: &mut Vec<Seen>) {
    while let Some(event) = parser.next() {
        let event = event.unwrap();
        seen.push((event.name.into(), event.data.into(), event.id.into()));
    }
}

/// All events of a stream that comes in these pieces, the unterminated last one included.
fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Vec<Seen>, Parser) {
    let (mut parser, mut seen) = (Parser::new(), Vec::new());
    for piece in pieces {
        parser.push(piece);
        drain(&mut parser, &mut seen);
    }
    if let Some(event) = parser.finish() {
        let event = event.unwrap();
        seen.push((event.name.into(), event.data.into(), event.id.into()));
    }
    (seen, parser)
}

fn data(text: &str) -> Vec<String> {
    read([text.as_bytes()]).0.into_iter().map(|(_, data, _)| data).collect()
}

#[test]
fn fields_follow_the_standard() {
    let cases: &[(&str, &[&str])] = &[
        ("data: a\n\n", &["a"]),
        ("data:a\n\n", &["a"]),
        ("data:  a\n\n", &[" a"]),
        ("data: a\ndata\ndata: b\n\n", &["a\n\nb"]),
        ("data\n\n", &[""]),
        ("data:\n\n", &[""]),
        (": a comment\n\n:\n\n", &[]),
        ("event: x\n\ndata: a\n\n", &["a"]),
        ("unknown: x\ndata : y\ndata: a\n\n", &["a"]),
        ("\u{feff}data: a\n\n", &["a"]),
        ("\u{feff}\u{feff}data: a\n\ndata: b\n\n", &["b"]),
        ("data: a\r\n\r\ndata: b\r\rdata: c\n\n", &["a", "b", "c"]),
        ("data: a\r\n\ndata: b\n\r\n", &["a", "b"]),
        ("data: a\r\ndata: b\r\n\r\n", &["a\nb"]),
        ("data: a\rdata: b\r\ndata: c\ndata: d\r\r", &["a\nb\nc\nd"]),
        ("\n\n\ndata: a\n\n\n\n", &["a"]),
        ("data: cut", &["cut"]),
        ("data: cut\n", &["cut"]),
        ("data: cut\r", &["cut"]),
        ("data: whole\n\ndata: cut", &["whole", "cut"]),
    ];
    for (text, expected) in cases {
        assert_eq!(data(text), *expected, "{text:?}");
    }
}

#[test]
fn the_callers_choice_is_whether_a_cut_event_counts() {
    let mut parser = Parser::new();
    parser.push(b"id: 1\ndata: a\n\nid: 2\ndata: cut\n");
    let mut seen = Vec::new();
    drain(&mut parser, &mut seen);
    assert_eq!(seen, [("message".into(), "a".into(), "1".into())]);
    assert_eq!(parser.last_event_id(), "1", "the id of a cut event must not be resumed from");
    assert_eq!(parser.finish().unwrap().unwrap().data, "cut");
    assert!(parser.finish().is_none());
}

#[test]
fn ids_move_without_data_and_are_cleared_by_an_empty_one() {
    let id = |text: &str| read([text.as_bytes()]).1.last_event_id().to_owned();
    assert_eq!(id("id: 12.3\n\n"), "12.3");
    assert_eq!(id("id: 1\ndata: a\n\ndata: b\n\n"), "1");
    assert_eq!(id("id: 1\n\nid:\n\n"), "");
    assert_eq!(id("id: 1\n\nid\n\n"), "");
    assert_eq!(id("id: 1\n\nid: a\0b\n\n"), "1");
}

#[test]
fn a_stream_that_goes_on_has_its_last_id_until_it_is_cleared() {
    let id = |text: &str| {
        let mut parser = Parser::after("7");
        parser.push(text.as_bytes());
        while parser.next().is_some() {}
        parser.last_event_id().to_owned()
    };
    assert_eq!((id("data: a\n\n"), id("id: 8\n\n"), id("id: 8\n\nid:\n\n")), ("7".into(), "8".into(), String::new()));
}

#[test]
fn the_name_is_the_events_own() {
    let (seen, _) = read([b"event: delta\ndata: a\n\ndata: b\n\nevent: lost\n\ndata: c\n\n".as_slice()]);
    assert_eq!(seen.iter().map(|s| s.0.as_str()).collect::<Vec<_>>(), ["delta", "message", "message"]);
}

#[test]
fn retry_takes_digits_only() {
    let retry = |text: &str| read([text.as_bytes()]).1.retry_ms();
    assert_eq!(retry("retry: 1500\n\n"), Some(1500));
    for other in ["retry: 1.5\n\n", "retry: -1\n\n", "retry:\n\n", "retry: 99999999999999999999999\n\n", "retry: 1s\n\n"] {
        assert_eq!(retry(&format!("retry: 7\n\n{other}")), Some(7), "{other:?}");
    }
}

#[test]
fn what_is_not_utf8_is_replaced() {
    let (seen, _) = read([b"data: a\xFFb\n\n".as_slice()]);
    assert_eq!(seen[0].1, "a\u{fffd}b");
}

#[test]
fn endless_lines_and_endless_events_are_an_error_once() {
    for text in ["data: 0123456789012345678901234567890", "data: 012345678\ndata: 012345678\ndata: 012345678\ndata: 012345678\n"] {
        let mut parser = Parser::with_limit(32);
        parser.push(b"id: 5\ndata: fine\n\n");
        assert_eq!(parser.next().unwrap().unwrap().data, "fine");
        parser.push(text.as_bytes());
        assert_eq!(parser.next(), Some(Err(TooLong { limit: 32 })), "{text:?}");
        parser.push(b"\n\ndata: more\n\n");
        assert!(parser.next().is_none() && parser.finish().is_none());
        assert_eq!(parser.last_event_id(), "5");
    }
}

/// Found by `scripts/fuzz`: such a line was refused only where its end came in a later read.
#[test]
fn a_line_over_the_limit_is_refused_however_it_comes() {
    let stream = b"data: fine\n\n: 0123456789012345678901234567890\ndata: more\n\n";
    for size in 1..=stream.len() {
        let mut parser = Parser::with_limit(24);
        let mut seen = Vec::new();
        for piece in stream.chunks(size) {
            parser.push(piece);
            while let Some(event) = parser.next() {
                seen.push(event.map(|event| event.data.into_owned()));
            }
        }
        assert_eq!(seen, [Ok("fine".to_owned()), Err(TooLong { limit: 24 })], "in pieces of {size}");
    }
}

/// Lines as servers send them, with every line end.
fn stream() -> impl Strategy<Value = Vec<u8>> {
    let line = prop_oneof![
        "data: ?[a-z你🙂é: ]{0,6}",
        "data",
        "(id|event|retry): ?[0-9a-z]{0,3}",
        ":[a-z ]{0,4}",
        Just(String::new()),
        Just("\u{feff}data: x".into())
    ];
    let end = prop_oneof![Just("\n"), Just("\r"), Just("\r\n")];
    prop::collection::vec((line, end), 0..12).prop_map(|lines| lines.into_iter().flat_map(|(l, e)| (l + e).into_bytes()).collect())
}

proptest! {
    #[test]
    fn no_cut_changes_the_events(bytes in stream(), size in 1usize..7) {
        let (whole, parser) = read([bytes.as_slice()]);
        for cut in 0..=bytes.len() {
            let (split, other) = read([&bytes[..cut], &bytes[cut..]]);
            prop_assert_eq!(&split, &whole);
            prop_assert_eq!(other.last_event_id(), parser.last_event_id());
            prop_assert_eq!(other.retry_ms(), parser.retry_ms());
        }
        prop_assert_eq!(read(bytes.chunks(size)).0, whole);
    }

    #[test]
    fn no_input_panics(bytes: Vec<u8>, size in 1usize..9, limit in 0usize..64) {
        let mut parser = Parser::with_limit(limit);
        for piece in bytes.chunks(size) {
            parser.push(piece);
            while let Some(event) = parser.next() {
                if let Ok(event) = event {
                    prop_assert!(event.data.len() <= limit * 3);
                }
            }
        }
        let _ = parser.finish();
    }
}
