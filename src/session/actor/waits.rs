//! Waits for somebody outside: opened together, resolved once, expired by the wall clock.

use tokio::sync::oneshot;

use super::turns::Deciding;
use super::{Actor, LedgerError, repair};
use crate::agent::port::{Gate, Proposal, Verdict};
use crate::domain::event::pending::{
    ApprovalRequested, ClientCallRequested, ClientCallResult, Pending, QuestionAnswered, QuestionAsked, ToolApproval,
};
use crate::domain::pending::{Decision, Item, ItemKind, Outcome, check_answers};
use crate::domain::{AgentEvent, ApprovalId, QuestionId};
use crate::session::command::{Reply, Resolution, Resolved, standing};
use crate::session::repair::Lapse;

/// What the model reads when a question got no answer by intent.
const DECLINED: &str = "The person declined to answer. Do not ask the same again; go on with what you know and say what you assumed.";
/// What a person may decide. `allow_always` needs rules, which this build does not have.
const DECISIONS: [Decision; 3] = [Decision::AllowOnce, Decision::AllowSession, Decision::Deny];

impl Actor {
    /// Opens the waits of a step together. One that is open or decided already, from before a restart, stays as it is.
    pub(super) fn decide(&mut self, proposals: Vec<Proposal>, reply: oneshot::Sender<Vec<Verdict>>) -> Result<(), LedgerError> {
        for proposal in &proposals {
            let event = match self.item_of(proposal) {
                None => self.wait_for(proposal),
                Some(item) if proposal.gate == Gate::Closed && item.outcome.is_none() => Some(repair::outcome(item, Lapse::Withdrawn)),
                Some(_) => None,
            };
            if let Some(event) = event {
                let asked = if let AgentEvent::Pending(Pending::ApprovalRequested(asked)) = &event { Some(asked.clone()) } else { None };
                self.stage(event)?;
                self.ledger.urgent();
                if let Some(asked) = asked {
                    self.ask_outside(&asked)?;
                }
            }
        }
        if self.running.as_ref().is_some_and(|r| r.cancel.is_cancelled()) {
            self.cancel_waits()?;
        }
        if let Some(running) = &mut self.running {
            running.deciding = Some(Deciding { proposals, reply });
        }
        self.conclude();
        if self.ledger.state.waits_for_person() {
            self.show_typing();
        }
        Ok(())
    }

    fn wait_for(&self, proposal: &Proposal) -> Option<AgentEvent> {
        let settings = &self.shared.settings;
        let (tool_call_id, tool, args) = (proposal.call.id.clone(), proposal.call.tool.clone(), proposal.call.args.clone());
        let expires_at = settings.clock.now() + settings.expire;
        match &proposal.gate {
            Gate::Open | Gate::Closed => None,
            Gate::Approval { reason } => {
                let digest = args.digest(&tool);
                let approval_id = ApprovalId::from_uuid(settings.ids.uuid());
                let (reason, decisions) = (reason.clone(), DECISIONS.to_vec());
                let asked = ApprovalRequested { approval_id, tool_call_id, tool, args, digest, reason, decisions, expires_at };
                (!self.ledger.state.grants.contains(&asked.digest)).then(|| asked.into())
            }
            Gate::Question(questions) => {
                let question_id = QuestionId::from_uuid(settings.ids.uuid());
                Some(QuestionAsked { question_id, tool_call_id, questions: questions.clone(), expires_at }.into())
            }
            Gate::Client => Some(ClientCallRequested { tool_call_id, tool, args, expires_at }.into()),
        }
    }

    fn item_of(&self, proposal: &Proposal) -> Option<&Item> {
        let step = self.ledger.state.turn.as_ref()?.step.as_ref()?;
        step.calls.iter().find(|c| c.call.id == proposal.call.id)?.item.as_ref()
    }

    /// Answers the turn once nothing is open any more.
    fn conclude(&mut self) {
        let Some(deciding) = self.running.as_ref().and_then(|r| r.deciding.as_ref()) else { return };
        let verdicts: Option<Vec<Verdict>> = deciding.proposals.iter().map(|p| verdict(p, self.item_of(p))).collect();
        let Some(verdicts) = verdicts else { return };
        if let Some(deciding) = self.running.as_mut().and_then(|r| r.deciding.take()) {
            // a turn that was dropped meanwhile does not hear it
            let _ = deciding.reply.send(verdicts);
        }
        self.show_typing();
    }

    pub(super) fn cancel_waits(&mut self) -> Result<(), LedgerError> {
        let events: Vec<AgentEvent> = self.ledger.state.open_items().map(|item| repair::outcome(item, Lapse::Cancelled)).collect();
        for event in events {
            self.stage(event)?;
        }
        self.conclude();
        self.withdraw()
    }

    /// Closes what has waited too long.
    pub(super) fn expire(&mut self) -> Result<(), LedgerError> {
        let now = self.shared.settings.clock.now();
        let late = self.ledger.state.open_items().filter(|i| i.expires_at() <= now);
        let events: Vec<AgentEvent> = late.map(|item| repair::outcome(item, Lapse::Expired)).collect();
        for event in events {
            self.stage(event)?;
        }
        self.conclude();
        self.withdraw()
    }

