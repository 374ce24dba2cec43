//! What goes out, as messages that WhatsApp takes: text in its own markers, and approvals with buttons.

use super::PROFILE;
use crate::channel::chunk;
use crate::channel::markdown::WHATSAPP;
use crate::channel::messenger::Say;
use crate::domain::delivery::{Button, Part};
use crate::domain::pending::Decision;
use crate::domain::visible::is_hidden;
use crate::domain::{Address, ApprovalId};

/// What a person may choose on a phone. Three buttons are the most, and what lasts for ever is decided where it can be read whole.
pub(super) const OFFERED: [Decision; 3] = [Decision::AllowOnce, Decision::AllowSession, Decision::Deny];

/// UTF-16 units of a message with buttons (Meta's limit), and of a tool's name in it.
const LONGEST_REQUEST: usize = 1_024;
const LONGEST_TOOL: usize = 80;

/// Messages of one answer. Nobody reads more of them on a phone, and at the platform's spacing the last would come minutes later.
const MOST_PARTS: usize = 12;
const CUT: &str = "This answer is longer than can be sent here; the rest is kept. Ask me for the next part.";

/// Never none: an answer that says nothing is still an answer.
pub(super) fn parts(say: Say<'_>, to: &Address) -> Vec<Part> {
    match say {
        Say::Markdown(markdown) => {
            let capabilities = &PROFILE.capabilities;
            let mut texts = chunk::parts(markdown, &WHATSAPP, capabilities.max_len, capabilities.unit);
            if texts.is_empty() {
                texts.push("(an empty answer)".into());
            }
            if texts.len() > MOST_PARTS {
                texts.truncate(MOST_PARTS - 1);
                texts.push(CUT.into());
            }
            texts.into_iter().map(|text| Part { text, buttons: Vec::new() }).collect()
        }
        Say::Approval { approval_id, tool, args, decisions } => vec![approval(approval_id, tool, args, decisions, to)],
    }
}

fn approval(approval_id: &ApprovalId, tool: &str, args: &str, decisions: &[Decision], to: &Address) -> Part {
    let buttons: Vec<Button> = match to.is_group() {
        true => Vec::new(),
        false => OFFERED.into_iter().filter(|offered| decisions.contains(offered)).map(|d| button(approval_id, d)).collect(),
    };
    let (name, _) = shown(tool, LONGEST_TOOL);
    let head = format!("May I run `{name}`? It would get exactly this:\n\n```");
    let foot = match (buttons.is_empty(), to.is_group()) {
        (false, _) => "\n\nPlease read it before you allow it: what is done cannot be taken back.",
        (true, true) => "\n\nA group cannot decide this. Somebody who may decides in the gateway's panel or over its API.",
        (true, false) => "\n\nThis is not decided here. Somebody who may decides in the gateway's panel or over its API.",
    };
    let cut = "``` …\n\n*This is not all of it: it is too long for this message.* All of it can be read in the gateway's panel.";
    let (args, whole) = shown(args, LONGEST_REQUEST.saturating_sub(units(&head) + units(cut) + units(foot)));
    Part { text: format!("{head}{args}{}{foot}", if whole { "```" } else { cut }), buttons }
}

fn button(approval_id: &ApprovalId, decision: Decision) -> Button {
    let title = match decision {
        Decision::AllowOnce => "Allow once",
        Decision::AllowSession => "Allow in this chat",
        Decision::Deny | Decision::AllowAlways | Decision::Expired | Decision::Cancelled | Decision::Unavailable => "Deny",
    };
    Button { id: format!("{approval_id}:{}", decision.as_str()), title: title.into() }
}

/// Every character as it is, or spelled out where it would draw nothing, draw something else, or end the code that it stands in; and whether
/// that is all of it. At most `max` units.
fn shown(text: &str, max: usize) -> (String, bool) {
    let deceives = |c: char| c.is_control() || is_hidden(c) || c == '`';
    let (mut kept, mut left) = (String::new(), max);
    for c in text.chars() {
        let piece = if deceives(c) { c.escape_unicode().to_string() } else { c.to_string() };
        match left.checked_sub(units(&piece)) {
            Some(rest) => left = rest,
            None => return (kept, false),
        }
        kept.push_str(&piece);
    }
    (kept, true)
}

/// What JavaScript counts, and what Meta counts at most.
fn units(text: &str) -> usize {
    text.encode_utf16().count()
}
