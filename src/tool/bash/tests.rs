//! Real processes. Gates are what the commands print; ends are awaited with a deadline.

use std::sync::Arc;

use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::domain::event::input::Trust;
use crate::test_folder::TestFolder;
use crate::tool::Progress;
use crate::tool::tests::NoArtifacts;

/// For anything that should happen at once, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

fn bash(timeout: Duration) -> Bash {
    Bash::new(BashConfig { timeout, ..BashConfig::default() })
}

fn args(command: &str) -> Args {
    Args::from_model(&json!({"command": command}).to_string())
}

/// A context, its token, and the bytes last reported.
fn context() -> (ToolContext, CancellationToken, watch::Receiver<u64>) {
    let (send, bytes) = watch::channel(0);
    let cancel = CancellationToken::new();
    let progress = Progress(Arc::new(move |report| {
        send.send_replace(report["bytes"].as_u64().unwrap());
    }));
    (ToolContext { cancel: cancel.clone(), progress, artifacts: Arc::new(NoArtifacts) }, cancel, bytes)
}

async fn run(tool: &Bash, command: &str) -> Result<ToolOutput, ToolFailure> {
    timeout(SOON, tool.call(context().0, args(command))).await.unwrap()
}

async fn content(command: &str) -> String {
    run(&bash(SOON), command).await.unwrap().content
}

/// The number that the command printed after `label`.
fn pid(text: &str, label: &str) -> i32 {
    let rest = text.split_once(label).unwrap_or_else(|| panic!("no {label} in {text}")).1;
    rest.split_whitespace().next().unwrap().parse().unwrap()
}

/// Ended; one that only waits to be reaped by somebody else has ended too.
fn gone(pid: i32) -> bool {
    match std::fs::read_to_string(format!("/proc/{pid}/stat")) {
        Ok(stat) => stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(['Z', 'X'])),
        Err(_) => kill(Pid::from_raw(pid), None).is_err(),
    }
}

