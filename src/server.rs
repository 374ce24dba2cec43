//! The listener: accepts, serves, and stops in order.
//!
//! On stop: no new connections and no input, readers are told and end by themselves, turns and what is being sent get the same drain time, the
//! store is flushed. A connection that does not end in time is dropped; nothing is lost with it.

use std::future::Future;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::Instant;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tracing::{debug, info, warn};

use crate::app::App;

/// How long a client may take to send a request's head.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// What a connection holds of what its client has not taken (beyond one frame), and the most a request's head may take, in bytes. hyper's own
/// 400 KiB make a stalled reader dear.
const BUFFER: usize = 64 * 1024;
/// How long connections get to end once everything else has.
const LAST_BYTES: Duration = Duration::from_secs(2);
/// Connections that may wait to be accepted; the system's own limit holds where it is lower.
const BACKLOG: u32 = 4_096;
/// How long an address may outlive its process in a child that has not become its own program yet.
const HANDED_ON: Duration = Duration::from_secs(1);
/// How often what histograms were given is counted into their buckets: nobody may ever ask for the metrics.
const UPKEEP: Duration = Duration::from_secs(5);
/// A pause after a failed accept, so that a full file table does not burn a core.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown` resolves, then stops in order. Not cancel-safe: dropped, it stops without drain or flush, as in a crash.
///
/// # Errors
/// When the store cannot be flushed.
pub async fn run(listener: TcpListener, app: App, shutdown: impl Future<Output = ()>) -> anyhow::Result<()> {
    app.outbox.start(&app.sessions);
    app.sessions.start();
    let (graceful, connections) = (GracefulShutdown::new(), TaskTracker::new());
    let mut shutdown = std::pin::pin!(shutdown);
    let mut upkeep = tokio::time::interval(UPKEEP);
    loop {
        tokio::select! { biased;
            () = &mut shutdown => break,
            _ = upkeep.tick() => app.metrics.upkeep(),
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => serve(stream, peer, app.router.clone(), &graceful, &connections),
                Err(error) => {
                    warn!(%error, "a connection was not accepted");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    info!("stopping: no new input, readers are told to come back");
    drop(listener);
    app.draining.cancel();
    // at once, so that nothing is taken while something drains; a session that sends stays to record what came of it
    tokio::join!(app.outbox.stop(app.drain), app.sessions.stop(), app.reception.stopped());
    if tokio::time::timeout(LAST_BYTES, graceful.shutdown()).await.is_err() {
        debug!("connections that did not end are dropped");
    }
    app.closer().close().await?;
    info!("stopped");
    Ok(())
}

/// Listens with room for a storm of reconnects. Waits a moment for an address that is in use: a process that was killed while it started
/// another left its socket with that one, until it becomes another program.
///
/// # Errors
/// When the address is in use or not this machine's.
pub async fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let until = Instant::now() + HANDED_ON;
    loop {
        match try_listen(address) {
            Err(error) if error.kind() == ErrorKind::AddrInUse && Instant::now() < until => tokio::time::sleep(HANDED_ON / 20).await,
            listens => return listens,
        }
    }
}

fn try_listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Lets the process have as many connections as the system allows it: the usual soft limit of 1,024 is less than a gateway's readers.
pub fn raise_file_limit() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let raised = getrlimit(Resource::RLIMIT_NOFILE).and_then(|(_, hard)| setrlimit(Resource::RLIMIT_NOFILE, hard, hard));
    if let Err(error) = raised {
        warn!(%error, "the limit of open files stays as it is");
    }
}

fn serve(stream: TcpStream, peer: SocketAddr, router: Router, graceful: &GracefulShutdown, connections: &TaskTracker) {
    // small writes are whole events: they must not wait for more
    if let Err(error) = stream.set_nodelay(true) {
        debug!(%error, "TCP_NODELAY was not set");
    }
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(ConnectInfo(peer));
        router.clone().oneshot(request.map(Body::new))
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(stream), service);
    let watched = graceful.watch(connection);
    connections.spawn(async move {
        if let Err(error) = watched.await {
            // clients go away all the time
            debug!(%error, "a connection ended early");
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_that_comes_free_in_a_moment_is_waited_for() {
        let before = listen(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = before.local_addr().unwrap();
        assert_eq!(try_listen(address).unwrap_err().kind(), ErrorKind::AddrInUse);
        let goes = tokio::spawn(async move {
            tokio::time::sleep(HANDED_ON / 10).await;
            drop(before);
        });
        let after = listen(address).await.unwrap();
        assert_eq!(after.local_addr().unwrap(), address);
        goes.await.unwrap();
    }
}
