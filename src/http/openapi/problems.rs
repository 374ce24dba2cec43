//! The codes of refusals, and the answers that an operation's codes make.

use serde_json::{Map, Value, json};

/// A stable word for why a request was refused.
pub(super) struct Code {
    pub(super) name: &'static str,
    pub(super) status: u16,
    /// What it means, for whoever gets it.
    means: &'static str,
    /// What to do about it.
    act: &'static str,
}

const fn code(name: &'static str, status: u16, means: &'static str, act: &'static str) -> Code {
    Code { name, status, means, act }
}

/// In the order of their statuses.
pub(super) const CODES: &[Code] = &[
    code("invalid_json", 400, "The body is not JSON, or ended early.", "Mend the client; a repeat fails the same way."),
    code("unauthorized", 401, "No credential that counts here.", "Send a bearer that is valid; locally, ask from the machine itself."),
    code("forbidden", 403, "The credential does not permit this.", "Use one with the scope that `detail` names."),
    code(
        "local_key_required",
        403,
        "It acts on the gateway's machine.",
        "Send the local key, the file `local.key` of the store, as bearer.",
    ),
    code("not_found", 404, "It never existed, was deleted, or is not yours.", "Do not repeat it."),
    code("conflict", 409, "It exists already, in another way.", "Read its state, then decide."),
    code("already_claimed", 409, "A turn has claimed the message.", "Cancel the turn instead, if it is to stop."),
    code("message_removed", 409, "The message was removed before a turn claimed it.", "Post it again if it is still wanted."),
    code("idempotency_conflict", 409, "The key was used with another body.", "Use a new key for a new request."),
    code("already_decided", 409, "Another answer was given before; it stands.", "Read it; nothing is left to do."),
    code(
        "digest_mismatch",
        409,
        "The digest is not that of the call that waits.",
        "Read the approval again, and show the person what it says.",
    ),
    code("expired", 410, "It expired or was cancelled before the answer came.", "Nothing waits any more; the agent was told."),
    code("body_too_large", 413, "The body has more bytes than this path takes.", "Send less; `detail` says how many bytes are taken."),
    code("unsupported_media_type", 415, "The body is not declared as JSON.", "Send `Content-Type: application/json`."),
    code("invalid_request", 422, "A field, parameter or header is not what it must be.", "Each of `errors` points at one; mend it."),
    code(
        "queue_full",
        429,
        "As much input waits in the session as may wait.",
        "Wait `Retry-After` seconds and post again with the same key.",
    ),
    code("rate_limited", 429, "More is asked at once than can be taken.", "Wait `Retry-After` seconds and repeat."),
    code("internal", 500, "The gateway failed.", "Repeat with the same key; report the `request_id`."),
    code("store_unavailable", 503, "The ledger cannot be read or written now. Nothing was lost.", "Wait `Retry-After` seconds and repeat."),
];

/// A body that did not come in time is a request that is not what it must be, with the status that says so.
const LATE: u16 = 408;

fn named(name: &str) -> Option<&'static Code> {
    CODES.iter().find(|code| code.name == name)
}

/// The shape of a refusal, and the table of codes for whoever reads the document by program.
pub(super) fn schemas() -> Map<String, Value> {
    let text = |description: &str| json!({"type": "string", "description": description});
    let codes: Vec<_> = CODES.iter().map(|code| code.name).collect();
    let table: Map<String, Value> =
        CODES.iter().map(|c| (c.name.into(), json!({"status": c.status, "means": c.means, "act": c.act}))).collect();
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
    let said = said.as_array().into_iter().flatten().filter_map(Value::as_str).map(ToOwned::to_owned);
    let mut codes: Vec<String> = said.chain(implied(path, operation).into_iter().map(Into::into)).collect();
    codes.sort_by_key(|name| CODES.iter().position(|code| code.name == name));
    codes.dedup();
    let has_body = operation.contains_key("requestBody");
    let Some(responses) = operation.get_mut("responses").and_then(Value::as_object_mut) else { return };
    let mut statuses: Vec<u16> = codes.iter().filter_map(|name| named(name)).map(|code| code.status).collect();
    statuses.dedup();
    for status in statuses {
        let of_status: Vec<&Code> = codes.iter().filter_map(|name| named(name)).filter(|code| code.status == status).collect();
        responses.insert(status.to_string(), answer(status, &of_status));
    }
    if has_body {
        let late = Code { means: "The body did not come in time.", ..code("invalid_request", LATE, "", "") };
        responses.insert(LATE.to_string(), answer(LATE, &[&late]));
    }
}

/// What a handler need not say: it follows from where it stands and what it takes.
fn implied(path: &str, operation: &Map<String, Value>) -> Vec<&'static str> {
    let mut codes = Vec::new();
    if path.starts_with("/v1/") {
        codes.extend(["unauthorized", "forbidden", "internal"]);
    }
    let parameters = operation.get("parameters").and_then(Value::as_array).into_iter().flatten();
    let checked = parameters.filter(|p| p["in"] == "query" || p["name"] == "Idempotency-Key").count();
    if operation.contains_key("requestBody") {
        codes.extend(["invalid_json", "body_too_large", "unsupported_media_type"]);
    }
    if checked > 0 || operation.contains_key("requestBody") {
        codes.push("invalid_request");
    }
    codes
}

fn answer(status: u16, codes: &[&Code]) -> Value {
    let means: Vec<_> = codes.iter().map(|code| format!("`{}`: {}", code.name, code.means)).collect();
    let names: Vec<_> = codes.iter().map(|code| code.name).collect();
    let schema = json!({"$ref": "#/components/schemas/Problem", "properties": {"code": {"enum": names}, "status": {"const": status}}});
    let mut answer = json!({"description": means.join(" "), "content": {"application/problem+json": {"schema": schema}}});
    if matches!(status, 429 | 503) {
        let after = json!({"description": "Seconds to wait.", "schema": {"type": "integer", "minimum": 1}});
        answer["headers"] = json!({"Retry-After": after});
    }
    if status == 401 {
        answer["headers"] = json!({"WWW-Authenticate": {"description": "`Bearer`.", "schema": {"type": "string"}}});
    }
    answer
}
