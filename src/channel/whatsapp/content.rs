//! What a message holds: words, files, and facts about it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::facts::{self, clean};
use super::webhook::from_hex;
use crate::domain::digest::{hex, sha256};
use crate::domain::visible::is_hidden;
use crate::domain::{Attachment, AttachmentId, AttachmentKind};

/// Characters of a text; a phone takes 4,096. What is longer is said to be.
const LONGEST_TEXT: usize = 16_384;
/// Characters of a file's name and of its type.
const LONGEST_FILENAME: usize = 120;
const LONGEST_MIME: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Content {
    /// Empty where there is nothing that can be read.
    pub(super) text: String,
    pub(super) attachments: Vec<Attachment>,
}

/// `line` and `id` name the message, so that its attachments have the same ids whenever it comes again.
pub(super) fn read(message: &Value, line: &str, id: &str) -> Content {
    let kind = message["type"].as_str().unwrap_or_default();
    let body = &message[kind];
    let attachments: Vec<Attachment> = attachment(kind, body, line, id).into_iter().collect();
    let words = words(kind, body);
    let mut parts: Vec<String> = Vec::new();
    if words.chars().any(|c| !c.is_whitespace() && !is_hidden(c)) {
        parts.push(shorten(words));
    }
    parts.extend(facts::of_body(kind, body));
    // that something was forwarded, or came by an advertisement, says nothing about a message that holds nothing
    if !parts.is_empty() || !attachments.is_empty() {
        parts.extend(facts::of_message(message));
    }
    Content { text: parts.join("\n"), attachments }
}

fn words<'a>(kind: &str, body: &'a Value) -> &'a str {
    let words = match kind {
        "text" => &body["body"],
        "image" | "video" | "document" | "audio" | "voice" => &body["caption"],
        "button" | "order" => &body["text"],
        "interactive" => match body["type"].as_str() {
            Some(reply @ ("button_reply" | "list_reply")) => &body[reply]["title"],
            _ => return "",
        },
        _ => return "",
    };
    words.as_str().unwrap_or_default()
}

fn shorten(words: &str) -> String {
    match words.char_indices().nth(LONGEST_TEXT) {
        Some((end, _)) => format!("{}\n[The rest of this message is left out: it is too long]", &words[..end]),
        None => words.to_owned(),
    }
}

fn attachment(kind: &str, body: &Value, line: &str, id: &str) -> Option<Attachment> {
    let kind = match kind {
        "image" => AttachmentKind::Image,
        "video" => AttachmentKind::Video,
        "document" => AttachmentKind::Document,
        "sticker" => AttachmentKind::Sticker,
        "voice" => AttachmentKind::Voice,
        "audio" if body["voice"] == true => AttachmentKind::Voice,
        "audio" => AttachmentKind::Audio,
        _ => return None,
    };
    let media_id = super::receive::text_or_number(&body["id"]).filter(|id| is_media_id(id))?;
    let mime = clean(body["mime_type"].as_str().unwrap_or_default(), LONGEST_MIME);
    Some(Attachment {
        attachment_id: AttachmentId::from(format!("att_{}", &sha256(format!("{line}\0{id}\0{media_id}"))[..32])),
        kind,
        mime: if mime.is_empty() { "application/octet-stream".into() } else { mime },
        filename: body["filename"].as_str().and_then(filename),
        sha256: body["sha256"].as_str().and_then(digest),
        media_id,
    })
}

/// It becomes a piece of a URL's path.
pub(super) fn is_media_id(id: &str) -> bool {
    (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
}

/// Meta writes a SHA-256 in base64 here and in hexadecimal there. What is neither is no hash that anything could have.
pub(super) fn digest(text: &str) -> Option<String> {
    let bytes = from_hex(text).map(Vec::from).or_else(|| STANDARD.decode(text).ok())?;
    (bytes.len() == 32).then(|| hex(&bytes))
}

/// The last piece of what may be a path of either kind, with its ending where it has to be cut.
fn filename(text: &str) -> Option<String> {
    let name = clean(text.rsplit(['/', '\\']).next().unwrap_or_default(), usize::MAX);
    let name = name.trim_matches(['.', ' ']);
    let count = name.chars().count();
    if count <= LONGEST_FILENAME {
        return Some(name.to_owned()).filter(|name| !name.is_empty());
    }
    let ending: String =
        name.rsplit_once('.').map(|(_, ending)| ending).filter(|ending| ending.len() <= 10).map_or(String::new(), |e| format!(".{e}"));
    Some(name.chars().take(LONGEST_FILENAME - ending.chars().count()).chain(ending.chars()).collect())
}
