//! One reader of a feed: a cursor that pulls.
//!
//! It holds a position and nothing else; what it has not pulled costs nobody memory. Records come first, then the live text of the attempt
//! that is open at its position. `(seq, n)` never goes back.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};

use super::feed::{Closing, Feed, Inner};
use super::record::FeedRecord;
use crate::domain::event::AttemptEffect;
use crate::domain::live::StreamMode;
use crate::domain::{Cursor, Seq, View};
use crate::store::StoreError;

/// Records of one read of the store.
const PAGE: usize = 256;
/// The most bytes of records that one pull gives.
const PULL_BYTES: usize = 256 * 1024;
/// How often progress is sent while the mode stays.
const PROGRESS: Duration = Duration::from_millis(250);

/// What a reader wants to see.
#[derive(Clone)]
pub struct Filter {
    pub view: View,
    /// Only these events; `None` is all. A delta type brings `message`, `retry` and `done` along.
    pub types: Option<Arc<BTreeSet<String>>>,
    /// Whether the reader may decide on calls of that tool.
    pub may_decide: Arc<dyn Fn(&str) -> bool + Send + Sync>,
}

impl fmt::Debug for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Filter").field("view", &self.view).field("types", &self.types).finish_non_exhaustive()
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
    /// All records up to here were seen.
    seq: Seq,
    /// The attempt that is open here, by its `request`, and how many of its deltas were seen. 0 is none.
    attempt: Seq,
    n: usize,
    /// Only records of this turn.
    turn: Option<u32>,
    mode: Option<StreamMode>,
    chars: u64,
    progress_at: Option<Instant>,
    reports: u64,
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
        let closings = feed.lock().closings;
        Self { feed, filter, wake, closings, seq: 0, attempt: 0, n: 0, turn: None, mode: None, chars: 0, progress_at: None, reports: 0 }
    }

    /// From here on only what belongs to that turn.
    pub fn only_turn(&mut self, turn: u32) {
        self.turn = Some(turn);
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
        let data = record.data(self.filter.view, self.filter.may_decide.as_ref()).filter(|_| self.wants(&record.kind));
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
            drop(inner);
            if records.is_empty() {
                return Collected::Older;
            }
            self.show(&records, &mut items);
            return Collected::Items(items);
        }
        let progress = self.progress(&inner);
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
        self.show(&records, &mut items);
        Ok(items)
    }

    async fn page(&self, limit: usize) -> Result<Vec<Arc<FeedRecord>>, StoreError> {
        let stored = self.feed.store.read(&self.feed.session, self.seq, limit).await?;
        let broken = |e: serde_json::Error| StoreError(format!("a stored record cannot be read: {e}"));
        stored.into_iter().map(|r| FeedRecord::from_stored(r).map(Arc::new).map_err(broken)).collect()
    }

    fn show(&mut self, records: &[Arc<FeedRecord>], items: &mut Vec<Item>) {
        let mut bytes = 0;
        for record in records {
            if bytes > PULL_BYTES {
                return;
            }
            self.passed(record);
            let of_turn = self.turn.is_none_or(|turn| record.turn == Some(turn));
            if !of_turn || !self.wants(&record.kind) {
                continue;
            }
            if let Some(data) = record.data(self.filter.view, self.filter.may_decide.as_ref()) {
                bytes += data.len();
                items.push(Item::Event { id: self.cursor(), event: Name::Record(record.kind.clone()), data });
            }
        }
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
        let before = self.n;
        while self.n < live.visible() {
            let wants = |view: View, event: &str| view.shows_live(event) && wants(&self.filter, event);
            match live.after(self.n, wants, self.filter.view) {
                Err(all) => self.n = all,
                Ok(run) => {
                    self.n = run.to;
                    let id = Cursor { seq: self.seq, n: run.to as u64 };
                    items.push(Item::Event { id, event: Name::Live(run.event), data: run.data });
                }
            }
        }
        self.n > before
    }

    /// Progress that is due: the mode changed, or text has come for a while; and new reports of running tools.
    fn progress(&mut self, inner: &Inner) -> Vec<Item> {
        let activity = &inner.activity;
        let of_turn = self.turn.is_none_or(|turn| inner.overview.as_ref().and_then(|o| o.turn) == Some(turn));
        let mut items = Vec::new();
        let Some(mode) = activity.mode.filter(|_| of_turn) else {
            (self.mode, self.chars, self.reports) = (None, 0, 0);
            return items;
        };
        let due = self.progress_at.is_none_or(|at| at.elapsed() >= PROGRESS) && activity.chars > self.chars;
        if (self.mode != Some(mode) || due) && self.wants("stream_progress") {
            let char_delta = activity.chars.saturating_sub(self.chars);
            let data = json!({"mode": mode, "char_delta": char_delta}).to_string().into();
            items.push(Item::Passing { event: "stream_progress", data });
            (self.mode, self.chars, self.progress_at) = (Some(mode), activity.chars, Some(Instant::now()));
        }
        if activity.reports > self.reports && self.filter.view.shows_live("tool_progress") && self.wants("tool_progress") {
            let newer = activity.tools.values().filter(|(number, _)| *number > self.reports);
            items.extend(newer.map(|(_, data)| Item::Passing { event: "tool_progress", data: data.clone() }));
        }
        self.reports = activity.reports;
        items
    }

    fn wants(&self, event: &str) -> bool {
        wants(&self.filter, event)
    }
}

fn wants(filter: &Filter, event: &str) -> bool {
    let Some(types) = &filter.types else { return true };
    let ends_deltas = matches!(event, "message" | "retry" | "done");
    types.contains(event) || (ends_deltas && types.iter().any(|t| t.ends_with("_delta")))
}

/// The records from `seq` on that are in memory, or none where the first of them is not.
fn in_ring(inner: &Inner, seq: Seq) -> impl Iterator<Item = &Arc<FeedRecord>> {
    let skip = inner.ring.front().filter(|first| first.seq <= seq).map(|first| usize::try_from(seq - first.seq).unwrap_or(usize::MAX));
    inner.ring.iter().skip(skip.unwrap_or(usize::MAX))
}

enum Collected {
    Items(Vec<Item>),
    Closing(Closing),
    /// The next record is not in memory.
    Older,
    Nothing,
}
