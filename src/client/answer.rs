//! Prompts for a person: what is shown of a wait, and what a typed line means for it. Pure.

use super::visible::exact;
use super::wire::{Approval, Questions};
use crate::domain::pending::{Answer, Decision, Question};

/// What the prompt asks.
pub(super) enum Asking {
    Approval(Approval),
    Interview(Interview),
}

impl Asking {
    /// Of the wait.
    pub(super) fn id(&self) -> &str {
        match self {
            Asking::Approval(approval) => approval.approval_id.as_str(),
            Asking::Interview(interview) => interview.id(),
        }
    }
}

/// The lines that show an approval: the tool and its exact arguments, nothing left out.
pub(super) fn show_approval(approval: &Approval) -> Vec<String> {
    let Some(args) = &approval.args else {
        let tool = exact(&approval.tool);
        return vec![format!("{tool} waits for the approval of somebody who may decide on it ({})", exact(approval.approval_id.as_str()))];
    };
    let mut lines = vec![format!("May the agent run {}?", exact(&approval.tool)), format!("  {}", exact(args.as_str()))];
    if let Some(reason) = approval.reason.as_deref().filter(|r| !r.is_empty()) {
        lines.push(format!("  because: {}", exact(reason)));
    }
    lines.push(format!("  {}", choices(approval)));
    lines
}

/// The keys of the decisions that are on offer.
pub(super) fn choices(approval: &Approval) -> String {
    let keys = [(Decision::AllowOnce, "y allow once"), (Decision::AllowSession, "s allow for this session"), (Decision::Deny, "n deny")];
    let offered: Vec<&str> = keys.iter().filter(|(decision, _)| offers(approval, *decision)).map(|(_, key)| *key).collect();
    offered.join(" · ")
}

/// What the line decides, or `None` if it is no decision that is on offer.
pub(super) fn read_decision(approval: &Approval, line: &str) -> Option<Decision> {
    let decision = match line.trim().to_ascii_lowercase().as_str() {
        "y" | "yes" => Decision::AllowOnce,
        "s" | "session" => Decision::AllowSession,
        "n" | "no" => Decision::Deny,
        _ => return None,
    };
    offers(approval, decision).then_some(decision)
}

fn offers(approval: &Approval, decision: Decision) -> bool {
    approval.args.is_some() && approval.decisions.as_ref().is_none_or(|offered| offered.contains(&decision))
}

/// The questions of one wait, asked one after the other.
#[derive(Debug)]
pub(super) struct Interview {
    asked: Questions,
    answers: Vec<Answer>,
}

impl Interview {
    pub(super) fn new(asked: Questions) -> Self {
        Self { asked, answers: Vec::new() }
    }

    pub(super) fn id(&self) -> &str {
        self.asked.question_id.as_str()
    }

    /// The question that is open.
    fn question(&self) -> Option<&Question> {
        self.asked.questions.get(self.answers.len())
    }

    /// The lines that show the open question; none when all are answered.
    pub(super) fn show(&self) -> Vec<String> {
        let Some(question) = self.question() else { return Vec::new() };
        let mut lines = vec![exact(&question.text).into_owned()];
        for (i, option) in question.options.iter().enumerate() {
            let about = option.description.as_deref().map(|d| format!(": {}", exact(d))).unwrap_or_default();
            lines.push(format!("  {} {}{about}", i + 1, exact(&option.label)));
        }
        lines.push(format!("  {}", how(question)));
        lines
    }

    /// Takes a line as the answer to the open question; all answers once the last is in.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub(super) fn take(&mut self, line: &str) -> Result<Option<Vec<Answer>>, String> {
        if let Some(question) = self.question() {
            let answer = read_answer(question, line.trim())?;
            self.answers.push(answer);
        }
        Ok(self.question().is_none().then(|| std::mem::take(&mut self.answers)))
    }
}

fn how(question: &Question) -> &'static str {
    match (question.options.is_empty(), question.multiple, question.free_text) {
        (true, _, _) => "type your answer, or /decline",
        (false, false, false) => "type a number, or /decline",
        (false, true, false) => "type numbers with commas between them, or /decline",
        (false, false, true) => "type a number or your own words, or /decline",
        (false, true, true) => "type numbers with commas between them or your own words, or /decline",
    }
}

fn read_answer(question: &Question, line: &str) -> Result<Answer, String> {
    let by_number = |part: &str| {
        let number = part.trim().parse::<usize>().ok()?;
        question.options.get(number.checked_sub(1)?).map(|o| o.label.clone())
    };
    let selected: Option<Vec<String>> = line.split(',').map(by_number).collect();
    match selected {
        Some(mut selected) if question.multiple || selected.len() == 1 => {
            selected.dedup();
            Ok(Answer { id: question.id.clone(), selected, text: None })
        }
        Some(_) => Err("one number, please".into()),
        None if question.free_text && !line.is_empty() => {
            Ok(Answer { id: question.id.clone(), selected: Vec::new(), text: Some(line.to_owned()) })
        }
        None => Err(format!("please {}", how(question))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Interview, read_decision, show_approval};
    use crate::client::wire::Approval;
    use crate::domain::pending::{Decision, check_answers};

    fn approval(args: &str, decisions: &[&str]) -> Approval {
        let text = format!(r#"{{"approval_id":"a","tool":"bash","args":{args},"reason":"effects","decisions":{}}}"#, json!(decisions));
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn an_approval_shows_all_of_its_arguments_and_hides_nothing_in_them() {
        let long = "x".repeat(5000);
        let shown = show_approval(&approval(&format!("{{\"command\":\"{long}\u{202e}\"}}"), &["allow_once", "deny"]));
        assert_eq!(shown[1], format!("  {{\"command\":\"{long}\\u{{202e}}\"}}"));
        assert_eq!(shown[3], "  y allow once · n deny");
    }

    #[test]
    fn only_what_is_offered_can_be_decided() {
        let a = approval("{}", &["allow_once", "deny"]);
        assert_eq!(read_decision(&a, " Y "), Some(Decision::AllowOnce));
        assert_eq!(read_decision(&a, "no"), Some(Decision::Deny));
        for other in ["s", "", "yes please", "1"] {
            assert_eq!(read_decision(&a, other), None, "{other:?}");
        }
        let blind = Approval { args: None, decisions: None, ..a };
        assert_eq!(read_decision(&blind, "y"), None);
    }

    #[test]
    fn an_interview_takes_numbers_and_words_as_each_question_allows() {
        let questions = json!([
            {"id": "size", "text": "Which size?", "options": [{"label": "S"}, {"label": "M", "description": "fits most"}]},
            {"id": "extras", "text": "Extras?", "options": [{"label": "bag"}, {"label": "box"}], "multiple": true, "free_text": true},
            {"id": "name", "text": "Your name?", "free_text": true},
        ]);
        let wire = json!({"question_id": "q", "questions": questions});
        let mut interview = Interview::new(serde_json::from_value(wire).unwrap());
        assert_eq!(interview.show(), ["Which size?", "  1 S", "  2 M: fits most", "  type a number, or /decline"]);
        for wrong in ["0", "3", "1,2", "M", ""] {
            assert!(interview.take(wrong).is_err(), "{wrong:?}");
        }
        assert_eq!(interview.take("2"), Ok(None));
        assert_eq!(interview.take("1, 2"), Ok(None));
        let answers = interview.take("Ada").unwrap().unwrap();
        assert_eq!(check_answers(&interview.asked.questions, &answers), Ok(()));
        assert_eq!(answers[1].selected, ["bag", "box"]);
        assert_eq!(answers[2].text.as_deref(), Some("Ada"));
    }
}
