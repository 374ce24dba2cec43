//! What goes out: in order, once, and with an end that is on record.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::people::nth;
use super::{World, ana, bo};
use crate::harness::graph::Mishap;
use crate::harness::hook::{MAIN, Person};
use crate::harness::{Reply, of_kind, poll, soon, text};

/// A connection for more than one request.
struct KeptAlive {
    socket: TcpStream,
    port: u16,
}

impl KeptAlive {
    async fn open(port: u16) -> Self {
        Self { socket: TcpStream::connect(("127.0.0.1", port)).await.unwrap(), port }
    }

    /// The status of the answer, all of which is read.
    async fn ask(&mut self, method: &str, path: &str, body: &str) -> u16 {
        let (port, length) = (self.port, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        self.socket.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
        let (mut answer, mut buffer) = (String::new(), [0; 4096]);
        loop {
            let read = soon("an answer", self.socket.read(&mut buffer)).await.unwrap();
            assert!(read > 0, "cut: {answer}");
            answer.push_str(&String::from_utf8_lossy(&buffer[..read]));
            let Some((head, body)) = answer.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0usize) {
                return head.split(' ').nth(1).unwrap().parse().unwrap();
            }
        }
    }
}

/// An answer of two parts: WhatsApp takes 4,096 characters.
fn long() -> String {
    format!("{}\n\n{}", "one ".repeat(900), "two ".repeat(900))
}

fn states(records: &[Value]) -> Vec<(u64, String)> {
    let state = |record: &&Value| (record["part"].as_u64().unwrap(), text(record, "/state").to_owned());
    of_kind(records, "delivery").iter().map(state).collect()
}

/// PraisonAI#2909, openclaw#12957: what was tried again came behind what was said later.
#[tokio::test]
async fn report_34_a_part_that_is_tried_again_keeps_its_place() {
    let world = World::new().await;
    world.refuse(429, 130_429);
    world.provider.push(Reply::text(&long()));
    world.says(&ana(), "wamid.1", "tell me everything").await;
    world.says(&ana(), "wamid.2", "and then").await;
    let read = world.reads(&ana(), 3).await;
    assert!(read[0].starts_with("one") && read[1].contains("two") && read[2] == "re: and then", "{read:?}");
    let session = world.session().await;
    let mut records = world.gateway.audited(&session).await;
    let first = of_kind(&records, "delivery")[0]["delivery_id"].clone();
    records.retain(|record| record["type"] == "delivery" && record["delivery_id"] == first);
    let expected = [(1, "queued"), (1, "sending"), (1, "failed"), (1, "sending"), (1, "sent"), (2, "sending"), (2, "sent")];
    assert_eq!(states(&records), expected.map(|(part, state)| (part, state.to_owned())));
    assert_eq!(world.deliveries("?state=sent").await.len(), 2);
}

/// joel#314: what failed later counted as sent, and was sent again and again.
#[tokio::test]
async fn report_12_what_the_platform_tells_later_is_kept_and_nothing_is_sent_again() {
    let world = World::new().await;
    world.says(&ana(), "wamid.1", "hello").await;
    let sent = world.delivery("sent").await;
    let id = text(&sent, "/channel_message_ids/0").to_owned();
    let token = format!("{}:1", text(&sent, "/delivery_id"));
    MAIN.status(&world.gateway, &id, "failed", Some(&token), Some(131_026)).await;
    let dead = world.delivery("dead").await;
    assert_eq!((&dead["delivery_id"], &dead["code"]), (&sent["delivery_id"], &json!("131026")));
    MAIN.status(&world.gateway, "wamid.NOBODYS", "read", Some("out:1"), None).await;
    assert_eq!((world.read_by(&ana()).len(), world.items("status_unknown").await), (1, 1));
}

