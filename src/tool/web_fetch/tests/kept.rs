//! A page that was read a moment ago: not asked for again, and not shown to whom it would be refused.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// A server that gives everybody the same, and how often it was asked.
async fn counted(answer: Vec<u8>) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}/page", listener.local_addr().unwrap());
    let count = Arc::<AtomicUsize>::default();
    let counter = count.clone();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            counter.fetch_add(1, Ordering::SeqCst);
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") && socket.read_buf(&mut request).await.is_ok_and(|n| n > 0) {}
            let _ = socket.write_all(&answer).await;
        }
    });
    (address, count)
}

/// Names stand for these addresses, one look-up after the other; the last stays.
#[derive(Debug)]
struct Changing(Mutex<VecDeque<IpAddr>>);

impl Lookup for Changing {
    fn lookup(&self, _: &str) -> BoxFuture<'static, std::io::Result<Vec<IpAddr>>> {
        let mut left = self.0.lock().unwrap();
        let found = if left.len() > 1 { left.pop_front() } else { left.front().copied() };
        Box::pin(async move { Ok(found.into_iter().collect()) })
    }
}

#[tokio::test]
async fn it_is_not_asked_for_again_and_says_when_it_was_read() {
    let (url, asked) = counted(answer("Content-Type: text/html", b"<title>Boats</title><p>Twelve.")).await;
    let tool = tool(["127.0.0.1/32"]);
    let first = call(&tool, json!({"url": url})).await.unwrap();
    let again = call(&tool, json!({"url": format!("{url}#prices")})).await.unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert_eq!(first.content, again.content.replace("#prices", ""));
    assert_eq!(first.sources, [Source { title: Some("Boats".into()), url: url.clone() }]);
    let short = call(&tool, json!({"url": url, "max_chars": 3})).await.unwrap().content;
    assert!(short.contains("Twe\n[cut here: 4 more characters]"), "{short}");
}

#[tokio::test]
async fn errors_and_what_its_server_forbids_to_keep_are_not_kept() {
    for (answer, fine) in [
        (b"HTTP/1.1 404 X\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".to_vec(), false),
        (answer("Content-Type: image/png", b"\x89PNG"), false),
        (answer("Content-Type: text/plain\r\nCache-Control: no-store", b"mine"), true),
    ] {
        let (url, asked) = counted(answer).await;
        let tool = tool(["127.0.0.1/32"]);
        for _ in 0..2 {
            assert_eq!(call(&tool, json!({"url": url})).await.is_ok(), fine);
        }
        assert_eq!(asked.load(Ordering::SeqCst), 2);
    }
}

#[tokio::test]
async fn it_is_refused_where_its_address_would_be() {
    let (url, asked) = counted(answer("Content-Type: text/plain", b"of the private network")).await;
    let open = tool(["127.0.0.1/32"]);
    call(&open, json!({"url": url})).await.unwrap();
    let closed = WebFetch { client: tool([]).client, ..open };
    assert_eq!(call(&closed, json!({"url": url})).await.unwrap_err().code, "ADDRESS_REFUSED");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_name_that_stands_for_another_address_now_is_judged_again() {
    let (url, asked) = counted(answer("Content-Type: text/plain", b"here")).await;
    let url = url.replace("127.0.0.1", "boats.example");
    let addresses = ["127.0.0.1", "127.0.0.1", "10.0.0.1"].map(|address| address.parse().unwrap());
    let lookup: Arc<dyn Lookup> = Arc::new(Changing(Mutex::new(addresses.into())));
    let guard = NetGuard::new(["127.0.0.1/32".parse().unwrap()]);
    let tool = WebFetch { client: GuardedClient::new(guard, &lookup).unwrap(), ..tool([]) };
    for _ in 0..2 {
        assert!(call(&tool, json!({"url": url})).await.unwrap().content.ends_with("here"));
    }
    assert_eq!(call(&tool, json!({"url": url})).await.unwrap_err().code, "ADDRESS_REFUSED");
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}
