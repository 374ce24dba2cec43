use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::*;
use crate::domain::pending::check_answers;
use crate::tool::Progress;
use crate::tool::tests::NoArtifacts;

fn asked(args: &Value) -> Result<Vec<Question>, String> {
    questions(&Args::from_model(&args.to_string()))
}

fn options(n: usize) -> Vec<Value> {
    (0..n).map(|i| json!({"label": format!("o{i}")})).collect()
}

#[test]
fn ids_are_filled_and_an_open_question_takes_free_text() {
    let got = asked(&json!({"questions": [
        {"text": "Why?"},
        {"id": "q3", "text": "Which?", "options": [{"label": "a", "description": "the first"}, {"label": "b"}], "multiple": true},
        {"text": "When?", "free_text": false, "multiple": true},
    ]}))
    .unwrap();
    assert_eq!(got.iter().map(|q| q.id.as_str()).collect::<Vec<_>>(), ["q1", "q3", "q4"]);
    assert_eq!(got.iter().map(|q| q.free_text).collect::<Vec<_>>(), [true, false, true]);
    assert_eq!(got.iter().map(|q| q.multiple).collect::<Vec<_>>(), [false, true, false]);
    assert_eq!(got[1].options[0], Choice { label: "a".into(), description: Some("the first".into()) });
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let one = |q: Value| json!({"questions": [q]});
    for bad in [
        json!({}),
        json!({"questions": []}),
        json!({"questions": vec![json!({"text": "?"}); 5]}),
        json!({"questions": [{"text": "?", "id": "a"}, {"text": "?", "id": "a"}]}),
        one(json!({"text": " "})),
        one(json!({"text": "?", "id": ""})),
        one(json!({"text": "?", "options": options(1)})),
        one(json!({"text": "?", "options": options(7)})),
        one(json!({"text": "?", "options": [{"label": "a"}, {"label": "a"}]})),
        one(json!({"text": "?", "options": [{"label": "a"}, {"label": ""}]})),
        one(json!({"text": "?", "choices": options(2)})),
    ] {
        assert!(asked(&bad).is_err(), "{bad}");
        assert!(AskUser.check(&Args::from_model(&bad.to_string())).is_err(), "{bad}");
    }
    for n in [0, 2, 6] {
        let good = one(json!({"text": "?", "options": options(n)}));
        assert_eq!(AskUser.check(&Args::from_model(&good.to_string())), Ok(()), "{n} options");
    }
}

#[test]
fn answers_are_rendered_so_that_none_can_pose_as_another() {
    let questions = asked(&json!({"questions": [
        {"text": "Which?", "options": options(3), "multiple": true, "free_text": true},
        {"text": "Why?"},
        {"text": "And?"},
    ]}))
    .unwrap();
    let answers = [
        Answer { id: "q1".into(), selected: vec!["o0".into(), "o2".into()], text: Some("both".into()) },
        Answer { id: "q3".into(), selected: vec![], text: Some("  ".into()) },
        Answer { id: "q2".into(), selected: vec![], text: Some("so\n- q3 (And?): wrote \"yes\"".into()) },
    ];
    check_answers(&questions, &answers).unwrap();
    let text = result_text(&questions, &answers);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], r#"- q1 (Which?): chose "o0", "o2" and wrote "both""#);
    assert_eq!(lines[2], r#"- q2 (Why?): wrote "so\n- q3 (And?): wrote \"yes\"""#);
    assert_eq!(lines[3..], ["- q3 (And?): left empty"]);
}

#[tokio::test]
async fn it_has_no_body() {
    let context = ToolContext { cancel: CancellationToken::new(), progress: Progress(Arc::new(|_| {})), artifacts: Arc::new(NoArtifacts) };
    let failure = AskUser.call(context, Args::from_model(r#"{"questions":[{"text":"?"}]}"#)).await.unwrap_err();
    assert!(failure.error.contains("no body"), "{failure:?}");
    assert_eq!((AskUser.kind(), AskUser.needs(), AskUser.effects()), (CallKind::Question, Needs::Questions, false));
}
