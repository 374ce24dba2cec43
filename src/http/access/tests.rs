use std::collections::BTreeSet;
use std::net::SocketAddr;

use axum::extract::ConnectInfo;
use axum::http::Request;
use axum::http::request::Parts;
use secrecy::SecretString;

use super::{Access, ApiKey};
use crate::domain::api_key::KeyHash;
use crate::domain::{Principal, Scope};

fn request(peer: &str, target: &str, headers: &[(&str, &str)]) -> Parts {
    let mut builder = Request::builder().uri(target).extension(ConnectInfo::<SocketAddr>(peer.parse().unwrap()));
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(()).unwrap().into_parts().0
}

fn right() -> SecretString {
    SecretString::from("pl_right")
}

/// The caller's name, and whether it has the shell.
fn seen(access: &Access, peer: &str, headers: &[(&str, &str)]) -> Result<(String, bool), String> {
    access.check(&request(peer, "/v1/sessions", headers)).map(|p| (p.name.clone(), p.may(Scope::Cli))).map_err(|e| e.detail)
}

const HERE: &str = "127.0.0.1:1";
const HOST: (&str, &str) = ("host", "127.0.0.1:8080");

/// What the local rules do not let in.
fn not_from_here() -> Vec<(&'static str, Vec<(&'static str, &'static str)>)> {
    vec![
        ("192.0.2.1:1", vec![HOST]),
        (HERE, vec![]),
        (HERE, vec![("host", "127.0.0.1")]),
        (HERE, vec![("host", "evil.example:8080")]),
        (HERE, vec![HOST, ("host", "localhost:8080")]),
        (HERE, vec![HOST, ("origin", "http://localhost:8080")]),
        (HERE, vec![HOST, ("origin", "https://127.0.0.1:8080")]),
        (HERE, vec![HOST, ("origin", "null")]),
        (HERE, vec![HOST, ("sec-fetch-site", "cross-site")]),
        (HERE, vec![HOST, ("sec-fetch-site", "same-site")]),
        (HERE, vec![HOST, ("x-forwarded-for", "127.0.0.1")]),
        (HERE, vec![HOST, ("forwarded", "for=1.2.3.4")]),
        (HERE, vec![HOST, ("via", "1.1 proxy")]),
        (HERE, vec![HOST, ("cf-connecting-ip", "1.2.3.4")]),
        (HERE, vec![HOST, ("origin", "http://127.0.0.1:8080"), ("origin", "http://evil.example")]),
    ]
}

#[test]
fn the_local_administrator_is_whoever_can_only_be_here() {
    let access = Access::local(right(), 8080);
    let local = |with_key| Ok(("local".to_owned(), with_key));
    assert_eq!(seen(&access, HERE, &[HOST]), local(false));
    assert_eq!(seen(&access, "[::1]:1", &[("host", "[::1]:8080")]), local(false));
    assert_eq!(seen(&access, "[::ffff:127.0.0.1]:1", &[("host", "LOCALHOST:8080")]), local(false));
    let same_site = [HOST, ("origin", "http://127.0.0.1:8080"), ("sec-fetch-site", "same-origin")];
    assert_eq!(seen(&access, HERE, &same_site), local(false));
    assert_eq!(seen(&access, HERE, &[HOST, ("authorization", "Bearer pl_right")]), local(true));
    assert_eq!(seen(&access, HERE, &[HOST, ("authorization", "Bearer sk-of-some-sdk")]), local(false));
}

#[test]
fn everybody_else_is_refused() {
    let access = Access::local(right(), 8080);
    for (peer, headers) in not_from_here() {
        assert!(seen(&access, peer, &headers).is_err(), "{peer} {headers:?}");
    }
    let elsewhere = request(HERE, "http://evil.example/v1/sessions", &[HOST]);
    assert!(access.check(&elsewhere).is_err(), "a target that names another host than the header is for somebody else");
}

#[test]
fn with_auth_a_bearer_is_the_only_way_in() {
    let key = |name, token| ApiKey { hash: KeyHash::of(token), principal: Principal::key(name, "acme", BTreeSet::new()) };
    let access = Access::with_keys(vec![key("ann", "pk_ann"), key("bob", "pk_bob")], right(), 8080);
    let bearer = |token| ("authorization", token);
    let is = |name: &str| Ok((name.to_owned(), false));
    assert_eq!(seen(&access, HERE, &[HOST, bearer("Bearer pk_ann")]), is("key:ann"));
    assert_eq!(seen(&access, HERE, &[HOST, bearer("bearer pk_bob")]), is("key:bob"));
    for (peer, mut headers) in not_from_here() {
        headers.push(bearer("Bearer pk_bob"));
        assert_eq!(seen(&access, peer, &headers), is("key:bob"), "a key is good from anywhere: {headers:?}");
        headers.pop();
        headers.push(bearer("Bearer pl_right"));
        assert!(seen(&access, peer, &headers).is_err(), "the local key is not: {peer} {headers:?}");
    }
    assert_eq!(seen(&access, HERE, &[HOST, bearer("Bearer pl_right")]), Ok(("local".to_owned(), true)));
    for refused in ["Bearer pk_an", "Bearer pk_anna", "Bearer pl_wrong", "Bearer ", "Basic pk_ann", "pk_ann", "Bearer sk-of-some-sdk"] {
        assert!(seen(&access, HERE, &[HOST, bearer(refused)]).is_err(), "{refused}");
    }
    assert!(seen(&access, HERE, &[HOST]).is_err(), "to be here is not enough");
    assert!(seen(&access, HERE, &[HOST, bearer("Bearer pk_ann"), bearer("Bearer pk_bob")]).is_err(), "two are none");
}
