//! The next model request is a function of the ledger: a fold written here, from the contract, foretells every request that was captured.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::harness::provider::plain;
use crate::harness::{Gateway, Provider, Reply, Settings, kind, list, number, of_kind, text};

/// What the model was told by then: role, and the id and text that belong to it where the contract fixes them.
fn surface(records: &[Value]) -> Vec<(String, String, Option<String>)> {
    let mut queued: HashMap<&str, &str> = HashMap::new();
    let mut told = Vec::new();
    for record in records {
        match kind(record) {
            "message_queued" => drop(queued.insert(text(record, "/message_id"), text(record, "/text"))),
            "turn_start" => {
                let texts = list(record, "/message_ids").iter().filter_map(Value::as_str).map(|id| queued[id].to_owned());
                told.extend(texts.map(|text| ("user".to_owned(), String::new(), Some(text))));
            }
            "queue_drain" => told.push(("user".to_owned(), String::new(), Some(text(record, "/merged_text").to_owned()))),
            "message" => {
                let blocks = list(record, "/content");
                let ids: Vec<&str> = blocks.iter().filter(|b| b["type"] == "tool_call").map(|b| text(b, "/id")).collect();
                let said: String = blocks.iter().filter(|b| b["type"] == "text").map(|b| text(b, "/text")).collect();
                told.push(("assistant".to_owned(), ids.join(","), Some(said)));
            }
            "tool_end" => {
                told.push(("tool".to_owned(), text(record, "/tool_call_id").to_owned(), Some(text(record, "/content").to_owned())))
            }
            "tool_error" | "tool_denied" => told.push(("tool".to_owned(), text(record, "/tool_call_id").to_owned(), None)),
            _ => {}
        }
    }
    told
}

/// The same of a captured request.
fn captured(request: &Value) -> Vec<(String, String, String)> {
    let messages = list(request, "/messages").iter().filter(|m| m["role"] != "system" && m["role"] != "developer");
    messages
        .map(|m| {
            let calls = m["tool_calls"].as_array().map(Vec::as_slice).unwrap_or_default();
            let ids: Vec<&str> = calls.iter().map(|c| text(c, "/id")).collect();
            let id = m["tool_call_id"].as_str().map_or_else(|| ids.join(","), str::to_owned);
            (text(m, "/role").to_owned(), id, plain(&m["content"]))
        })
        .collect()
}

#[tokio::test]
async fn every_request_follows_from_the_records_before_it() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().think("hm").say("Let me see.").bash("c1", "echo one").call("c2", "nope", &json!({})).calls());
    provider.push(Reply::error(500, "server_error"));
    provider.push(Reply::stream().say("void").cut());
    provider.push(Reply::stream().say("and ").gate("hold").bash("c3", "echo three").calls());
    gateway.say(&id, "go").await;
    provider.reached("hold").await;
    gateway.say_with(&id, &json!({"text": "quick", "mode": "steer"})).await;
    gateway.say_with(&id, &json!({"text": "later", "mode": "followup"})).await;
    provider.open("hold");
    gateway.idle(&id).await;
    gateway.crash_and_restart().await;
    gateway.ask(&id, "after a restart").await;

    let records = gateway.audited(&id).await;
    let sent = of_kind(&records, "request");
    let requests = provider.requests();
    assert_eq!(sent.len(), requests.len(), "each request has its record");
    let mut prompts: HashMap<&str, &Value> = HashMap::new();
    let mut tools: HashMap<&str, &Value> = HashMap::new();
    for (record, request) in sent.iter().zip(&requests) {
        let before = usize::try_from(number(record, "/seq")).unwrap() - 1;
        let foretold = surface(&records[..before]);
        let found = captured(request);
        assert_eq!(found.len(), foretold.len(), "{record}: {found:?}, foretold {foretold:?}");
        for ((role, id, content), (expected_role, expected_id, expected)) in found.iter().zip(&foretold) {
            assert_eq!((role, id), (expected_role, expected_id), "{record}");
            assert!(expected.as_ref().is_none_or(|e| e == content), "{record}: {content:?}, foretold {expected:?}");
        }
        assert_eq!(record["model"], request["model"]);
        let system = prompts.entry(text(record, "/system_digest")).or_insert(&request["messages"][0]);
        assert_eq!(**system, request["messages"][0], "one digest, one text");
        let offered = tools.entry(text(record, "/tools_digest")).or_insert(&request["tools"]);
        assert_eq!(**offered, request["tools"], "one digest, one set of tools");
    }
    for pair in requests.windows(2) {
        let (earlier, later) = (list(&pair[0], "/messages"), list(&pair[1], "/messages"));
        assert!(later.starts_with(earlier), "what was sent once is sent again as it was, also after a restart");
    }
}
