//! Pages of long rows: none is too large for who serves it, and all of them together are whole.

use serde_json::Value;

use crate::harness::{Gateway, Provider, list, text};

/// Bytes that a page may have: 4 MiB of rows, and what stands around them.
const MOST: usize = (4 << 20) + 64 * 1024;

/// A session of six turns whose messages have a megabyte each, which no client could have sent.
async fn long_session(gateway: &mut Gateway) -> String {
    let id = gateway.session().await;
    for i in 0..6 {
        gateway.ask(&id, &format!("PAD{i}")).await;
    }
    gateway.kill9().await;
    let longer = "UPDATE record SET json = replace(json, 'PAD', hex(zeroblob(500000))) WHERE kind IN ('message_queued', 'message')";
    assert_eq!(gateway.database().execute(longer, []).unwrap(), 12);
    gateway.spawn().await;
    id
}

/// All rows, page by page; how many pages there were.
async fn pages(gateway: &Gateway, path: &str) -> (Vec<Value>, usize) {
    let (mut rows, mut after, mut count) = (Vec::new(), "0".to_owned(), 0);
    loop {
        let answer = gateway.get(&format!("{path}?limit=1000&after={after}")).await;
        assert!(answer.body.len() <= MOST, "{} bytes", answer.body.len());
        let page = answer.expect(200);
        assert!(!list(&page, "/data").is_empty(), "a page after {after} without a row");
        rows.extend_from_slice(list(&page, "/data"));
        count += 1;
        match page.get("next_cursor") {
            Some(next) => after = next.as_str().unwrap().to_owned(),
            None => return (rows, count),
        }
    }
}

#[tokio::test]
async fn long_rows_end_a_page_and_nothing_is_missing() {
    let provider = Provider::start().await;
    let mut gateway = Gateway::start(&provider).await;
    let id = long_session(&mut gateway).await;
    let exported = gateway.get(&format!("/v1/sessions/{id}/export")).await;
    let exported: Vec<Value> = exported.body.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
    let (records, count) = pages(&gateway, &format!("/v1/sessions/{id}/records")).await;
    assert!(count > 2, "{count} pages");
    assert!(records == exported, "the pages are the ledger");
    let (rows, count) = pages(&gateway, &format!("/v1/sessions/{id}/messages")).await;
    assert!(count > 2, "{count} pages");
    let ends: Vec<&str> = rows.iter().map(|row| &text(row, "/text")[text(row, "/text").len() - 1..]).collect();
    assert_eq!(ends, ["0", "0", "1", "1", "2", "2", "3", "3", "4", "4", "5", "5"]);
    assert!(rows.iter().all(|row| row["turn"].is_number()));
}
