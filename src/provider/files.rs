//! Files that came with messages, as requests have them: once for all wires.
//!
//! A conversation goes out again with every request, and so would all its files. So the newest go out, and of the others the text tells:
//! that they were there, and why they are not seen. What is sent is a function of the conversation, of what the provider takes ([`Takes`])
//! and of the bytes that the session keeps; a wire only writes down what [`Files`] has.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use crate::domain::{AttachmentId, File, SurfaceMessage};
use form::{Form, form};

mod form;
mod words;

pub use form::Media;

/// The most files of a request, and their bytes together. Base64 makes these 22 MiB; of the providers, Anthropic takes the least, a request
/// of 32 MB (its page of errors), and a conversation stands beside them.
pub const MOST_FILES: usize = 6;
pub const MOST_BYTES: u64 = 16 << 20;
/// The most characters of a text file that a model reads: as many as of a tool's result.
pub const MOST_CHARS: usize = 50_000;

/// Which files a provider's models take as they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    pub images: &'static [Media],
    /// PDF.
    pub documents: bool,
    /// The most bytes of an image.
    pub image_bytes: u64,
}

impl Takes {
    pub const NOTHING: Self = Self { images: &[], documents: false, image_bytes: MOST_BYTES };
    pub const IMAGES: Self = Self { images: &[Media::Jpeg, Media::Png, Media::Webp, Media::Gif], ..Self::NOTHING };
    pub const BOTH: Self = Self { documents: true, ..Self::IMAGES };

    fn form(self, form: Form) -> bool {
        match form {
            Form::Image => !self.images.is_empty(),
            Form::Pdf => self.documents,
            Form::Text => true,
            Form::Other => false,
        }
    }

    fn most_bytes(self, form: Form) -> u64 {
        if form == Form::Image { self.image_bytes.min(MOST_BYTES) } else { MOST_BYTES }
    }
}

/// The files of one conversation, as its next requests have them.
#[derive(Debug, Default)]
pub struct Files(BTreeMap<AttachmentId, Shown>);

/// What a model gets of a file.
#[derive(Debug)]
enum Shown {
    Media(Seen),
    /// Its text, or a sentence in its place.
    Text(String),
}

/// A file that is sent as it is.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) media: Media,
    /// For showing; some wires want one.
    pub(super) name: Option<String>,
    pub(super) bytes: Bytes,
}

/// Why a provider that takes files is sent none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Newest,
    /// It has refused them in this turn: they are named.
    Refused,
}

/// What becomes of a file before its bytes are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plan {
    Load(Form),
    NotTaken,
    TooLarge,
    /// Newer ones take the room.
    Older,
}

/// The files of a conversation, oldest first.
pub fn all(messages: &[Arc<SurfaceMessage>]) -> impl DoubleEndedIterator<Item = &File> {
    messages.iter().flat_map(|message| match &**message {
        SurfaceMessage::User { files, .. } => files.as_slice(),
        SurfaceMessage::Assistant { .. } | SurfaceMessage::ToolResult { .. } => &[],
    })
}

/// The files whose bytes [`Files::of`] asks for.
pub fn wanted(messages: &[Arc<SurfaceMessage>], takes: Takes) -> impl Iterator<Item = &File> {
    plans(messages, takes).into_iter().filter(|(_, plan)| matches!(plan, Plan::Load(_))).map(|(file, _)| file)
}

/// The newest first, as many as there is room for.
fn plans(messages: &[Arc<SurfaceMessage>], takes: Takes) -> Vec<(&File, Plan)> {
    let (mut files, mut bytes) = (0, 0);
    let mut plan = |file: &File| {
        let form = form(file);
        if !takes.form(form) {
            return Plan::NotTaken;
        }
        if file.bytes > takes.most_bytes(form) {
            return Plan::TooLarge;
        }
        if files == MOST_FILES || bytes + file.bytes > MOST_BYTES {
            // an older one that is smaller does not get in between: what is shown is the newest
            files = MOST_FILES;
            return Plan::Older;
        }
        (files, bytes) = (files + 1, bytes + file.bytes);
        Plan::Load(form)
    };
    all(messages).rev().map(|file| (file, plan(file))).collect()
}

impl Files {
    /// `kept` gives the bytes of a file; `None` where they cannot be had any more.
    pub fn of(messages: &[Arc<SurfaceMessage>], takes: Takes, sent: Sent, mut kept: impl FnMut(&File) -> Option<Bytes>) -> Self {
        let shown = |(file, plan): (&File, Plan)| {
            let shown = match plan {
                Plan::NotTaken => Shown::Text(words::not_taken(file)),
                Plan::TooLarge => Shown::Text(words::too_large(file)),
                Plan::Older => Shown::Text(words::older(file)),
                Plan::Load(form) => {
                    let bytes = kept(file).filter(|bytes| bytes.len() as u64 == file.bytes);
                    bytes.and_then(|bytes| read(file, form, bytes, takes, sent)).unwrap_or_else(|| Shown::Text(words::unreadable(file)))
                }
            };
            (file.attachment_id.clone(), shown)
        };
        Self(plans(messages, takes).into_iter().map(shown).collect())
    }

    /// Whether any is sent as it is.
    pub fn any_sent(&self) -> bool {
        self.0.values().any(|shown| matches!(shown, Shown::Media(_)))
    }

    /// What a user's message says and shows.
    pub(super) fn message<'a>(&'a self, text: &'a str, files: &'a [File]) -> (Cow<'a, str>, Vec<&'a Seen>) {
        let (mut said, mut seen) = (Cow::Borrowed(text), Vec::new());
        for file in files {
            match self.0.get(&file.attachment_id) {
                Some(Shown::Media(media)) => seen.push(media),
                Some(Shown::Text(text)) => add(&mut said, text),
                None => add(&mut said, &words::not_taken(file)),
            }
        }
        (said, seen)
    }
}

fn add(said: &mut Cow<'_, str>, line: &str) {
    let said = said.to_mut();
    if !said.is_empty() {
        said.push_str("\n\n");
    }
    said.push_str(line);
}

/// What the bytes are; `None` where they are not what they were said to be. A provider refuses all of a request for one image that is none.
fn read(file: &File, form: Form, bytes: Bytes, takes: Takes, sent: Sent) -> Option<Shown> {
    if form == Form::Text {
        return form::text(&bytes).map(|text| Shown::Text(words::document(file, &text)));
    }
    let media = Media::of(&bytes)?;
    let is_taken = match form {
        Form::Image => takes.images.contains(&media),
        Form::Pdf => media == Media::Pdf,
        Form::Text | Form::Other => false,
    };
    Some(match sent {
        Sent::Refused => Shown::Text(words::refused(file)),
        Sent::Newest if is_taken => Shown::Media(Seen { media, name: file.shown_name(), bytes }),
        Sent::Newest => Shown::Text(words::not_taken(file)),
    })
}

#[cfg(test)]
pub(super) mod tests;
