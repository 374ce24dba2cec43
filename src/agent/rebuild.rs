//! Requests again from the ledger: what exactly was sent, long after it was.
//!
//! A request is a function of the state in front of its `request` record and of the blobs that it names; this is that function, so that a test, an
//! operator or an audit gets the very bytes by [`crate::provider::Provider::body`]. It reads, and sends nothing.

use std::sync::Arc;

use bytes::Bytes;

use crate::domain::event::model::{Model, Request};
use crate::domain::state::{FoldError, SessionState};
use crate::domain::{AgentEvent, DigestId, Record, Seq};
use crate::provider::ModelRequest;
use crate::provider::files::{Files, Sent, Takes};

/// A request that was sent.
#[derive(Clone, Debug)]
pub struct Rebuilt {
    /// Of its `request` record.
    pub seq: Seq,
    /// The table's id of the provider that it was for.
    pub provider: String,
    pub request: ModelRequest,
}

/// Why a ledger's requests cannot be had again.
#[derive(Debug, thiserror::Error)]
pub enum RebuildError {
    #[error("the ledger does not fold: {0}")]
    Fold(#[from] FoldError),
    #[error("record {seq} names the blob {digest}, which the session does not have, or not as text")]
    NoBlob { seq: Seq, digest: DigestId },
}

/// Every request of a ledger, in order. `records` begin with the first; `blob` gives the session's blobs by their name, `takes` what a provider
/// takes by its id.
///
/// # Errors
/// When the records are not a ledger, or a blob is missing.
pub fn requests<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    blob: impl Fn(&DigestId) -> Option<Bytes>,
    takes: impl Fn(&str) -> Takes,
) -> Result<Vec<Rebuilt>, RebuildError> {
    let mut state = SessionState::default();
    let mut rebuilt = Vec::new();
    for record in records {
        if let AgentEvent::Model(Model::Request(sent)) = &record.event {
            rebuilt.push(rebuild(record.seq(), sent, &state, &blob, takes(&sent.provider))?);
        }
        state.apply(record)?;
    }
    Ok(rebuilt)
}

fn rebuild(
    seq: Seq,
    sent: &Request,
    before: &SessionState,
    blob: impl Fn(&DigestId) -> Option<Bytes>,
    takes: Takes,
) -> Result<Rebuilt, RebuildError> {
    let text = |digest: &DigestId| {
        let text = blob(digest).and_then(|bytes| Some(Arc::from(std::str::from_utf8(&bytes).ok()?)));
        text.ok_or_else(|| RebuildError::NoBlob { seq, digest: digest.clone() })
    };
    let messages = before.surface.messages.clone();
    let files = if sent.without_files { Sent::Refused } else { Sent::Newest };
    let files = Files::of(&messages, takes, files, |file| blob(&file.blob()));
    let request = ModelRequest {
        model: sent.model.clone(),
        system: text(&sent.system_digest)?,
        tools: sent.tools_digest.as_ref().map(text).transpose()?,
        withheld: sent.withheld_digest.as_ref().map(text).transpose()?,
        messages,
        files: Arc::new(files),
        parameters: sent.parameters.clone(),
    };
    Ok(Rebuilt { seq, provider: sent.provider.clone(), request })
}
