//! Handshakes and signatures.

use serde_json::Value;

use super::*;
use crate::channel::messenger::HttpReply;

fn get(query: &str) -> WebhookRequest {
    let uri = format!("/channels/whatsapp/main?{query}").parse().unwrap();
    WebhookRequest { method: Method::GET, uri, headers: HeaderMap::new(), body: Bytes::new() }
}

fn signed(body: impl Into<Bytes>, signature: &str) -> WebhookRequest {
    let mut request = post(body);
    request.headers.insert("x-hub-signature-256", signature.parse().unwrap());
    request
}

fn answer(query: &str) -> Result<HttpReply, Refusal> {
    account().verify(get(query)).map(|request| account().receive(&request).reply)
}

#[test]
fn signature_vectors_hold_over_the_raw_bytes_and_over_no_others() {
    let vectors: Vec<Value> = serde_json::from_slice(&sample("signature_vectors.json")).unwrap();
    let vector = vectors.iter().find(|vector| vector["file"] == "60_wire_escaped_ascii.raw").unwrap();
    let body = sample("60_wire_escaped_ascii.raw");
    assert_eq!(body.len(), 605);
    let right = vector["x_hub_signature_256"].as_str().unwrap();
    assert!(account().verify(signed(body.clone(), right)).is_ok());
    let rewritten = serde_json::to_vec(&serde_json::from_slice::<Value>(&body).unwrap()).unwrap();
    assert_eq!(account().verify(signed(rewritten, right)).unwrap_err(), Refusal::Wrong);
    let of_rewritten = vector["sha256_of_reserialised_python_json"].as_str().unwrap();
    assert_eq!(account().verify(signed(body, of_rewritten)).unwrap_err(), Refusal::Wrong);
}

/// The other vector: its body is the same payload with every escape written out.
#[test]
fn a_body_of_raw_utf8_is_signed_as_it_is() {
    let vectors: Vec<Value> = serde_json::from_slice(&sample("signature_vectors.json")).unwrap();
    let escaped = String::from_utf8(sample("60_wire_escaped_ascii.raw").to_vec()).unwrap();
    let written_out = [
        (r"\u00e8", "è"),
        (r"\u00fb", "û"),
        (r"\u00e9", "é"),
        (r"\ud83d\ude0a", "😊"),
        (r"\u0025", "%"),
        (r"\u003C", "<"),
        (r"\u0040", "@"),
        (r"\/", "/"),
    ];
    let body = written_out.into_iter().fold(escaped, |body, (escape, written)| body.replace(escape, written));
    assert_eq!(body.len() as u64, vectors[1]["bytes"].as_u64().unwrap());
    assert!(account().verify(signed(body, vectors[1]["x_hub_signature_256"].as_str().unwrap())).is_ok());
}

#[test]
fn a_signature_that_is_not_one_is_refused() {
    let body = sample("60_wire_escaped_ascii.raw");
    let hex = "ceab5d5ff981cf9759746122c7eef821da13e59ddf5e75d4b8f5eeff461678d5";
    for wrong in
        [hex.to_owned(), format!("sha1={hex}"), format!("sha256={}", &hex[1..]), format!("sha256={hex}0"), "sha256=".into(), "é".into()]
    {
        let mut request = post(body.clone());
        request.headers.insert("x-hub-signature-256", axum::http::HeaderValue::from_bytes(wrong.as_bytes()).unwrap());
        assert_eq!(account().verify(request).unwrap_err(), Refusal::Wrong, "{wrong}");
    }
    let mut legacy = post(body);
    legacy.headers.insert("x-hub-signature", "sha1=0000000000000000000000000000000000000000".parse().unwrap());
    assert_eq!(account().verify(legacy).unwrap_err(), Refusal::Unproven);
}

#[test]
fn an_empty_secret_or_token_proves_nothing() {
    let empty = SecretString::from(String::new());
    let token = SecretString::from("t".to_owned());
    // HMAC-SHA-256 of nothing by the empty key
    let of_nothing = "sha256=b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad";
    assert_eq!(webhook::check(&signed("", of_nothing), &empty, &token).unwrap_err(), Refusal::Wrong);
    let handshake = get("hub.mode=subscribe&hub.verify_token=&hub.challenge=1");
    assert_eq!(webhook::check(&handshake, &token, &empty).unwrap_err(), Refusal::Wrong);
}

#[test]
fn a_handshake_gets_its_challenge_back_and_nothing_else() {
    let right = "hub.mode=subscribe&hub.verify_token=sample_verify_token";
    assert_eq!(answer(&format!("{right}&hub.challenge=1158201444")), Ok(HttpReply::Text("1158201444".into())));
    assert_eq!(answer(right), Err(Refusal::Malformed));
    for odd in ["", "%3Cscript%3E1%3C%2Fscript%3E", "a%20b", "%C3%A9", "%0A1", &"1".repeat(129)] {
        assert_eq!(answer(&format!("{right}&hub.challenge={odd}")), Err(Refusal::Malformed), "{odd}");
    }
    for wrong in [
        "",
        "hub.challenge=1",
        "hub.mode=subscribe&hub.verify_token=x&hub.challenge=1",
        "hub.verify_token=sample_verify_token&hub.challenge=1",
    ] {
        assert_eq!(answer(wrong), Err(Refusal::Wrong), "{wrong}");
    }
}

#[test]
fn other_methods_are_not_the_platforms() {
    for method in [Method::PUT, Method::DELETE, Method::HEAD] {
        let request = WebhookRequest { method, ..get("hub.mode=subscribe&hub.verify_token=sample_verify_token&hub.challenge=1") };
        assert_eq!(account().verify(request).unwrap_err(), Refusal::Malformed);
    }
}
