//! One reader of a feed: a cursor that pulls.
//!
//! It holds a position and nothing else; what it has not pulled costs nobody memory. Records come first, then the live text of the attempt
//! that is open at its position. `(seq, n)` never goes back.

use std::sync::Arc;

use tokio::sync::watch;

use super::feed::{Closing, Feed, Inner};
use super::live::Run;
use super::record::FeedRecord;
use crate::domain::event::AttemptEffect;
use crate::domain::{Cursor, Seq, View};
use crate::store::StoreError;

mod filter;
mod progress;

pub use filter::Filter;
use progress::Progress;

/// Records of one read of the store.
const PAGE: usize = 256;
/// The most bytes that one pull gives, and one event more: a reader that is far behind must not hold all that it missed at once.
const PULL_BYTES: usize = 256 * 1024;

/// Marks a reader as there before it reads: text that streams from here on is kept for it.
#[derive(Debug)]
pub struct Presence {
    joined: Seq,
    _wake: watch::Receiver<()>,
}

impl Presence {
    pub fn new(feed: &Feed) -> Self {
        let wake = feed.subscribe();
        Self { joined: feed.overview().map_or(0, |o| o.head), _wake: wake }
    }
}

/// Something for the reader, in the order in which it is to be shown.
#[derive(Clone, Debug)]
pub enum Item {
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
    Items(Vec<Item>),
    /// The stream ends here.
    Closing(Closing),
}

/// A start that cannot be honoured: the reader begins anew from record 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ahead;

/// A position in a feed, and a filter.
#[derive(Debug)]
pub struct Reader {
    feed: Arc<Feed>,
    filter: Filter,
    wake: watch::Receiver<()>,
    closings: u64,
    /// The durable head when it came: text that was closed by then is not shown as live any more.
    joined: Seq,
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
    /// When the cursor is ahead of what is durable.
    pub fn new(feed: Arc<Feed>, filter: Filter, start: Cursor) -> Result<Self, Ahead> {
        let mut reader = Self::from_start(feed, filter);
        (reader.seq, reader.attempt, reader.n) = {
            let inner = reader.feed.lock();
            let (head, edge) = inner.overview.as_ref().map_or((0, 0), |o| (o.head, o.attempt_edge));
            if start.seq > head {
                return Err(Ahead);
            }
            // n counts only if nothing has opened or closed an attempt since, and the one open there is the one in memory
            match inner.live.as_ref().filter(|l| start.seq >= edge && l.request == edge) {
                None => (start.seq, 0, 0),
                Some(live) if start.n > live.visible() as u64 => return Err(Ahead),
                Some(live) => (start.seq, live.request, usize::try_from(start.n).unwrap_or(0)),
            }
        };
        Ok(reader)
    }

    /// A reader before record 1.
    pub fn from_start(feed: Arc<Feed>, filter: Filter) -> Self {
        let wake = feed.subscribe();
        let (closings, joined) = {
            let inner = feed.lock();
            (inner.closings, inner.overview.as_ref().map_or(0, |o| o.head))
        };
        Self { feed, filter, wake, closings, joined, seq: 0, attempt: 0, n: 0, turn: None, progress: Progress::default() }
    }

    /// From here on only what belongs to that turn.
    pub fn only_turn(&mut self, turn: u32) {
        self.turn = Some(turn);
    }

