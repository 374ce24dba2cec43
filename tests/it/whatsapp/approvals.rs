//! Permission by button: who presses, where, while it waits, once.

use serde_json::{Value, json};

use super::{World, ana, bo};
use crate::harness::hook::{MAIN, Person};
use crate::harness::{Reply, list, poll, text};

/// A world in which `web_fetch` asks, and Ana may decide.
async fn asking() -> World {
    let approvers = format!("approvers = [\"{}\"]", ana().number());
    World::with(&approvers, "[tools.web_fetch]\npolicy = \"ask\"\n").await
}

impl World {
    /// Ana asks for something that needs permission; the ids of the buttons that she was sent.
    async fn asked(&self) -> Vec<String> {
        self.provider.push(Reply::stream().call("call-1", "web_fetch", &json!({"url": "http://127.0.0.1:1/"})).calls());
        self.says(&ana(), "wamid.ask", "look at it").await;
        let sent = poll("the buttons", || async { self.messages().into_iter().find(|sent| sent["type"] == "interactive") }).await;
        list(&sent, "/interactive/action/buttons").iter().map(|button| text(button, "/reply/id").to_owned()).collect()
    }

    async fn presses(&self, person: &Person, id: &str, button: &str) {
        MAIN.one(&self.gateway, person, person.presses(id, button)).await;
    }

    async fn approval(&self) -> Value {
        let page = self.gateway.get("/v1/approvals").await.expect(200);
        list(&page, "/data")[0].clone()
    }
}

fn allowing(buttons: &[String]) -> &str {
    buttons.iter().find(|id| id.ends_with(":allow_once")).unwrap()
}

fn denying(buttons: &[String]) -> &str {
    buttons.iter().find(|id| id.ends_with(":deny")).unwrap()
}

#[tokio::test]
async fn an_approver_decides_by_button_and_once() {
    let world = asking().await;
    let buttons = world.asked().await;
    let waits = world.approval().await;
    assert_eq!((&waits["status"], &waits["tool"]), (&json!("pending"), &json!("web_fetch")));
    world.provider.push(Reply::text("I did look."));
    world.presses(&ana(), "wamid.p1", allowing(&buttons)).await;
    poll("the answer", || async { world.read_by(&ana()).contains(&"I did look.".to_owned()).then_some(()) }).await;
    let decided = world.approval().await;
    assert_eq!((&decided["status"], &decided["decision"]), (&json!("decided"), &json!("allow_once")));
    // the same again changes nothing and says nothing; another decision comes too late
    world.presses(&ana(), "wamid.p2", allowing(&buttons)).await;
    world.presses(&ana(), "wamid.p3", denying(&buttons)).await;
    poll("the sentence", || async { world.read_by(&ana()).contains(&"That request is over.".to_owned()).then_some(()) }).await;
    assert_eq!(world.approval().await["decision"], "allow_once");
    assert_eq!((world.items("decided").await, world.items("decision_late").await), (2, 1));
}

#[tokio::test]
async fn nobody_else_decides_and_nobody_elsewhere() {
    let world = asking().await;
    world.provider.offers_only(&["read_artifact"]);
    world.says(&bo(), "wamid.0", "hello").await;
    world.reads(&bo(), 1).await;
    world.provider.offers(&[]);
    let buttons = world.asked().await;
    // he has the button's id, and a conversation of his own
    world.presses(&bo(), "wamid.p1", allowing(&buttons)).await;
    assert_eq!(world.reads(&bo(), 2).await[1], "You cannot decide this.");
    // in a group nobody does
    let mut press = ana().presses("wamid.p2", allowing(&buttons));
    press["group_id"] = json!("GRPsample1");
    MAIN.one(&world.gateway, &ana(), press).await;
    assert_eq!(world.items("decision_in_group").await, 1);
    // nor what was never asked
    world.presses(&ana(), "wamid.p3", "apr_0000:allow_once").await;
    assert_eq!(world.items("decision_elsewhere").await, 1);
    poll("the sentence", || async { world.read_by(&ana()).contains(&"You cannot decide this.".to_owned()).then_some(()) }).await;
    assert_eq!(world.approval().await["status"], "pending");
    world.presses(&ana(), "wamid.p4", denying(&buttons)).await;
    poll("the denial", || async { (world.approval().await["decision"] == "deny").then_some(()) }).await;
}

