use super::*;

fn status(status: u16, body: &str) -> (ErrorClass, &'static str) {
    let error = answer(status, &HeaderMap::new(), body.as_bytes(), SystemTime::UNIX_EPOCH);
    (error.class, error.code)
}

#[test]
fn statuses_and_codes_have_their_class() {
    let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let key = r#"{"error":{"message":"Incorrect API key","type":"invalid_request_error","code":"invalid_api_key"}}"#;
    let limit = r#"{"error":{"message":"Request too large on tokens per min (TPM)","type":"tokens","code":"rate_limit_exceeded"}}"#;
    let model = r#"{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}"#;
    let cases = [
        (429, quota, BILLING),
        (429, r#"{"error":{"message":"no credit","type":"insufficient_quota","code":null}}"#, BILLING),
        (429, limit, RATE_LIMITED),
        (429, "slow down, too many tokens", RATE_LIMITED),
        (401, key, AUTH),
        (403, "{}", AUTH),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#,
            BILLING,
        ),
        (402, r#"{"error":{"code":402,"message":"Insufficient credits"}}"#, BILLING),
        (404, model, MODEL_NOT_FOUND),
        (404, "<html>not found</html>", MODEL_NOT_FOUND),
        (400, r#"{"error":{"message":"bad","type":"invalid_request_error","code":null}}"#, BAD_REQUEST),
        (422, r#"{"detail":"no"}"#, BAD_REQUEST),
        (302, "", BAD_REQUEST),
        (408, "", TIMEOUT),
        (409, "", CONFLICT),
        (500, "oops", SERVER_ERROR),
        (502, "", SERVER_ERROR),
        (503, "too many tokens", OVERLOADED),
        (529, r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#, OVERLOADED),
        (413, "", OVERFLOW),
        (400, "", OVERFLOW),
    ];
    for (code, body, expected) in cases {
        assert_eq!(status(code, body), expected, "{code} {body}");
    }
}

#[test]
fn a_request_too_long_is_known_by_its_words() {
    for message in [
        "prompt is too long: 210000 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 198411 + 32000 > 200000, decrease input length or `max_tokens` and try again",
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens",
        "Your input exceeds the context window of this model",
        "Input length (9000) exceeds model's maximum context length (8192).",
        "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
        "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
        "Please reduce the length of the messages or completion.",
        "You requested 512 output tokens and your prompt contains at least 8000 input tokens",
        "the request exceeds the available context size. try increasing the context size",
        "prompt too long; exceeded max context length by 12 tokens",
        "Invalid request: Your request exceeded model token limit: 131072",
        "invalid params, context window exceeds limit",
        "prompt token count of 130000 exceeds the limit of 128000",
    ] {
        let body = serde_json::json!({"error": {"message": message, "type": "invalid_request_error", "code": null}}).to_string();
        assert_eq!(status(400, &body), OVERFLOW, "{message}");
        assert_eq!(status(429, &body), RATE_LIMITED, "{message}");
    }
    for message in ["Rate limit reached: too many tokens", "Throttling error: Too many tokens, please wait", "max_tokens is too large"] {
        let body = serde_json::json!({"error": {"message": message}}).to_string();
        assert_eq!(status(400, &body), BAD_REQUEST, "{message}");
    }
}

#[test]
fn errors_inside_a_stream_are_classed_without_a_status() {
    let cases = [
        (r#"{"message":"Overloaded","type":"overloaded_error"}"#, OVERLOADED),
        (r#"{"message":"Provider returned error","code":502}"#, SERVER_ERROR),
        (r#"{"message":"No credits","code":402}"#, BILLING),
        (r#"{"message":"slow","code":"rate_limit_exceeded"}"#, RATE_LIMITED),
        (r#"{"message":"The server had an error","type":"server_error"}"#, SERVER_ERROR),
        (r#"{"message":"bad","type":"invalid_request_error"}"#, BAD_REQUEST),
        (r#"{"message":"prompt is too long: 5 tokens > 4 maximum","type":"invalid_request_error"}"#, OVERFLOW),
        (r#""plain words""#, SERVER_ERROR),
    ];
    for (body, expected) in cases {
        let error = frame(serde_json::from_str(body).unwrap(), body);
        assert_eq!((error.class, error.code), expected, "{body}");
    }
}

#[test]
fn the_providers_word_on_retrying_wins() {
    let headers = |value: &'static str| HeaderMap::from_iter([("x-should-retry".parse().unwrap(), value.parse().unwrap())]);
    let class = |code, value| answer(code, &headers(value), b"x", SystemTime::UNIX_EPOCH).class;
    assert_eq!(class(400, "true"), ErrorClass::Retry);
    assert_eq!(class(500, "false"), ErrorClass::Final);
    assert_eq!(class(413, "true"), ErrorClass::Overflow);
}

#[test]
fn messages_are_the_providers_and_short() {
    let error = answer(500, &HeaderMap::new(), "x".repeat(5000).as_bytes(), SystemTime::UNIX_EPOCH);
    assert!(error.message.starts_with("the provider answered 500: xxx") && error.message.len() < 700);
    let error = answer(400, &HeaderMap::new(), br#"[{"error":{"message":"wrapped"}}]"#, SystemTime::UNIX_EPOCH);
    assert_eq!(error.message, "the provider answered 400: wrapped");
}
