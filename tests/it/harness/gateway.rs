//! A gateway process of the shipped binary, with a folder, a port and a configuration of its own.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::atomic::{AtomicU16, Ordering};

use serde_json::{Value, json};
use tokio::process::{Child, Command};

use super::{Answer, Caller, Provider, Reply, View, http, ledger, list, number, poll, soon, text};

/// What a test adds to the configuration.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings<'a> {
    /// Lines of `[server]`.
    pub(crate) server: &'a str,
    /// Lines of `[agents.default]`.
    pub(crate) agent: &'a str,
    /// Whole tables.
    pub(crate) tables: &'a str,
}

impl Settings<'_> {
    /// The shell runs without asking.
    pub(crate) const FREE_BASH: Self = Self { server: "", agent: "", tables: "[tools.bash]\npolicy = \"allow\"\n" };
}

/// A running gateway. Dropping it kills its process and, if the test failed, prints what it logged.
#[derive(Debug)]
pub(crate) struct Gateway {
    pub(crate) port: u16,
    pub(crate) dir: PathBuf,
    child: Option<Child>,
}

impl Gateway {
    pub(crate) async fn start(provider: &Provider) -> Self {
        Self::with(provider, Settings::default()).await
    }

    pub(crate) async fn with(provider: &Provider, settings: Settings<'_>) -> Self {
        let Settings { server, agent, tables } = settings;
        let (url, origin) = (provider.url(), provider.origin());
        let rest = format!(
            "[agents.default]\nmodel = \"mock\"\n{agent}\n[providers.openai]\nbase_url = \"{url}\"\napi_key = \"test\"\n\
             [providers.anthropic]\nbase_url = \"{origin}\"\napi_key = \"test\"\n{tables}\n"
        );
        Self::configured(server, &rest).await
    }

    /// With configured auth, for these callers.
    pub(crate) async fn with_keys(provider: &Provider, callers: &[&Caller]) -> Self {
        Self::with(provider, Settings { tables: &Caller::tables(callers), ..Settings::default() }).await
    }

    /// With nothing but a port and a folder: no provider has a key.
    pub(crate) async fn bare() -> Self {
        Self::configured("", "").await
    }

    async fn configured(server: &str, rest: &str) -> Self {
        let (dir, port) = place();
        let config = format!("[server]\nbind = \"127.0.0.1:{port}\"\n{server}\n[store]\npath = {:?}\n{rest}", dir.join("store"));
        std::fs::write(dir.join("test.toml"), config).unwrap();
        let mut gateway = Self { port, dir, child: None };
        gateway.spawn().await;
        gateway
    }

    /// Starts the process on the folder and port it had before.
    pub(crate) async fn spawn(&mut self) {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(self.dir.join("log")).unwrap();
        let mut command = portico(&self.dir, &["serve", "--config", "test.toml"]);
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let mut child = command.spawn().expect("the binary starts");
        let port = self.port;
        poll("/healthz", || {
            let ended = child.try_wait().unwrap();
            assert!(ended.is_none(), "the gateway ended at its start: {ended:?}\n{}", self.log());
            async move { http::request(port, "GET", "/healthz", &[], None).await.ok().filter(|a| a.status == 200) }
        })
        .await;
        self.child = Some(child);
    }

