use super::fake;
use crate::client::{ChatOptions, chat};
use serde_json::json;
#[tokio::test(flavor = "multi_thread")]
#[ignore]
async fn by_hand() {
    let mut fake = fake::start().await;
    let url = fake.url.clone();
    std::fs::write("/tmp/portico-client-fake-url", &url).unwrap();
    tokio::spawn(async move {
        let mut m = 0;
        loop {
            let call = fake.any_call().await;
            let text = call.body["text"].as_str().unwrap_or_default().to_owned();
            if call.path.ends_with("/messages") {
                m += 1;
                let id = format!("m{m}");
                if fake.is_running() {
                    continue;
                }
                fake.turn();
                if text.contains("approve") {
                    fake.text(&id, "I need to run something.");
                    fake.message(&id, "I need to run something.");
                    fake.record("approval_requested", json!({"approval_id": "apr_1", "tool_call_id": "c", "tool": "bash", "args": {"command": "rm \u{202e}x"}, "reason": "it has effects", "decisions": ["allow_once", "allow_session", "deny"]}));
                } else if text.contains("cut") {
                    for w in ["One ", "two "] {
                        fake.text(&id, w);
                        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                    }
                    fake.cut("");
                    for w in ["three ", "four"] {
                        tokio::time::sleep(std::time::Duration::from_millis(900)).await;
                        fake.text(&id, w);
                    }
                    fake.message(&id, "One two three four");
                    fake.done("completed", "One two three four");
                } else {
                    let mut all = String::new();
                    fake.think(&id, "Let me think.");
                    for i in 0..40 {
                        let w = if i % 12 == 11 { format!("word{i}\n") } else { format!("word{i} ") };
                        fake.text(&id, &w);
                        all.push_str(&w);
                        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
                    }
                    fake.message(&id, &all);
                    fake.record("tool_start", json!({"tool_call_id": "c", "tool": "bash", "args": {"command": "ls"}}));
                    fake.record("tool_end", json!({"tool_call_id": "c", "tool": "bash", "duration_ms": 12}));
                    fake.done("completed", &all);
                }
            } else if call.path.contains("/approvals/") {
                fake.record(
                    "tool_approval",
                    json!({"approval_id": "apr_1", "tool_call_id": "c", "decision": call.body["decision"], "by": "local"}),
                );
                fake.message("z", "Done then.");
                fake.done("completed", "Done then.");
            } else if call.path.ends_with("/cancel") {
                fake.record("done", json!({"reason": "aborted", "cause": "user", "answer": "", "message_ids": [], "tool_calls": [], "steps": 1, "total_time_ms": 1}));
            }
        }
    });
    let exit = chat(ChatOptions { url, key: Some("pl_test".into()), ..ChatOptions::default() }).await;
    println!("EXIT {exit:?}");
}
