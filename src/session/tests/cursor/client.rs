//! A client by the rule of the design: live text by message and block; `message` replaces, `retry` and `done` drop what is live.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures_util::FutureExt;
use serde_json::Value;

use super::Seen;
use super::server::Server;
use crate::domain::{Cursor, MessageId, Seq, View};
use crate::session::follow::{Fate, Follow};
use crate::session::reader::{FeedItem, Pulled, Reader};

mod join;

/// How the client joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Start,
    Head,
    Records,
    Accepted,
    Transcript,
    Post,
}

/// Text and event by message and block.
type Live = BTreeMap<(String, u64), (String, String)>;

#[derive(Debug)]
pub(super) struct Client {
    seed: u64,
    pub(super) kind: Kind,
    view: View,
    types: Option<Arc<BTreeSet<String>>>,
    /// The last id.
    last: Option<Cursor>,
    /// Where it joins without one.
    url: Seq,
    /// What it knows begins after this record.
    since: Seq,
    messages: BTreeMap<String, String>,
    users: BTreeSet<String>,
    live: Live,
    reader: Option<Reader>,
    post: Option<OwnStream>,
    /// The turn and the claim of its own message.
    own: Option<(u32, Seq)>,
}

/// A POST that streams.
#[derive(Debug)]
struct OwnStream {
    message_id: MessageId,
    seq: Seq,
    process: u32,
    follow: Option<Follow>,
    over: bool,
}

impl Client {
    pub(super) fn new(seed: u64, server: &mut Server) -> Self {
        let mut client = Self::at(seed, View::Owner, None);
        client.choose_view(server);
        client
    }

    /// One that joins at the start and sees what `other` sees.
    pub(super) fn fresh(seed: u64, other: &Client) -> Self {
        Self::at(seed, other.view, other.types.clone())
    }

    fn at(seed: u64, view: View, types: Option<Arc<BTreeSet<String>>>) -> Self {
        let (messages, users, live) = Default::default();
        let (last, reader, post, own) = (None, None, None, None);
        Self { seed, kind: Kind::Start, view, types, last, url: 0, since: 0, messages, users, live, reader, post, own }
    }

    fn choose_view(&mut self, server: &mut Server) {
        const TYPES: [&str; 7] =
            ["text_delta", "reasoning_delta", "tool_input_delta", "message", "tool_error", "message_queued", "message_removed"];
        let dice = &mut server.dice;
        self.view = [View::Chat, View::Owner, View::Admin][dice.below(3)];
        self.types = None;
        if dice.chance(30) && !matches!(self.kind, Kind::Transcript | Kind::Post) {
            let mut types: BTreeSet<String> = (0..=dice.below(3)).map(|_| TYPES[dice.below(7)].to_owned()).collect();
            if types.iter().any(|t| t.starts_with("message_")) {
                types.extend(["message_queued".to_owned(), "message_removed".to_owned()]);
            }
            self.types = Some(Arc::new(types));
        }
    }

    /// What it does while the server takes one step.
    pub(super) fn turn(&mut self, server: &mut Server, seen: &mut Seen) {
        if self.reader.as_ref().is_some_and(|r| !Arc::ptr_eq(r.feed(), &server.feed)) {
            self.cut();
        }
        // a POST is not answered before its message is durable: a crash before that means that it never was
        if self.post.as_ref().is_some_and(|p| p.process != server.process && self.last.is_none() && !server.has(&p.message_id)) {
            self.reset(Kind::Start, server);
        }
        if server.dice.chance(5) {
            self.join(server);
        }
        if self.reader.is_none() && server.dice.chance(60) {
            self.connect(server, seen);
        }
        if self.reader.is_none() {
            return;
        }
        for _ in 0..[0, 1, 1, 2, 4][server.dice.below(5)] {
            if !self.pull(server) {
                if self.reader.is_some() {
                    self.check(server, seen);
                }
                break;
            }
        }
        if server.dice.chance(15) {
            self.cut();
        }
    }

    pub(super) fn cut(&mut self) {
        self.reader = None;
        if self.last.is_some() {
            self.post = None;
        }
    }

    pub(super) fn drain(&mut self, server: &Server) {
        while self.reader.is_some() && self.pull_whole(server) {}
    }

    fn pull_whole(&mut self, server: &Server) -> bool {
        let items = self.items(server);
        items.iter().for_each(|item| self.take(item, server));
        !items.is_empty()
    }