/// Meta takes what comes outside the window, and tells the refusal in a status.
#[tokio::test]
async fn what_is_refused_later_for_the_window_waits_for_the_next_message() {
    let world = World::new().await;
    world.says(&ana(), "wamid.1", "hello").await;
    let sent = world.delivery("sent").await;
    let id = text(&sent, "/channel_message_ids/0").to_owned();
    let token = format!("{}:1", text(&sent, "/delivery_id"));
    MAIN.status(&world.gateway, &id, "failed", Some(&token), Some(131_047)).await;
    let held = world.delivery("queued").await;
    assert_eq!((&held["held"], &held["code"], &held["delivery_id"]), (&json!(true), &json!("131047"), &sent["delivery_id"]));
    MAIN.status(&world.gateway, &id, "failed", Some(&token), Some(131_047)).await;
    world.says(&ana(), "wamid.2", "me again").await;
    assert_eq!(world.reads(&ana(), 3).await, ["re: hello", "re: hello", "re: me again"]);
    let again = poll("both sent", || async { Some(world.deliveries("?state=sent").await).filter(|all| all.len() == 2) }).await;
    assert!(again.iter().all(|row| row["channel_message_ids"] != json!([id])), "{again:?}");
}

#[tokio::test]
async fn what_the_platform_could_not_bring_goes_again_unless_it_arrived() {
    let world = World::new().await;
    world.says(&ana(), "wamid.1", "hello").await;
    let sent = world.delivery("sent").await;
    let id = text(&sent, "/channel_message_ids/0").to_owned();
    MAIN.status(&world.gateway, &id, "failed", None, Some(131_000)).await;
    let failed = world.delivery("failed").await;
    assert_eq!(failed["code"], "131000");
    assert!(failed["retry_at"].as_str().is_some_and(|at| at > text(&failed, "/updated_at")), "{failed}");
    // it arrived after all
    MAIN.status(&world.gateway, &id, "delivered", None, None).await;
    world.delivery("delivered").await;
    MAIN.status(&world.gateway, &id, "failed", None, Some(131_000)).await;
    assert_eq!((world.deliveries("?state=delivered").await.len(), world.read_by(&ana()).len()), (1, 1));
}

#[tokio::test]
async fn statuses_only_go_forward_in_whatever_order_they_come() {
    let world = World::new().await;
    world.says(&ana(), "wamid.1", "hello").await;
    let sent = world.delivery("sent").await;
    let id = text(&sent, "/channel_message_ids/0").to_owned();
    // without our token it is found by the platform's own id
    for state in ["read", "delivered", "sent", "read"] {
        MAIN.status(&world.gateway, &id, state, None, None).await;
    }
    world.delivery("read").await;
    let session = world.session().await;
    let records = world.gateway.audited(&session).await;
    let after: Vec<String> = states(&records).into_iter().map(|(_, state)| state).collect();
    assert_eq!(after, ["queued", "sending", "sent", "read"]);
}

/// community-agent#602: what could not be sent outside the window was lost.
#[tokio::test]
async fn report_19_outside_the_window_it_waits_for_the_next_message() {
    let world = World::new().await;
    world.refuse(400, 131_047);
    world.says(&ana(), "wamid.1", "hello").await;
    let is_held = |row: &Value| row["held"] == true;
    let held = poll("a delivery that is held", || async { world.deliveries("?state=queued").await.into_iter().find(is_held) }).await;
    assert_eq!(held["code"], "131047");
    assert!(world.read_by(&ana()).is_empty());
    world.says(&ana(), "wamid.2", "me again").await;
    assert_eq!(world.reads(&ana(), 2).await, ["re: hello", "re: me again"]);
}

#[tokio::test]
async fn a_refused_token_stops_the_account_and_a_retry_starts_it() {
    let world = World::new().await;
    world.graph.always(Some(Mishap::Refuses { status: 401, code: 190 }));
    world.says(&ana(), "wamid.1", "hello").await;
    poll("the account stands still", || async {
        let ready = world.gateway.get("/readyz").await.expect(200);
        (ready["troubles"][0]["code"] == "channel_stopped").then_some(())
    })
    .await;
    let calls = world.graph.calls();
    world.says(&bo(), "wamid.2", "hello").await;
    let waiting = poll("two deliveries", || async { Some(world.deliveries("").await).filter(|all| all.len() == 2) }).await;
    assert_eq!(world.graph.calls(), calls, "nothing is tried that fails the same way");
    assert!(world.gateway.log().contains("access token"));
    world.graph.always(None);
    let id = text(&waiting[0], "/delivery_id");
    world.gateway.post(&format!("/v1/deliveries/{id}/retry"), &json!({})).await.expect(200);
    world.reads(&ana(), 1).await;
    world.reads(&bo(), 1).await;
    assert!(world.gateway.get("/readyz").await.expect(200).get("troubles").is_none());
}

