//! How a client comes and comes back: at the start, at the head, from a page, after a POST, with its last id.

use std::sync::Arc;

use super::{Client, Kind, OwnStream, messages_of};
use crate::domain::{Cursor, Seq, View};
use crate::session::reader::{Filter, Reader};
use crate::session::record::FeedRecord;
use crate::session::tests::cursor::Seen;
use crate::session::tests::cursor::server::Server;

impl Client {
    pub(super) fn reset(&mut self, kind: Kind, server: &mut Server) {
        *self = Self { kind, ..Self::at(self.seed, self.view, None) };
        self.choose_view(server);
    }

    pub(super) fn join(&mut self, server: &mut Server) {
        let kinds = [Kind::Start, Kind::Start, Kind::Head, Kind::Records, Kind::Accepted, Kind::Transcript, Kind::Post, Kind::Post];
        let kind = kinds[server.dice.below(8)];
        self.reset(kind, server);
        match kind {
            Kind::Start => {}
            Kind::Head => {
                (self.url, self.since) = (server.head(), server.head());
                // the frame with an id and nothing else
                self.last = Some(Cursor { seq: self.url, n: 0 });
            }
            Kind::Records => {
                let limit = 1 + server.dice.below(server.log.len());
                self.fill(&server.log[..limit]);
                self.url = limit as Seq;
            }
            Kind::Accepted => {
                let (_, seq) = server.queue();
                server.flush();
                (self.url, self.since) = (seq, seq);
            }
            Kind::Transcript => {
                self.fill(&server.log);
                self.url = server.head();
            }
            Kind::Post => {
                let (message_id, seq) = server.queue();
                (self.url, self.since) = (seq - 1, seq - 1);
                self.post = Some(OwnStream { message_id, seq, process: server.process, follow: None, over: false });
            }
        }
        // a join with anything but its own last id has nothing live
        self.live.clear();
    }

    /// Pages of records or of the transcript.
    fn fill(&mut self, records: &[Arc<FeedRecord>]) {
        for record in records {
            if self.shows(&record.kind)
                && let Some(data) = record.data(self.view, &|_| false)
            {
                self.fold(&record.kind, &data);
            }
        }
    }

    pub(in crate::session::tests::cursor) fn connect(&mut self, server: &mut Server, seen: &mut Seen) {
        if let Some(post) = &self.post {
            if post.seq <= server.head() && self.reader.is_none() {
                self.reader = Some(self.reader_at(server, Cursor { seq: post.seq - 1, n: 0 }));
            }
            return;
        }
        if self.kind != Kind::Post && self.last.is_some() && server.dice.chance(10) {
            self.jump(server);
        }
        if self.types.is_none() && self.kind != Kind::Post && self.last.is_some() && server.dice.chance(10) {
            self.narrow(server);
        }
        let cursor = self.last.unwrap_or(Cursor { seq: self.url, n: 0 });
        let reader = self.reader_at(server, cursor);
        seen.resumed_inside += usize::from(cursor.n > 0 && reader.cursor() == cursor);
        self.reader = Some(reader);
    }

    pub(super) fn reader_at(&self, server: &Server, cursor: Cursor) -> Reader {
        let filter = Filter { view: self.view, types: self.types.clone(), may_decide: Arc::new(|_| false) };
        Reader::new(server.feed.clone(), filter, cursor).unwrap_or_else(|_| panic!("seed {}: {cursor} is refused", self.seed))
    }

    /// Fills up from pages of records and goes on from where they end.
    fn jump(&mut self, server: &Server) {
        let seen = usize::try_from(self.last.unwrap().seq).unwrap();
        self.fill(&server.log[seen..]);
        self.live.clear();
        (self.last, self.url) = (None, server.head());
    }

    /// A cursor serves a narrower view.
    fn narrow(&mut self, server: &Server) {
        self.view = View::Chat;
        self.live.retain(|_, (event, _)| event == "text_delta");
        self.messages = messages_of(server, self.view, |seq, id| seq > self.since && self.messages.contains_key(id));
    }
}
