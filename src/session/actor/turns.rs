//! Turns: begun, fed, appended, ended.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tracing::{error, info, warn};

use super::handoff::Spoken;
use super::port::{Port, PortCall};
use super::{Actor, LedgerError, repair};
use crate::agent::port::{Further, Proposal, Verdict};
use crate::agent::{Begin, Blob, End, Output, StepInput, Turn};
use crate::domain::burst::Claim;
use crate::domain::event::AttemptEffect;
use crate::domain::event::input::{QueueDrain, TurnStart};
use crate::domain::event::tool::{Tool, ToolEnd};
use crate::domain::event::turn::DoneReason;
use crate::domain::{Address, AgentEvent, ArtifactId, LiveEvent, MessageId, Overview, Timestamp};
use crate::meter::Share;
use crate::session::artifacts::Kept;
use crate::session::command::{Cancelled, Reply};
use crate::session::delivery::Typing;
use crate::session::setup::Want;

/// The turn that runs now.
pub(super) struct Running {
    pub(super) cancel: CancellationToken,
    /// The decisions that it waits for.
    pub(super) deciding: Option<Deciding>,
    /// It has just begun: its first request is to stand in the same append as the message that it answers.
    pub(super) opening: bool,
    /// When the oldest message that it answers was accepted, until its answer begins.
    accepted: Option<Timestamp>,
    _counted: Share,
    /// Texts that its requests name.
    blobs: Vec<Blob>,
    /// What is to be kept of the result that comes next.
    spilled: Option<(ArtifactId, Vec<u8>)>,
    /// Who cancelled it: told when its end is on disk, for until then a crash would let it go on.
    pub(super) cancels: Vec<(Reply<Cancelled>, Cancelled)>,
    /// Who was the first of them.
    pub(super) cancelled_by: Option<String>,
    /// What a person said who took over, and who is told that he has.
    pub(super) spoken: Vec<Spoken>,
    pub(super) taken: Vec<Reply<Overview>>,
    /// Shown where its messages came from.
    pub(super) typing: Typing,
    /// Which are these; none while it is not shown.
    pub(super) typing_to: Vec<Address>,
}

pub(super) struct Deciding {
    pub(super) proposals: Vec<Proposal>,
    pub(super) reply: oneshot::Sender<Vec<Verdict>>,
}

impl Actor {
    /// Opens a turn for the input that waits, unless one is open.
    pub(super) fn start_turn(&mut self) -> Result<(), LedgerError> {
        if self.ledger.state.turn.is_some() || self.stopping.is_some() {
            return Ok(());
        }
        self.end_handoff()?;
        if self.ledger.state.handoff.is_some() || self.ledger.state.inbox.is_empty() {
            return Ok(());
        }
        let now = self.shared.settings.clock.now();
        let Claim::Now(message_ids) = self.ledger.state.inbox.next_turn(self.debounce, now) else { return Ok(()) };
        let claimed = message_ids.iter().filter_map(|id| self.ledger.state.inbox.get(id));
        let accepted = claimed.map(|queued| queued.at).min();
        self.stage(TurnStart { message_ids })?;
        let begin = Begin::Fresh(self.step_input());
        self.launch(begin, accepted)
    }

    /// Goes on with the turn that the ledger has open.
    pub(super) fn resume_turn(&mut self) -> Result<(), LedgerError> {
        let state = &self.ledger.state;
        let Some(begin) = state.turn.as_ref().map(|turn| repair::resume(state, turn)) else { return Ok(()) };
        self.launch(begin, None)
    }

    /// Ends the turn that does not go on: it was continued too often, or a person has taken over.
    pub(super) fn interrupt_turn(&mut self) -> Result<(), LedgerError> {
        if self.ledger.state.handoff.is_some() {
            return self.close_turn(End::new(DoneReason::Aborted, ""));
        }
        let answer = "Sorry, I was interrupted and could not finish; please ask again.";
        self.close_turn(End::new(DoneReason::Interrupted, answer))
    }

