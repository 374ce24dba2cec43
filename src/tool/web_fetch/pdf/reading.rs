//! The process that reads one PDF: from standard input to one line of JSON. Nothing else runs in it.

use std::io::{Read, Write};
use std::process::ExitCode;

use lopdf::{Document, LoadOptions};
use nix::sys::resource::{Resource, rlim_t, setrlimit};

use super::super::MAX_CHARS;
use super::super::charset::plain;
use super::{Outcome, PdfText};

/// What the process may take, as the system enforces it: bytes of memory, and seconds of CPU.
const MEMORY: rlim_t = 512 * 1024 * 1024;
const CPU: rlim_t = 10;
/// The most bytes that one stream may grow to; pages of text have some 100 KB, large drawings a few MB.
const STREAM: usize = 16 * 1024 * 1024;
/// The most pages that are read, and bytes of text.
const PAGES: usize = 1_000;
const TEXT: usize = MAX_CHARS;

/// Reads the PDF on standard input and says what is in it. Called first in a process, and last.
pub fn main() -> ExitCode {
    let mut bytes = Vec::new();
    if limit().is_err() || std::io::stdin().read_to_end(&mut bytes).is_err() {
        return ExitCode::FAILURE;
    }
    let said = serde_json::to_vec(&read(&bytes)).unwrap_or_default();
    let mut stdout = std::io::stdout();
    match stdout.write_all(&said).and_then(|()| stdout.flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Also no core: at its limits the process is killed, and a stranger's file would lie on the disk.
fn limit() -> nix::Result<()> {
    setrlimit(Resource::RLIMIT_DATA, MEMORY, MEMORY)?;
    setrlimit(Resource::RLIMIT_CPU, CPU, CPU)?;
    setrlimit(Resource::RLIMIT_CORE, 0, 0)
}

/// What is in a PDF. Unbounded in time and memory but for the limits of its process.
pub(super) fn read(bytes: &[u8]) -> Outcome {
    let document = match Document::load_mem_with_options(bytes, LoadOptions::with_max_decompressed_size(STREAM)) {
        Ok(document) => document,
        Err(error) if is_locked(&error) => return Outcome::Encrypted,
        Err(_) => return Outcome::Damaged,
    };
    // what opens without a password has been opened, and has lost the entry
    if document.trailer.has(b"Encrypt") {
        return Outcome::Encrypted;
    }
    let pages: Vec<u32> = document.get_pages().into_keys().collect();
    let mut text = String::new();
    let (mut read, mut unread) = (0, 0);
    for &page in pages.iter().take(PAGES) {
        if text.len() >= TEXT {
            break;
        }
        read += 1;
        let chunks = document.extract_text_chunks_with_limit(&[page], STREAM);
        // a piece that cannot be read leaves the others what they are
        unread += usize::from(chunks.iter().any(Result::is_err));
        let words = tidied(&chunks.into_iter().flatten().collect::<String>());
        if !words.is_empty() {
            text.push_str(&format!("{}[page {page}]\n{words}", if text.is_empty() { "" } else { "\n\n" }));
        }
    }
    match text.is_empty() {
        true if pages.is_empty() || unread > 0 => Outcome::Damaged,
        true => Outcome::NoText { pages: pages.len() },
        false => {
            let whole = text.len();
            text.truncate(text.floor_char_boundary(TEXT));
            Outcome::Text(PdfText { title: title(&document), cut: unread > 0 || read < pages.len() || text.len() < whole, text })
        }
    }
}

/// It would open with its password, or with what this library does not know of locks.
fn is_locked(error: &lopdf::Error) -> bool {
    matches!(error, lopdf::Error::InvalidPassword | lopdf::Error::Decryption(_) | lopdf::Error::UnsupportedSecurityHandler(_))
}

/// The lines of a page, without what is empty at their ends and between them.
fn tidied(words: &str) -> String {
    plain(words).lines().map(str::trim_end).filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

fn title(document: &Document) -> Option<String> {
    let info = document.trailer.get(b"Info").ok()?;
    let info = match info.as_reference() {
        Ok(id) => document.get_dictionary(id).ok()?,
        Err(_) => info.as_dict().ok()?,
    };
    lopdf::decode_text_string(info.get(b"Title").ok()?).ok().filter(|title| !title.trim().is_empty())
}
