//! API keys as a gateway knows them: by their hash. The key itself is its holder's alone.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use super::digest::hex;

/// What every API key begins with.
pub const PREFIX: &str = "pk_";
/// What a hash begins with where it is written down.
const ALGORITHM: &str = "sha256:";

/// The SHA-256 of a whole API key. Written `sha256:` and 64 hexadecimal digits.
///
/// A fast hash is enough: what it hides is random and not a person's password.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub struct KeyHash([u8; 32]);

impl KeyHash {
    pub fn of(key: &str) -> Self {
        Self(Sha256::digest(key).into())
    }

    /// The first eight of its digits: enough to tell a few keys apart by.
    pub fn short(&self) -> String {
        hex(&self.0[..4])
    }
}

/// In constant time.
impl PartialEq for KeyHash {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for KeyHash {}

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ALGORITHM}{}", hex(&self.0))
    }
}

impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyHash {
    type Err = &'static str;

    /// The error never shows the text: it may be the key.
    fn from_str(text: &str) -> Result<Self, &'static str> {
        if text.contains(PREFIX) {
            return Err("this is a key and not its hash. Whoever reads this file has it: take it out of use, make another with \
                        `portico token key`, and put the hash here that this prints");
        }
        let bad = "must be \"sha256:\" and the 64 hexadecimal digits of the key's SHA-256, as `portico token key` prints it";
        let digits = text.strip_prefix(ALGORITHM).filter(|digits| digits.len() == 64).ok_or(bad)?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|b| b.is_ascii_hexdigit())).ok_or(bad)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| bad)?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for KeyHash {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::KeyHash;

    #[test]
    fn a_hash_is_read_as_it_is_written() {
        let hash = KeyHash::of("abc");
        let text = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!((hash.to_string().as_str(), text.parse()), (text, Ok(hash)));
        assert_eq!(text.to_uppercase().replace("SHA256", "sha256").parse(), Ok(hash));
        assert_ne!(hash, KeyHash::of("abd"));
    }

    #[test]
    fn what_is_no_hash_is_refused_and_not_shown() {
        let digits = "0".repeat(64);
        for text in ["", "sha256:", &digits, &format!("sha256:{digits}0"), &format!("sha256:{}+f", &digits[2..]), &format!("md5:{digits}")]
        {
            assert!(text.parse::<KeyHash>().unwrap_err().starts_with("must be"), "{text:?}");
        }
        for key in ["pk_hush", "sha256:pk_hush"] {
            let why = key.parse::<KeyHash>().unwrap_err();
            assert!(why.starts_with("this is a key") && !why.contains("hush"), "{why}");
        }
    }
}
