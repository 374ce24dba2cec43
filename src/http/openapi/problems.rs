//! Refusals: their shape, and the answers that an operation's codes make.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use crate::http::code::Code;

/// A body that did not come in time is a request that is not what it must be, with the status that says so.
const LATE: (StatusCode, &str) = (StatusCode::REQUEST_TIMEOUT, "`invalid_request`: The body did not come in time.");

/// The shape of a refusal, and the table of codes for whoever reads the document by program.
pub(super) fn schemas() -> Map<String, Value> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let codes = Code::ALL;
    let table: Map<String, Value> =
        codes.iter().map(|c| (c.to_string(), json!({"status": c.status().as_u16(), "means": c.means(), "act": c.act()}))).collect();
    let problem = json!({
        "type": "object",
        "description": "A refusal, as RFC 9457 shapes it.",
        "properties": {
            "type": text("`urn:portico:problem:` and the code."),
            "title": text("The status in words."),
            "status": {"type": "integer", "description": "The HTTP status."},
            "detail": text("What is wrong, for a person to read."),
            "code": {"type": "string", "enum": codes, "description": "A stable word for programs to decide on.", "x-codes": table},
            "request_id": text("The request's id, as the gateway's log has it."),
            "errors": {
                "type": "array",
                "description": "With 422: what is wrong, field by field.",
                "items": {
                    "type": "object",
                    "properties": {
                        "pointer": text("A JSON pointer into the body, or the name of a parameter or header."),
                        "detail": text("What is wrong with it."),
                    },
                    "required": ["pointer", "detail"],
                },
            },
        },
        "required": ["type", "title", "status", "detail", "code", "request_id"],
    });
    Map::from_iter([("Problem".to_owned(), problem)])
}

/// Turns an operation's `x-codes`, and those that follow from what it takes, into its answers.
pub(super) fn answers(path: &str, operation: &mut Map<String, Value>) {
    let said = operation.remove("x-codes").unwrap_or_default();
    let said = said.as_array().into_iter().flatten().filter_map(Value::as_str).filter_map(Code::named);
    let mut codes: Vec<Code> = said.chain(implied(path, operation)).collect();
    codes.sort();
    codes.dedup();
    let has_body = operation.contains_key("requestBody");
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    for same in codes.chunk_by(|a, b| a.status() == b.status()) {
        let means: Vec<_> = same.iter().map(|code| format!("`{code}`: {}", code.means())).collect();
        let status = same[0].status();
        responses.insert(status.as_str().to_owned(), answer(status, &means.join(" "), same));
    }
    if has_body {
        let (status, means) = LATE;
        responses.insert(status.as_str().to_owned(), answer(status, means, &[Code::InvalidRequest]));
    }
}

/// What a handler need not say: it follows from where it stands and what it takes.
fn implied(path: &str, operation: &Map<String, Value>) -> Vec<Code> {
    let mut codes = Vec::new();
    if path.starts_with("/v1/") {
        codes.extend([Code::Unauthorized, Code::Forbidden, Code::Internal]);
    }
    let parameters = operation.get("parameters").and_then(Value::as_array).into_iter().flatten();
    let checked = parameters.filter(|p| p["in"] == "query" || p["name"] == "Idempotency-Key").count();
    if operation.contains_key("requestBody") {
        codes.extend([Code::InvalidJson, Code::BodyTooLarge, Code::UnsupportedMediaType]);
    }
    if checked > 0 || operation.contains_key("requestBody") {
        codes.push(Code::InvalidRequest);
    }
    codes
}

fn answer(status: StatusCode, means: &str, codes: &[Code]) -> Value {
    let number = status.as_u16();
    let schema = json!({"$ref": "#/components/schemas/Problem", "properties": {"code": {"enum": codes}, "status": {"const": number}}});
    let mut answer = json!({"description": means, "content": {"application/problem+json": {"schema": schema}}});
    if matches!(number, 429 | 503) {
        let after = json!({"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}});
        answer["headers"] = json!({"Retry-After": after});
    }
    if number == 401 {
        answer["headers"] = json!({"WWW-Authenticate": {"description": "`Bearer`.", "schema": {"type": "string"}}});
    }
    answer
}
