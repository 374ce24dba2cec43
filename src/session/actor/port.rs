//! The session's side of the port that a turn asks through: one channel, made for one turn.

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use crate::agent::port::{Further, Proposal, StepInput, TurnPort, Verdict};
use crate::domain::{Artifact, ArtifactId};

/// What a turn asks.
#[derive(Debug)]
pub(super) enum PortCall {
    BeginStep { further: Further, reply: oneshot::Sender<Option<StepInput>> },
    Decide { proposals: Vec<Proposal>, reply: oneshot::Sender<Vec<Verdict>> },
    Spill { artifact: Artifact, reply: oneshot::Sender<ArtifactId> },
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
        self.ask(move |reply| PortCall::Spill { artifact, reply }).boxed()
    }

    fn durable(&self) -> BoxFuture<'_, ()> {
        self.ask(|reply| PortCall::Durable { reply }).boxed()
    }
}
