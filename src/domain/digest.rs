//! SHA-256 as text: what names a blob, tells two bodies apart and ties an approval to the bytes that it is for; keyed, what nobody outside
//! can work out.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// The SHA-256 of these bytes: 64 lower-case hexadecimal characters.
pub fn sha256(bytes: impl AsRef<[u8]>) -> String {
    hex(&Sha256::digest(bytes))
}

/// The HMAC-SHA256 of these parts in hexadecimal. Each part is preceded by its length, so that no two lists of parts read the same.
pub fn keyed(secret: &[u8; 32], parts: &[&str]) -> String {
    // a key of any length is taken
    let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(secret) else { return String::new() };
    for part in parts {
        mac.update(&(part.len() as u64).to_be_bytes());
        mac.update(part.as_bytes());
    }
    hex(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::{keyed, sha256};

    #[test]
    fn parts_that_join_alike_are_told_apart() {
        let of = |parts: &[&str]| keyed(&[7; 32], parts);
        assert_ne!(of(&["a:b", "c"]), of(&["a", "b:c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["A"]), of(&["a"]));
        assert_ne!(of(&["a", ""]), of(&["a"]));
        assert_ne!(of(&["a"]), keyed(&[8; 32], &["a"]));
        assert_eq!(of(&["a", "b"]), of(&["a", "b"]));
    }

    /// The first example of FIPS 180-4, and nothing at all.
    #[test]
    fn it_is_the_standards_own() {
        assert_eq!(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