    /// What it has logged.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    pub(crate) async fn kill9(&mut self) {
        let mut child = self.child.take().expect("a running gateway");
        child.kill().await.unwrap();
    }

    pub(crate) async fn crash_and_restart(&mut self) {
        self.kill9().await;
        self.spawn().await;
    }

    /// The id of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.as_ref().and_then(Child::id).expect("a running gateway")
    }

    /// Asks the process to stop; it goes on running until it has.
    pub(crate) async fn sigterm(&self) {
        let sent = Command::new("kill").args(["-TERM", &self.pid().to_string()]).status().await.unwrap();
        assert!(sent.success());
    }

    /// Waits for the process to end by itself; its exit code.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let mut child = self.child.take().expect("a running gateway");
        soon("the end of the process", child.wait()).await.unwrap().code()
    }

    /// The local key as a bearer.
    pub(crate) fn bearer(&self) -> String {
        let key = std::fs::read_to_string(self.dir.join("store/local.key")).expect("local.key was made at the first start");
        format!("Bearer {}", key.trim())
    }

    pub(crate) async fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> Answer {
        let answer = http::request(self.port, method, path, headers, body).await;
        answer.unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], None).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send("DELETE", path, &[], None).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, &[], body).await
    }

    pub(crate) async fn post_with(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> Answer {
        self.send("POST", path, headers, Some(body.to_string().as_bytes())).await
    }

    /// With the local key.
    pub(crate) async fn post_as_owner(&self, path: &str, body: &Value) -> Answer {
        self.post_with(path, &[("Authorization", &self.bearer())], body).await
    }

    /// A new session of channel `api`.
    pub(crate) async fn session(&self) -> String {
        let made = self.post("/v1/sessions", &json!({})).await.expect(201);
        text(&made, "/id").to_owned()
    }

    /// A new session whose first turn stands at the gate `hold`; its answer will be `first`.
    pub(crate) async fn held_session(&self, provider: &Provider) -> String {
        let id = self.session().await;
        provider.push(Reply::stream().gate("hold").say("first").stop());
        self.say(&id, "go").await;
        provider.reached("hold").await;
        id
    }

    /// A new session of channel `cli`.
    pub(crate) async fn cli_session(&self) -> String {
        let made = self.post_as_owner("/v1/sessions", &json!({"channel": "cli"})).await.expect(201);
        text(&made, "/id").to_owned()
    }

    /// Posts a message, with the local key so that it goes to any channel; the 202's body.
    pub(crate) async fn say(&self, session: &str, message: &str) -> Value {
        self.say_with(session, &json!({"text": message})).await
    }

    pub(crate) async fn say_with(&self, session: &str, body: &Value) -> Value {
        self.post_as_owner(&format!("/v1/sessions/{session}/messages"), body).await.expect(202)
    }

    /// Posts a message and waits for its turn; the 200's body.
    pub(crate) async fn ask(&self, session: &str, message: &str) -> Value {
        let headers = [("Authorization", self.bearer()), ("Prefer", "wait=60".to_owned())];
        let headers: Vec<(&str, &str)> = headers.iter().map(|(n, v)| (*n, v.as_str())).collect();
        self.post_with(&format!("/v1/sessions/{session}/messages"), &headers, &json!({"text": message})).await.expect(200)
    }

    pub(crate) async fn state(&self, session: &str) -> Value {
        self.get(&format!("/v1/sessions/{session}")).await.expect(200)
    }

    /// Waits until nothing of the session runs or waits.
    pub(crate) async fn idle(&self, session: &str) -> Value {
        poll("an idle session", || async {
            let state = self.state(session).await;
            (state["status"] == "idle" && state["queued"] == 0).then_some(state)
        })
        .await
    }

    /// The whole ledger, page by page.
    pub(crate) async fn records(&self, session: &str) -> Vec<Value> {
        let mut records = Vec::new();
        let mut after = "0".to_owned();
        loop {
            let page = self.get(&format!("/v1/sessions/{session}/records?after={after}&limit=50")).await.expect(200);
            records.extend_from_slice(list(&page, "/data"));
            after = match page.get("next_cursor") {
                Some(cursor) => cursor.as_str().map_or_else(|| cursor.to_string(), str::to_owned),
                None => return records,
            };
        }
    }

    /// The whole ledger of a session at rest, audited.
    pub(crate) async fn audited(&self, session: &str) -> Vec<Value> {
        self.idle(session).await;
        let records = self.records(session).await;
        ledger::audit(&records);
        records
    }

    /// What a client shows that joins now and reads to the end of the ledger.
    pub(crate) async fn fresh_view(&self, session: &str) -> View {
        let mut view = View::default();
        let head = number(&self.state(session).await, "/head");
        let mut sse = view.join(self, session).await;
        view.read_to(&mut sse, head).await;
        view
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- log of the gateway on port {} ---\n{}", self.port, self.log());
        } else {
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

/// The binary in a folder, without anything of this environment that could configure it.
pub(crate) fn portico(dir: &std::path::Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_portico"));
    command.args(args).current_dir(dir).env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// A folder and a port that no other test of this run has.
///
/// Ports lie below the range that the system gives to outgoing connections: a port that is free while its gateway is down stays free.
pub(crate) fn place() -> (PathBuf, u16) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 12_000 + u16::try_from(std::process::id() % 90).unwrap() * 200;
    let port = loop {
        let port = base + NEXT.fetch_add(1, Ordering::Relaxed) % 2_000;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            break port;
        }
    };
    let dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("it-{}-{port}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    (dir, port)
}
