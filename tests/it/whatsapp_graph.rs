//! The adapter of WhatsApp against the tests' own Graph API: what it sends is what the platform takes, and each mishap is what it says it is.
//! The gateway around it is tried elsewhere.

use axum::http::{HeaderMap, HeaderName, Method, Uri};
use portico::channel::messenger::{ErrorClass, Inbound, Messenger, Quotes, Say, VerifiedRequest, WebhookRequest};
use portico::channel::whatsapp::{Settings, WhatsApp, client};
use portico::domain::delivery::Part;
use portico::domain::pending::Decision;
use portico::domain::{Address, ApprovalId, Attachment, AttachmentId, AttachmentKind, Recipient};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use crate::harness::graph::payload::{ANA, ANA_UNSEEN, BO};
use crate::harness::graph::{ACCESS_TOKEN, APP_SECRET, DISPLAY_PHONE, Mishap, PHONE_NUMBER_ID, VERIFY_TOKEN, payload};
use crate::harness::{Graph, soon};

fn account(graph: &Graph) -> WhatsApp {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let settings = Settings {
        account: "main".into(),
        phone_number_id: PHONE_NUMBER_ID.into(),
        app_secret: APP_SECRET.to_owned().into(),
        verify_token: VERIFY_TOKEN.to_owned().into(),
        access_token: ACCESS_TOKEN.to_owned().into(),
        graph_url: graph.url(),
    };
    WhatsApp::new(settings, client().unwrap())
}

fn to(recipient: Recipient) -> Address {
    Address { channel: "whatsapp".into(), account: "main".into(), to: recipient, message: Some("wamid.ASKED".into()) }
}

fn ana() -> Address {
    to(Recipient::Phone(ANA.phone.unwrap().into()))
}

fn hello() -> Part {
    Part { text: "hello".into(), buttons: Vec::new() }
}

fn read(account: &WhatsApp, body: Vec<u8>) -> Inbound {
    let request = WebhookRequest { method: Method::POST, uri: Uri::from_static("/"), headers: HeaderMap::new(), body: body.into() };
    let mut items = account.receive(&VerifiedRequest::vouched(request)).items;
    assert_eq!(items.len(), 1);
    assert_eq!(items[0].line, PHONE_NUMBER_ID);
    items.remove(0).inbound
}

#[tokio::test]
async fn everything_that_is_rendered_is_within_the_platforms_limits() {
    let graph = Graph::start().await;
    let account = account(&graph);
    let decisions = [Decision::AllowOnce, Decision::AllowSession, Decision::AllowAlways, Decision::Deny];
    let approval_id = ApprovalId::from("apr_0123");
    let places = [ana(), to(Recipient::User(ANA.user.unwrap().into())), to(Recipient::Group("GRP1".into()))];
    let mut count = 0;
    for place in &places {
        for text in ["hello".to_owned(), String::new(), "😀".repeat(5_000), "- a **b**\n".repeat(2_000)] {
            for part in account.render(Say::Markdown(&text), place) {
                account.deliver(place, &part, "dlv_1:1", Quotes::Address).await.unwrap();
                count += 1;
            }
        }
        let say =
            Say::Approval { approval_id: &approval_id, tool: "demo_booking", args: &"\u{202e}x".repeat(2_000), decisions: &decisions };
        for part in account.render(say, place) {
            account.deliver(place, &part, "dlv_1:1", Quotes::Nothing).await.unwrap();
            count += 1;
        }
        account.typing(place).await.unwrap();
    }
    let sent = graph.all_sent();
    assert_eq!(sent.len(), count);
    assert!(sent.iter().all(|sent| sent.arrives), "a business-scoped id stood in `to`");
    assert_eq!(graph.receipts().len(), 2, "one for each place but the group");
}

#[tokio::test]
async fn each_mishap_is_what_it_says_it_is() {
    let graph = Graph::start().await;
    let account = account(&graph);
    let seconds = std::time::Duration::from_secs;
    let cases = [
        (Mishap::Refuses { status: 429, code: 130_429 }, "130429", ErrorClass::Retry { after: None }),
        (Mishap::RefusesFor { status: 400, code: 131_056, seconds: 9 }, "131056", ErrorClass::TooFast { after: Some(seconds(9)) }),
        (Mishap::Refuses { status: 400, code: 131_047 }, "131047", ErrorClass::Closed),
        (Mishap::Refuses { status: 401, code: 190 }, "190", ErrorClass::Account),
        (Mishap::AcceptsBut { status: 503 }, "http_503", ErrorClass::Ambiguous),
        (Mishap::AcceptsAndCuts, "connection", ErrorClass::Ambiguous),
    ];
    for (mishap, code, class) in cases {
        graph.next(mishap);
        let error = account.deliver(&ana(), &hello(), "dlv_1:1", Quotes::Nothing).await.unwrap_err();
        assert_eq!((error.code.as_str(), error.class), (code, class));
        assert!(!error.detail.contains(ACCESS_TOKEN));
    }
    assert_eq!(graph.all_sent().len(), 2, "two of them were taken all the same");
    assert_eq!(graph.request(1).await["biz_opaque_callback_data"], "dlv_1:1");
}

#[tokio::test]
async fn a_message_waits_for_the_platform() {
    let graph = Graph::start().await;
    graph.next(Mishap::WaitsAt("slow"));
    let sending = account(&graph).deliver(&ana(), &hello(), "dlv_1:1", Quotes::Nothing);
    let (receipt, ()) = soon("the receipt", async {
        tokio::join!(sending, async {
            graph.request(1).await;
            assert!(graph.all_sent().is_empty());
            graph.open("slow");
        })
    })
    .await;
    assert_eq!(receipt.unwrap().message, graph.sent(1).await.id);
}

