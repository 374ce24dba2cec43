//! Files that came with a message: asked for by their id, fetched from where Meta says they lie.

use std::time::Duration;

use bytes::Bytes;
use url::Url;

use super::content::{digest, is_media_id};
use super::graph::Graph;
use crate::channel::messenger::{DeliveryError, ErrorClass, FetchFailure};
use crate::domain::digest::sha256;
use crate::domain::{Attachment, AttachmentKind};

/// A file as a whole. An attachment that is not there after 60 seconds is done without.
const DOWNLOAD_TIMEOUT: Duration = Duration::from_secs(40);
/// Where Meta keeps files. The token goes there and nowhere else, whatever an answer says.
const HOSTS: [&str; 3] = ["fbsbx.com", "facebook.com", "whatsapp.net"];
const MIB: usize = 1024 * 1024;

/// The bytes that the attachment stands for.
pub(super) async fn fetch(graph: Graph, attachment: Attachment) -> Result<Bytes, FetchFailure> {
    if !is_media_id(&attachment.media_id) {
        return Err(FetchFailure::Unavailable);
    }
    let media = graph.media(&attachment.media_id).await.map_err(|error| failure(&error))?;
    let most = limit(attachment.kind);
    if media["file_size"].as_u64().is_some_and(|size| size > most as u64) {
        return Err(FetchFailure::TooLarge);
    }
    let url = media["url"].as_str().and_then(|url| trusted(url, graph.base())).ok_or(FetchFailure::Unavailable)?;
    let bytes = download(&graph, url, most).await?;
    let hash = sha256(&bytes);
    let said = [attachment.sha256, media["sha256"].as_str().and_then(digest)];
    match said.into_iter().flatten().all(|said| said == hash) {
        true => Ok(bytes),
        false => Err(FetchFailure::HashMismatch),
    }
}

/// What Meta itself takes of each kind, bytes; of documents a fifth of it.
fn limit(kind: AttachmentKind) -> usize {
    match kind {
        AttachmentKind::Image => 5 * MIB,
        AttachmentKind::Audio | AttachmentKind::Voice | AttachmentKind::Video => 16 * MIB,
        AttachmentKind::Document => 20 * MIB,
        AttachmentKind::Sticker => MIB,
    }
}

/// The address, if the token may go there: one of Meta's hosts over TLS, or the origin that the operator configured.
pub(super) fn trusted(text: &str, base: &str) -> Option<Url> {
    let url = Url::parse(text).ok()?;
    let host = url.host_str()?.trim_end_matches('.');
    let own = Url::parse(base).is_ok_and(|base| base.origin() == url.origin());
    let metas = url.scheme() == "https"
        && url.port().is_none()
        && HOSTS.iter().any(|known| host.strip_suffix(known).is_some_and(|front| front.is_empty() || front.ends_with('.')));
    (own || metas).then_some(url).filter(|url| url.username().is_empty() && url.password().is_none())
}

async fn download(graph: &Graph, url: Url, most: usize) -> Result<Bytes, FetchFailure> {
    let request = graph.download(url).timeout(DOWNLOAD_TIMEOUT);
    let mut response = request.send().await.map_err(|_| FetchFailure::Later)?;
    match response.status().as_u16() {
        200 => {}
        408 | 429 | 500.. => return Err(FetchFailure::Later),
        _ => return Err(FetchFailure::Unavailable),
    }
    if response.content_length().is_some_and(|length| length > most as u64) {
        return Err(FetchFailure::TooLarge);
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|_| FetchFailure::Later)? {
        if bytes.len() + chunk.len() > most {
            return Err(FetchFailure::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes.into())
}

/// Asking for a file has no effect: what would be doubtful of a message can be asked again here.
fn failure(error: &DeliveryError) -> FetchFailure {
    match error.class {
        ErrorClass::Final | ErrorClass::Closed => FetchFailure::Unavailable,
        ErrorClass::Retry { .. } | ErrorClass::TooFast { .. } | ErrorClass::Account | ErrorClass::Ambiguous => FetchFailure::Later,
    }
}
