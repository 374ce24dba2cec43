//! The session's side of the port that a turn asks through: one channel, made for one turn.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::agent::port::{Further, Proposal, StepInput, TurnPort, Verdict};
use crate::domain::{Artifact, ArtifactId};

/// The most bytes that are hashed on the spot: about a millisecond without the processor's own instructions for it.
const HASHED_HERE: usize = 256 << 10;

/// What a turn asks.
#[derive(Debug)]
pub(super) enum PortCall {
    BeginStep { further: Further, reply: oneshot::Sender<Option<StepInput>> },
    Decide { proposals: Vec<Proposal>, reply: oneshot::Sender<Vec<Verdict>> },
    Spill { id: ArtifactId, blob: Vec<u8>, reply: oneshot::Sender<()> },
    Durable { reply: oneshot::Sender<()> },
}

/// The turn's side. Boxed, because a channel makes room for 32 at once, and nearly every turn asks once.
#[derive(Debug)]
pub(super) struct Port(pub(super) mpsc::Sender<Box<PortCall>>);

impl Port {
    /// Asks and waits. When the session is gone there is no answer, and the turn is dropped where it waits.
    async fn ask<T>(&self, call: impl FnOnce(oneshot::Sender<T>) -> PortCall) -> T {
        let (reply, answer) = oneshot::channel();
        if self.0.send(Box::new(call(reply))).await.is_err() {
            return std::future::pending().await;
        }
        match answer.await {
            Ok(answer) => answer,
            Err(_) => std::future::pending().await,
        }
    }
}

impl TurnPort for Port {
    fn begin_step(&self, further: Further) -> BoxFuture<'_, Option<StepInput>> {
        self.ask(move |reply| PortCall::BeginStep { further, reply }).boxed()
    }

    fn decide(&self, proposals: Vec<Proposal>) -> BoxFuture<'_, Vec<Verdict>> {
        self.ask(move |reply| PortCall::Decide { proposals, reply }).boxed()
    }

    fn spill(&self, artifact: Artifact) -> BoxFuture<'_, ArtifactId> {
        async move {
            let (id, blob) = named(artifact).await;
            let spilled = id.clone();
            self.ask(move |reply| PortCall::Spill { id: spilled, blob, reply }).await;
            id
        }
        .boxed()
    }

    fn durable(&self) -> BoxFuture<'_, ()> {
        self.ask(|reply| PortCall::Durable { reply }).boxed()
    }
}

/// The blob and its name. A large one is hashed where it keeps no other session waiting.
async fn named(artifact: Artifact) -> (ArtifactId, Vec<u8>) {
    if artifact.text.len() <= HASHED_HERE {
        return artifact.into_blob();
    }
    match tokio::task::spawn_blocking(move || artifact.into_blob()).await {
        Ok(named) => named,
        // the process ends: the turn is dropped where it waits
        Err(_) => std::future::pending().await,
    }
}
