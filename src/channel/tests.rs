//! For every profile and every policy, what the model is told, what it is sent and what can be dispatched are one set.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::*;
use crate::domain::Taint;
use crate::domain::event::input::Mode;
use crate::domain::taint::Ruling;
use crate::domain::toolset::{CallKind, Candidate, Needs, Policy, ToolSpec, Toolset};
use crate::prompt::{SystemParts, system_prompt, tools_json};
use crate::tool::ask_user::AskUser;
use crate::tool::bash::{Bash, BashConfig};
use crate::tool::demo::{DemoBooking, DemoLookup};
use crate::tool::read_artifact::ReadArtifact;
use crate::tool::{Tool, Toolbox};

const ALL: [&str; 5] = ["bash", "ask_user", "read_artifact", "demo_lookup", "demo_booking"];

fn toolbox(policies: &[(&str, Policy)]) -> Toolbox {
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(Bash::new(BashConfig::default())),
        Arc::new(AskUser),
        Arc::new(ReadArtifact),
        Arc::new(DemoLookup),
        Arc::new(DemoBooking),
    ];
    let policies = policies.iter().map(|(name, policy)| ((*name).to_owned(), *policy)).collect();
    Toolbox { tools, policies, ..Toolbox::default() }
}

/// Every profile, and each with one capability taken or given.
fn profiles() -> Vec<ChannelProfile> {
    let mut all: Vec<ChannelProfile> = PROFILES.into_iter().cloned().chain([web::with_questions()]).collect();
    for base in PROFILES {
        let mut unattended = base.clone();
        unattended.capabilities.approvals = false;
        all.push(unattended);
    }
    all
}

fn prompt(profile: &ChannelProfile, tools: &Toolset) -> String {
    system_prompt(&SystemParts { name: "Portico", profile, tools, operator: None, message: None, now: crate::domain::Timestamp(0) })
}

/// The names of the prompt's tool list.
fn named(prompt: &str) -> Vec<&str> {
    prompt.lines().filter_map(|line| line.strip_prefix("- `")?.split_once("`: ")).map(|(name, _)| name).collect()
}

fn schemas(tools: &Toolset) -> Vec<String> {
    let text = tools_json(tools).unwrap_or_else(|| "[]".into());
    let all: Vec<BTreeMap<String, serde_json::Value>> = serde_json::from_str(&text).unwrap();
    all.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn names(profile: &ChannelProfile) -> Vec<&'static str> {
    toolbox(&[]).toolset(profile).names().collect()
}

#[test]
fn prompt_schema_and_dispatcher_agree_for_every_profile_and_policy() {
    let policies = [None, Some(Policy::Allow), Some(Policy::Ask), Some(Policy::Deny)];
    for profile in profiles() {
        for tool in ALL {
            for policy in policies {
                let toolbox = toolbox(&policy.map(|p| (tool, p)).into_iter().collect::<Vec<_>>());
                let set = toolbox.toolset(&profile);
                let effective: Vec<&str> = set.names().collect();
                let text = prompt(&profile, &set);
                assert_eq!(named(&text), effective, "prompt of {} with {tool} {policy:?}", profile.label);
                assert_eq!(schemas(&set), effective, "schemas of {} with {tool} {policy:?}", profile.label);
                for name in ALL {
                    let there = effective.contains(&name);
                    assert_eq!(set.get(name).is_some(), there, "{name} on {}", profile.label);
                    assert!(there || !text.contains(name), "{name} is absent on {} and named in its prompt", profile.label);
                    assert!(!there || toolbox.get(name).is_some(), "{name} on {} has no body", profile.label);
                }
                let absent: BTreeSet<&str> = set.absent.iter().map(|a| a.tool).collect();
                let all: BTreeSet<&str> = effective.iter().copied().chain(absent).collect();
                assert_eq!(all, BTreeSet::from(ALL), "each is there or absent for a reason");
            }
        }
    }
}

#[test]
fn local_tools_are_for_the_terminal_and_questions_where_somebody_answers() {
    assert_eq!(names(&cli::PROFILE), ALL);
    assert_eq!(names(&web::PROFILE), ["read_artifact", "demo_lookup", "demo_booking"]);
    assert_eq!(names(&web::with_questions()), ["ask_user", "read_artifact", "demo_lookup", "demo_booking"]);
    assert_eq!(names(&api::PROFILE), ["read_artifact", "demo_lookup", "demo_booking"]);
}

#[test]
fn no_policy_brings_the_shell_to_another_channel() {
    for profile in profiles().iter().filter(|p| p.label != "cli") {
        assert!(toolbox(&[("bash", Policy::Allow)]).toolset(profile).get("bash").is_none(), "{}", profile.label);
    }
}

#[test]
fn a_tone_offers_tables_only_where_the_channel_has_them() {
    for profile in profiles() {
        assert_eq!(profile.tone.tables.is_some(), profile.capabilities.tables, "{}", profile.label);
        assert!(profile.capabilities.attended || !profile.capabilities.questions, "{}", profile.label);
    }
}

#[test]
fn who_sits_where_and_what_is_allowed_there() {
    let row = |p: &ChannelProfile| {
        (p.label, p.capabilities.attended, p.capabilities.local_tools, p.capabilities.approvals, p.mid_run, p.max_steps)
    };
    assert_eq!(row(&cli::PROFILE), ("cli", true, true, true, Mode::Steer, 10));
    assert_eq!(row(&web::PROFILE), ("web", true, false, true, Mode::Steer, 10));
    assert_eq!(row(&api::PROFILE), ("api", false, false, true, Mode::Followup, 10));
}

#[test]
fn only_questions_go_without_a_body() {
    let set = toolbox(&[]).toolset(&cli::PROFILE);
    let without: Vec<&str> = set.tools.iter().filter(|t| t.kind != CallKind::Body).map(|t| t.spec.name).collect();
    assert_eq!(without, ["ask_user"]);
}

#[test]
fn what_a_page_asks_for_is_denied_on_a_phone_and_asked_about_where_somebody_can_answer() {
    let spec = ToolSpec { name: "book", description: "For a test.".into(), schema: serde_json::json!({"type": "object"}) };
    let book = Candidate { spec, policy: Policy::Allow, needs: Needs::Nothing, kind: CallKind::Body, effects: true, absent: None };
    let read = Taint { input: false, tools: ["web_fetch".to_owned()].into() };
    for (profile, expected) in [(&whatsapp::PROFILE, "deny"), (&web::PROFILE, "ask"), (&cli::PROFILE, "ask"), (&api::PROFILE, "ask")] {
        let set = Toolset::for_channel(&profile.capabilities, [book.clone()]);
        assert_eq!(set.ruling("book", &Taint::default()), Ruling::Run, "{}", profile.label);
        let ruled = match set.ruling("book", &read) {
            Ruling::Run => "run",
            Ruling::Ask { .. } => "ask",
            Ruling::Deny { .. } => "deny",
        };
        assert_eq!(ruled, expected, "{}", profile.label);
    }
}
