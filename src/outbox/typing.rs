//! The sign that somebody writes, for as long as a turn holds it.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::Shared;
use crate::channel::accounts::Account;
use crate::domain::Address;
use crate::session::delivery::Typing;

/// A turn that holds it longer waits for a person, or is stuck: then it would say what is not so.
const LONGEST: Duration = Duration::from_secs(60 * 60);

/// Shows it until the guard is dropped.
pub(super) fn show(shared: &Arc<Shared>, to: &[Address]) -> Typing {
    let there = |address: &Address| Some((shared.accounts.of(address)?.clone(), address.clone()));
    let places: Vec<_> = to.iter().filter(|address| !address.is_group()).filter_map(there).collect();
    if places.is_empty() || shared.stop.is_cancelled() {
        return Typing::default();
    }
    let over = shared.stop.child_token();
    for (account, address) in places {
        shared.tasks.spawn(sign(account, address, over.clone()));
    }
    Typing(Some(over.drop_guard()))
}

/// Best effort: a sign that is missed is one that nobody sees.
async fn sign(account: Arc<Account>, address: Address, over: CancellationToken) {
    let every = account.messenger.pace().typing;
    let signs = async {
        loop {
            let shown = account.messenger.typing(&address);
            if let Err(error) = shown.await {
                debug!(account = account.scope(), code = error.code, "the sign that somebody writes was not taken");
            }
            tokio::time::sleep(every).await;
        }
    };
    tokio::select! { biased;
        () = over.cancelled() => {}
        () = tokio::time::sleep(LONGEST) => {}
        () = signs => {}
    }
}