    /// As if it had come with that presence: what has streamed since is shown as it streamed.
    pub fn since(&mut self, presence: &Presence) {
        self.joined = presence.joined;
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

    /// The next durable record as this reader sees it. It is there already.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn pull_one(&mut self) -> Result<Vec<Item>, StoreError> {
        let Ok(record) = self.next_record().await? else { return Ok(Vec::new()) };
        let data = record.data(self.filter.view, self.filter.may_decide.as_ref()).filter(|_| self.filter.wants(&record.kind));
        let id = self.cursor();
        Ok(data.map(|data| Item::Event { id, event: Name::Record(record.kind.clone()), data }).into_iter().collect())
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
                if inner.closings != self.closings {
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
        if inner.closings != self.closings {
            return Collected::Closing(inner.closing.unwrap_or(Closing::Draining));
        }
        let head = inner.overview.as_ref().map_or(0, |o| o.head);
        let mut items = Vec::new();
        if self.seq < head {
            let records: Vec<_> = in_ring(&inner, self.seq + 1).cloned().collect();
            let rest = self.rest(&mut inner);
            drop(inner);
            if records.is_empty() {
                return Collected::Older;
            }
            self.show(&records, rest, &mut items);
            return Collected::Items(items);
        }
        let of_turn = self.turn.is_none_or(|turn| inner.overview.as_ref().and_then(|o| o.turn) == Some(turn));
        let progress = self.progress.due(&inner.activity, &self.filter, of_turn);
        let came = self.live(&mut inner, &mut items);
        drop(inner);
        items.extend(progress);
        if items.is_empty() && !came { Collected::Nothing } else { Collected::Items(items) }
    }

    async fn older(&mut self) -> Result<Vec<Item>, StoreError> {
        let records = self.page(PAGE).await?;
        if records.is_empty() {
            return Err(StoreError(format!("record {} is missing", self.seq + 1)));
        }
        let mut items = Vec::new();
        self.show(&records, None, &mut items);
        Ok(items)
    }

    async fn page(&self, limit: usize) -> Result<Vec<Arc<FeedRecord>>, StoreError> {
        let stored = self.feed.store.read(&self.feed.session, self.seq, limit).await?;
        let broken = |e: serde_json::Error| StoreError(format!("a stored record cannot be read: {e}"));
        stored.into_iter().map(|r| FeedRecord::from_stored(r).map(Arc::new).map_err(broken)).collect()
    }

    fn show(&mut self, records: &[Arc<FeedRecord>], mut rest: Option<Rest>, items: &mut Vec<Item>) {
        let mut bytes = 0;
        for record in records {
            if bytes > PULL_BYTES {
                return;
            }
            let of_turn = self.turn.is_none_or(|turn| record.turn == Some(turn));
            if let Some(rest) = rest.take_if(|rest| rest.closed_at == record.seq && rest.request == self.attempt && of_turn) {
                let id = |run: &Run| Cursor { seq: self.seq, n: run.to as u64 };
                items.extend(rest.runs.into_iter().map(|run| Item::Event { id: id(&run), event: Name::Live(run.event), data: run.data }));
            }
            self.passed(record);
            if !of_turn || !self.filter.wants(&record.kind) {
                continue;
            }
            if let Some(data) = record.data(self.filter.view, self.filter.may_decide.as_ref()) {
                bytes += data.len();
                items.push(Item::Event { id: self.cursor(), event: Name::Record(record.kind.clone()), data });
            }
        }
    }

    /// What of the newest closed text this reader has not seen, if it was there when it streamed.
    fn rest(&self, inner: &mut Inner) -> Option<Rest> {
        let closed = inner.closed.as_mut().filter(|c| self.joined < c.at && self.seq < c.at)?;
        let (request, closed_at) = (closed.text.request, closed.at);
        let mut n = if self.attempt == request { self.n } else { 0 };
        let mut runs = Vec::new();
        while n < closed.text.visible() {
            let wants = |view: View, event: &str| view.shows_live(event) && self.filter.wants(event);
            match closed.text.after(n, wants, self.filter.view) {
                Err(all) => n = all,
                Ok(run) => {
                    n = run.to;
                    runs.push(run);
                }
            }
        }
        Some(Rest { request, closed_at, runs })
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
    fn live(&mut self, inner: &mut Inner, items: &mut Vec<Item>) -> bool {
        let open = inner.overview.as_ref().and_then(|o| o.attempt).map(|a| a.seq);
        let turn = inner.overview.as_ref().and_then(|o| o.turn);
        let Some(live) = inner.live.as_mut().filter(|l| Some(l.request) == open) else { return false };
        if self.turn.is_some() && self.turn != turn {
            return false;
        }
        if self.attempt != live.request {
            (self.attempt, self.n) = (live.request, 0);
        }
        let (before, mut bytes) = (self.n, 0);
        while self.n < live.visible() && bytes <= PULL_BYTES {
            let wants = |view: View, event: &str| view.shows_live(event) && self.filter.wants(event);
            match live.after(self.n, wants, self.filter.view) {
                Err(all) => self.n = all,
                Ok(run) => {
                    self.n = run.to;
                    bytes += run.data.len();
                    let id = Cursor { seq: self.seq, n: run.to as u64 };
                    items.push(Item::Event { id, event: Name::Live(run.event), data: run.data });
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

/// The end of a text that streamed while this reader was there, to be shown before the record that closed it.
struct Rest {
    request: Seq,
    closed_at: Seq,
    runs: Vec<Run>,
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.feed.leave();
    }
}

enum Collected {
    Items(Vec<Item>),
    Closing(Closing),
    /// The next record is not in memory.
    Older,
    Nothing,
}
