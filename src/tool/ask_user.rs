//! Questions to the person on the channel. The tool has no body: its questions become a pending item, and the answers its result.
//!
//! Everything here is pure; it never waits.

use std::collections::BTreeSet;

use futures_util::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolContext, ToolFailure, ToolOutput, parse};
use crate::domain::Args;
use crate::domain::event::tool::codes;
use crate::domain::pending::{Answer, Choice, Question};
use crate::domain::toolset::{CallKind, Needs, Policy, ToolSpec};

pub const NAME: &str = "ask_user";

/// More at once is a form, not a question.
const MAX_QUESTIONS: usize = 4;
const MAX_OPTIONS: usize = 6;

#[derive(Clone, Copy, Debug, Default)]
pub struct AskUser;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    questions: Vec<AskedQuestion>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedQuestion {
    id: Option<String>,
    text: String,
    #[serde(default)]
    options: Vec<AskedOption>,
    #[serde(default)]
    multiple: bool,
    #[serde(default)]
    free_text: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedOption {
    label: String,
    description: Option<String>,
}

impl Tool for AskUser {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: NAME,
            description:
                "Asks the person one to four questions and waits for the answers. Only for what you need before you can go on and \
                          cannot find out yourself; offer options where the likely answers are few."
                    .into(),
            schema: schema(),
        }
    }

    /// A question changes nothing, and whoever may answer it may also decline.
    fn default_policy(&self) -> Option<Policy> {
        Some(Policy::Allow)
    }

    fn needs(&self) -> Needs {
        Needs::Questions
    }

    fn kind(&self) -> CallKind {
        CallKind::Question
    }

    fn effects(&self) -> bool {
        false
    }

    fn check(&self, args: &Args) -> Result<(), String> {
        questions(args).map(drop)
    }

    /// Never the way a question is asked: a caller that ends here has mistaken the tool's kind.
    fn call(&self, _context: ToolContext, _args: Args) -> BoxFuture<'static, Result<ToolOutput, ToolFailure>> {
        Box::pin(async { Err(ToolFailure::new(codes::TOOL_FAILED, "ask_user has no body to run: a person answers its questions")) })
    }
}

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"questions": {
            "type": "array",
            "minItems": 1,
            "maxItems": MAX_QUESTIONS,
            "items": {
                "type": "object",
                "properties": {
                    "id": {"type": "string", "description": "Names the question in the answers; q1, q2 and so on when left out."},
                    "text": {"type": "string", "description": "The question as the person reads it."},
                    "options": {
                        "type": "array",
                        "maxItems": MAX_OPTIONS,
                        "description": "Two to six answers to choose from; leave out for an open question.",
                        "items": {
                            "type": "object",
                            "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
                            "required": ["label"],
                            "additionalProperties": false
                        }
                    },
                    "multiple": {"type": "boolean", "description": "More than one option may be chosen."},
                    "free_text": {"type": "boolean", "description": "An answer in own words is possible beside the options."}
                },
                "required": ["text"],
                "additionalProperties": false
            }
        }},
        "required": ["questions"],
        "additionalProperties": false
    })
}

/// The questions that these arguments ask, each with an id; one without options takes free text.
///
/// # Errors
/// A sentence for the model.
pub fn questions(args: &Args) -> Result<Vec<Question>, String> {
    let Asked { questions } = parse(args)?;
    if !(1..=MAX_QUESTIONS).contains(&questions.len()) {
        return Err(format!("ask one to {MAX_QUESTIONS} questions at once, not {}", questions.len()));
    }
    let mut ids = BTreeSet::new();
    for id in questions.iter().filter_map(|q| q.id.as_deref()) {
        if id.trim().is_empty() || !ids.insert(id.to_owned()) {
            return Err(format!("the question id {id:?} is empty or given twice"));
        }
    }
    questions.into_iter().enumerate().map(|(i, asked)| question(i + 1, asked, &mut ids)).collect()
}

fn question(number: usize, asked: AskedQuestion, ids: &mut BTreeSet<String>) -> Result<Question, String> {
    let AskedQuestion { id, text, options, multiple, free_text } = asked;
    if text.trim().is_empty() {
        return Err(format!("question {number} has no text"));
    }
    if options.len() == 1 || options.len() > MAX_OPTIONS {
        return Err(format!("question {number} has {} options: give two to {MAX_OPTIONS}, or none", options.len()));
    }
    let mut labels = BTreeSet::new();
    if let Some(bad) = options.iter().find(|o| o.label.trim().is_empty() || !labels.insert(&o.label)) {
        return Err(format!("question {number} has the option {:?}, which is empty or given twice", bad.label));
    }
    let id = id.unwrap_or_else(|| free_id(number, ids));
    Ok(Question {
        id,
        text,
        multiple: multiple && !options.is_empty(),
        free_text: free_text || options.is_empty(),
        options: options.into_iter().map(|AskedOption { label, description }| Choice { label, description }).collect(),
    })
}

/// `q` and the question's place, or the next number that the model did not take for another.
fn free_id(number: usize, ids: &mut BTreeSet<String>) -> String {
    let mut number = number;
    loop {
        let id = format!("q{number}");
        if ids.insert(id.clone()) {
            return id;
        }
        number += 1;
    }
}

/// What the model reads as the result: each question with its answer.
pub fn result_text(questions: &[Question], answers: &[Answer]) -> String {
    let lines = questions.iter().map(|q| format!("- {} ({}): {}", q.id, q.text, answer_text(answers.iter().find(|a| a.id == q.id))));
    format!("The person answered:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Quoted as JSON, so that a text with line breaks cannot look like the answer to another question.
fn answer_text(answer: Option<&Answer>) -> String {
    let Some(Answer { selected, text, .. }) = answer else { return "no answer".into() };
    let chosen = selected.iter().map(|label| Value::from(label.as_str()).to_string()).collect::<Vec<_>>().join(", ");
    let written = text.as_deref().map(str::trim).filter(|t| !t.is_empty()).map(|t| Value::from(t).to_string());
    match (chosen.is_empty(), written) {
        (true, None) => "left empty".into(),
        (true, Some(written)) => format!("wrote {written}"),
        (false, None) => format!("chose {chosen}"),
        (false, Some(written)) => format!("chose {chosen} and wrote {written}"),
    }
}

#[cfg(test)]
mod tests;
