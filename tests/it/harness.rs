//! What the tests stand on: a gateway process, a scripted model, a reader of its own, and an audit of ledgers.
//!
//! Nothing here uses the product's own types: an error that both sides share would not be seen.

use std::future::Future;
use std::time::Duration;

use serde_json::Value;

pub(crate) mod anthropic;
pub(crate) mod caller;
mod checks;
pub(crate) mod contract;
pub(crate) mod disk;
pub(crate) mod gateway;
pub(crate) mod graph;
pub(crate) mod hook;
pub(crate) mod http;
pub(crate) mod ledger;
pub(crate) mod provider;
pub(crate) mod reply;
pub(crate) mod routes;
pub(crate) mod seed;
pub(crate) mod site;
pub(crate) mod sse;
pub(crate) mod view;

pub(crate) use caller::Caller;
pub(crate) use gateway::{Gateway, Settings};
pub(crate) use graph::Graph;
pub(crate) use http::Answer;
pub(crate) use provider::Provider;
pub(crate) use reply::Reply;
pub(crate) use sse::{Frame, Sse};
pub(crate) use view::View;

/// How long anything that must happen may take. Generous, because the machine may be busy; a passing test never waits for it.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// Waits for `what`, at most [`DEADLINE`].
pub(crate) async fn soon<F: Future>(what: &str, future: F) -> F::Output {
    match tokio::time::timeout(DEADLINE, future).await {
        Ok(output) => output,
        Err(_) => panic!("{what}: not within {DEADLINE:?}"),
    }
}

/// Asks again until `probe` has an answer; for what can only be polled from outside.
pub(crate) async fn poll<T, F: Future<Output = Option<T>>>(what: &str, mut probe: impl FnMut() -> F) -> T {
    soon(what, async {
        loop {
            if let Some(found) = probe().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
}

/// The string at a JSON pointer, or the test fails with the whole value.
#[track_caller]
pub(crate) fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("no string at {pointer} of {value}"))
}

/// The number at a JSON pointer, or the test fails with the whole value.
#[track_caller]
pub(crate) fn number(value: &Value, pointer: &str) -> u64 {
    value.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("no number at {pointer} of {value}"))
}

/// The array at a JSON pointer, or the test fails with the whole value.
#[track_caller]
pub(crate) fn list<'v>(value: &'v Value, pointer: &str) -> &'v [Value] {
    value.pointer(pointer).and_then(Value::as_array).unwrap_or_else(|| panic!("no array at {pointer} of {value}"))
}

/// The `type` of a record.
pub(crate) fn kind(record: &Value) -> &str {
    text(record, "/type")
}

/// Records of one type.
pub(crate) fn of_kind<'r>(records: &'r [Value], wanted: &str) -> Vec<&'r Value> {
    records.iter().filter(|r| kind(r) == wanted).collect()
}

/// The only record of a type.
#[track_caller]
pub(crate) fn the<'r>(records: &'r [Value], wanted: &str) -> &'r Value {
    match of_kind(records, wanted)[..] {
        [one] => one,
        ref other => panic!("expected one {wanted}, found {}: {records:#?}", other.len()),
    }
}