    /// Takes what is there; perhaps only the first of it, because the connection ends in the middle. False when there is nothing.
    fn pull(&mut self, server: &mut Server) -> bool {
        let items = self.items(server);
        let may_be_cut = self.post.is_none() || self.last.is_some();
        let cut = (may_be_cut && server.dice.chance(20)).then(|| server.dice.below(items.len() + 1));
        for item in items.iter().take(cut.unwrap_or(usize::MAX)) {
            self.take(item, server);
        }
        if cut.is_some() {
            self.cut();
            return false;
        }
        !items.is_empty()
    }

    fn items(&mut self, server: &Server) -> Vec<FeedItem> {
        if self.post.is_some() {
            return self.own_items(server);
        }
        let Some(reader) = &mut self.reader else { return Vec::new() };
        match reader.pull().now_or_never() {
            None => Vec::new(),
            Some(Ok(Pulled::Items(items))) => items,
            Some(other) => panic!("seed {}: {other:?}", self.seed),
        }
    }

    /// `message_queued`, then its turn from the claim on, as the route sends them.
    fn own_items(&mut self, server: &Server) -> Vec<FeedItem> {
        let (Some(post), Some(reader)) = (&mut self.post, &mut self.reader) else { return Vec::new() };
        if post.over {
            return Vec::new();
        }
        let Some(follow) = &mut post.follow else {
            post.follow = Follow::new(&server.feed, post.message_id.clone(), post.seq);
            return reader.pull_one().now_or_never().unwrap().unwrap();
        };
        if self.own.is_none() {
            let (seq, turn) = match follow.fate().now_or_never() {
                None => return Vec::new(),
                Some(Ok(Fate::Claimed { turn, seq })) => (seq, Some(turn)),
                Some(Ok(Fate::Removed { seq })) => (seq, None),
                Some(other) => panic!("seed {}: {other:?}", self.seed),
            };
            post.over = turn.is_none();
            self.own = turn.map(|turn| (turn, seq));
            let mut reader = self.reader_at(server, Cursor { seq: seq - 1, n: 0 });
            if let Some(turn) = turn {
                reader.only_turn(turn);
            }
            let first = reader.pull_one().now_or_never().unwrap().unwrap();
            self.reader = Some(reader);
            return first;
        }
        match reader.pull().now_or_never() {
            None => Vec::new(),
            Some(Ok(Pulled::Items(mut items))) => {
                let is_done = |item: &FeedItem| matches!(item, FeedItem::Event { event, .. } if event.as_str() == "done");
                if let Some(end) = items.iter().position(is_done) {
                    items.truncate(end + 1);
                    post.over = true;
                }
                items
            }
            Some(other) => panic!("seed {}: {other:?}", self.seed),
        }
    }

    fn take(&mut self, item: &FeedItem, server: &Server) {
        let FeedItem::Event { id, event, data } = item else { return };
        assert!(self.last.is_none_or(|last| last < *id), "seed {}: {id} after {:?}", self.seed, self.last);
        self.last = Some(*id);
        let value: Value = serde_json::from_str(data).unwrap();
        if !event.as_str().ends_with("_delta") {
            assert!(id.n == 0 || server.attempt_at(id.seq).is_some(), "seed {}: {id} counts deltas where no attempt is open", self.seed);
            return self.fold(event.as_str(), data);
        }
        let (key, text) = match event.as_str() {
            "tool_input_delta" => ((String::new(), 0), value["tool_call_id"].as_str().unwrap()),
            _ => ((value["message_id"].as_str().unwrap().to_owned(), value["block"].as_u64().unwrap()), value["text"].as_str().unwrap()),
        };
        self.live.entry(key).or_insert_with(|| (event.as_str().to_owned(), String::new())).1.push_str(text);
        // exactly the first n of this attempt, as far as this client sees them
        let attempt = server.attempt_at(id.seq).unwrap_or_else(|| panic!("seed {}: {id} is of no attempt", self.seed));
        let want = self.live_of(server, attempt, usize::try_from(id.n).unwrap());
        assert_eq!(self.live, want, "seed {}: a delta came twice or was lost at {id}", self.seed);
    }

    fn fold(&mut self, event: &str, data: &str) {
        let value: Value = serde_json::from_str(data).unwrap();
        let message_id = value["message_id"].as_str().unwrap_or_default().to_owned();
        match event {
            "message" => {
                if value["author"].is_null() {
                    self.live.clear();
                }
                self.messages.insert(message_id, data.to_owned());
            }
            "retry" | "done" => self.live.clear(),
            "message_queued" => drop(self.users.insert(message_id)),
            "message_removed" => drop(self.users.remove(&message_id)),
            _ => {}
        }
    }

