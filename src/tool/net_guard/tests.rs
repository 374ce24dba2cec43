//! What is refused is never connected to: by literal, by name, by redirect, and when a name changes what it stands for.
//!
//! Real sockets. 127.0.0.2 stands for the public internet by being opened; 127.0.0.1 is the private network behind it.

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Mutex;

use futures_util::future::BoxFuture;
use reqwest::header::HeaderMap;

use super::*;
use crate::test_server::{HEAD, TestServer};

const PUBLIC: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

fn guard(open: &[&str]) -> NetGuard {
    NetGuard::new(open.iter().map(|net| net.parse().unwrap()))
}

/// Answers with the lists in turn, the last one for ever.
#[derive(Debug)]
struct Scripted(Mutex<VecDeque<Vec<IpAddr>>>);

impl Scripted {
    fn new(answers: &[&[&str]]) -> Arc<Self> {
        Arc::new(Self(Mutex::new(answers.iter().map(|list| list.iter().map(|a| a.parse().unwrap()).collect()).collect())))
    }
}

impl Lookup for Scripted {
    fn lookup(&self, _: &str) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        let mut answers = self.0.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
        Box::pin(async move { Ok(answer.unwrap_or_default()) })
    }
}

async fn serve(address: Ipv4Addr, port: u16, answer: impl Fn(u16) -> String + Send + 'static) -> TestServer {
    TestServer::on(address, port, HEAD, move |port| answer(port).into_bytes()).await.unwrap()
}

async fn public(answer: impl Fn(u16) -> String + Send + 'static) -> TestServer {
    serve(PUBLIC, 0, answer).await
}

/// The private host at the same port, so that only the address differs.
async fn private(port: u16) -> TestServer {
    serve(Ipv4Addr::LOCALHOST, port, |_| page("secret")).await
}

fn page(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

fn redirect(to: &str) -> String {
    format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
}

async fn get(url: &str, open: &[&str], lookup: Arc<dyn Lookup>) -> Result<String, FetchError> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = GuardedClient::new(guard(open), &lookup).unwrap();
    let response = client.get(Url::parse(url).unwrap(), &HeaderMap::new()).await?;
    Ok(response.text().await.unwrap())
}

#[test]
fn literals_in_every_spelling() {
    for url in [
        "http://127.0.0.1/",
        "http://127.0.0.1./",
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0x7f.0.0.1/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://0/",
        "http://0.0.0.0/",
        "http://127.255.255.254/",
        "http:127.0.0.1/",
        "http:\\\\127.0.0.1\\",
        "http://%31%32%37.0.0.1/",
        "http://１２７.０.０.１/",
        "http://127。0。0。1/",
        "http://①②⑦.0.0.1/",
        "http://\t127.0.0.1/",
        "http://169.254.169.254/latest/meta-data/",
        "http://0xa9fea9fe/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://10.0.0.1/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://255.255.255.255/",
        "http://[::1]/",
        "http://[::]/",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[::127.0.0.1]/",
        "http://[64:ff9b::127.0.0.1]/",
        "http://[64:ff9b:1::a00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:1::1]/",
        "http://[fd00:ec2::254]/",
        "http://[fe80::1]/",
        "http://[ff02::1]/",
    ] {
        let parsed = Url::parse(url).unwrap();
        assert!(matches!(guard(&[]).judge(&parsed), Err(Refused::Private { .. })), "{url}: {:?}", guard(&[]).judge(&parsed));
    }
    // a zone is no part of a URL's address
    assert!(Url::parse("http://[fe80::1%25eth0]/").is_err());
    for url in ["http://256.0.0.1/", "http://1.2.3.4.5/", "http://0x100000000/", "http://127.0.0.1.0x/"] {
        assert!(Url::parse(url).is_err(), "{url}");
    }
}

