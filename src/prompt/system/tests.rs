use serde_json::json;

use super::*;
use crate::domain::event::input::Mode;
use crate::domain::profile::{Capabilities, LengthUnit};
use crate::domain::toolset::{CallKind, Needs, ToolSpec};
use crate::prompt::tones;

fn profile() -> ChannelProfile {
    let capabilities = Capabilities {
        attended: true,
        local_tools: true,
        streams: true,
        approvals: true,
        questions: true,
        markdown: true,
        tables: true,
        edit: false,
        typing: false,
        max_len: 0,
        unit: LengthUnit::Chars,
    };
    ChannelProfile {
        label: "test",
        tone: tones::CHAT,
        capabilities,
        default_policy: Policy::Ask,
        mid_run: Mode::Steer,
        debounce: std::time::Duration::ZERO,
        max_steps: 10,
    }
}

fn candidate(name: &'static str, policy: Policy) -> Candidate {
    Candidate {
        spec: ToolSpec {
            name,
            description: "Says \"hm\". More of it.\nAnd more.".into(),
            schema: json!({"type": "object", "properties": {}}),
        },
        policy,
        needs: Needs::Nothing,
        kind: CallKind::Body,
        effects: false,
        absent: None,
    }
}

fn toolset(tools: Vec<Candidate>) -> Toolset {
    Toolset::for_channel(&profile().capabilities, tools)
}

fn prompt(tools: &Toolset, operator: Option<&str>, message: Option<&str>, now: &str) -> String {
    let now = serde_json::from_value(json!(now)).unwrap();
    system_prompt(&SystemParts { name: "Ada", profile: &profile(), tools, operator, message, now })
}

const NOON: &str = "2026-11-30T12:00:00.000Z";

#[test]
fn sections_stand_in_order_and_the_date_last() {
    let text =
        prompt(&toolset(vec![candidate("b", Policy::Ask), candidate("a", Policy::Allow)]), Some("Sell nothing."), Some("In French."), NOON);
    let order = [
        "You are Ada",
        tones::CHAT.preamble,
        "- `b`: Says \"hm\".\n- `a`: Says \"hm\".",
        DATA_NOT_ORDERS,
        APPROVALS,
        tones::CHAT.behaviour[0],
        tones::CHAT.format[0],
        tones::CHAT.tables.unwrap(),
        "Sell nothing.",
        "In French.",
        "Date: 2026-11-30 (UTC)\nChannel: test",
    ];
    let places: Vec<usize> = order.map(|part| text.find(part).unwrap_or_else(|| panic!("no {part:?} in {text}"))).into();
    assert!(places.is_sorted(), "{places:?}");
    assert!(text.ends_with(order[10]));
}

#[test]
fn only_the_tail_changes_with_the_day_and_nothing_within_it() {
    let tools = toolset(vec![candidate("a", Policy::Allow)]);
    let noon = prompt(&tools, Some("x"), None, NOON);
    assert_eq!(noon, prompt(&tools, Some("x"), None, "2026-11-30T23:59:59.999Z"));
    let next = prompt(&tools, Some("x"), None, "2026-12-01T00:00:00.000Z");
    let same = noon.bytes().zip(next.bytes()).take_while(|(a, b)| a == b).count();
    assert!(same >= noon.find("## Now").unwrap(), "differs from byte {same} on");
}

#[test]
fn what_is_not_there_leaves_no_heading() {
    let text = prompt(&toolset(vec![candidate("secret_tool", Policy::Deny)]), Some("  "), None, NOON);
    assert!(!text.contains("## Tools\n") && !text.contains("## Instructions"), "{text}");
    assert!(text.contains(NO_TOOLS) && !text.contains(DATA_NOT_ORDERS) && !text.contains("secret_tool"), "{text}");
    let allowed = prompt(&toolset(vec![candidate("a", Policy::Allow)]), None, None, NOON);
    assert!(!allowed.contains(APPROVALS), "{allowed}");
}

/// The research section of an agent with these tools.
fn research(attended: bool, names: &[&'static str]) -> Option<String> {
    let mut profile = profile();
    profile.capabilities.attended = attended;
    let tools = toolset(names.iter().map(|name| candidate(name, Policy::Allow)).collect());
    let now = crate::domain::Timestamp(0);
    let text = system_prompt(&SystemParts { name: "Ada", profile: &profile, tools: &tools, operator: None, message: None, now });
    text.split("\n\n## ").find_map(|section| section.strip_prefix("Research\n\n").map(str::to_owned))
}

#[test]
fn who_finds_things_out_unwatched_is_told_how() {
    let whole = research(false, &["web_search", "web_fetch"]).unwrap();
    for part in ["Search with a few", "Read the pages", "two sources", "unit", "steps", "title: address", "I could not find it"] {
        assert!(whole.contains(part), "{part}: {whole}");
    }
    let reads = research(false, &["web_fetch"]).unwrap();
    assert!(!reads.contains("Search with a few") && reads.contains("Read the pages"), "{reads}");
    let searches = research(false, &["web_search"]).unwrap();
    assert!(!searches.contains("title: address") && searches.contains("I could not find it"), "{searches}");
    assert_eq!(research(false, &["other"]), None);
    assert_eq!(research(true, &["web_search", "web_fetch"]), None);
}

#[test]
fn schemas_keep_the_order_and_are_json() {
    assert_eq!(tools_json(&toolset(vec![])), None);
    let text = tools_json(&toolset(vec![candidate("b", Policy::Ask), candidate("a", Policy::Allow)])).unwrap();
    assert!(text.starts_with(r#"[{"name":"b","description":"Says \"hm\". More of it.\nAnd more.","schema":{"#), "{text}");
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value[1]["name"], "a");
    assert_eq!(value[1]["schema"], json!({"type": "object", "properties": {}}));
}
