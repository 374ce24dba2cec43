//! One reader of a feed: a cursor that pulls.
//!
//! It holds a position and nothing else; what it has not pulled costs nobody memory. Records come first, then the live text of the attempt
//! that is open at its position. `(seq, n)` never goes back.

use std::sync::Arc;

use tokio::sync::watch;

use super::feed::{ClosedText, Closing, Feed, Inner};
use super::live::Run;
use super::record::FeedRecord;
use crate::domain::event::AttemptEffect;
use crate::domain::{Cursor, Seq};
use crate::store::{Most, StoreError};

mod filter;
mod progress;

pub use filter::Filter;
use progress::Progress;

/// Records of one read of the store: few enough that what one pull has no room for is not much to read again.
const PAGE: usize = 64;
/// The most bytes that one pull gives, and one event more: a reader that is far behind must not hold all that it missed at once.
const PULL_BYTES: usize = 256 * 1024;

/// Being there to read: text that streams from here on is kept, also before the first pull. Its end is its drop.
#[derive(Debug)]
pub struct Presence {
    feed: Arc<Feed>,
    /// The durable head when it began: text that was closed by then is not shown as live any more.
    joined: Seq,
    closings: u64,
}

impl Presence {
    pub fn new(feed: Arc<Feed>) -> Self {
        let (joined, closings) = feed.come();
        Self { feed, joined, closings }
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.feed.leave();
    }
}

/// Something for the reader, in the order in which it is to be shown.
#[derive(Clone, Debug)]
pub enum FeedItem {
    /// A record, or a run of deltas.
    Event { id: Cursor, event: Name, data: Arc<str> },
    /// Without an id: moves no cursor.
    Passing { event: &'static str, data: Arc<str> },
}

/// An event's wire name.
#[derive(Clone, Debug)]
pub enum Name {
    Live(&'static str),
    Record(Arc<str>),
}

impl Name {
    pub fn as_str(&self) -> &str {
        match self {
            Name::Live(name) => name,
            Name::Record(name) => name,
        }
    }
}

/// What a pull brought.
#[derive(Debug)]
pub enum Pulled {
    Items(Vec<FeedItem>),
    /// The stream ends here.
    Closing(Closing),
}

/// Why a reader cannot begin where it wants to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotThere {
    /// The cursor is ahead of what is durable: the reader begins anew from record 1.
    Ahead,
    /// All readers are being told to go; come back.
    Closed,
}

/// A position in a feed, and a filter.
#[derive(Debug)]
pub struct Reader {
    feed: Arc<Feed>,
    presence: Presence,
    filter: Filter,
    wake: watch::Receiver<()>,
    /// All records up to here were seen.
    seq: Seq,
    /// The attempt that is open here, by its `request`, and how many of its deltas were seen. 0 is none.
    attempt: Seq,
    n: usize,
    /// Only records of this turn.
    turn: Option<u32>,
    progress: Progress,
}

impl Reader {
    /// A reader at `start`. The feed is loaded and sound.
    ///
    /// # Errors
    /// [`NotThere`]
    pub fn new(feed: Arc<Feed>, filter: Filter, start: Cursor) -> Result<Self, NotThere> {
        let mut reader = Self::from_start(feed, filter);
        (reader.seq, reader.attempt, reader.n) = {
            let inner = reader.feed.lock();
            let Some(overview) = &inner.overview else { return Err(NotThere::Closed) };
            if start.seq > overview.head {
                return Err(NotThere::Ahead);
            }
            let edge = overview.attempt_edge;
            // n counts only if nothing has opened or closed an attempt since, and the one open there is the one in memory
            match inner.live.front().filter(|l| start.seq >= edge && l.request == edge) {
                None => (start.seq, 0, 0),
                Some(live) if start.n > live.visible() as u64 => return Err(NotThere::Ahead),
                Some(live) => (start.seq, live.request, usize::try_from(start.n).unwrap_or(0)),
            }
        };
        Ok(reader)
    }

    /// A reader before record 1.
    pub(super) fn from_start(feed: Arc<Feed>, filter: Filter) -> Self {
        let wake = feed.subscribe();
        let presence = Presence::new(feed.clone());
        Self { feed, presence, filter, wake, seq: 0, attempt: 0, n: 0, turn: None, progress: Progress::default() }
    }

