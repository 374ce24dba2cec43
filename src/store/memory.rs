//! An engine in memory, for tests of what stands above the store: the semantics of the real one, and a hand on its timing.
//!
//! Every call does its work before it returns, so nothing waits for real time. A test may hold appends and decide when each commits, make
//! one fail, lose an answer, and crash the process. It never touches a disk, and is never configured in production.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::{oneshot, watch};

use crate::domain::delivery::DeliveryView;
use crate::domain::pairing::Pairing;
use crate::domain::pending::Item;
use crate::domain::{DeliveryId, DigestId, Overview, Recipient, Seq, SessionId, Timestamp};
use crate::store::{
    Alias, Append, Appended, ApprovalFilter, DeliveryFilter, IntakeRow, Loaded, Most, PairingFilter, Pending, SessionFilter, Slice,
    Snapshot, Store, StoreError, StoreFuture, StoredRecord, Trouble,
};

use disk::Disk;

mod disk;
mod outside;
#[cfg(test)]
mod tests;

/// One process's hold on a store in memory. [`reopen`](Self::reopen) is the next process.
#[derive(Debug)]
pub struct MemoryStore {
    shared: Arc<Shared>,
    /// Which process this is: the ones before it are dead.
    process: u64,
    stopped_gracefully: bool,
}

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// How many appends are held.
    held: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    disk: Disk,
    process: u64,
    closed: bool,
    /// Appends that wait for the test's word; `None` lets them through.
    gate: Option<VecDeque<(Append, Reply)>>,
    fault: Option<Fault>,
}

type Reply = oneshot::Sender<Result<Appended, StoreError>>;

#[derive(Debug)]
enum Fault {
    NotWritten,
    AnswerLost,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl MemoryStore {
    pub fn new() -> Self {
        let shared = Shared { state: Mutex::default(), held: watch::Sender::new(0) };
        Self { shared: Arc::new(shared), process: 0, stopped_gracefully: true }
    }

    /// From here on appends wait, in order, for [`commit_held`](Self::commit_held) or [`release_appends`](Self::release_appends). Other
    /// writes do not.
    pub fn hold_appends(&self) {
        self.state().gate.get_or_insert_default();
    }

    /// Commits the oldest held appends, at most `count`; how many there were.
    pub fn commit_held(&self, count: usize) -> usize {
        let mut state = self.state();
        let committed = state.commit_held(count);
        self.count_held(&state);
        committed
    }

    /// Commits all that is held, and holds no more.
    pub fn release_appends(&self) {
        let mut state = self.state();
        state.commit_held(usize::MAX);
        state.gate = None;
        self.count_held(&state);
    }

    /// Resolves when at least `count` appends are held.
    pub async fn until_held(&self, count: usize) {
        let mut held = self.shared.held.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        _ = held.wait_for(|held| *held >= count).await;
    }

    /// The next append that would commit fails, and nothing of it is written.
    pub fn fail_next_append(&self) {
        self.state().fault = Some(Fault::NotWritten);
    }

    /// The next append that would commit is written and yet answered with an error, as by a disk that fails after the fact.
    pub fn lose_next_answer(&self) {
        self.state().fault = Some(Fault::AnswerLost);
    }

    /// Ends this process where it stands, and starts the next one on what was committed. Held appends are lost; all that is asked of the
    /// old handle from here on fails.
    pub fn reopen(&self) -> MemoryStore {
        let mut state = self.state();
        state.process += 1;
        state.gate = None;
        state.fault = None;
        state.disk.sweep();
        self.count_held(&state);
        let stopped_gracefully = std::mem::take(&mut state.closed);
        MemoryStore { shared: Arc::clone(&self.shared), process: state.process, stopped_gracefully }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count_held(&self, state: &State) {
        self.shared.held.send_replace(state.gate.as_ref().map_or(0, VecDeque::len));
    }

    /// The state, if this process lives and has not closed the store.
    fn open(&self) -> Result<MutexGuard<'_, State>, StoreError> {
        let state = self.state();
        match state.closed || state.process != self.process {
            true => Err(StoreError("it is closed".into())),
            false => Ok(state),
        }
    }

    fn on_disk<T: Send + 'static>(&self, work: impl FnOnce(&mut Disk) -> T) -> StoreFuture<T> {
        ready(self.open().map(|mut state| work(&mut state.disk)))
    }
}

impl State {
    fn commit_held(&mut self, count: usize) -> usize {
        let mut committed = 0;
        while committed < count
            && let Some((append, reply)) = self.gate.as_mut().and_then(VecDeque::pop_front)
        {
            _ = reply.send(self.commit(&append));
            committed += 1;
        }
        committed
    }

    fn commit(&mut self, append: &Append) -> Result<Appended, StoreError> {
        match self.fault.take() {
            None => Ok(self.disk.append(append)),
            Some(Fault::NotWritten) => Err(StoreError("the test had it fail".into())),
            Some(Fault::AnswerLost) => {
                self.disk.append(append);
                Err(StoreError("the test had its answer lost".into()))
            }
        }
    }
}

impl Store for MemoryStore {
    fn append(&self, append: Append) -> StoreFuture<Appended> {
        let mut state = match append.check().and_then(|()| self.open()) {
            Ok(state) => state,
            Err(error) => return ready(Err(error)),
        };
        let Some(gate) = &mut state.gate else { return ready(state.commit(&append)) };
        let (reply, answer) = oneshot::channel();
        gate.push_back((append, reply));
        self.count_held(&state);
        Box::pin(async { answer.await.unwrap_or_else(|_| Err(StoreError("the process has crashed".into()))) })
    }

