//! Callers with API keys, as a gateway with configured auth knows them.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::{Answer, Gateway, text};

/// A caller with a key of its own.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    name: &'static str,
    tenant: &'static str,
    scopes: Vec<&'static str>,
    bearer: String,
}

impl Caller {
    /// With these scopes, parted by blanks.
    pub(crate) fn new(name: &'static str, tenant: &'static str, scopes: &'static str) -> Self {
        let bearer = format!("Bearer pk_marked-{tenant}-{name}");
        Self { name, tenant, scopes: scopes.split(' ').collect(), bearer }
    }

    pub(crate) fn key(&self) -> &str {
        self.bearer.trim_start_matches("Bearer ")
    }

    /// The header that says who it is.
    pub(crate) fn header(&self) -> (&str, &str) {
        ("Authorization", &self.bearer)
    }

    fn table(&self) -> String {
        let hash: String = Sha256::digest(self.key()).iter().map(|b| format!("{b:02x}")).collect();
        let Self { name, tenant, scopes, .. } = self;
        format!("[[auth.keys]]\nname = \"{name}\"\nhash = \"sha256:{hash}\"\ntenant = \"{tenant}\"\nscopes = {scopes:?}\n")
    }

    /// The configuration that lets these in.
    pub(crate) fn tables(callers: &[&Self]) -> String {
        callers.iter().map(|caller| caller.table()).collect()
    }

    pub(crate) async fn send(&self, gateway: &Gateway, method: &str, path: &str, body: Option<&Value>) -> Answer {
        let body = body.map(Value::to_string);
        gateway.send(method, path, &[self.header()], body.as_ref().map(|body| body.as_bytes())).await
    }

    pub(crate) async fn get(&self, gateway: &Gateway, path: &str) -> Answer {
        self.send(gateway, "GET", path, None).await
    }

    pub(crate) async fn post(&self, gateway: &Gateway, path: &str, body: &Value) -> Answer {
        self.send(gateway, "POST", path, Some(body)).await
    }

    /// A new session of its own.
    pub(crate) async fn session(&self, gateway: &Gateway, body: &Value) -> String {
        let made = self.post(gateway, "/v1/sessions", body).await.expect(201);
        text(&made, "/id").to_owned()
    }
}