    /// From here on only what belongs to that turn.
    pub fn only_turn(&mut self, turn: u32) {
        self.turn = Some(turn);
    }

    /// As if it had come with that presence: what has streamed since is shown as it streamed.
    pub fn since(&mut self, presence: &Presence) {
        self.presence.joined = presence.joined;
    }

    pub fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Waits for something to show. Cancel-safe: what was not returned is pulled again.
    ///
    /// # Errors
    /// When the store cannot be read; the reader may be used again.
    pub async fn pull(&mut self) -> Result<Pulled, StoreError> {
        loop {
            self.wake.borrow_and_update();
            match self.collect() {
                Collected::Closing(why) => return Ok(Pulled::Closing(why)),
                Collected::Items(items) if !items.is_empty() => return Ok(Pulled::Items(items)),
                Collected::Items(_) => {}
                Collected::Older => {
                    let items = self.older().await?;
                    if !items.is_empty() {
                        return Ok(Pulled::Items(items));
                    }
                }
                Collected::Nothing => {
                    // the sender lives as long as the feed that this reader holds
                    let _ = self.wake.changed().await;
                }
            }
        }
    }

    /// The next durable record as this reader sees it; empty where it does not. It is there already. Cancel-safe.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn pull_one(&mut self) -> Result<Vec<FeedItem>, StoreError> {
        let Ok(record) = self.next_record().await? else { return Ok(Vec::new()) };
        let data = record.data(self.filter.view, self.filter.may_decide.as_ref()).filter(|_| self.filter.wants(&record.kind));
        let id = self.cursor();
        Ok(data.map(|data| FeedItem::Event { id, event: Name::Record(record.kind.clone()), data }).into_iter().collect())
    }

