//! A tool's result that is kept whole, because the model sees only its beginning.
//!
//! It is a blob of its session, in one space with system prompts and tool schemas. Its id tells it apart: it has a prefix that no digest has,
//! and is the blob's whole name, so nothing but an artifact can be had by it.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DigestId;
use super::digest::sha256;
use super::event::input::Trust;

/// What a result is kept as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Artifact {
    /// The result's own: whoever reads a part of it trusts that no further.
    pub trust: Trust,
    pub text: String,
}

/// `art_` and 32 lower-case hexadecimal characters: the beginning of the SHA-256 of the blob. The same result has the same id.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(inline, extend("pattern" = "^art_"))]
#[serde(try_from = "String", into = "String")]
pub struct ArtifactId(Arc<str>);

/// A text that names no artifact of any session.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("an artifact's id is art_ and 32 hexadecimal characters")]
pub struct NoArtifactId;

const PREFIX: &str = "art_";
/// 128 bits: as many as our other ids have, and few enough for a model to write down.
const DIGITS: usize = 32;

impl Artifact {
    /// The name of the tool that reads on in them.
    pub const READER: &str = "read_artifact";
    /// The most bytes of a text that are kept: what the store commits in one go, and more than eighty times what a model is shown of it at
    /// once. A tool that returns without end fills no disk.
    pub const MOST_BYTES: usize = 4 << 20;

    /// The blob and its name. The trust stands in front of the text, so that one text of two trusts is two artifacts.
    pub fn into_blob(self) -> (ArtifactId, Vec<u8>) {
        let mut bytes = Vec::with_capacity(self.text.len() + 16);
        bytes.extend_from_slice(word(self.trust).as_bytes());
        bytes.push(b'\n');
        bytes.extend_from_slice(self.text.as_bytes());
        let digest = sha256(&bytes);
        (ArtifactId(format!("{PREFIX}{}", &digest[..DIGITS]).into()), bytes)
    }

    /// The artifact of a blob; `None` where the blob is none.
    pub fn from_blob(bytes: Vec<u8>) -> Option<Self> {
        let mut text = String::from_utf8(bytes).ok()?;
        let (first, _) = text.split_once('\n')?;
        let trust = [Trust::Trusted, Trust::User, Trust::Untrusted].into_iter().find(|trust| word(*trust) == first)?;
        text.drain(..=first.len());
        Some(Self { trust, text })
    }
}

/// As it is on the wire.
fn word(trust: Trust) -> &'static str {
    match trust {
        Trust::Trusted => "trusted",
        Trust::User => "user",
        Trust::Untrusted => "untrusted",
    }
}

impl ArtifactId {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of its blob.
    pub fn blob(&self) -> DigestId {
        DigestId::from(self.as_str())
    }
}

impl TryFrom<String> for ArtifactId {
    type Error = NoArtifactId;

    fn try_from(text: String) -> Result<Self, NoArtifactId> {
        text.parse()
    }
}

impl std::str::FromStr for ArtifactId {
    type Err = NoArtifactId;

    fn from_str(text: &str) -> Result<Self, NoArtifactId> {
        let digits = text.strip_prefix(PREFIX).ok_or(NoArtifactId)?;
        let is_hex = digits.len() == DIGITS && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if is_hex { Ok(Self(text.into())) } else { Err(NoArtifactId) }
    }
}

impl From<ArtifactId> for String {
    fn from(id: ArtifactId) -> Self {
        id.as_str().into()
    }
}

impl fmt::Display for ArtifactId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_comes_back_as_it_was() {
        for text in ["", "one\ntwo\n", "untrusted\n", "é\u{0}🙂"] {
            for trust in [Trust::Trusted, Trust::User, Trust::Untrusted] {
                let artifact = Artifact { trust, text: text.into() };
                assert_eq!(Artifact::from_blob(artifact.clone().into_blob().1), Some(artifact));
            }
        }
    }

    #[test]
    fn its_id_is_of_its_content_and_trust() {
        let id = |trust, text: &str| Artifact { trust, text: text.into() }.into_blob().0;
        assert_eq!(id(Trust::User, "a"), id(Trust::User, "a"));
        assert_ne!(id(Trust::User, "a"), id(Trust::User, "b"));
        assert_ne!(id(Trust::User, "a"), id(Trust::Untrusted, "a"));
        let made = id(Trust::User, "a");
        assert_eq!(made.as_str().parse::<ArtifactId>().unwrap(), made);
    }

    #[test]
    fn a_prompt_is_none() {
        let digest = sha256("You are Portico.");
        for id in [digest.clone(), format!("art_{digest}"), format!("art_{}", &digest[..31]), "art_".into(), String::new()] {
            assert!(id.parse::<ArtifactId>().is_err(), "{id}");
        }
        for blob in ["You are Portico.", "You are Portico.\n\nIt is late.", ""] {
            assert_eq!(Artifact::from_blob(blob.into()), None);
        }
        assert_eq!(Artifact::from_blob(b"user\n\xff".to_vec()), None);
    }
}
