//! The files that a turn's requests show.
//!
//! They are read once: again only where a later step's input brings others. A conversation without files asks the session nothing.
//!
//! A provider may refuse a request for one image in it that it cannot read, and would refuse every later one too, for the image is in the
//! conversation. So, where nothing else is left to try, the same is asked once more without, and the request says so: the turn goes on, and
//! the model tells what it cannot see.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;

use super::attempt::Failure;
use super::port::StepInput;
use super::run::Agent;
use crate::domain::{AttachmentId, Usage};
use crate::provider::files::{self, Files, Sent};
use crate::provider::{ErrorClass, ModelError};

/// Codes of refusals that a file may have caused: a bad image, a request too large, no model behind a gateway that takes any; and what
/// servers say (llama.cpp's among them) that do not expect one.
const REFUSALS: [&str; 4] = ["bad_request", "context_overflow", "model_not_found", "server_error"];

/// What a turn shows.
#[derive(Debug, Default)]
pub(super) struct Shown {
    files: Arc<Files>,
    /// Of whose files: those of the conversation, oldest first.
    of: Vec<AttachmentId>,
    /// What was read, as far as it is shown.
    kept: BTreeMap<AttachmentId, Bytes>,
    refused: bool,
}

impl Shown {
    pub(super) fn files(&self) -> Arc<Files> {
        self.files.clone()
    }

    pub(super) fn are_refused(&self) -> bool {
        self.refused
    }
}

impl Agent {
    /// Makes ready what the step's requests show of the conversation's files.
    pub(super) async fn read_files(&mut self, input: &StepInput) -> Result<(), Failure> {
        let of: Vec<AttachmentId> = files::all(&input.surface).map(|file| file.attachment_id.clone()).collect();
        if of == self.shown.of {
            return Ok(());
        }
        let kept = self.turn.cancel.run_until_cancelled(self.kept(input)).await.ok_or_else(Failure::cancelled)??;
        (self.shown.of, self.shown.kept) = (of, kept);
        self.show(input);
        Ok(())
    }

    /// The bytes of what is shown. The record that a file is kept may just have begun this turn, and its blob is not there before it.
    async fn kept(&self, input: &StepInput) -> Result<BTreeMap<AttachmentId, Bytes>, Failure> {
        let (mut kept, mut is_durable) = (BTreeMap::new(), false);
        for file in files::wanted(&input.surface, self.turn.model.provider.takes()) {
            let id = &file.attachment_id;
            if let Some(bytes) = self.shown.kept.get(id) {
                kept.insert(id.clone(), bytes.clone());
                continue;
            }
            if !std::mem::replace(&mut is_durable, true) {
                self.turn.port.durable().await;
            }
            let read = self.turn.attachments.attachment(file).await.map_err(|why| unreadable(&why))?;
            kept.extend(read.map(|bytes| (id.clone(), bytes)));
        }
        Ok(kept)
    }

    /// Whether the same is to be asked once more without the files, after an error that would end the step.
    pub(super) fn leaves_files_out(&mut self, error: &ModelError, input: &StepInput) -> bool {
        let leaves_out = REFUSALS.contains(&error.code) && self.shown.files.any_sent();
        if leaves_out {
            self.shown.refused = true;
            self.show(input);
        }
        leaves_out
    }

    fn show(&mut self, input: &StepInput) {
        let sent = if self.shown.refused { Sent::Refused } else { Sent::Newest };
        let kept = &self.shown.kept;
        let files = Files::of(&input.surface, self.turn.model.provider.takes(), sent, |file| kept.get(&file.attachment_id).cloned());
        self.shown.files = Arc::new(files);
    }
}

/// The store cannot read now: what it would say of a file that it has is not known, so nothing is asked.
fn unreadable(why: &str) -> Failure {
    let message = format!("a file of the conversation cannot be read: {why}");
    Failure::Model { error: ModelError { class: ErrorClass::Final, code: "internal", message, retry_after: None }, usage: Usage::default() }
}
