//! What the engine in memory has committed, and what the port's calls mean on it. Plain data, no locks: the short statement of what
//! [`super::super::sqlite`] does in SQL, held to the same tests.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::outside::Pairings;
use crate::domain::delivery::DeliveryView;
use crate::domain::pending::{Item, ItemKind, ItemStatus};
use crate::domain::{DeliveryId, DigestId, Overview, Seq, SessionId, Timestamp};
use crate::store::{
    Append, Appended, ApprovalFilter, INTAKE_KEPT, IntakeRow, Loaded, Most, Pending, Position, SessionFilter, Slice, Snapshot,
    StoredRecord, TRANSCRIPT_KINDS,
};

#[derive(Debug, Default)]
pub(super) struct Disk {
    pub(super) sessions: BTreeMap<SessionId, Session>,
    intake: BTreeMap<(String, String, String), IntakeRow>,
    /// By tenant, scope and name.
    pub(super) aliases: BTreeMap<(String, String, String), SessionId>,
    pub(super) pairings: Pairings,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) overview: Overview,
    deleted: bool,
    wake_at: Option<Timestamp>,
    records: Vec<StoredRecord>,
    blobs: BTreeMap<DigestId, Arc<[u8]>>,
    snapshot: Option<Snapshot>,
    items: BTreeMap<String, Item>,
    pub(super) deliveries: BTreeMap<DeliveryId, DeliveryView>,
}

impl Disk {
    pub(super) fn append(&mut self, append: &Append) -> Appended {
        if let Some(taken) = append.intake.iter().find_map(|row| self.intake(row.key())) {
            return Appended::IntakeTaken(taken);
        }
        let parent_gone = append.overview.parent.as_ref().is_some_and(|parent| self.session(&parent.as_str().into()).is_none());
        let session = match self.sessions.get_mut(&append.session) {
            Some(session) if !session.deleted && session.head() == append.expected.0 => session,
            None if append.expected == Position(0) && !parent_gone => {
                self.sessions.entry(append.session.clone()).or_insert_with(|| Session::new(append.overview.clone()))
            }
            Some(_) | None => return Appended::Conflict,
        };
        session.records.extend(append.records.iter().cloned());
        session.overview = append.overview.clone();
        session.wake_at = append.wake_at;
        for (id, bytes) in &append.blobs {
            session.blobs.entry(id.clone()).or_insert_with(|| bytes.clone());
        }
        session.items.extend(append.items.iter().map(|item| (item.id().to_owned(), item.clone())));
        session.deliveries.extend(append.deliveries.iter().map(|view| (view.delivery_id.clone(), view.clone())));
        self.put_aliases(append.aliases.clone());
        for row in &append.intake {
            let (tenant, scope, external_id) = row.key();
            self.intake.insert((tenant.into(), scope.into(), external_id.into()), row.clone());
        }
        Appended::Committed(append.position())
    }

    /// One that is not marked.
    pub(super) fn session(&self, id: &SessionId) -> Option<&Session> {
        self.sessions.get(id).filter(|session| !session.deleted)
    }

    pub(super) fn live(&self) -> impl Iterator<Item = (&SessionId, &Session)> {
        self.sessions.iter().filter(|(_, session)| !session.deleted)
    }

    pub(super) fn read(&self, id: &SessionId, after: Seq, most: Most) -> Slice<StoredRecord> {
        self.session(id).map_or_else(Slice::empty, |session| records(session.after(after), most))
    }

    pub(super) fn transcript(&self, id: &SessionId, after: Seq, most: Most) -> (Slice<StoredRecord>, Seq) {
        let Some(session) = self.session(id) else { return (Slice::empty(), 0) };
        let of_it = session.after(after).filter(|record| TRANSCRIPT_KINDS.contains(&record.kind.as_str()));
        (records(of_it, most), session.head())
    }

    pub(super) fn load(&self, id: &SessionId) -> Option<Loaded> {
        self.session(id).map(|session| Loaded { position: Position(session.head()), snapshot: session.snapshot.clone() })
    }

