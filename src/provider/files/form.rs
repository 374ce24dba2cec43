//! What a file is: first by what its sender says, which decides whether it is read at all, then by its bytes.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};

use crate::domain::File;

/// What a file is said to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Image,
    Pdf,
    Text,
    Other,
}

/// What a file is that can be sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    Jpeg,
    Png,
    Webp,
    Gif,
    Pdf,
}

/// By its type alone: a sticker is an image, and so is a photograph that came as a document.
pub(super) fn form(file: &File) -> Form {
    match file.mime().as_str() {
        "image/jpeg" | "image/png" | "image/webp" | "image/gif" => Form::Image,
        "application/pdf" => Form::Pdf,
        "text/plain" | "text/csv" | "text/markdown" | "application/json" => Form::Text,
        _ => Form::Other,
    }
}

impl Media {
    /// By how the bytes begin.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let begins = |with: &[u8]| bytes.starts_with(with);
        match bytes {
            _ if begins(b"\xff\xd8\xff") => Some(Self::Jpeg),
            _ if begins(b"\x89PNG\r\n\x1a\n") => Some(Self::Png),
            _ if begins(b"GIF87a") || begins(b"GIF89a") => Some(Self::Gif),
            _ if begins(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") => Some(Self::Webp),
            _ if begins(b"%PDF-") => Some(Self::Pdf),
            _ => None,
        }
    }

    pub(in crate::provider) fn mime(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
            Self::Gif => "image/gif",
            Self::Pdf => "application/pdf",
        }
    }
}

/// As its first bytes say, else as UTF-8, else as what old programs write. `None` where it is no text.
pub(super) fn text(bytes: &[u8]) -> Option<Cow<'_, str>> {
    let (encoding, mark) = Encoding::for_bom(bytes).unwrap_or((UTF_8, 0));
    let bytes = &bytes[mark..];
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes).unwrap_or_else(|| WINDOWS_1252.decode(bytes).0);
    (!text.contains('\0')).then_some(text)
}