    /// The design's own words on filters, not the reader's function.
    fn shows(&self, event: &str) -> bool {
        let chat_hides = matches!(event, "request" | "reasoning_delta" | "tool_input_delta");
        let hidden = match self.view {
            View::Chat => chat_hides,
            View::Owner => event == "request",
            View::Admin => false,
        };
        let wanted = self.types.as_ref().is_none_or(|types| {
            let deltas = types.iter().any(|t| t.ends_with("_delta"));
            types.contains(event) || (deltas && matches!(event, "message" | "retry" | "done"))
        });
        wanted && !hidden
    }

    fn live_of(&self, server: &Server, attempt: Seq, n: usize) -> Live {
        let attempt = &server.attempts[&attempt];
        let mut live = Live::new();
        for sent in attempt.sent.iter().take(n).filter(|s| self.shows(s.event)) {
            let key = match sent.event {
                "tool_input_delta" => (String::new(), 0),
                _ => (attempt.message_id.to_string(), u64::from(sent.block)),
            };
            live.entry(key).or_insert_with(|| (sent.event.to_owned(), String::new())).1.push_str(&sent.text);
        }
        live
    }

    /// Compares with what the ledger and the attempt in memory say.
    pub(super) fn check(&self, server: &Server, seen: &mut Seen) {
        seen.quiet += 1;
        let context = || format!("seed {} {:?} {:?} {:?} at {:?}", self.seed, self.kind, self.view, self.types, self.last);
        if self.kind == Kind::Post {
            self.check_own(server, seen, &context());
        } else {
            let shown = self.shows("message");
            assert_eq!(self.messages, messages_of(server, self.view, |seq, _| shown && seq > self.since), "{}", context());
            assert_eq!(self.users, self.users_of(server), "{}", context());
        }
        let own_turn = self.post.is_none() || (self.own.is_some() && self.own.map(|o| o.0) == server.open_turn());
        match server.open_attempt() {
            _ if !own_turn => {}
            None => assert!(self.live.is_empty(), "{}: {:?}", context(), self.live),
            Some(open) if server.newest != Some(open) => {}
            Some(open) => {
                let visible = server.attempts[&open].sent.iter().take_while(|s| s.base <= server.head()).count();
                assert_eq!(self.live, self.live_of(server, open, visible), "{}", context());
                seen.live += usize::from(!self.live.is_empty());
            }
        }
    }

    fn check_own(&self, server: &Server, seen: &mut Seen, context: &str) {
        seen.posts += usize::from(self.post.as_ref().is_some_and(|p| p.over));
        let Some((turn, claim)) = self.own else { return };
        let of_turn = |seq: Seq| seq > claim && server.log[usize::try_from(seq).unwrap() - 1].turn == Some(turn);
        for (id, data) in messages_of(server, self.view, |seq, _| of_turn(seq)) {
            assert_eq!(self.messages.get(&id), Some(&data), "{context}");
        }
    }

    fn users_of(&self, server: &Server) -> BTreeSet<String> {
        let mut users = BTreeSet::new();
        for record in server.log.iter().filter(|r| self.shows(&r.kind)) {
            let id = || serde_json::from_str::<Value>(&record.json).unwrap()["message_id"].as_str().unwrap().to_owned();
            match &*record.kind {
                "message_queued" if record.seq > self.since => drop(users.insert(id())),
                "message_removed" => drop(users.remove(&id())),
                _ => {}
            }
        }
        users
    }

    /// The same as one that joined at the start, as far as this one goes back.
    pub(super) fn equals(&self, fresh: &Client, server: &Server) {
        let mine = messages_of(server, self.view, |seq, _| seq > self.since);
        let theirs: BTreeMap<_, _> = fresh.messages.clone().into_iter().filter(|(id, _)| mine.contains_key(id)).collect();
        assert_eq!(self.messages, theirs, "seed {}", self.seed);
        assert_eq!(self.live, fresh.live, "seed {}", self.seed);
    }
}

fn messages_of(server: &Server, view: View, of: impl Fn(Seq, &str) -> bool) -> BTreeMap<String, String> {
    let messages = server.log.iter().filter(|r| &*r.kind == "message").filter_map(|record| {
        let data = record.data(view, &|_| false)?;
        let id = serde_json::from_str::<Value>(&data).unwrap()["message_id"].as_str().unwrap().to_owned();
        of(record.seq, &id).then(|| (id, data.to_string()))
    });
    messages.collect()
}