#[tokio::test]
async fn what_can_never_be_sent_is_dead_and_can_be_tried_again() {
    let world = World::new().await;
    world.refuse(400, 131_026);
    world.says(&ana(), "wamid.1", "hello").await;
    let dead = world.delivery("dead").await;
    assert_eq!(dead["code"], "131026");
    world.says(&ana(), "wamid.2", "next").await;
    world.reads(&ana(), 1).await;
    let path = format!("/v1/deliveries/{}/retry", text(&dead, "/delivery_id"));
    world.gateway.post(&path, &json!({})).await.expect(200);
    assert_eq!(world.reads(&ana(), 2).await, ["re: next", "re: hello"]);
    poll("both sent", || async { (world.deliveries("?state=sent").await.len() == 2).then_some(()) }).await;
    world.gateway.post(&path, &json!({})).await.problem(409, "conflict");
    world.gateway.post("/v1/deliveries/dlv_none/retry", &json!({})).await.problem(404, "not_found");
}

/// Killed while the platform has the request: nobody knows, and so it is not sent again, and what comes behind it waits.
#[tokio::test]
async fn a_crash_in_mid_send_is_unknown_until_a_status_tells() {
    let mut world = World::new().await;
    world.graph.next(Mishap::WaitsAt("held"));
    world.says(&ana(), "wamid.1", "hello").await;
    poll("the send", || async { (world.graph.calls() == 1).then_some(()) }).await;
    world.gateway.kill9().await;
    world.graph.open("held");
    world.gateway.spawn().await;
    world.says(&ana(), "wamid.2", "next").await;
    let unknown = world.delivery("unknown").await;
    let session = world.session().await;
    poll("the next turn", || async { (world.turns(&session).await == 2).then_some(()) }).await;
    let retry = world.gateway.post(&format!("/v1/deliveries/{}/retry", text(&unknown, "/delivery_id")), &json!({})).await;
    assert!(text(&retry.problem(409, "conflict"), "/detail").contains("may have arrived"));
    assert_eq!(world.graph.calls(), 1, "not sent twice, and nothing before it");
    let token = format!("{}:1", text(&unknown, "/delivery_id"));
    MAIN.status(&world.gateway, "wamid.OUT1", "delivered", Some(&token), None).await;
    let told = world.delivery("delivered").await;
    assert_eq!(told["channel_message_ids"], json!(["wamid.OUT1"]));
    poll("the next answer", || async { world.read_by(&ana()).contains(&"re: next".to_owned()).then_some(()) }).await;
}

/// Killed at one point after the other: each answer is sent once, or its fate is unknown.
#[tokio::test]
async fn crashes_around_sends_send_nothing_twice() {
    let mut world = World::new().await;
    let people: Vec<Person> = (10..19).map(nth).collect();
    for (round, person) in people.iter().enumerate() {
        let calls = world.graph.calls();
        world.says(person, &format!("wamid.{round}"), &format!("hello {round}")).await;
        match round % 3 {
            0 => {}
            1 => poll("the model", || async { (world.provider.requests().len() > round).then_some(()) }).await,
            _ => poll("a send", || async { (world.graph.calls() > calls).then_some(()) }).await,
        }
        world.gateway.crash_and_restart().await;
    }
    for (round, person) in people.iter().enumerate() {
        let unknown = || async {
            let of = |row: &Value| row["to"]["to"]["phone"] == json!(person.phone) && ["sending", "unknown"].contains(&text(row, "/state"));
            world.deliveries("").await.iter().any(of)
        };
        poll("its end", || async { (world.read_by(person).len() == 1 || unknown().await).then_some(()) }).await;
        let read = world.read_by(person);
        // a turn that more crashes cut than it may go on after says so
        let honest = |text: &String| *text == format!("re: hello {round}") || text.starts_with("Sorry, I was interrupted");
        assert!(read.len() <= 1 && read.iter().all(honest), "{read:?}");
    }
}