/// What is written instead of pressed waits for a turn of its own, and its writer would wait for an answer.
#[tokio::test]
async fn who_writes_instead_of_pressing_is_told_so_once() {
    let world = asking().await;
    let buttons = world.asked().await;
    let reminders = || world.read_by(&ana()).iter().filter(|text| text.contains("waiting for your decision")).count();
    world.says(&ana(), "wamid.2", "yes").await;
    poll("the sentence", || async { (reminders() == 1).then_some(()) }).await;
    world.says(&ana(), "wamid.3", "yes, do it").await;
    world.provider.push(Reply::text("I did look."));
    world.presses(&ana(), "wamid.p1", allowing(&buttons)).await;
    poll("the answers", || async { world.read_by(&ana()).contains(&"re: yes, do it".to_owned()).then_some(()) }).await;
    assert_eq!(reminders(), 1);
}

#[tokio::test]
async fn an_absent_tool_says_where_it_is_there() {
    let world = asking().await;
    world.provider.offers_only(&["read_artifact"]);
    world.says(&bo(), "wamid.1", "hello").await;
    world.reads(&bo(), 1).await;
    let session = world.session().await;
    let shown = world.gateway.get(&format!("/v1/sessions/{session}/capabilities")).await.expect(200);
    let why = |tool: &str| list(&shown, "/absent").iter().find(|row| row["tool"] == tool).map(|row| text(row, "/reason").to_owned());
    assert_eq!(why("web_fetch").as_deref(), Some("it needs an approval: it is there only where an approver writes"));
    assert!(why("bash").is_some_and(|why| !why.contains("approver")), "{shown}");
}

/// As the list of who is let in takes both.
#[tokio::test]
async fn an_approver_is_known_by_either_id_whichever_the_message_shows() {
    for (listed, shown) in
        [(ana().user.unwrap(), ana().by_phone()), (ana().number().to_owned(), ana().hidden()), (ana().user.unwrap(), ana())]
    {
        let world = World::with(&format!("approvers = [\"{listed}\"]"), "[tools.web_fetch]\npolicy = \"ask\"\n").await;
        world.says(&ana(), "wamid.0", "hello").await;
        world.reads(&ana(), 1).await;
        world.provider.push(Reply::stream().call("call-1", "web_fetch", &json!({"url": "http://127.0.0.1:1/"})).calls());
        world.says(&shown, "wamid.ask", "look at it").await;
        let sent = poll("the buttons", || async { world.messages().into_iter().find(|sent| sent["type"] == "interactive") }).await;
        let button = text(&sent, "/interactive/action/buttons/0/reply/id").to_owned();
        world.presses(&shown, "wamid.p1", &button).await;
        assert_eq!(world.items("decided").await, 1, "{listed}");
    }
}

/// Its tool is not even offered.
#[tokio::test]
async fn who_is_no_approver_gets_no_tool_that_asks() {
    let world = asking().await;
    world.provider.offers_only(&["read_artifact"]);
    world.says(&bo(), "wamid.1", "hello").await;
    assert_eq!(world.reads(&bo(), 1).await, ["re: hello"]);
}

#[tokio::test]
async fn a_denied_call_still_ends_in_a_sentence() {
    let world = asking().await;
    let buttons = world.asked().await;
    world.provider.push(Reply::text("Then I cannot look."));
    world.presses(&ana(), "wamid.p1", denying(&buttons)).await;
    poll("the answer", || async { world.read_by(&ana()).contains(&"Then I cannot look.".to_owned()).then_some(()) }).await;
}
