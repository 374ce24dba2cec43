//! WhatsApp from outside: Meta's webhook called as Meta calls it, and Meta's Graph played by the tests.
//!
//! Tests named `report_NN_...` replay what users of other gateways have reported.

mod access;
mod approvals;
mod edits;
mod intake;
mod outbox;
mod people;
mod routes;
mod trouble;
mod turns;

use serde_json::Value;

use crate::harness::graph::Mishap;
use crate::harness::hook::{Hook, MAIN, Person};
use crate::harness::{Gateway, Graph, Provider, Settings, list, of_kind, poll, text};

/// A gateway with WhatsApp, a scripted model and a Graph.
struct World {
    provider: Provider,
    graph: Graph,
    gateway: Gateway,
}

impl World {
    /// With one number that answers everybody at once.
    async fn new() -> Self {
        Self::with("", "").await
    }

    /// With these further lines of the account, and these further tables.
    async fn with(account: &str, tables: &str) -> Self {
        Self::accounts(&[(MAIN, account)], "", tables).await
    }

    async fn accounts(accounts: &[(Hook, &str)], server: &str, tables: &str) -> Self {
        let (provider, graph) = (Provider::start().await, Graph::start().await);
        let own: String = accounts.iter().map(|(hook, more)| hook.table(&graph.url(), more)).collect();
        let tables = format!("{own}{tables}");
        let gateway = Gateway::with(&provider, Settings { server, tables: &tables, ..Settings::default() }).await;
        Self { provider, graph, gateway }
    }

    /// One message, which is taken.
    async fn says(&self, from: &Person, id: &str, text: &str) {
        MAIN.one(&self.gateway, from, from.says(id, text)).await;
    }

    /// What that person has been sent so far, text by text.
    fn read_by(&self, person: &Person) -> Vec<String> {
        let is_to = |sent: &Value| {
            sent["to"].as_str().is_some_and(|to| Some(to) == person.phone.as_deref())
                || sent["recipient"].as_str().is_some_and(|to| Some(to) == person.user.as_deref())
        };
        self.messages().iter().filter(|sent| is_to(sent)).map(words).collect()
    }

    /// Messages that the platform took, and that somebody gets, in order.
    fn messages(&self) -> Vec<Value> {
        let sent = self.graph.all_sent();
        assert!(sent.iter().all(|sent| sent.arrives), "lost without a word: {sent:?}");
        sent.into_iter().map(|sent| sent.body).collect()
    }

    /// The platform refuses the next message with its own number.
    fn refuse(&self, status: u16, code: u32) {
        self.graph.next(Mishap::Refuses { status, code });
    }

    /// Waits until that person has been sent so many texts.
    async fn reads(&self, person: &Person, count: usize) -> Vec<String> {
        poll(&format!("{count} messages to {}", person.name), || async { Some(self.read_by(person)).filter(|all| all.len() >= count) })
            .await
    }

    /// The WhatsApp sessions, newest first.
    async fn sessions(&self) -> Vec<String> {
        let page = self.gateway.get("/v1/sessions?channel=whatsapp").await.expect(200);
        list(&page, "/data").iter().map(|row| text(row, "/id").to_owned()).collect()
    }

    /// The only WhatsApp session, once it is there.
    async fn session(&self) -> String {
        let all = poll("a session", || async { Some(self.sessions().await).filter(|all| !all.is_empty()) }).await;
        assert_eq!(all.len(), 1, "{all:?}");
        all[0].clone()
    }

    /// Its turns so far.
    async fn turns(&self, session: &str) -> usize {
        of_kind(&self.gateway.records(session).await, "done").len()
    }

    /// The deliveries, newest first.
    async fn deliveries(&self, query: &str) -> Vec<Value> {
        let page = self.gateway.get(&format!("/v1/deliveries{query}")).await.expect(200);
        list(&page, "/data").to_vec()
    }

    /// Waits until a delivery stands so.
    async fn delivery(&self, state: &str) -> Value {
        poll(&format!("a delivery that is {state}"), || async { self.deliveries(&format!("?state={state}")).await.into_iter().next() })
            .await
    }

    /// How many items led to that.
    async fn items(&self, outcome: &str) -> u64 {
        let metrics = self.gateway.get("/metrics").await;
        let line = format!("portico_channel_items_total{{channel=\"whatsapp\",outcome=\"{outcome}\"}} ");
        let text = String::from_utf8_lossy(&metrics.body).into_owned();
        text.lines().find_map(|l| l.strip_prefix(&line)?.parse().ok()).unwrap_or_default()
    }
}

/// The words of a message that the Graph was sent.
fn words(sent: &Value) -> String {
    let body = sent["text"]["body"].as_str().or(sent["interactive"]["body"]["text"].as_str());
    body.unwrap_or_else(|| panic!("no words: {sent}")).to_owned()
}

fn ana() -> Person {
    Person::new("Ana Example", 1)
}

fn bo() -> Person {
    Person::new("Bo Sample", 2)
}