async fn until_gone(pid: i32) {
    let deadline = Instant::now() + SOON;
    while !gone(pid) {
        assert!(Instant::now() < deadline, "process {pid} still runs");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn exit_code_and_both_streams_are_reported() {
    let output = run(&bash(SOON), "echo one; echo two >&2; exit 3").await.unwrap();
    assert_eq!(output.content, "Exit code 3.\n\nstdout (4 bytes):\none\n\nstderr (4 bytes):\ntwo");
    assert_eq!(output.trust, Trust::Untrusted);
    assert_eq!(content("true").await, "Exit code 0.\n\nstdout: empty\n\nstderr: empty");
    assert!(content("kill -9 $$").await.starts_with("Ended by signal 9."));
}

#[tokio::test]
async fn there_is_no_input() {
    assert_eq!(content("cat; echo end").await, "Exit code 0.\n\nstdout (4 bytes):\nend\n\nstderr: empty");
}

#[tokio::test]
async fn a_timeout_ends_grandchildren_and_reports_what_was_printed() {
    // The subshell and its sleep ignore SIGTERM: only SIGKILL to the whole group ends them.
    let command = "trap '' TERM; (sleep 1000 & echo grandchild $!; wait) & echo child $!; wait";
    let failure = run(&bash(Duration::from_secs(2)), command).await.unwrap_err();
    assert_eq!(failure.code, codes::TOOL_TIMEOUT);
    assert!(failure.error.starts_with("Timed out after 2s"), "{}", failure.error);
    assert!(failure.error.contains("Ended by signal 9."), "{}", failure.error);
    until_gone(pid(&failure.error, "grandchild ")).await;
    until_gone(pid(&failure.error, "\nchild ")).await;
}

#[tokio::test]
async fn a_timeout_and_a_clean_exit_are_both_told() {
    let command = "trap 'echo tidied; exit 0' TERM; while :; do sleep 0.01; done";
    let failure = run(&bash(Duration::from_secs(2)), command).await.unwrap_err();
    assert!(failure.error.contains("Timed out after 2s"), "{}", failure.error);
    assert!(failure.error.contains("Exit code 0."), "{}", failure.error);
    assert!(failure.error.contains("tidied"), "{}", failure.error);
}

#[tokio::test]
async fn a_child_that_prints_nothing_has_its_grace_too() {
    // The shell dies of SIGTERM at once and both pipes are closed by then; the child's tidying must still not be cut short.
    let folder = TestFolder::empty();
    let tool =
        Bash::new(BashConfig { timeout: Duration::from_secs(2), directory: Some(folder.path().to_owned()), ..BashConfig::default() });
    let child = "trap 'sleep 0.1; echo yes > tidied; exit' TERM; while :; do sleep 0.01; done";
    let command = format!("exec >/dev/null 2>&1; sh -c \"{child}\" & wait");
    run(&tool, &command).await.unwrap_err();
    let tidied = std::fs::read_to_string(folder.path().join("tidied"));
    assert_eq!(tidied.unwrap(), "yes\n");
}

#[tokio::test]
async fn a_cancel_ends_the_group() {
    let (context, cancel, mut bytes) = context();
    let call = tokio::spawn(bash(Duration::from_secs(600)).call(context, args("sleep 1000 & echo grandchild $!; wait")));
    timeout(SOON, bytes.wait_for(|n| *n > 0)).await.unwrap().unwrap();
    cancel.cancel();
    let failure = timeout(SOON, call).await.unwrap().unwrap().unwrap_err();
    assert_eq!(failure.code, codes::TOOL_OUTCOME_UNKNOWN);
    assert!(failure.error.starts_with("Cancelled while it ran"), "{}", failure.error);
    until_gone(pid(&failure.error, "grandchild ")).await;
}

#[tokio::test]
async fn a_dropped_body_leaves_nothing_running() {
    let folder = TestFolder::empty();
    let tool = Bash::new(BashConfig { directory: Some(folder.path().to_owned()), ..BashConfig::default() });
    let (context, _cancel, mut bytes) = context();
    let call = tokio::spawn(tool.call(context, args("sleep 1000 & echo child $! > pids; echo shell $$ >> pids; echo ready; wait")));
    timeout(SOON, bytes.wait_for(|n| *n > 0)).await.unwrap().unwrap();
    let pids = std::fs::read_to_string(folder.path().join("pids")).unwrap();
    assert!(!gone(pid(&pids, "child ")));
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    until_gone(pid(&pids, "child ")).await;
    until_gone(pid(&pids, "shell ")).await;
}

#[tokio::test]
async fn what_is_left_in_the_background_is_ended() {
    let text = content("sleep 1000 & echo orphan $!").await;
    assert!(text.starts_with("Exit code 0. Processes that it had left in the background were ended."), "{text}");
    until_gone(pid(&text, "orphan ")).await;
}

#[tokio::test]
async fn endless_output_is_capped_and_still_times_out() {
    let text = content("echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last").await;
    assert!(text.contains("stdout (3000012 bytes):\nfirst\nxxx"), "{}", &text[..200]);
    assert!(text.contains(&format!("[... {} bytes left out ...]", 3_000_012 - capture::KEPT)));
    assert!(text.ends_with("xxx\nlast\n\nstderr: empty"), "{}", &text[text.len() - 200..]);
    assert!(text.len() < capture::KEPT + 200);
    let failure = run(&bash(Duration::from_secs(1)), "yes; yes >&2").await.unwrap_err();
    assert_eq!(failure.code, codes::TOOL_TIMEOUT);
    assert!(failure.error.len() < 10_000, "{}", failure.error.len());
}

#[tokio::test]
async fn progress_is_seldom_and_always_increases() {
    let (send, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let progress = Progress(Arc::new(move |report| send.send(report["bytes"].as_u64().unwrap()).unwrap()));
    let context = ToolContext { cancel: CancellationToken::new(), progress, artifacts: Arc::new(NoArtifacts) };
    let started = Instant::now();
    bash(Duration::from_secs(1)).call(context, args("yes")).await.unwrap_err();
    let most = started.elapsed().as_millis() / 250 + 1;
    let mut all = Vec::new();
    while let Some(bytes) = reports.recv().await {
        all.push(bytes);
    }
    assert!(all.len() >= 2 && all.len() as u128 <= most, "{} reports, at most {most}", all.len());
    assert!(all.is_sorted_by(|a, b| a < b), "{all:?}");
}

#[tokio::test]
async fn the_last_bytes_before_a_silence_are_reported() {
    let (context, cancel, mut bytes) = context();
    let call = tokio::spawn(bash(SOON).call(context, args("echo a; sleep 0.02; echo b; sleep 1000")));
    timeout(SOON, bytes.wait_for(|n| *n == 4)).await.unwrap().unwrap();
    cancel.cancel();
    timeout(SOON, call).await.unwrap().unwrap().unwrap_err();
}

#[tokio::test]
async fn a_process_that_left_the_group_holds_nobody_up() {
    // It keeps the pipe open and is out of reach, until it ends by itself because the folder is gone.
    let folder = TestFolder::empty();
    let tool = Bash::new(BashConfig { directory: Some(folder.path().to_owned()), ..BashConfig::default() });
    let output =
        run(&tool, "touch on; setsid sh -c 'touch here; while [ -e on ]; do sleep 0.01; done' & until [ -e here ]; do :; done; echo done")
            .await;
    let content = output.unwrap().content;
    assert!(content.starts_with("Exit code 0.") && content.contains("\ndone\n"), "{content}");
}

#[tokio::test]
async fn cancelled_before_the_start_nothing_starts() {
    let (context, cancel, _bytes) = context();
    cancel.cancel();
    let failure = bash(SOON).call(context, args("echo ran")).await.unwrap_err();
    assert_eq!(failure.code, codes::ABORTED_BEFORE_DISPATCH);
}

#[tokio::test]
async fn secrets_are_not_in_the_environment() {
    let variables = ["OPENAI_API_KEY", "my_Secret", "GITHUB_TOKEN", "DB_PASSWORD", "PORTICO__AUTH__JWT", "PLAIN"];
    let environment =
        variables.map(|name| (name.into(), "value-of-it".into())).into_iter().chain(env::var_os("PATH").map(|p| ("PATH".into(), p)));
    let tool = Bash::with_environment(BashConfig::default(), environment);
    let text = run(&tool, "env").await.unwrap().content;
    let seen: Vec<&str> = text.lines().filter_map(|line| line.strip_suffix("=value-of-it")).collect();
    assert_eq!(seen, ["PLAIN"]);
    assert!(!format!("{tool:?}").contains("value-of-it"));
}

#[tokio::test]
async fn it_runs_in_the_configured_directory_or_says_why_not() {
    let tool = Bash::new(BashConfig { directory: Some("/".into()), ..BashConfig::default() });
    assert!(run(&tool, "pwd").await.unwrap().content.contains("stdout (2 bytes):\n/"));
    let tool = Bash::new(BashConfig { directory: Some("/no/such/folder".into()), ..BashConfig::default() });
    assert_eq!(run(&tool, "pwd").await.unwrap_err().code, codes::TOOL_FAILED);
}

#[test]
fn arguments_are_checked_before_anybody_is_asked() {
    let tool = bash(SOON);
    for bad in [
        "{}",
        r#"{"command":""}"#,
        r#"{"command":"a\u0000b"}"#,
        r#"{"command":"ls","timeout_s":0}"#,
        r#"{"command":"ls","timeout_s":601}"#,
        r#"{"command":"ls","timeout_s":-1}"#,
        r#"{"command":"ls","command":"rm -r ."}"#,
        r#"{"command":"ls","cwd":"/"}"#,
    ] {
        assert!(tool.check(&Args::from_model(bad)).is_err(), "{bad}");
    }
    assert_eq!(tool.check(&Args::from_model(r#"{"command":"ls","timeout_s":600}"#)), Ok(()));
    assert_eq!((tool.default_policy(), tool.needs(), tool.effects()), (Some(Policy::Ask), Needs::LocalTools, true));
}
