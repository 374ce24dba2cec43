//! Bytes to text. As browsers do: a byte order mark wins, then what the server says, then what the page says; else it is UTF-8 if it can be,
//! and windows-1252, the web's oldest default, if not.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use super::content::Kind;

/// The first bytes in which a page must say its encoding (WHATWG HTML, "prescan a byte stream").
const PRESCAN: usize = 1024;

/// The text of a body, whose end may be cut off in the middle of a character. What is malformed becomes U+FFFD.
pub(super) fn decode<'b>(body: &'b [u8], declared: Option<&str>, kind: Kind) -> Cow<'b, str> {
    let (text, _, _) = encoding(body, declared, kind).decode(body); // it lets a byte order mark win, and takes it away
    text
}

/// Whether that label says that each character has two bytes.
pub(super) fn is_utf16(label: &str) -> bool {
    Encoding::for_label(label.as_bytes()).is_some_and(|encoding| encoding == UTF_16LE || encoding == UTF_16BE)
}

/// Text with the line ends of this side, and without what a terminal obeys.
pub(super) fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n").chars().filter(|c| !c.is_control() || matches!(c, '\t' | '\n')).collect()
}

fn encoding(body: &[u8], declared: Option<&str>, kind: Kind) -> &'static Encoding {
    let by_server = declared.and_then(|label| Encoding::for_label(label.as_bytes()));
    let by_page = || match kind {
        Kind::Html => by_meta(&body[..body.len().min(PRESCAN)]),
        Kind::Text => None,
    };
    by_server.or_else(by_page).unwrap_or_else(|| if could_be_utf8(body) { UTF_8 } else { WINDOWS_1252 })
}

/// Valid, but for a last character that may be cut. That one alone, behind nothing but ASCII, says nothing.
fn could_be_utf8(body: &[u8]) -> bool {
    match std::str::from_utf8(body) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none() && !body[..error.valid_up_to()].is_ascii(),
    }
}

/// What a `meta` element of the page says: `charset=...`, also within `content="text/html; charset=..."`.
fn by_meta(head: &[u8]) -> Option<&'static Encoding> {
    let text: String = head.iter().map(|byte| char::from(byte.to_ascii_lowercase())).collect();
    let mut rest = text.as_str();
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        if rest.starts_with("<!--") {
            rest = &rest[rest.find("-->")?..];
            continue;
        }
        let end = rest.find('>').unwrap_or(rest.len());
        let (tag, after) = rest.split_at(end);
        if let Some(found) = tag.strip_prefix("<meta").and_then(label).and_then(|label| Encoding::for_label(label.as_bytes())) {
            // a page whose ASCII could be read up to here is not in UTF-16, whatever it says
            return Some(if found == UTF_16LE || found == UTF_16BE { UTF_8 } else { found });
        }
        rest = after;
    }
    None
}

fn label(tag: &str) -> Option<&str> {
    let value = tag.split("charset").skip(1).find_map(|after| after.trim_start().strip_prefix('='))?;
    let value = value.trim_start().trim_start_matches(['"', '\'']);
    value.split(['"', '\'', ';', ' ', '/', '\t', '\n']).next().filter(|label| !label.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(body: &[u8], declared: Option<&str>) -> String {
        decode(body, declared, Kind::Html).into_owned()
    }

    #[test]
    fn the_server_the_page_or_the_bytes() {
        let japanese = b"<p>\x93\xfa\x96{\x8c\xea"; // Shift_JIS
        assert_eq!(html(japanese, Some("Shift_JIS")), "<p>日本語");
        let said = |meta: &str| html(&[meta.as_bytes(), japanese].concat(), None);
        for meta in [
            "<meta charset=shift_jis>",
            "<META CharSet = 'Shift_JIS' >",
            "<meta http-equiv=content-type content=\"text/html; charset=sjis\">",
            "<!-- <meta charset=utf-8> --><title>x</title><meta charset=\"Shift_JIS\"/>",
        ] {
            assert!(said(meta).ends_with("日本語"), "{meta}: {}", said(meta));
        }
        assert_eq!(html("<p>naïve".as_bytes(), None), "<p>naïve");
        assert_eq!(html(b"<p>na\xefve \x80", None), "<p>naïve €");
        assert_eq!(html(b"<meta charset=utf-16><p>\xc3\xa9", None), "<meta charset=utf-16><p>é");
        assert_eq!(html("é".as_bytes(), Some("no-such-charset")), "é");
    }

    #[test]
    fn a_byte_order_mark_wins() {
        assert_eq!(html(b"\xef\xbb\xbf\xc3\xa9", Some("windows-1252")), "é");
        assert_eq!(html(b"\xff\xfeh\0i\0", Some("utf-8")), "hi");
    }

    #[test]
    fn controls() {
        assert_eq!(plain("a\r\nb\rc\td\n\0\x1b[31mred\x07\x7f\u{9b}1m"), "a\nb\nc\td\n[31mred1m");
    }

    #[test]
    fn a_cut_character_does_not_change_the_rest() {
        assert_eq!(html(b"<p>\xc3\xa9\xe6\x97", None), "<p>é\u{fffd}");
        assert_eq!(html(b"<p>caf\xe9", None), "<p>café");
        assert_eq!(decode(b"<meta charset=shift_jis>\xc3\xa9", None, Kind::Text), "<meta charset=shift_jis>é");
    }
}
