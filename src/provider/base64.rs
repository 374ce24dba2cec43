//! Bytes as base64 (RFC 4648, part 4), written piece by piece: a file of many megabytes makes no second copy on its way into a body.

use std::fmt;

use serde::{Serialize, Serializer};

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// Bytes that are written at once; of three, so that only the last piece is padded.
const PIECE: usize = 3 * 256;

/// Shows as base64, padded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base64<'a>(pub(super) &'a [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Base64<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::with_capacity(PIECE / 3 * 4);
        for piece in self.0.chunks(PIECE) {
            text.clear();
            piece.chunks(3).for_each(|three| group(three, &mut text));
            f.write_str(&text)?;
        }
        Ok(())
    }
}

/// Up to three bytes as four characters.
fn group(bytes: &[u8], text: &mut String) {
    let byte = |at: usize| u32::from(bytes.get(at).copied().unwrap_or_default());
    let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
    for at in 0..4 {
        let digit = (bits >> (18 - 6 * at)) & 0x3f;
        text.push(if at <= bytes.len() { char::from(ALPHABET[digit as usize]) } else { '=' });
    }
}

#[cfg(test)]
mod tests {
    use super::{Base64, PIECE};

    /// The examples of RFC 4648, part 10.
    #[test]
    fn it_is_the_standards_own() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(Base64(bytes.as_bytes()).to_string(), text);
        }
        assert_eq!(Base64(&[0xfb, 0xff, 0xbf]).to_string(), "+/+/");
    }

    #[test]
    fn pieces_join_without_a_seam() {
        let text = Base64(&vec![0; PIECE * 2 + 1]).to_string();
        assert_eq!(text, format!("{}==", "A".repeat(PIECE / 3 * 8 + 2)));
    }
}
