//! What the demo says: a pure function of the request.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::{File, SurfaceMessage};
use crate::provider::ModelRequest;

/// Words that ask for a lookup or a booking; what is asked for stands behind them.
const SEARCHES: [&str; 3] = ["look", "lookup", "search"];
const BOOKINGS: [&str; 3] = ["book", "booking", "reserve"];
/// Words that say when.
const TIMES: [&str; 10] = ["tonight", "tomorrow", "today", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
/// Words around a thing that are not part of its name.
const FILLERS: [&str; 13] = ["a", "an", "the", "me", "us", "up", "for", "on", "at", "by", "please", "and", "it"];

/// The demo's own tools, as `tool::demo` names them.
const LOOKUP: &str = "demo_lookup";
const BOOKING: &str = "demo_booking";
/// The terminal's tool, which the demo uses where it is offered.
const ASK: &str = "ask_user";

/// One block of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Line {
    Think(String),
    Say(String),
    Call { tool: &'static str, args: Value },
}

const ABOUT: &str = "I am Portico's built-in demo, a script and not a language model. To talk to a real one, set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` and start Portico again.";

const TRY: &str = "Three things to try:\n\n\
    1. **look up a rowing boat**: I call a tool and answer from what it returns.\n\
    2. **book a rowing boat for tomorrow**: I ask for your approval before anything happens.\n\
    3. **show me a table**: I answer in Markdown.\n";

const TABLE: &str = "Here is what a gateway keeps apart:\n\n\
    | What | Where it lives | Survives a restart |\n\
    | --- | --- | --- |\n\
    | Your message | the session's ledger | yes |\n\
    | This answer | the session's ledger | yes |\n\
    | The words as they stream | memory | no, they are sent again |\n\n\
    *(A scripted table of the demo.)*";

const THOUGHTS: &str =
    "The person wants to see me think. I am a script, so I only act it out: read the question, choose an answer, say which one I chose. ";

/// The answer to a request.
pub(super) fn script(request: &ModelRequest) -> Vec<Line> {
    match request.messages.last().map(|message| &**message) {
        Some(SurfaceMessage::ToolResult { .. }) => vec![Line::Say(report(request))],
        Some(SurfaceMessage::User { text, files }) => {
            let came = (!files.is_empty()).then(|| Line::Say(files.iter().map(came).collect()));
            came.into_iter().chain(answer(text, &offered(request))).collect()
        }
        Some(SurfaceMessage::Assistant { .. }) | None => vec![Line::Say(format!("Hello! {ABOUT}\n\n{TRY}"))],
    }
}

fn came(file: &File) -> String {
    format!("{} came with your message. I am a script and cannot look at it; a model that takes such files would.\n\n", file.called())
}

/// By the words of the last message. A booking comes before a table, for one may book a table.
fn answer(text: &str, tools: &[String]) -> Vec<Line> {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()).collect();
    let has = |any: &[&str]| words.iter().any(|word| any.contains(word));
    let offers = |tool: &str| tools.iter().any(|t| t == tool);

    let mut lines = Vec::new();
    if has(&["think", "thinking", "reason"]) {
        lines.push(Line::Think(THOUGHTS.into()));
    }
    if has(&BOOKINGS) {
        booking(text, offers(BOOKING), &mut lines);
    } else if has(&["lookup", "weather", "search"]) || (has(&["look"]) && has(&["up"])) {
        lookup(text, offers(LOOKUP), &mut lines);
    } else if has(&["ask"]) {
        question(offers(ASK), &mut lines);
    } else if has(&["table", "tables"]) {
        lines.push(Line::Say(TABLE.into()));
    } else if lines.is_empty() {
        lines.push(Line::Say(format!("Hello! {ABOUT}\n\n{TRY}")));
    } else {
        lines.push(Line::Say(format!("I have thought about it, as far as a script can. {ABOUT}\n\n{TRY}")));
    }
    lines
}

fn lookup(text: &str, offered: bool, lines: &mut Vec<Line>) {
    if !offered {
        return lines.push(absent("look things up", LOOKUP));
    }
    lines.push(Line::Say("I will look that up. ".into()));
    lines.push(Line::Call { tool: LOOKUP, args: json!({ "query": thing(text, &SEARCHES) }) });
}