    pub(super) fn overview(&self, id: &SessionId) -> Option<Overview> {
        self.session(id).map(|session| session.overview.clone())
    }

    pub(super) fn sessions(&self, filter: &SessionFilter) -> Slice<Overview> {
        let end = match &filter.after {
            None => None,
            Some(after) => match self.sessions.get(after).filter(|s| s.overview.tenant == filter.tenant) {
                Some(session) => Some((session.overview.created_at, after)),
                None => return Slice::empty(),
            },
        };
        let mut rows: Vec<&Overview> = self
            .live()
            .map(|(_, session)| &session.overview)
            .filter(|row| row.tenant == filter.tenant && row.parent.is_none())
            .filter(|row| filter.owner.as_ref().is_none_or(|owner| *owner == row.owner))
            .filter(|row| filter.channel.as_ref().is_none_or(|channel| *channel == row.channel))
            .filter(|row| end.is_none_or(|end| (row.created_at, &row.id) < end))
            .collect();
        rows.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        take(rows.into_iter().map(|row| (json_bytes(row), row.clone())), Most::rows(filter.limit))
    }

    pub(super) fn approvals(&self, filter: &ApprovalFilter) -> Slice<(SessionId, Item)> {
        let of_tenant = |session: &Session| session.overview.tenant == filter.tenant;
        let start = match &filter.after {
            None => None,
            Some(after) => {
                let named = self.sessions.values().filter(|s| of_tenant(s)).find_map(|s| s.items.get(after)).filter(|i| is_approval(i));
                let Some(item) = named else { return Slice::empty() };
                Some((item.requested_at, after.as_str()))
            }
        };
        let mut rows: Vec<(&SessionId, &Item)> = self
            .live()
            .filter(|(id, session)| of_tenant(session) && filter.session.as_ref().is_none_or(|wanted| wanted == *id))
            .filter(|(_, session)| filter.owner.as_ref().is_none_or(|owner| *owner == session.overview.owner))
            .flat_map(|(id, session)| session.items.values().map(move |item| (id, item)))
            .filter(|(_, item)| is_approval(item) && filter.status.is_none_or(|status| status == item.status()))
            .filter(|(_, item)| start.is_none_or(|start| (item.requested_at, item.id()) > start))
            .collect();
        rows.sort_by(|(_, a), (_, b)| (a.requested_at, a.id()).cmp(&(b.requested_at, b.id())));
        take(rows.into_iter().map(|(id, item)| (json_bytes(item), (id.clone(), item.clone()))), Most::rows(filter.limit))
    }

    pub(super) fn item(&self, id: &SessionId, item: &str) -> Option<Item> {
        self.session(id).and_then(|session| session.items.get(item).cloned())
    }

    pub(super) fn intake(&self, (tenant, scope, external_id): (&str, &str, &str)) -> Option<IntakeRow> {
        self.intake.get(&(tenant.to_owned(), scope.to_owned(), external_id.to_owned())).cloned()
    }

    pub(super) fn blob(&self, id: &SessionId, blob: &DigestId) -> Option<Vec<u8>> {
        self.session(id).and_then(|session| session.blobs.get(blob).map(|bytes| bytes.to_vec()))
    }

    pub(super) fn save_snapshot(&mut self, id: &SessionId, snapshot: Snapshot) {
        if let Some(session) = self.sessions.get_mut(id).filter(|session| !session.deleted) {
            let further = |old: &Snapshot| old.fold_version == snapshot.fold_version && old.through_seq > snapshot.through_seq;
            if !session.snapshot.as_ref().is_some_and(further) {
                session.snapshot = Some(snapshot);
            }
        }
    }

