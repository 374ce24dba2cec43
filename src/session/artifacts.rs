//! What a session keeps of long results and of files, read from its blobs.
//!
//! The blob of either is in the append of the record that names it, so what is found here is named in the ledger, and a deleted session
//! has none.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::agent::Attachments;
use crate::domain::{Artifact, ArtifactId, File, SessionId};
use crate::store::{Store, StoreError};
use crate::tool::Artifacts;

/// The artifact of that session; `None` where it has none of that id.
///
/// # Errors
/// When the store cannot read.
pub async fn read(store: &dyn Store, session: &SessionId, id: &ArtifactId) -> Result<Option<Artifact>, StoreError> {
    Ok(store.blob(session, &id.blob()).await?.and_then(Artifact::from_blob))
}

/// One session's, as its turns reach them.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) store: Arc<dyn Store>,
    pub(super) session: SessionId,
}

impl Artifacts for Kept {
    fn artifact(&self, id: &ArtifactId) -> BoxFuture<'static, Result<Option<Artifact>, String>> {
        let (Self { store, session }, id) = (self.clone(), id.clone());
        async move { read(store.as_ref(), &session, &id).await.map_err(|error| error.to_string()) }.boxed()
    }
}

impl Attachments for Kept {
    fn attachment(&self, file: &File) -> BoxFuture<'static, Result<Option<Bytes>, String>> {
        let (Self { store, session }, blob) = (self.clone(), file.blob());
        async move { Ok(store.blob(&session, &blob).await.map_err(|error| error.to_string())?.map(Bytes::from)) }.boxed()
    }
}
