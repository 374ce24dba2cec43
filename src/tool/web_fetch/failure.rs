//! Why there is no page, for the model. A server's own words are in it only where they cannot be taken for ours: names that are names, and
//! not long.

use reqwest::header::CONTENT_ENCODING;
use reqwest::{Response, StatusCode};

use super::content::{ContentType, Kind, is_name};
use super::download::Broken;
use super::html::Unreadable;
use super::pdf::Lost;
use crate::tool::ToolFailure;
use crate::tool::net_guard::FetchError;

/// The address is not one that may be reached.
const ADDRESS_REFUSED: &str = "ADDRESS_REFUSED";
/// No connection, no name, a cut, too many redirects.
const FETCH_FAILED: &str = "FETCH_FAILED";
/// The server answered with an error.
const HTTP_STATUS: &str = "HTTP_STATUS";
/// It is no text.
const UNSUPPORTED_CONTENT: &str = "UNSUPPORTED_CONTENT";
/// It is HTML that is not read.
const UNREADABLE_PAGE: &str = "UNREADABLE_PAGE";
/// Nothing is wrong with it, but others are read.
const BUSY: &str = "BUSY";

const READABLE: &str = "only HTML, PDF, text, Markdown, JSON and the like can be read";

/// Whether a body can be read, before it is loaded; `None` where its server does not say what it is.
///
/// # Errors
/// When it cannot.
pub(super) fn readable(response: &Response, content_type: &ContentType) -> Result<Option<Kind>, ToolFailure> {
    let encoding = response.headers().get(CONTENT_ENCODING).map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase());
    if let Some(encoding) = encoding.filter(|encoding| !matches!(encoding.trim(), "" | "identity")) {
        let named = if is_name(encoding.trim()) { format!(" ({})", encoding.trim()) } else { String::new() };
        let error = format!("its server sent it compressed{named} although it was asked not to");
        return Err(ToolFailure::new(UNSUPPORTED_CONTENT, error));
    }
    content_type.kind().map_err(|()| unsupported(content_type, response.content_length()))
}

pub(super) fn unsupported(content_type: &ContentType, bytes: Option<u64>) -> ToolFailure {
    let size = bytes.map_or_else(|| "of unknown size".to_owned(), |bytes| format!("of {bytes} bytes"));
    ToolFailure::new(UNSUPPORTED_CONTENT, format!("it is {}, {size}; {READABLE}", content_type.name()))
}

/// For what is not what its server calls it.
pub(super) fn no_text(content_type: &ContentType, bytes: usize) -> ToolFailure {
    let error = format!("its server calls it {}, but its {bytes} bytes are not text; {READABLE}", content_type.name());
    ToolFailure::new(UNSUPPORTED_CONTENT, error)
}

pub(super) fn not_fetched(error: &FetchError) -> ToolFailure {
    let code = match error {
        FetchError::Refused(_) | FetchError::RefusedRedirect { .. } | FetchError::Downgrade { .. } => ADDRESS_REFUSED,
        FetchError::Redirects | FetchError::Location { .. } | FetchError::Transport(_) => FETCH_FAILED,
    };
    ToolFailure::new(code, error.to_string())
}

pub(super) fn broken(error: &Broken) -> ToolFailure {
    ToolFailure::new(FETCH_FAILED, error.to_string())
}

pub(super) fn unreadable(error: &Unreadable) -> ToolFailure {
    ToolFailure::new(UNREADABLE_PAGE, format!("the page is not read: {error}"))
}

/// A PDF without text that could be shown.
pub(super) fn no_text_on_pages(pages: usize) -> ToolFailure {
    let pages = if pages == 1 { "one page".to_owned() } else { format!("{pages} pages") };
    ToolFailure::new(UNREADABLE_PAGE, format!("it is a PDF of {pages} without any text: a scan, or pictures, which cannot be read here"))
}

pub(super) fn encrypted() -> ToolFailure {
    ToolFailure::new(UNREADABLE_PAGE, "it is a PDF that opens only with a password")
}

pub(super) fn damaged() -> ToolFailure {
    ToolFailure::new(UNREADABLE_PAGE, "it is a PDF that is damaged, or made in a way that cannot be read here")
}

/// The end of a PDF says where everything in it is.
pub(super) fn long_pdf(limit: usize) -> ToolFailure {
    ToolFailure::new(
        UNREADABLE_PAGE,
        format!("it is a PDF of more than {limit} bytes, the most that is loaded here, and cannot be read in part"),
    )
}

pub(super) fn lost_pdf(lost: &Lost) -> ToolFailure {
    let error = match lost {
        Lost::NotStarted(_) => "PDFs cannot be read here at the moment: what reads them did not start",
        Lost::Late => "it is a PDF that takes too long to read",
        Lost::Crashed => "it is a PDF that could not be read: what reads it ran out of its limits, or crashed",
    };
    ToolFailure::new(UNREADABLE_PAGE, error)
}

pub(super) fn crashed() -> ToolFailure {
    ToolFailure::new(UNREADABLE_PAGE, "the page could not be read: its parser crashed")
}

pub(super) fn busy() -> ToolFailure {
    ToolFailure::new(BUSY, "all that reads pages here is busy with others; the page was loaded, and can be asked for again in a minute")
}

/// `said` is what the error's page says; may be empty.
pub(super) fn answered(address: &str, status: StatusCode, said: &str) -> ToolFailure {
    let name = format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or_default());
    let said = if said.is_empty() { String::new() } else { format!("; its page says, in others' words: {said}") };
    ToolFailure::new(HTTP_STATUS, format!("{address} answered {}{said}", name.trim_end()))
}