    pub(super) fn due(&self, now: Timestamp, limit: usize) -> (Vec<SessionId>, Option<Timestamp>) {
        let mut times: Vec<(Timestamp, &SessionId)> = self.live().filter_map(|(id, session)| session.wake_at.map(|at| (at, id))).collect();
        times.sort();
        let due = times.iter().take_while(|(at, _)| *at <= now).take(limit).map(|(_, id)| (*id).clone()).collect();
        (due, times.iter().map(|(at, _)| *at).find(|at| *at > now))
    }

    pub(super) fn mark_deleted(&mut self, id: &SessionId) -> bool {
        if self.session(id).is_none() {
            return false;
        }
        for id in self.tree(id) {
            if let Some(session) = self.sessions.get_mut(&id) {
                session.deleted = true;
            }
        }
        true
    }

    pub(super) fn erase(&mut self, id: &SessionId) {
        if self.sessions.get(id).is_none_or(|session| !session.deleted) {
            return;
        }
        for id in self.tree(id) {
            self.sessions.remove(&id);
            self.aliases.retain(|_, session| *session != id);
            for row in self.intake.values_mut().filter(|row| row.session == id) {
                row.message_id = None;
                row.seq = 0;
            }
        }
    }

    pub(super) fn marked(&self) -> Vec<SessionId> {
        let is_marked = |id: &str| self.sessions.get(&id.into()).is_some_and(|session| session.deleted);
        let below_one = |session: &Session| session.overview.parent.as_deref().is_some_and(is_marked);
        self.sessions.iter().filter(|(_, session)| session.deleted && !below_one(session)).map(|(id, _)| id.clone()).collect()
    }

    pub(super) fn pending(&self) -> Pending {
        let mut pending = Pending::default();
        for item in self.live().flat_map(|(_, session)| session.items.values()).filter(|item| item.status() == ItemStatus::Pending) {
            *match item.kind {
                ItemKind::Approval(_) => &mut pending.approvals,
                ItemKind::Question(_) => &mut pending.questions,
                ItemKind::ClientCall(_) => &mut pending.client_calls,
            } += 1;
        }
        pending
    }

    /// A session and all below it.
    fn tree(&self, root: &SessionId) -> BTreeSet<SessionId> {
        let mut tree = BTreeSet::from([root.clone()]);
        let mut look = vec![root.clone()];
        while let Some(parent) = look.pop() {
            let children = self.sessions.iter().filter(|(_, session)| session.overview.parent.as_deref() == Some(parent.as_str()));
            look.extend(children.map(|(id, _)| id.clone()).filter(|id| tree.insert(id.clone())));
        }
        tree
    }

    /// Removes old intake rows.
    pub(super) fn sweep(&mut self) {
        let newest = self.intake.values().map(|row| row.at).max().unwrap_or_default();
        self.intake.retain(|_, row| newest.since(row.at) <= INTAKE_KEPT);
    }
}

impl Session {
    fn new(overview: Overview) -> Self {
        Self {
            overview,
            deleted: false,
            wake_at: None,
            records: Vec::new(),
            blobs: BTreeMap::new(),
            snapshot: None,
            items: BTreeMap::new(),
            deliveries: BTreeMap::new(),
        }
    }

    fn head(&self) -> Seq {
        self.records.len() as Seq
    }

    fn after(&self, after: Seq) -> impl Iterator<Item = &StoredRecord> {
        self.records.iter().skip(usize::try_from(after).unwrap_or(usize::MAX))
    }
}

pub(super) fn take<T>(rows: impl Iterator<Item = (usize, T)>, most: Most) -> Slice<T> {
    let Ok(slice) = Slice::take::<std::convert::Infallible>(rows.map(Ok), most);
    slice
}

fn records<'r>(records: impl Iterator<Item = &'r StoredRecord>, most: Most) -> Slice<StoredRecord> {
    take(records.map(|record| (record.json.len(), record.clone())), most)
}

pub(super) fn json_bytes(row: &impl serde::Serialize) -> usize {
    serde_json::to_string(row).map_or(0, |text| text.len())
}

fn is_approval(item: &Item) -> bool {
    matches!(item.kind, ItemKind::Approval(_))
}
