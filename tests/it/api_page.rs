//! `docs/API.md`: it is what `openapi.json` and `docs/API.in.md` make, and every command in it works.

mod render;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::process::Command;

use crate::harness::{DEADLINE, Gateway, contract, http};

const RENEW: &str = "cargo test --test it renew_api_md -- --ignored";

/// Runs before the page: its curl says what each call was answered with, and a stream without an end is read for a while.
const PRELUDE: &str = r#"
curl() {
  local last='' name method=GET
  case "$*" in *--json*) method=POST ;; esac
  for name in "$@"; do [[ $last == -X ]] && method=$name; last=$name; done
  case "$*" in */events*) set -- --max-time 2 "$@" ;; esac
  command curl -sS -w "%{stderr}answered $method %{url_effective} %{http_code}\n" "$@"
}
"#;

fn docs(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(file)
}

fn made() -> String {
    let template = std::fs::read_to_string(docs("API.in.md")).unwrap();
    let api = serde_json::from_slice(&std::fs::read(docs("openapi.json")).unwrap()).unwrap();
    render::page(&template, &api)
}

#[test]
fn the_page_is_what_the_document_says() {
    let stands = std::fs::read_to_string(docs("API.md")).unwrap_or_default();
    assert!(stands == made(), "docs/API.md is stale. Renew it, and read what changed:\n\n    {RENEW}\n");
}

#[test]
#[ignore = "writes docs/API.md"]
fn renew_api_md() {
    std::fs::write(docs("API.md"), made()).unwrap();
}

/// The table of a turn's codes has each that the sources give, and no other.
#[test]
fn the_codes_of_a_turn_are_those_of_the_sources() {
    let template = std::fs::read_to_string(docs("API.in.md")).unwrap();
    let section = template.split("\n## Codes of a turn\n").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let named: BTreeSet<&str> = section.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let source = |file: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(file)).unwrap();
    let (tool, classify) = (source("domain/event/tool.rs"), source("provider/http/classify.rs"));
    let constants = tool.split("pub mod codes").nth(1).unwrap().lines().filter_map(|line| line.trim().strip_prefix("pub const "));
    let verdicts = classify.lines().filter(|line| line.contains(": Verdict = (")).filter_map(|line| line.split('"').nth(1));
    let elsewhere =
        ["provider/http.rs", "agent/attempt.rs", "agent/run.rs", "session/actor/turns.rs", "app/agents.rs", "domain/event/model.rs"]
            .map(source);
    let marks = ["code: \"", "Retry, \"", "Final, \"", "End::error(\"", "error(\"", "DEADLINE: &str = \"", "RESTART: &str = \""];
    let given = elsewhere.iter().flat_map(|text| marks.iter().flat_map(|mark| text.split(mark).skip(1)));
    let given = given.filter_map(|rest| rest.split('"').next()).filter(|word| word.chars().all(|c| c.is_ascii_lowercase() || c == '_'));
    let mut there: BTreeSet<&str> = constants.filter_map(|line| line.split(':').next()).collect();
    assert!(there.len() >= 9 && verdicts.clone().count() >= 10, "the sources are read as they are written");
    there.extend(verdicts.chain(given));
    assert_eq!(named, there);
}

#[tokio::test]
async fn the_gateway_serves_the_document_to_everybody() {
    let gateway = Gateway::bare().await;
    let headers = [("Host", "anything"), ("Origin", "https://elsewhere.example"), ("X-Forwarded-For", "1.1.1.1")];
    let served = http::request(gateway.port, "GET", "/openapi.json", &headers, None).await.unwrap().expect(200);
    let stands: serde_json::Value = serde_json::from_slice(&std::fs::read(docs("openapi.json")).unwrap()).unwrap();
    assert!(served == stands, "the binary serves another document than docs/openapi.json");
}

/// In the page's order, in one shell, against the demo model.
#[tokio::test]
async fn every_command_of_the_page_works() {
    let gateway = Gateway::bare().await;
    std::os::unix::fs::symlink(gateway.dir.join("store"), gateway.dir.join("data")).unwrap();
    let page = made();
    let blocks = page.split("```sh\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let script = format!("{PRELUDE}B=http://127.0.0.1:{}\n{}", gateway.port, blocks.collect::<Vec<_>>().join("\n"));
    let mut bash = Command::new("bash");
    bash.args(["-u", "-c", &script]).current_dir(&gateway.dir).stdin(Stdio::null()).kill_on_drop(true);
    // a dozen turns, each at the demo's pace
    let done = tokio::time::timeout(6 * DEADLINE, bash.output()).await.expect("the page's commands end").unwrap();
    let (out, told) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    let mut worked = BTreeSet::new();
    for answered in told.lines().filter_map(|line| line.strip_prefix("answered ")) {
        let [method, url, status] = answered.split(' ').collect::<Vec<_>>()[..] else { panic!("{answered}") };
        let path = url.split_once(&format!(":{}", gateway.port)).unwrap().1;
        let operation = contract::operation_of(method, path).unwrap_or_else(|| panic!("{answered}\n{told}"));
        // the demo calls nothing that a client runs, and nobody has written by a messaging channel
        let has_none =
            ["answer_client_call", "retry_delivery", "admit_pairing", "refuse_pairing"].contains(&operation.as_str()) && status == "404";
        let is_due = status.starts_with('2') || has_none;
        assert!(is_due, "{answered}\n{out}\n{told}");
        worked.insert(operation);
    }
    let every: BTreeSet<String> = contract::operations().iter().filter_map(|(method, path)| contract::operation_of(method, path)).collect();
    assert_eq!(worked, every, "every call is tried\n{told}");
    assert!(!told.contains("unbound") && !told.contains("not found\n"), "{told}");
}

/// What an operation gives as its example is what its command sends.
#[test]
fn the_examples_of_the_document_are_those_that_are_run() {
    for (operation, example, curl) in contract::examples() {
        let (_, sent) = curl.split_once("--json '").unwrap_or_else(|| panic!("{operation}: {curl}"));
        let sent: serde_json::Value = serde_json::from_str(sent.split('\'').next().unwrap()).unwrap();
        assert_eq!(sent, example, "{operation}");
    }
}