#[test]
fn what_else_a_url_may_not_say() {
    let judge = |url: &str| guard(&[]).judge(&Url::parse(url).unwrap());
    assert_eq!(judge("https://example.org/"), Ok(Door::Web));
    assert_eq!(judge("http://8.8.8.8/"), Ok(Door::Web));
    assert_eq!(judge("http://example.org:443/"), Ok(Door::Web));
    assert_eq!(judge("http://[64:ff9b::8.8.8.8]/"), Ok(Door::Web));
    assert_eq!(judge("http://8.8.8.8:22/"), Err(Refused::Port));
    // a name's addresses decide: only opened ones are asked there
    assert_eq!(judge("https://example.org:8443/"), Ok(Door::Opened));
    for url in ["file:///etc/passwd", "ftp://8.8.8.8/", "gopher://8.8.8.8:80/", "data:text/html,x", "javascript:1", "blob:http://a/b"] {
        assert!(matches!(judge(url), Err(Refused::Scheme(_))), "{url}");
    }
    for url in ["http://user@example.org/", "http://:pw@example.org/", "http://example.org@127.0.0.1/", "http://127.0.0.1\\@example.org@a/"]
    {
        assert!(judge(url).is_err(), "{url}");
    }
    assert_eq!(judge("http://example.org@8.8.8.8/"), Err(Refused::Credentials));
}

#[test]
fn what_is_opened_is_reached_on_any_port() {
    let guard = guard(&["127.0.0.1/32", "fd00::/8"]);
    let judge = |url: &str| guard.judge(&Url::parse(url).unwrap());
    for url in ["http://127.0.0.1:8080/", "http://2130706433/", "http://[::ffff:127.0.0.1]:5/", "https://[fd12::1]:9/"] {
        assert!(judge(url).is_ok(), "{url}");
    }
    for url in ["http://127.0.0.2/", "http://[::1]/", "http://169.254.169.254/", "http://[fc00::1]/"] {
        assert!(judge(url).is_err(), "{url}");
    }
}

#[test]
fn a_name_is_as_private_as_its_most_private_address() {
    let admit = |open: &[&str], found: &[&str], door| {
        let found: Vec<IpAddr> = found.iter().map(|a| a.parse().unwrap()).collect();
        guard(open).admit("a.example", &found, door)
    };
    let private = Err(Refused::PrivateName { name: "a.example".into() });
    assert_eq!(admit(&[], &["8.8.8.8", "2606:4700::1111"], Door::Web), Ok(()));
    assert_eq!(admit(&[], &["8.8.8.8", "10.0.0.1"], Door::Web), private);
    assert_eq!(admit(&[], &["2606:4700::1111", "::1"], Door::Web), private);
    assert_eq!(admit(&["10.0.0.0/8"], &["8.8.8.8", "10.0.0.1"], Door::Web), Ok(()));
    assert_eq!(admit(&["10.0.0.0/8"], &["10.0.0.1"], Door::Opened), Ok(()));
    assert_eq!(admit(&["10.0.0.0/8"], &["8.8.8.8", "10.0.0.1"], Door::Opened), Err(Refused::Port));
    assert_eq!(admit(&[], &[], Door::Web), Err(Refused::NoAddress { name: "a.example".into() }));
}