    fn launch(&mut self, begin: Begin, accepted: Option<Timestamp>) -> Result<(), LedgerError> {
        let Some((turn, profile)) = self.ledger.state.turn.as_ref().zip(self.ledger.state.profile.as_ref()) else { return Ok(()) };
        let settings = &self.shared.settings;
        let want = Want {
            agent: &profile.agent,
            channel: &profile.channel,
            account: profile.account.as_deref(),
            addresses: &turn.addresses,
            model: turn.model.as_deref(),
            instructions: turn.instructions.as_deref(),
            started_at: turn.started_at,
        };
        let prepared = match settings.setup.prepare(&want) {
            Ok(prepared) => prepared,
            Err(end) => return self.close_turn(end),
        };
        info!(session = %self.entry.id, turn = turn.turn, provider = prepared.model.provider.id(), model = prepared.model.model, "turn begins");
        let (sender, port) = mpsc::channel(1);
        let cancel = CancellationToken::new();
        let kept = Arc::new(Kept { store: settings.store.clone(), session: self.entry.id.clone() });
        let blobs = std::iter::once(prepared.system.clone()).chain(prepared.tools.clone()).collect();
        let turn = Turn {
            model: prepared.model,
            system: prepared.system,
            tools: prepared.tools,
            toolset: prepared.toolset,
            toolbox: prepared.toolbox,
            limits: prepared.limits,
            begin,
            started_at: turn.started_at,
            idle: self.ledger.state.idle(settings.clock.now()),
            cancel: cancel.clone(),
            port: Arc::new(Port(sender)),
            artifacts: kept.clone(),
            attachments: kept,
            tasks: self.shared.tasks.clone(),
            ids: settings.ids.clone(),
            clock: settings.clock.clone(),
        };
        self.turn = Some(Box::pin(crate::agent::run(turn)));
        self.port = Some(port);
        let counted = Share::one(&settings.metrics.running);
        self.running = Some(Running {
            cancel,
            deciding: None,
            opening: true,
            accepted,
            _counted: counted,
            blobs,
            spilled: None,
            cancels: Vec::new(),
            cancelled_by: None,
            spoken: Vec::new(),
            taken: Vec::new(),
            typing: Typing::default(),
            typing_to: Vec::new(),
        });
        self.show_typing();
        Ok(())
    }

    pub(super) fn on_output(&mut self, output: Result<Option<Output>, ()>) -> Result<(), LedgerError> {
        match output {
            Ok(Some(Output::Record(event))) => self.on_record(event),
            Ok(Some(Output::Live(event))) => {
                self.answer_begins(&event);
                self.entry.feed.live(self.ledger.state.last_turn, self.ledger.state.head, event);
                Ok(())
            }
            Ok(Some(Output::End(end))) => self.close_turn(end),
            Ok(None) | Err(()) => {
                error!(session = %self.entry.id, panicked = output.is_err(), "the turn ended without its done");
                self.close_turn(End::error("internal", "the turn failed inside the gateway"))
            }
        }
    }

    /// Notes how long the first of those who asked has waited for the answer's first piece.
    fn answer_begins(&mut self, event: &LiveEvent) {
        if let LiveEvent::Delta(_) = event
            && let Some(accepted) = self.running.as_mut().and_then(|running| running.accepted.take())
        {
            let settings = &self.shared.settings;
            settings.metrics.first_delta.record(settings.clock.now().since(accepted));
        }
    }

    fn on_record(&mut self, event: AgentEvent) -> Result<(), LedgerError> {
        let opens = event.attempt() == AttemptEffect::Opens;
        if opens {
            self.stage_blobs(&event);
        }
        self.stage_artifact(&event)?;
        let seq = self.stage(event)?;
        if opens {
            self.entry.feed.open_attempt(seq);
            // readers see no delta before the request in front of it is durable
            self.ledger.urgent();
            self.opened();
        }
        Ok(())
    }

    /// The texts that the request names and the session does not have yet go into the same append.
    fn stage_blobs(&mut self, event: &AgentEvent) {
        use crate::domain::event::model::Model;
        let AgentEvent::Model(Model::Request(request)) = event else { return };
        let digests = || std::iter::once(&request.system_digest).chain(&request.tools_digest).chain(&request.withheld_digest);
        let named = |blob: &&Blob| digests().any(|digest| blob.digest == *digest);
        let Some(running) = &self.running else { return };
        for blob in running.blobs.iter().filter(named) {
            if !self.ledger.state.blobs.contains(&blob.digest) {
                self.ledger.blob(blob.digest.clone(), blob.text.clone().into());
            }
        }
    }

    /// What is kept of the result goes into the same append: no record names what is not there, and nothing is there that no record names.
    fn stage_artifact(&mut self, event: &AgentEvent) -> Result<(), LedgerError> {
        let AgentEvent::Tool(Tool::ToolEnd(ToolEnd { artifact_id: Some(id), .. })) = event else { return Ok(()) };
        let spilled = self.running.as_mut().and_then(|r| r.spilled.take_if(|(spilled, _)| spilled == id));
        let (id, bytes) = spilled.ok_or_else(|| LedgerError::NoArtifact(id.clone()))?;
        self.ledger.blob(id.blob(), bytes.into());
        Ok(())
    }