#[tokio::test]
async fn a_file_is_fetched_from_where_it_lies() {
    let graph = Graph::start().await;
    graph.holds("700000000000001", "image/png", b"abc");
    let attachment = Attachment {
        attachment_id: AttachmentId::from("att_1"),
        kind: AttachmentKind::Image,
        mime: "image/png".into(),
        filename: None,
        sha256: None,
        media_id: "700000000000001".into(),
    };
    assert_eq!(account(&graph).fetch(&attachment).await.unwrap(), "abc");
}

#[tokio::test]
async fn a_payload_of_the_platforms_hand_is_read_as_it_is_meant() {
    let graph = Graph::start().await;
    let account = account(&graph);
    let message = |body| {
        let Inbound::Message(message) = read(&account, body) else { panic!("no message") };
        message
    };
    assert_eq!(message(payload::text(ANA, "wamid.1", "hi")).from.name.as_deref(), Some("Ana Example"));
    assert_eq!(message(payload::text(ANA_UNSEEN, "wamid.2", "hi")).from.phone, None);
    let mention = payload::in_group(BO, "GRP1", "wamid.3", &format!("@{DISPLAY_PHONE} hi"));
    assert!(message(mention).addressed);
    assert_eq!(message(payload::image(ANA, "wamid.4", "7", "look")).attachments.len(), 1);
    assert_eq!(message(payload::sample("01_text.json")).text, "Where is my order?");
    let press = payload::pressed(ANA, "wamid.5", "apr_0123:deny", "Deny");
    assert!(matches!(read(&account, press), Inbound::Decision { decision: Decision::Deny, .. }));
    assert!(matches!(read(&account, payload::echo(ANA, "wamid.6", "I am here")), Inbound::Echo { text, .. } if text == "I am here"));
    account.deliver(&ana(), &hello(), "dlv_1:1", Quotes::Nothing).await.unwrap();
    let failed = payload::status(&graph.sent(1).await, "failed", Some(131_047));
    let Inbound::Status { token, code, .. } = read(&account, failed) else { panic!("no status") };
    assert_eq!((token.as_deref(), code.as_deref()), (Some("dlv_1:1"), Some("131047")));
}

#[tokio::test]
async fn what_the_platforms_hand_posts_is_signed_as_the_account_believes() {
    let graph = Graph::start().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let webhook = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"}") {
            assert!(socket.read_buf(&mut request).await.unwrap() > 0);
        }
        socket.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        String::from_utf8(request).unwrap()
    };
    let payload = payload::text(ANA, "wamid.1", "Crème brûlée");
    let (answer, request) = tokio::join!(graph.says(listener.local_addr().unwrap().port(), payload.clone()), webhook);
    assert_eq!(answer.status, 200);
    let signature = request.lines().find_map(|line| line.strip_prefix("x-hub-signature-256: ")).unwrap();
    let verified = |body: Vec<u8>| {
        let headers = HeaderMap::from_iter([(HeaderName::from_static("x-hub-signature-256"), signature.parse().unwrap())]);
        account(&graph).verify(WebhookRequest { method: Method::POST, uri: Uri::from_static("/"), headers, body: body.into() })
    };
    assert!(verified(payload.clone()).is_ok());
    assert!(verified([payload, b" ".to_vec()].concat()).is_err());
}

/// What the fake refuses, so that a test against it means something; asked by hand, for the adapter never asks so.
#[tokio::test]
async fn the_graph_refuses_what_the_platform_refuses() {
    let graph = Graph::start().await;
    let text = json!({"messaging_product": "whatsapp", "recipient_type": "individual", "to": "1", "type": "text", "text": {"body": "x"}});
    let button = |id: &str, title: &str| json!({"type": "reply", "reply": {"id": id, "title": title}});
    let with_buttons = |buttons: serde_json::Value| {
        let mut body = text.clone();
        body["type"] = "interactive".into();
        body["interactive"] = json!({"type": "button", "body": {"text": "x"}, "action": {"buttons": buttons}});
        body
    };
    let with = |key: &str, value: serde_json::Value| {
        let mut body = text.clone();
        body[key] = value;
        body
    };
    let mut grouped = with_buttons(json!([button("a", "A")]));
    grouped["recipient_type"] = "group".into();
    let wrong = [
        with("text", json!({"body": ""})),
        with("text", json!({"body": "x".repeat(4_097)})),
        with("messaging_product", json!(null)),
        with("recipient", json!("US.1")),
        with_buttons(json!([])),
        with_buttons(json!([button("a", &"t".repeat(21))])),
        with_buttons(json!([button("a", "A"), button("b", "A")])),
        with_buttons(json!([button("a", "A"), button("b", "B"), button("c", "C"), button("d", "D")])),
        grouped,
    ];
    for body in &wrong {
        assert_eq!(asked(&graph, body, ACCESS_TOKEN).await, 400, "{body}");
    }
    assert_eq!(asked(&graph, &text, "another").await, 401);
    assert_eq!(graph.take_wrong().len(), wrong.len() + 1);
    assert_eq!(asked(&graph, &with("to", json!("US.1349")), ACCESS_TOKEN).await, 200);
    assert!(!graph.sent(1).await.arrives, "a business-scoped id in `to` is taken and lost");
}

async fn asked(graph: &Graph, body: &serde_json::Value, token: &str) -> u16 {
    let url = format!("{}/{PHONE_NUMBER_ID}/messages", graph.url());
    let _ = rustls::crypto::ring::default_provider().install_default();
    client().unwrap().post(url).bearer_auth(token).json(body).send().await.unwrap().status().as_u16()
}