#[tokio::test]
async fn the_systems_own_names_for_this_machine_are_refused() {
    let server = private(0).await;
    for name in ["localhost", "LOCALHOST", "ｌｏｃａｌｈｏｓｔ"] {
        let url = format!("http://{name}:{}/", server.port);
        let error = get(&url, &[], Arc::new(SystemLookup)).await.unwrap_err();
        assert!(matches!(error, FetchError::Refused(Refused::PrivateName { .. })), "{name}: {error}");
    }
    // whether the system knows these is its own affair
    for name in ["localhost.", "a.localhost", "localhost.localdomain", "ip6-localhost"] {
        assert!(get(&format!("http://{name}:{}/", server.port), &[], Arc::new(SystemLookup)).await.is_err(), "{name}");
    }
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_redirect_is_judged_like_the_first_address() {
    let private = private(0).await;
    let port = private.port;
    for target in [
        format!("http://127.0.0.1:{port}/"),
        format!("//2130706433:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
        format!("http://inside.example:{port}/"),
        "http://169.254.169.254/latest/meta-data/".into(),
        "file:///etc/passwd".into(),
        "http://me:pw@127.0.0.2/".into(),
    ] {
        let answer = redirect(&target);
        let public = public(move |_| answer.clone()).await;
        let lookup = Scripted::new(&[&["127.0.0.1"]]);
        let error = get(&format!("http://127.0.0.2:{}/start", public.port), &["127.0.0.2/32"], lookup).await.unwrap_err();
        let FetchError::RefusedRedirect { via, .. } = &error else { panic!("{target}: {error}") };
        assert!(via.ends_with("/start") && public.connections() == 1, "{target}: {error}");
    }
    assert_eq!(private.connections(), 0);
}

#[tokio::test]
async fn redirects_end() {
    let public = public(|port| redirect(&format!("http://127.0.0.2:{port}/again"))).await;
    let url = format!("http://127.0.0.2:{}/", public.port);
    let error = get(&url, &["127.0.0.2/32"], Scripted::new(&[])).await.unwrap_err();
    assert!(matches!(error, FetchError::Redirects), "{error}");
    assert_eq!(public.connections(), 6, "the first and five redirects");
}

#[tokio::test]
async fn a_redirect_to_no_address_says_so() {
    let public = public(|_| redirect("http://[nonsense/")).await;
    let error = get(&format!("http://127.0.0.2:{}/", public.port), &["127.0.0.2/32"], Scripted::new(&[])).await.unwrap_err();
    assert!(matches!(error, FetchError::Location { .. }), "{error}");
}

#[test]
fn https_does_not_become_http() {
    let via = Url::parse("https://a.example/x").unwrap();
    let target = |location: &[u8]| client::target(&via, location);
    assert_eq!(target(b"/y").unwrap().as_str(), "https://a.example/y");
    assert_eq!(target(b"//b.example").unwrap().as_str(), "https://b.example/");
    assert!(matches!(target(b"http://a.example/y"), Err(FetchError::Downgrade { .. })));
}

#[tokio::test]
async fn a_name_that_turns_private_is_not_followed() {
    let public = public(|port| redirect(&format!("http://rebind.example:{port}/again"))).await;
    let private = private(public.port).await;
    let url = format!("http://rebind.example:{}/", public.port);
    let error = get(&url, &["127.0.0.2/32"], Scripted::new(&[&["127.0.0.2"], &["127.0.0.1"]])).await.unwrap_err();
    assert!(matches!(error, FetchError::RefusedRedirect { .. }), "{error}");
    assert_eq!((public.connections(), private.connections()), (1, 0));
}

#[tokio::test]
async fn the_address_that_was_judged_is_the_one_connected_to() {
    let public = public(|_| page("hello")).await;
    let private = private(public.port).await;
    let url = format!("http://rebind.example:{}/", public.port);
    // a second look-up between judging and connecting would get the private one
    let text = get(&url, &["127.0.0.2/32"], Scripted::new(&[&["127.0.0.2"], &["127.0.0.1"]])).await.unwrap();
    assert_eq!((text.as_str(), public.connections(), private.connections()), ("hello", 1, 0));
}

#[tokio::test]
async fn a_name_with_both_is_not_connected_to_at_all() {
    let public = public(|_| page("hello")).await;
    let private = private(public.port).await;
    for both in [["127.0.0.2", "127.0.0.1"], ["127.0.0.1", "127.0.0.2"]] {
        let url = format!("http://both.example:{}/", public.port);
        let error = get(&url, &["127.0.0.2/32"], Scripted::new(&[&both])).await.unwrap_err();
        assert!(matches!(error, FetchError::Refused(Refused::PrivateName { .. })), "{error}");
        assert!(!error.to_string().contains("127.0.0.1"), "what stands in the private network stays there: {error}");
    }
    assert_eq!((public.connections(), private.connections()), (0, 0));
}

#[tokio::test]
async fn what_cannot_be_reached_is_told_in_a_sentence() {
    let closed = public(|_| String::new()).await.port;
    let error = get(&format!("http://127.0.0.2:{closed}/"), &["127.0.0.2/32"], Scripted::new(&[])).await.unwrap_err();
    assert!(error.to_string().starts_with("no connection to the host: "), "{error}");
    let error = get("http://nowhere.example/", &[], Scripted::new(&[&[]])).await.unwrap_err();
    assert_eq!(error.to_string(), "nowhere.example has no address");
}