    fn read(&self, session: &SessionId, after: Seq, most: Most) -> StoreFuture<Slice<StoredRecord>> {
        self.on_disk(|disk| disk.read(session, after, most))
    }

    fn transcript(&self, session: &SessionId, after: Seq, most: Most) -> StoreFuture<(Slice<StoredRecord>, Seq)> {
        self.on_disk(|disk| disk.transcript(session, after, most))
    }

    fn load(&self, session: &SessionId) -> StoreFuture<Option<Loaded>> {
        self.on_disk(|disk| disk.load(session))
    }

    fn overview(&self, session: &SessionId) -> StoreFuture<Option<Overview>> {
        self.on_disk(|disk| disk.overview(session))
    }

    fn sessions(&self, filter: SessionFilter) -> StoreFuture<Slice<Overview>> {
        self.on_disk(|disk| disk.sessions(&filter))
    }

    fn approvals(&self, filter: ApprovalFilter) -> StoreFuture<Slice<(SessionId, Item)>> {
        self.on_disk(|disk| disk.approvals(&filter))
    }

    fn item(&self, session: &SessionId, id: &str) -> StoreFuture<Option<Item>> {
        self.on_disk(|disk| disk.item(session, id))
    }

    fn intake(&self, tenant: &str, scope: &str, external_id: &str) -> StoreFuture<Option<IntakeRow>> {
        self.on_disk(|disk| disk.intake((tenant, scope, external_id)))
    }

    fn blob(&self, session: &SessionId, id: &DigestId) -> StoreFuture<Option<Vec<u8>>> {
        self.on_disk(|disk| disk.blob(session, id))
    }

    fn save_snapshot(&self, session: &SessionId, snapshot: Snapshot) -> StoreFuture<()> {
        self.on_disk(|disk| disk.save_snapshot(session, snapshot))
    }

    fn due(&self, now: Timestamp, limit: usize) -> StoreFuture<(Vec<SessionId>, Option<Timestamp>)> {
        self.on_disk(|disk| disk.due(now, limit))
    }

    fn mark_deleted(&self, session: &SessionId) -> StoreFuture<bool> {
        self.on_disk(|disk| disk.mark_deleted(session))
    }

    fn erase(&self, session: &SessionId) -> StoreFuture<()> {
        self.on_disk(|disk| disk.erase(session))
    }

    fn marked(&self) -> StoreFuture<Vec<SessionId>> {
        self.on_disk(|disk| disk.marked())
    }

    fn alias(&self, tenant: &str, scope: &str, name: &str) -> StoreFuture<Option<SessionId>> {
        self.on_disk(|disk| disk.alias((tenant, scope, name)))
    }

    fn aliases(&self, session: &SessionId) -> StoreFuture<Vec<Alias>> {
        self.on_disk(|disk| disk.aliases(session))
    }

    fn put_aliases(&self, aliases: Vec<Alias>, gone: Vec<Alias>) -> StoreFuture<()> {
        self.on_disk(|disk| {
            disk.remove_aliases(gone);
            disk.put_aliases(aliases);
        })
    }

    fn deliveries(&self, filter: DeliveryFilter) -> StoreFuture<Slice<DeliveryView>> {
        self.on_disk(|disk| disk.deliveries(&filter))
    }

    fn delivery(&self, id: &DeliveryId) -> StoreFuture<Option<DeliveryView>> {
        self.on_disk(|disk| disk.delivery(id))
    }

    fn save_pairing(&self, pairing: Pairing) -> StoreFuture<()> {
        ready(self.open().and_then(|mut state| state.disk.pairings.save(pairing)))
    }

    fn pairing(&self, tenant: &str, code: &str) -> StoreFuture<Option<Pairing>> {
        self.on_disk(|disk| disk.pairings.get(tenant, code))
    }

    fn pairing_of(&self, tenant: &str, channel: &str, account: &str, id: &Recipient) -> StoreFuture<Option<Pairing>> {
        self.on_disk(|disk| disk.pairings.of((tenant, channel, account), id))
    }

    fn pairings(&self, filter: PairingFilter) -> StoreFuture<Slice<Pairing>> {
        self.on_disk(|disk| disk.pairings.list(&filter))
    }

    fn delete_pairing(&self, tenant: &str, code: &str) -> StoreFuture<bool> {
        self.on_disk(|disk| disk.pairings.delete(tenant, code))
    }

    fn pending(&self) -> StoreFuture<Pending> {
        self.on_disk(|disk| disk.pending())
    }

    fn trouble(&self) -> BoxFuture<'static, Option<Trouble>> {
        let trouble = self.open().err().map(|error| Trouble { code: "store_unreadable", detail: error.to_string() });
        Box::pin(std::future::ready(trouble))
    }

    /// The same for every store in memory, so that derived ids are too.
    fn secret(&self) -> [u8; 32] {
        *b"the secret of stores in memory.."
    }

    fn stopped_gracefully(&self) -> bool {
        self.stopped_gracefully
    }

    fn close(&self) -> StoreFuture<()> {
        let closed = self.open().map(|mut state| {
            state.commit_held(usize::MAX);
            state.closed = true;
            self.count_held(&state);
        });
        ready(closed)
    }
}

fn ready<T: Send + 'static>(answer: Result<T, StoreError>) -> StoreFuture<T> {
    Box::pin(std::future::ready(answer))
}