/// A cut after the platform has the message: it may have gone out.
#[tokio::test]
async fn what_may_have_been_sent_is_not_sent_again() {
    let world = World::new().await;
    world.graph.next(Mishap::AcceptsAndCuts);
    world.says(&ana(), "wamid.1", "hello").await;
    world.delivery("unknown").await;
    world.says(&bo(), "wamid.2", "hello").await;
    world.reads(&bo(), 1).await;
    assert_eq!((world.graph.calls(), world.messages().len()), (2, 2), "once each");
    let sent = &world.graph.all_sent()[0];
    let token = text(&sent.body, "/biz_opaque_callback_data").to_owned();
    MAIN.status(&world.gateway, &sent.id, "delivered", Some(&token), None).await;
    world.delivery("delivered").await;
}

/// A gateway in between gives up on a platform that has taken the message all the same.
#[tokio::test]
async fn a_page_that_is_not_the_platforms_leaves_it_open_what_was_sent() {
    for status in [408, 500, 502, 504] {
        let world = World::new().await;
        world.graph.next(Mishap::AcceptsBut { status });
        world.says(&ana(), "wamid.1", "hello").await;
        let unknown = world.delivery("unknown").await;
        world.says(&bo(), "wamid.2", "hello").await;
        world.reads(&bo(), 1).await;
        assert_eq!((world.read_by(&ana()).len(), &unknown["code"]), (1, &json!(format!("http_{status}"))));
    }
}

/// What hangs costs the drain once, and no input is taken in that time, also on a connection that was open before.
#[tokio::test]
async fn a_stop_takes_nothing_more_while_something_is_being_sent() {
    let mut world = World::accounts(&[(MAIN, "")], "drain_ms = 3000", "").await;
    world.graph.next(Mishap::WaitsAt("held"));
    world.says(&ana(), "wamid.1", "hello").await;
    poll("the send", || async { (world.graph.calls() == 1).then_some(()) }).await;
    let session = world.session().await;
    let mut open = KeptAlive::open(world.gateway.port).await;
    assert_eq!(open.ask("GET", "/readyz", "").await, 200);
    world.gateway.sigterm().await;
    poll("the stop", || async { world.gateway.log().contains("stopping").then_some(()) }).await;
    assert_eq!(open.ask("POST", "/v1/sessions", "{}").await, 503);
    assert_eq!(world.gateway.ended().await, Some(0), "the send hangs still");
    world.gateway.spawn().await;
    let unknown = world.delivery("unknown").await;
    assert_eq!(unknown["code"], "restart", "it was left as being sent");
    let all = world.gateway.get("/v1/sessions").await.expect(200);
    assert_eq!(all["data"].as_array().map(|all| all.iter().map(|row| row["id"].clone()).collect()), Some(vec![json!(session)]));
    world.graph.open("held");
}

#[tokio::test]
async fn a_stop_does_not_wait_for_what_a_stranger_is_told() {
    let mut world = World::with("access = \"pairing\"", "").await;
    world.graph.next(Mishap::WaitsAt("held"));
    world.says(&ana(), "wamid.1", "hello").await;
    poll("the send", || async { (world.graph.calls() == 1).then_some(()) }).await;
    world.gateway.sigterm().await;
    assert_eq!(world.gateway.ended().await, Some(0), "it hangs still");
    world.gateway.spawn().await;
    world.says(&ana(), "wamid.2", "hello?").await;
    world.reads(&ana(), 1).await;
    world.graph.open("held");
}

#[tokio::test]
async fn a_stop_lets_what_is_being_sent_end() {
    let mut world = World::new().await;
    world.graph.next(Mishap::WaitsAt("held"));
    world.says(&ana(), "wamid.1", "hello").await;
    poll("the send", || async { (world.graph.calls() == 1).then_some(()) }).await;
    world.gateway.sigterm().await;
    poll("the stop", || async { world.gateway.log().contains("stopping").then_some(()) }).await;
    world.graph.open("held");
    assert_eq!(world.gateway.ended().await, Some(0));
    world.gateway.spawn().await;
    world.delivery("sent").await;
    assert_eq!(world.graph.calls(), 1);
}
