//! Which tools a turn has. One function decides; the schema sent to the model, the list in the prompt and the dispatcher all read its result.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::profile::Capabilities;

/// What a tool is and takes, as the model is told.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    /// For the model: what it does and when to use it.
    pub description: String,
    /// JSON Schema of an object.
    pub schema: serde_json::Value,
}

/// What the operator says about a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    Allow,
    Ask,
    Deny,
}

/// What a tool needs of its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// The operator's own terminal.
    LocalTools,
    /// Somebody who answers questions.
    Questions,
}

/// How a call of the tool is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// Its body runs here.
    Body,
    /// It is a question to a person.
    Question,
    /// The client runs it.
    Client,
}

/// What the decision needs to know of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    pub spec: ToolSpec,
    pub policy: Policy,
    pub needs: Needs,
    pub kind: CallKind,
    /// It changes something outside.
    pub effects: bool,
    /// Why it cannot work here at all, whatever is allowed: it lacks something of its own.
    pub absent: Option<&'static str>,
}

/// The tools of a turn, and why others are not among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Toolset {
    pub tools: Vec<Candidate>,
    pub absent: Vec<Absent>,
    /// Somebody can be asked for permission.
    pub approvals: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Absent {
    pub tool: &'static str,
    pub reason: &'static str,
}

impl Toolset {
    /// The effective tools on a channel with these capabilities. Fail closed: what nobody could permit is absent.
    pub fn for_channel(capabilities: &Capabilities, candidates: impl IntoIterator<Item = Candidate>) -> Self {
        let mut set = Self { approvals: capabilities.approvals, ..Self::default() };
        for candidate in candidates {
            match absence(capabilities, &candidate) {
                None => set.tools.push(candidate),
                Some(reason) => set.absent.push(Absent { tool: candidate.spec.name, reason }),
            }
        }
        set
    }

    pub fn get(&self, name: &str) -> Option<&Candidate> {
        self.tools.iter().find(|t| t.spec.name == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.tools.iter().map(|t| t.spec.name)
    }
}

fn absence(capabilities: &Capabilities, tool: &Candidate) -> Option<&'static str> {
    match (tool.policy, tool.needs) {
        (Policy::Deny, _) => Some("the operator's policy denies it"),
        _ if tool.absent.is_some() => tool.absent,
        (_, Needs::LocalTools) if !capabilities.local_tools => Some("it acts on the operator's machine: only the terminal channel has it"),
        (_, Needs::Questions) if !capabilities.questions => Some("nobody on this channel can be asked"),
        (Policy::Ask, _) if !capabilities.approvals => Some("it needs an approval, and nobody on this channel can give one"),
        (Policy::Allow | Policy::Ask, Needs::Nothing | Needs::LocalTools | Needs::Questions) => None,
    }
}