    pub(super) fn opened(&mut self) {
        if let Some(running) = &mut self.running {
            running.opening = false;
        }
    }

    /// Gives the turn its one honest end: whatever it lacks first, then `done`. The next turn begins if input waits for it.
    fn close_turn(&mut self, end: End) -> Result<(), LedgerError> {
        (self.turn, self.port) = (None, None);
        let ended = self.running.take();
        for event in repair::close_step(&self.ledger.state) {
            self.stage(event)?;
        }
        self.withdraw()?;
        let now = self.shared.settings.clock.now();
        let profile = self.ledger.state.profile.as_ref();
        let profile = profile.and_then(|p| self.shared.settings.setup.profile(&p.channel, p.account.as_deref()));
        let turn = self.ledger.state.turn.as_ref();
        let Some(mut done) = turn.map(|turn| repair::done(turn, end, now, profile.as_deref())) else { return Ok(()) };
        let answers = self.answers(&mut done, ended.as_ref().and_then(|r| r.cancelled_by.as_deref()));
        let (turn, session) = (self.ledger.state.last_turn, &self.entry.id);
        let (reason, code) = (done.reason.as_str(), done.code.as_deref());
        // what a provider says of a request that it does not like may quote it
        let detail = done.detail.as_deref().filter(|_| code != Some("bad_request"));
        match done.reason {
            DoneReason::Error | DoneReason::Interrupted => {
                warn!(%session, turn, reason, code, detail, ms = done.total_time_ms, "turn ends")
            }
            DoneReason::Completed | DoneReason::MaxTokens | DoneReason::MaxSteps | DoneReason::Budget => {
                info!(%session, turn, reason, code, steps = done.steps, ms = done.total_time_ms, "turn ends");
            }
            DoneReason::Blocked | DoneReason::Aborted => {
                info!(%session, turn, reason, code, steps = done.steps, ms = done.total_time_ms, "turn ends")
            }
        }
        self.stage(done)?;
        for answer in answers {
            self.queue(answer)?;
        }
        self.ledger.urgent();
        if let Some(ended) = ended {
            self.tell_ended(ended)?;
        }
        self.start_turn()
    }

    /// Whoever wanted the turn's end hears that it is there, and who took over has his say.
    fn tell_ended(&mut self, ended: Running) -> Result<(), LedgerError> {
        for (reply, cancelled) in ended.cancels {
            self.ledger.when_durable(Box::new(move || drop(reply.send(Ok(cancelled)))));
        }
        for spoken in ended.spoken {
            self.speak(spoken)?;
        }
        for reply in ended.taken {
            self.answer_overview(reply);
        }
        Ok(())
    }

    pub(super) fn step_input(&self) -> StepInput {
        repair::step_input(&self.ledger.state)
    }

    pub(super) fn on_port(&mut self, call: PortCall) -> Result<(), LedgerError> {
        self.opened();
        match call {
            PortCall::BeginStep { further, reply } => {
                let input = self.begin_step(further)?;
                // a turn that was dropped meanwhile does not hear it
                let _ = reply.send(input);
            }
            PortCall::Decide { proposals, reply } => self.decide(proposals, reply)?,
            PortCall::Spill { id, blob, reply } => {
                if let Some(running) = &mut self.running {
                    running.spilled = Some((id, blob));
                }
                // a turn that was dropped meanwhile does not hear it
                let _ = reply.send(());
            }
            PortCall::Durable { reply } => self.ledger.when_durable(Box::new(move || {
                // a turn that was dropped meanwhile does not hear it
                let _ = reply.send(());
            })),
        }
        Ok(())
    }

    fn begin_step(&mut self, further: Further) -> Result<Option<StepInput>, LedgerError> {
        // what a cancelled turn has not claimed is left to the next
        if self.running.as_ref().is_some_and(|r| r.cancel.is_cancelled()) {
            return Ok(None);
        }
        let waiting = self.ledger.state.inbox.next_step();
        let (message_ids, mut texts): (Vec<MessageId>, Vec<&str>) =
            waiting.map(|q| (q.message.message_id.clone(), q.message.text.as_str())).unzip();
        texts.retain(|text| !text.is_empty());
        if !message_ids.is_empty() {
            let drain = QueueDrain { message_count: message_ids.len(), merged_text: texts.join("\n\n"), message_ids };
            self.stage(drain)?;
            self.show_typing();
        } else if further == Further::IfInput {
            return Ok(None);
        }
        Ok(Some(self.step_input()))
    }
}