    pub(super) fn resolve(&mut self, id: &str, answer: Resolution, by: String, reply: Reply<Resolved>) -> Result<(), LedgerError> {
        // what expired a moment ago expired, whether the timer has run or not
        self.expire()?;
        let resolved = match self.ledger.state.item(id).cloned() {
            None => Resolved::Unknown,
            Some(item) if item.outcome.is_some() => standing(item, &answer),
            Some(item) => match resolution(&item, answer, by) {
                Err(resolved) => resolved,
                Ok(event) => {
                    self.stage(event)?;
                    self.conclude();
                    self.withdraw()?;
                    self.ledger.state.item(id).cloned().map_or(Resolved::Unknown, |item| Resolved::Stands(Box::new(item)))
                }
            },
        };
        self.ledger.when_durable(Box::new(move || drop(reply.send(Ok(resolved)))));
        Ok(())
    }
}

/// The record of an answer to an open wait, or why it is none.
fn resolution(item: &Item, answer: Resolution, by: String) -> Result<AgentEvent, Resolved> {
    let by = Some(by);
    let tool_call_id = item.tool_call_id().clone();
    match (&item.kind, answer) {
        (ItemKind::Approval(a), Resolution::Decision { decision, note, digest }) => {
            if digest.is_some_and(|d| d != a.digest) {
                return Err(Resolved::DigestMismatch);
            }
            offered(a, decision)?;
            Ok(ToolApproval { approval_id: a.approval_id.clone(), tool_call_id, decision, by, note, heard: false }.into())
        }
        (ItemKind::Approval(a), Resolution::Press(decision)) => {
            offered(a, decision)?;
            Ok(ToolApproval { approval_id: a.approval_id.clone(), tool_call_id, decision, by, note: None, heard: true }.into())
        }
        (ItemKind::Question(q), Resolution::Answers(answers)) => {
            if let Some(Err((pointer, detail))) = answers.as_ref().map(|a| check_answers(&q.questions, a)) {
                return Err(Resolved::Invalid { pointer, detail });
            }
            let declined = answers.is_none();
            Ok(QuestionAnswered { question_id: q.question_id.clone(), tool_call_id, answers, declined, reason: None, by }.into())
        }
        (ItemKind::ClientCall(_), Resolution::Content(content)) => {
            Ok(ClientCallResult { tool_call_id, content: Some(content), reason: None, by }.into())
        }
        _ => Err(Resolved::Unknown),
    }
}

fn offered(asked: &ApprovalRequested, decision: Decision) -> Result<(), Resolved> {
    if asked.decisions.contains(&decision) {
        return Ok(());
    }
    let offered: Vec<_> = asked.decisions.iter().map(|d| d.as_str()).collect();
    let detail = format!("{:?} is not offered here; use {}", decision.as_str(), offered.join(", "));
    Err(Resolved::Invalid { pointer: "/decision".into(), detail })
}

/// What an outcome means for the call; `None` while it is open.
fn verdict(proposal: &Proposal, item: Option<&Item>) -> Option<Verdict> {
    let Some(item) = item else { return Some(Verdict::Run) };
    let denied = |reason: String, by: &Option<String>| Verdict::Denied { reason, by: by.clone() };
    Some(match item.outcome.as_ref()? {
        Outcome::Decision { decision, by, note } => match decision {
            Decision::AllowOnce | Decision::AllowSession | Decision::AllowAlways => approved(proposal, item),
            Decision::Deny => denied(format!("A person denied it{}.", note.as_ref().map_or(String::new(), |n| format!(": {n}"))), by),
            Decision::Expired => denied("Nobody decided in time, so it was denied.".into(), &None),
            Decision::Cancelled => denied("The turn was cancelled before anybody decided.".into(), &None),
            Decision::Unavailable => denied("It can no longer be run, so it was denied.".into(), &None),
        },
        Outcome::Answers { answers: Some(answers), .. } => Verdict::Answered(answers.clone()),
        Outcome::Content { content: Some(content), .. } => Verdict::Content(content.clone()),
        Outcome::Answers { reason, .. } | Outcome::Content { reason, .. } => match reason.as_deref() {
            Some("expired") => denied("Nobody answered in time.".into(), &None),
            Some("cancelled") => denied("The turn was cancelled before anybody answered.".into(), &None),
            Some(_) => denied("The question cannot be asked any more.".into(), &None),
            None => denied(DECLINED.into(), &None),
        },
    })
}

/// What was approved is exactly what runs.
fn approved(proposal: &Proposal, item: &Item) -> Verdict {
    if let ItemKind::Approval(a) = &item.kind
        && a.digest == proposal.call.args.digest(&proposal.call.tool)
    {
        return Verdict::Run;
    }
    Verdict::Denied { reason: "The arguments are not the ones that were approved.".into(), by: None }
}
