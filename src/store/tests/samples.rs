//! Appends to write.

use crate::domain::delivery::{DeliveryState, DeliveryView, Purpose};
use crate::domain::event::pending::{ApprovalRequested, QuestionAsked};
use crate::domain::overview::Status;
use crate::domain::pairing::{Pairing, PairingStatus};
use crate::domain::pending::{Decision, Item, ItemKind, Outcome};
use crate::domain::{Address, Args, Overview, Recipient, SessionId, Timestamp};
use crate::store::{Alias, Append, ApprovalFilter, DeliveryFilter, IntakeRow, PairingFilter, Position, SessionFilter, StoredRecord};

pub(in crate::store) const TENANT: &str = "acme";
pub(in crate::store) const NOW: Timestamp = Timestamp(1_700_000_000_000);

/// An append of records of these kinds by `session` that stands at `expected`. Sessions of this module are all created at the same time.
pub(crate) fn append(session: &str, expected: u64, kinds: &[&str]) -> Append {
    let record = |(kind, seq): (&&str, u64)| StoredRecord {
        seq,
        kind: (*kind).into(),
        json: format!("{{\"seq\":{seq},\"type\":\"{kind}\",\"text\":\"{session} é \\u0000\"}}").into(),
    };
    let records: Vec<_> = kinds.iter().zip(expected + 1..).map(record).collect();
    let overview = overview(session, expected + records.len() as u64);
    Append {
        session: session.into(),
        expected: Position(expected),
        records,
        intake: Vec::new(),
        wake_at: None,
        blobs: Vec::new(),
        overview,
        items: Vec::new(),
        aliases: Vec::new(),
        deliveries: Vec::new(),
    }
}

pub(in crate::store) fn child(session: &str, parent: &str) -> Append {
    let mut append = append(session, 0, &["session_created"]);
    append.overview.parent = Some(parent.into());
    append
}

fn overview(session: &str, head: u64) -> Overview {
    Overview {
        tools: Vec::new(),
        id: session.into(),
        tenant: TENANT.into(),
        owner: "ann".into(),
        channel: "web".into(),
        agent: "default".into(),
        account: None,
        parent: None,
        title: Some("A \"title\"".into()),
        metadata: serde_json::Map::from_iter([("k".to_owned(), serde_json::json!([1, null, "x"]))]),
        status: Status::Waiting,
        turn: Some(1),
        head,
        queued: 2,
        created_at: NOW,
        updated_at: NOW,
        attempt: None,
        attempt_edge: 1,
        pending: vec![approval("apr_pending", NOW)],
    }
}

pub(in crate::store) fn intake(key: &str, session: &str) -> IntakeRow {
    IntakeRow {
        tenant: TENANT.into(),
        scope: "ann /v1/sessions".into(),
        external_id: key.into(),
        session: session.into(),
        message_id: Some("msg_1".into()),
        seq: 2,
        body_hash: "00ff".into(),
        at: NOW,
    }
}

pub(in crate::store) fn approval(id: &str, requested_at: Timestamp) -> Item {
    let args = Args::from_model(r#"{"z": 1.50, "a": 1}"#);
    let requested = ApprovalRequested {
        approval_id: id.into(),
        tool_call_id: "call_1".into(),
        tool: "bash".into(),
        digest: args.digest("bash"),
        args,
        reason: "it writes".into(),
        decisions: vec![Decision::AllowOnce, Decision::Deny],
        expires_at: NOW,
    };
    Item::new(ItemKind::Approval(requested), requested_at)
}

pub(in crate::store) fn question(id: &str) -> Item {
    let asked = QuestionAsked { question_id: id.into(), tool_call_id: "call_2".into(), questions: Vec::new(), expires_at: NOW };
    Item::new(ItemKind::Question(asked), NOW)
}

pub(in crate::store) fn decided(item: Item, decision: Decision) -> Item {
    Item { outcome: Some(Outcome::Decision { decision, by: Some("bob".into()), note: None }), ..item }
}

pub(in crate::store) fn alias(name: &str, session: &str) -> Alias {
    Alias { tenant: TENANT.into(), scope: "whatsapp:main".into(), name: name.into(), session: session.into() }
}

pub(in crate::store) fn delivery(id: &str, session: &str, state: DeliveryState, created_at: Timestamp) -> DeliveryView {
    let to = Address { channel: "whatsapp".into(), account: "main".into(), to: Recipient::Phone("1".into()), message: None };
    DeliveryView {
        delivery_id: id.into(),
        session_id: session.into(),
        purpose: Purpose::Answer,
        to,
        state,
        part: 1,
        of: 2,
        code: None,
        held: false,
        retry_at: None,
        channel_message_ids: Vec::new(),
        created_at,
        updated_at: created_at,
    }
}

/// Of a stranger with a number and, where `user` is one, an id of the platform's.
pub(in crate::store) fn pairing(code: &str, phone: &str, user: Option<&str>, asked_at: Timestamp) -> Pairing {
    let ids = std::iter::once(Recipient::Phone(phone.into())).chain(user.map(|user| Recipient::User(user.into())));
    Pairing {
        tenant: TENANT.into(),
        channel: "whatsapp".into(),
        account: "main".into(),
        ids: ids.collect(),
        former: Vec::new(),
        name: None,
        code: code.into(),
        status: PairingStatus::Pending,
        asked_at,
        expires_at: asked_at,
        codes: 1,
        told: false,
    }
}

pub(in crate::store) fn all_deliveries() -> DeliveryFilter {
    DeliveryFilter { tenant: TENANT.into(), limit: 100, ..DeliveryFilter::default() }
}

pub(in crate::store) fn all_pairings() -> PairingFilter {
    PairingFilter { tenant: TENANT.into(), limit: 100, ..PairingFilter::default() }
}

pub(in crate::store) fn all_sessions() -> SessionFilter {
    SessionFilter { tenant: TENANT.into(), limit: 100, ..SessionFilter::default() }
}

pub(in crate::store) fn all_approvals() -> ApprovalFilter {
    ApprovalFilter { tenant: TENANT.into(), limit: 100, ..ApprovalFilter::default() }
}

pub(in crate::store) fn id(session: &str) -> SessionId {
    session.into()
}
