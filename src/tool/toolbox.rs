//! The tools of this gateway and what its operator says about them.
//!
//! It resolves policies and hands the result to [`Toolset::for_channel`], which alone decides what a channel has; it runs nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Tool;
use crate::domain::ChannelProfile;
use crate::domain::toolset::{Candidate, Policy, Toolset};

#[derive(Clone, Debug, Default)]
pub struct Toolbox {
    /// In the order in which models and people see them.
    pub tools: Vec<Arc<dyn Tool>>,
    /// The operator's word, by tool name.
    pub policies: BTreeMap<String, Policy>,
    /// The operator's limits, by tool name; a tool that is not here has its own.
    pub timeouts: BTreeMap<String, Duration>,
}

impl Toolbox {
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.spec().name == name)
    }

    /// How long one call of the tool may take.
    pub fn timeout(&self, tool: &dyn Tool) -> Duration {
        self.timeouts.get(tool.spec().name).copied().unwrap_or_else(|| tool.timeout())
    }

    /// Every tool with the policy that holds for it on this channel: the operator's, else the tool's own, else the channel's.
    pub fn candidates(&self, profile: &ChannelProfile) -> Vec<Candidate> {
        self.tools.iter().map(|tool| self.candidate(tool.as_ref(), profile.default_policy)).collect()
    }

    /// The tools that a turn on this channel has, and why others are absent.
    pub fn toolset(&self, profile: &ChannelProfile) -> Toolset {
        Toolset::for_channel(&profile.capabilities, self.candidates(profile))
    }

    fn candidate(&self, tool: &dyn Tool, fallback: Policy) -> Candidate {
        let spec = tool.spec();
        let policy = self.policies.get(spec.name).copied().or(tool.default_policy()).unwrap_or(fallback);
        Candidate { spec, policy, needs: tool.needs(), kind: tool.kind(), effects: tool.effects(), absent: tool.absent() }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::future::BoxFuture;
    use serde_json::json;

    use super::*;
    use crate::domain::Args;
    use crate::domain::event::input::Mode;
    use crate::domain::profile::{Capabilities, LengthUnit, Tone};
    use crate::domain::toolset::ToolSpec;
    use crate::tool::{ToolContext, ToolFailure, ToolOutput};

    #[derive(Debug)]
    struct Plain(&'static str, Option<Policy>);

    impl Tool for Plain {
        fn spec(&self) -> ToolSpec {
            ToolSpec { name: self.0, description: "For a test.".into(), schema: json!({"type": "object"}) }
        }

        fn default_policy(&self) -> Option<Policy> {
            self.1
        }

        fn call(&self, _: ToolContext, _: Args) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
            Box::pin(async { Err(ToolFailure::new("TEST", "it has no body")) })
        }
    }

    fn profile(approvals: bool) -> ChannelProfile {
        let capabilities = Capabilities {
            attended: false,
            local_tools: false,
            streams: true,
            approvals,
            questions: false,
            markdown: false,
            tables: false,
            edit: false,
            typing: false,
            max_len: 0,
            unit: LengthUnit::Chars,
        };
        let tone = Tone { preamble: "", behaviour: &[], format: &[], tables: None, sources: false };
        ChannelProfile {
            label: "test",
            tone,
            capabilities,
            default_policy: Policy::Ask,
            mid_run: Mode::Steer,
            debounce: std::time::Duration::ZERO,
            max_steps: 10,
        }
    }

    fn toolbox(policies: &[(&str, Policy)]) -> Toolbox {
        Toolbox {
            tools: vec![Arc::new(Plain("open", Some(Policy::Allow))), Arc::new(Plain("unsaid", None))],
            policies: policies.iter().map(|(name, policy)| ((*name).to_owned(), *policy)).collect(),
            ..Toolbox::default()
        }
    }

    fn policies(toolbox: &Toolbox) -> Vec<Policy> {
        toolbox.candidates(&profile(true)).iter().map(|c| c.policy).collect()
    }

    #[test]
    fn the_operator_comes_before_the_tool_and_the_tool_before_the_channel() {
        assert_eq!(policies(&toolbox(&[])), [Policy::Allow, Policy::Ask]);
        assert_eq!(policies(&toolbox(&[("open", Policy::Deny), ("unsaid", Policy::Allow)])), [Policy::Deny, Policy::Allow]);
    }

    #[test]
    fn what_nobody_can_permit_is_absent() {
        let set = toolbox(&[]).toolset(&profile(false));
        assert_eq!(set.names().collect::<Vec<_>>(), ["open"]);
        assert_eq!(set.absent.iter().map(|a| a.tool).collect::<Vec<_>>(), ["unsaid"]);
    }

    #[test]
    fn tools_are_found_by_their_exact_name() {
        assert!(toolbox(&[]).get("open").is_some());
        assert!(toolbox(&[]).get("Open").is_none());
    }
}
