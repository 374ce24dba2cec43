//! 8 and 9: readers cost nothing, and miss nothing.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::asleep;
use crate::harness::{Gateway, Provider, Reply, Settings, Sse, View, number, soon, text};

/// Readers of the feed that never read their socket, with as little room in it as the system gives: the gateway meets the stall at once.
async fn stalled(gateway: &Gateway, session: &str, count: usize) -> Vec<TcpStream> {
    let mut sockets = Vec::new();
    let head =
        format!("GET /v1/sessions/{session}/events HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAccept: text/event-stream\r\n\r\n", gateway.port);
    for _ in 0..count {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        let mut socket = socket.connect(([127, 0, 0, 1], gateway.port).into()).await.unwrap();
        socket.write_all(head.as_bytes()).await.unwrap();
        sockets.push(socket);
    }
    sockets
}

/// Reads of each socket only until the live text begins.
async fn begun(sockets: &mut [TcpStream]) {
    for socket in sockets {
        let (mut read, mut some) = (Vec::new(), [0; 256]);
        while !String::from_utf8_lossy(&read).contains("event: text_delta") {
            let n = soon("live text", socket.read(&mut some)).await.unwrap();
            assert!(n > 0, "the stream ended");
            read.extend_from_slice(&some[..n]);
        }
    }
}

/// Resident memory of the gateway's process, in KiB.
fn resident(gateway: &Gateway) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// A turn that streams 4 MiB to one reader; how much the process grew by then, in KiB. Of twice `readers` half are there from the start.
async fn growth(provider: &Provider, gateway: &Gateway, readers: usize) -> u64 {
    let id = gateway.session().await;
    let mut reader = Sse::open(gateway, &format!("/v1/sessions/{id}/events?after=head"), &[]).await;
    let early = stalled(gateway, &id, readers).await;
    let (page, gate) = ("x".repeat(16 * 1024), format!("{readers} readers"));
    provider.push((0..256).fold(Reply::stream(), |reply, _| reply.say(&page)).gate(&gate).stop());
    let before = resident(gateway);
    gateway.say(&id, "go").await;
    let mut shown = 0;
    while shown < 256 * page.len() {
        let frame = reader.next().await.unwrap();
        shown += if frame.kind() == "text_delta" { text(&frame.json(), "/text").len() } else { 0 };
    }
    // these have all of it to catch up with at once
    let mut late = stalled(gateway, &id, readers).await;
    begun(&mut late).await;
    // while it is still live: the record of the whole answer is one large event, to whoever takes it
    let after = resident(gateway);
    provider.open(&gate);
    assert_eq!(text(&reader.event("done").await, "/answer").len(), shown, "the turn and the other reader end");
    drop((early, late));
    after.saturating_sub(before)
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn i08_a_stalled_reader_costs_the_others_nothing() {
    let provider = Provider::start().await;
    let (alone, crowded) = (Gateway::start(&provider).await, Gateway::start(&provider).await);
    let without = growth(&provider, &alone, 0).await;
    let with = growth(&provider, &crowded, 12).await;
    eprintln!("grew {without} KiB alone, {with} KiB beside 24 stalled readers");
    // a queue for each of them would hold most of 4 MiB each, some 90 MiB together
    assert!(with < without + 60 * 1024, "{with} KiB with 24 stalled readers, {without} KiB without");
}

#[tokio::test]
async fn i08_a_reader_keeps_no_actor_awake() {
    let provider = Provider::start().await;
    let gateway = Gateway::with(&provider, Settings { tables: "[sessions]\npassivate_s = 1\n", ..Settings::default() }).await;
    let id = gateway.session().await;
    let mut feed = Sse::open(&gateway, &format!("/v1/sessions/{id}/events"), &[]).await;
    gateway.say(&id, "hi").await;
    feed.until_kind("done").await;
    assert_eq!(asleep(&gateway, &id).await, number(&gateway.state(&id).await, "/head"));
    // and it is served on, by the next actor too
    gateway.say(&id, "again").await;
    assert_eq!(feed.event("done").await["answer"], "re: again");
}

/// Opens the feed in a view, where the client left it.
async fn join(gateway: &Gateway, session: &str, view: &str, client: &View) -> Sse {
    let path = format!("/v1/sessions/{session}/events?view={view}");
    match &client.cursor {
        Some(cursor) => Sse::open(gateway, &path, &[("Last-Event-ID", cursor)]).await,
        None => Sse::open(gateway, &path, &[]).await,
    }
}

#[tokio::test]
async fn i09_no_gap_no_repeat() {
    let provider = Provider::start().await;
    provider.offers(&["ask_user", "bash"]);
    let mut gateway = Gateway::with(&provider, Settings::FREE_BASH).await;
    let id = gateway.cli_session().await;
    provider.push(Reply::stream().think("hm").say("first ").say("a look").bash("c1", "echo one").calls());
    provider.push(Reply::stream().think("so").say("it ").say("is ").gate("never").say("lost").stop());
    provider.push(Reply::stream().say("it ").say("was ").gate("again").say("cut").stop());
    let views = ["admin", "owner", "chat"];
    let mut clients = Vec::new();
    for view in views {
        clients.push((view, join(&gateway, &id, view, &View::default()).await, View::default()));
    }
    gateway.say(&id, "go").await;
    // every position that any reader had before the crash, also within the attempt that the crash cut off
    let mut positions = Vec::new();
    for (view, feed, client) in &mut clients {
        positions.push((*view, client.clone()));
        soon("the live text before the crash", async {
            while !client.live_text().contains("it is ") {
                client.fold(&feed.next().await.unwrap());
                positions.push((*view, client.clone()));
            }
        })
        .await;
    }
    gateway.crash_and_restart().await;
    provider.reached("again").await;
    // all of them come back while the new attempt streams, and stay to the end
    let mut feeds = Vec::new();
    for (view, mut client) in positions {
        let left = client.cursor.clone();
        let mut feed = join(&gateway, &id, view, &client).await;
        soon("the live text of the attempt after the crash", async {
            while client.live_text() != "it was " {
                client.fold(&feed.next().await.unwrap());
            }
        })
        .await;
        feeds.push((view, left, client, feed));
    }
    provider.open("again");
    gateway.audited(&id).await;
    let mut uncut = Vec::new();
    for view in views {
        let mut client = View::default();
        let frames = join(&gateway, &id, view, &client).await.until_kind("done").await;
        client.fold_all(&frames);
        uncut.push((view, client));
    }
    for (view, left, mut client, mut feed) in feeds {
        client.fold_all(&feed.until_kind("done").await);
        let (_, whole) = uncut.iter().find(|(v, _)| *v == view).unwrap();
        assert_eq!((&client.records, &client.live), (&whole.records, &whole.live), "{view}, left at {left:?}");
    }
}