fn booking(text: &str, offered: bool, lines: &mut Vec<Line>) {
    if !offered {
        return lines.push(absent("book anything", BOOKING));
    }
    lines.push(Line::Say("I can try to book that, if you allow it. ".into()));
    lines.push(Line::Call { tool: BOOKING, args: json!({ "item": thing(text, &BOOKINGS), "when": when(text) }) });
}

fn question(offered: bool, lines: &mut Vec<Line>) {
    if !offered {
        return lines.push(absent("ask you anything", ASK));
    }
    let boats = [json!({"label": "Rowing boat"}), json!({"label": "Canoe"})];
    lines.push(Line::Say("I have a question for you. ".into()));
    lines.push(Line::Call {
        tool: ASK,
        args: json!({"questions": [{"id": "q1", "text": "Which boat do you like best?", "options": boats}]}),
    });
}

fn absent(what: &str, tool: &str) -> Line {
    Line::Say(format!("I cannot {what} here: this channel does not offer me the tool `{tool}`. {ABOUT}"))
}

/// What came of the calls of this step: the results at the end of the conversation.
fn report(request: &ModelRequest) -> String {
    let results = request.messages.iter().rev().map_while(|message| match &**message {
        SurfaceMessage::ToolResult { tool, content, is_error, .. } => Some((tool.as_str(), content.as_str(), *is_error)),
        SurfaceMessage::User { .. } | SurfaceMessage::Assistant { .. } => None,
    });
    let mut parts: Vec<String> = results.map(|(tool, content, is_error)| outcome(tool, content, is_error)).collect();
    parts.reverse();
    parts.push("*(I am the built-in demo; set `OPENAI_API_KEY` or `ANTHROPIC_API_KEY` for a real model.)*".into());
    parts.join("\n\n")
}

fn outcome(tool: &str, content: &str, is_error: bool) -> String {
    let content = content.trim();
    match (tool, is_error) {
        (BOOKING, true) => format!("Nothing was booked. What I was told: {content}"),
        (BOOKING, false) => format!("Booked, as far as a demo books: {content}\n\nThis had no outside effect."),
        (LOOKUP, true) => format!("I could not look it up. What I was told: {content}"),
        (LOOKUP, false) => format!("This is what I found: {}", brief(content)),
        (other, true) => format!("`{other}` failed: {content}"),
        (other, false) => format!("`{other}` returned: {content}"),
    }
}

/// A result as a person wants to hear it: of a long one the first lines.
fn brief(content: &str) -> String {
    const LINES: usize = 12;
    if content.lines().count() <= LINES {
        return content.into();
    }
    let first: Vec<&str> = content.lines().take(LINES).collect();
    format!("{}\n\nAnd so on: there is more of it than I say here, and all of it is kept with the call.", first.join("\n"))
}

/// What a message asks for: the words behind the verb, as far as a time, without what stands around them; all of it where that leaves
/// nothing. An argument is one line, and not a long one.
fn thing(text: &str, verbs: &[&str]) -> String {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '-').filter(|word| !word.is_empty()).collect();
    let is_one_of = |word: &&str, list: &[&str]| list.contains(&word.to_lowercase().as_str());
    let from = words.iter().position(|word| is_one_of(word, verbs)).map_or(0, |verb| verb + 1);
    let mut found: Vec<&str> = words[from..].iter().copied().take_while(|word| !is_one_of(word, &TIMES)).collect();
    while found.last().is_some_and(|word| is_one_of(word, &FILLERS)) {
        found.pop();
    }
    let leading = found.iter().take_while(|word| is_one_of(word, &FILLERS)).count();
    let found = if leading < found.len() { &found[leading..] } else { &words[..] };
    found.join(" ").chars().take(200).collect()
}

/// The first word that names a time; the tool takes any text.
fn when(text: &str) -> &'static str {
    let lower = text.to_lowercase();
    TIMES.into_iter().find(|day| lower.contains(day)).unwrap_or("as soon as possible")
}

/// The names of the tools in the request.
fn offered(request: &ModelRequest) -> Vec<String> {
    #[derive(Deserialize)]
    struct Tool {
        name: String,
    }
    let tools: Vec<Tool> = request.tools.as_deref().and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    tools.into_iter().map(|tool| tool.name).collect()
}
