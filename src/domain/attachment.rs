//! What came with a message beside its text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::AttachmentId;

/// A file that somebody sent. The platform has it until it is fetched; then the session keeps it as a blob.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attachment {
    pub attachment_id: AttachmentId,
    pub kind: AttachmentKind,
    /// As the platform says; parameters included.
    pub mime: String,
    /// As the sender named it: for showing only, never a path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// Lower-case hex, where the platform says it: what was fetched must have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The platform's id of it.
    pub media_id: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttachmentKind {
    Image,
    Audio,
    /// Spoken into the phone.
    Voice,
    Video,
    Document,
    Sticker,
}