    /// The next durable record, whatever the filter says. Cancel-safe.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn next_record(&mut self) -> Result<Result<Arc<FeedRecord>, Closing>, StoreError> {
        loop {
            self.wake.borrow_and_update();
            let found = {
                let inner = self.feed.lock();
                if inner.closings != self.presence.closings {
                    return Ok(Err(inner.closing.unwrap_or(Closing::Draining)));
                }
                let head = inner.overview.as_ref().map_or(0, |o| o.head);
                (self.seq < head).then(|| in_ring(&inner, self.seq + 1).next().cloned())
            };
            let record = match found {
                None => {
                    let _ = self.wake.changed().await;
                    continue;
                }
                Some(Some(record)) => record,
                Some(None) => match self.page(1).await?.pop() {
                    Some(record) => record,
                    None => return Err(StoreError(format!("record {} is missing", self.seq + 1))),
                },
            };
            self.passed(&record);
            return Ok(Ok(record));
        }
    }

    /// Where the reader stands.
    pub fn cursor(&self) -> Cursor {
        Cursor { seq: self.seq, n: if self.attempt == 0 { 0 } else { self.n as u64 } }
    }

    fn collect(&mut self) -> Collected {
        let feed = self.feed.clone();
        let mut inner = feed.lock();
        if inner.closings != self.presence.closings {
            return Collected::Closing(inner.closing.unwrap_or(Closing::Draining));
        }
        let head = inner.overview.as_ref().map_or(0, |o| o.head);
        let mut items = Vec::new();
        if self.seq < head {
            let records: Vec<_> = in_ring(&inner, self.seq + 1).cloned().collect();
            let closed = inner.closed.clone().filter(|c| self.presence.joined < c.at && self.seq < c.at);
            drop(inner);
            if records.is_empty() {
                return Collected::Older;
            }
            self.show(&records, closed.as_deref(), &mut items);
            return Collected::Items(items);
        }
        let of_turn = self.turn.is_none_or(|turn| inner.activity.turn == turn);
        let told = inner.activity.base <= head;
        let running = inner.overview.as_ref().map_or(&[][..], |o| &o.tools);
        let progress = if told { self.progress.due(&inner.activity, running, &self.filter, of_turn) } else { Vec::new() };
        let came = self.live(&mut inner, &mut items);
        drop(inner);
        items.extend(progress);
        if items.is_empty() && !came { Collected::Nothing } else { Collected::Items(items) }
    }

    async fn older(&mut self) -> Result<Vec<FeedItem>, StoreError> {
        let records = self.page(PAGE).await?;
        if records.is_empty() {
            return Err(StoreError(format!("record {} is missing", self.seq + 1)));
        }
        let mut items = Vec::new();
        self.show(&records, None, &mut items);
        Ok(items)
    }

    async fn page(&self, rows: usize) -> Result<Vec<Arc<FeedRecord>>, StoreError> {
        let most = Most { rows, bytes: PULL_BYTES };
        let stored = self.feed.store.read(&self.feed.session, self.seq, most).await?.rows;
        let broken = |e: serde_json::Error| StoreError(format!("a stored record cannot be read: {e}"));
        stored.into_iter().map(|r| FeedRecord::from_stored(r).map(Arc::new).map_err(broken)).collect()
    }

    /// `closed`: the newest text that is over, if it streamed while this reader was there; its rest stands before the record that closed it.
    fn show(&mut self, records: &[Arc<FeedRecord>], closed: Option<&ClosedText>, items: &mut Vec<FeedItem>) {
        let mut bytes = 0;
        for record in records {
            if bytes > PULL_BYTES {
                return;
            }
            let of_turn = self.turn.is_none_or(|turn| record.turn == Some(turn));
            let rest = closed.filter(|c| of_turn && c.at == record.seq && c.text.request == self.attempt);
            while let Some(run) = rest.and_then(|c| c.text.run_after(self.n, |event| self.filter.wants_live(event))) {
                if bytes > PULL_BYTES {
                    return;
                }
                self.n = run.to;
                bytes += run.data.len();
                items.push(self.live_item(run));
            }
            self.passed(record);
            if !of_turn || !self.filter.wants(&record.kind) {
                continue;
            }
            if let Some(data) = record.data(self.filter.view, self.filter.may_decide.as_ref()) {
                bytes += data.len();
                items.push(FeedItem::Event { id: self.cursor(), event: Name::Record(record.kind.clone()), data });
            }
        }
    }

    fn live_item(&self, run: Run) -> FeedItem {
        FeedItem::Event { id: Cursor { seq: self.seq, n: run.to as u64 }, event: Name::Live(run.event), data: run.data }
    }

    /// Moves behind the record: an edge of an attempt ends what was seen of the one before.
    fn passed(&mut self, record: &FeedRecord) {
        self.seq = record.seq;
        match record.effect {
            AttemptEffect::None => {}
            AttemptEffect::Opens => (self.attempt, self.n) = (record.seq, 0),
            AttemptEffect::Closes => (self.attempt, self.n) = (0, 0),
        }
    }

    /// The live text behind the last record. True when the reader moved.
    fn live(&mut self, inner: &mut Inner, items: &mut Vec<FeedItem>) -> bool {
        let open = inner.overview.as_ref().and_then(|o| o.attempt).map(|a| a.seq);
        let turn = inner.overview.as_ref().and_then(|o| o.turn);
        let Some(live) = inner.live.front_mut().filter(|l| Some(l.request) == open) else { return false };
        if self.turn.is_some() && self.turn != turn {
            return false;
        }
        if self.attempt != live.request {
            (self.attempt, self.n) = (live.request, 0);
        }
        let (before, mut bytes) = (self.n, 0);
        while self.n < live.visible() && bytes <= PULL_BYTES {
            match live.after(self.n, |event| self.filter.wants_live(event)) {
                Err(all) => self.n = all,
                Ok(run) => {
                    self.n = run.to;
                    bytes += run.data.len();
                    items.push(self.live_item(run));
                }
            }
        }
        self.n > before
    }
}

/// The records from `seq` on that are in memory, or none where the first of them is not.
fn in_ring(inner: &Inner, seq: Seq) -> impl Iterator<Item = &Arc<FeedRecord>> {
    let skip = inner.ring.front().filter(|first| first.seq <= seq).map(|first| usize::try_from(seq - first.seq).unwrap_or(usize::MAX));
    inner.ring.iter().skip(skip.unwrap_or(usize::MAX))
}

enum Collected {
    Items(Vec<FeedItem>),
    Closing(Closing),
    /// The next record is not in memory.
    Older,
    Nothing,
}
