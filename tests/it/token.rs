//! `portico token` and `portico health`: what scripts and operators run beside a gateway.

use std::path::Path;
use std::process::Output;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::harness::gateway::{place, portico};
use crate::harness::{Gateway, Provider, Settings, soon};

async fn run(dir: &Path, args: &[&str]) -> Output {
    soon("the end of the process", portico(dir, args).output()).await.unwrap()
}

fn said(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[tokio::test]
async fn a_new_key_comes_with_the_table_that_lets_it_in() {
    let (dir, _) = place();
    let args = ["token", "key", "--name", "ci", "--tenant", "acme", "--scope", "sessions:read", "--scope", "sessions:write"];
    let made = run(&dir, &args).await;
    assert!(made.status.success());
    let stdout = said(&made.stdout);
    let (key, table) = stdout.split_once('\n').expect("the key is a line of its own");
    assert!(key.starts_with("pk_") && key.len() > 40 && !key.contains(' '), "the first line is the key");
    assert!(!table.contains(key) && table.contains("[[auth.keys]]"), "the rest is the table, which has its hash only: {table}");
    assert!(!said(&made.stderr).contains(key) && !made.stderr.is_empty(), "what a person is told has no key in it");
    let other = said(&run(&dir, &["token", "key"]).await.stdout);
    assert!(!other.contains(key), "each is new");
    let (_, other) = other.split_once('\n').unwrap();
    std::fs::remove_dir_all(dir).unwrap();

    let provider = Provider::start().await;
    let tables = format!("{table}{other}");
    let gateway = Gateway::with(&provider, Settings { tables: &tables, ..Settings::default() }).await;
    let bearer = format!("Bearer {key}");
    gateway.send("GET", "/v1/sessions", &[("Authorization", &bearer)], None).await.expect(200);
    gateway.send("GET", "/v1/sessions", &[("Authorization", &bearer[..bearer.len() - 1])], None).await.problem(401, "unauthorized");
}

#[tokio::test]
async fn what_a_key_cannot_have_is_said() {
    let (dir, _) = place();
    for (args, named) in [(["--scope", "sessions"], "sessions:read"), (["--name", "a b"], "64"), (["--tenant", ""], "64")] {
        let refused = run(&dir, &[&["token", "key"], &args[..]].concat()).await;
        assert!(!refused.status.success() && refused.stdout.is_empty(), "{args:?}");
        assert!(said(&refused.stderr).contains(named), "{args:?}: {}", said(&refused.stderr));
    }
    std::fs::remove_dir_all(dir).unwrap();
}

#[tokio::test]
async fn health_is_0_for_a_gateway_that_can_work_and_1_for_none() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let health = ["health", "--config", "test.toml"];
    assert_eq!(run(&gateway.dir, &health).await.status.code(), Some(0));
    let url = format!("http://127.0.0.1:{}/", gateway.port);
    assert_eq!(run(&gateway.dir, &["health", "--url", &url]).await.status.code(), Some(0));
    gateway.kill9().await;
    let none = run(&gateway.dir, &health).await;
    assert_eq!(none.status.code(), Some(1));
    assert!(said(&none.stderr).contains(url.trim_end_matches('/')), "{}", said(&none.stderr));
}

/// Something else has the port, and answers well.
#[tokio::test]
async fn health_is_1_for_what_is_no_gateway() {
    let (dir, port) = place();
    let listener = TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    let other = tokio::spawn(async move {
        loop {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            let _ = socket.read(&mut request).await;
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\nConnection: close\r\n\r\n{\"status\":\"ok\"}").await;
        }
    });
    let asked = run(&dir, &["health", "--url", &format!("http://127.0.0.1:{port}")]).await;
    assert_eq!(asked.status.code(), Some(1), "{}", said(&asked.stdout));
    other.abort();
    std::fs::remove_dir_all(dir).unwrap();
}
