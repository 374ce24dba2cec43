//! A record is to readers what it is, whether it comes from the actor or from the disk; and readers that are far behind lose nothing.

use std::sync::Arc;

use futures_util::FutureExt;
use proptest::collection::vec;
use proptest::prelude::*;

use crate::domain::event::model::{Parameters, Request};
use crate::domain::event::session::{Metadata, SessionCreated, SessionUpdated};
use crate::domain::event::turn::StepStart;
use crate::domain::live::{Delta, DeltaKind};
use crate::domain::tests::walk::ledger;
use crate::domain::{AgentEvent, Cursor, LiveEvent, SessionId, SessionState, Timestamp, View};
use crate::session::Feed;
use crate::session::ledger::Ledger;
use crate::session::reader::{FeedItem, Filter, Pulled, Reader};
use crate::session::record::FeedRecord;
use crate::store::Position;
use crate::store::memory::MemoryStore;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn from_the_disk_it_is_the_same(bytes in vec(any::<u8>(), 0..400)) {
        for record in ledger(&bytes) {
            let live = FeedRecord::new(&record).unwrap();
            let read = FeedRecord::from_stored(live.stored()).unwrap();
            prop_assert_eq!((read.seq, &read.kind, read.turn, read.effect, &read.json), (live.seq, &live.kind, live.turn, live.effect, &live.json));
            for view in [View::Chat, View::Owner, View::Admin] {
                prop_assert_eq!(read.data(view, &|_| false), live.data(view, &|_| false));
            }
        }
    }
}

/// More records than the feed keeps stand behind an open attempt: its live text is still whole for a reader from the start, one that
/// resumes inside it, and one that lags.
#[test]
fn a_reader_far_behind_reads_the_disk_and_then_the_live_text() {
    let session: SessionId = "ses_1".into();
    let store = Arc::new(MemoryStore::new());
    let feed = Arc::new(Feed::new(session.clone(), store.clone()));
    let mut ledger = Ledger::new(session, SessionState::default(), Position::default());
    let mut commit = |events: Vec<AgentEvent>| {
        let seqs: Vec<_> = events.into_iter().map(|event| ledger.stage(Timestamp(1), event).unwrap()).collect();
        ledger.begin_append(store.as_ref(), None);
        let appended = ledger.written().now_or_never().unwrap().unwrap();
        ledger.committed(&appended, |durable| feed.advance(durable.records, durable.overview)).unwrap();
        *seqs.last().unwrap()
    };
    let text = |text: &str| text.to_owned();
    let (channel, agent, tenant, principal) = (text("web"), text("default"), text("t"), text("p"));
    commit(vec![
        SessionCreated { channel, agent, tenant, principal, account: None, parent: None, title: None, metadata: Metadata::new() }.into(),
    ]);
    let start = crate::domain::event::input::TurnStart { message_ids: Vec::new() };
    let parameters = Parameters::default();
    let request = Request {
        attempt: 1,
        provider: text("p"),
        model: text("m"),
        parameters,
        system_digest: "d".into(),
        tools_digest: None,
        withheld_digest: None,
        without_files: false,
    };
    let opened = commit(vec![start.into(), StepStart {}.into(), request.into()]);
    feed.open_attempt(opened);
    let say = |base, piece: &str| {
        let kind = DeltaKind::Text(piece.into());
        feed.live(1, base, LiveEvent::Delta(Delta { message_id: "msg_1".into(), block: 0, kind }));
    };
    (0..4).for_each(|_| say(opened, "before "));
    let filter = || Filter { view: View::Chat, types: None, may_decide: Arc::new(|_| false) };
    let mut lags = Reader::new(feed.clone(), filter(), Cursor::default()).unwrap();
    let inside = Cursor { seq: opened, n: 3 };
    let mut resumed = Reader::new(feed.clone(), filter(), inside).unwrap();
    let mut head = opened;
    for _ in 0..600 {
        head = commit(vec![SessionUpdated { title: Some(text("t")), metadata: None }.into()]);
    }
    say(head, "after");
    let mut from_start = Reader::from_start(feed.clone(), filter());
    // the request is hidden from this view
    for (reader, records, live) in [
        (&mut lags, 603, "before before before before after"),
        (&mut from_start, 603, "before before before before after"),
        (&mut resumed, 600, "before after"),
    ] {
        let (mut seen, mut said, mut last) = (0, String::new(), None);
        while let Some(Ok(Pulled::Items(items))) = reader.pull().now_or_never() {
            for item in items {
                let FeedItem::Event { id, event, data } = item else { continue };
                assert!(last < Some(id), "{id} after {last:?}");
                last = Some(id);
                match event.as_str() {
                    "text_delta" => said.push_str(serde_json::from_str::<serde_json::Value>(&data).unwrap()["text"].as_str().unwrap()),
                    _ => seen += 1,
                }
            }
        }
        assert_eq!((seen, said.as_str()), (records, live));
        assert_eq!(reader.cursor(), Cursor { seq: head, n: 5 });
    }
}
