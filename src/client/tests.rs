//! The client against a gateway of its own wire, over a real socket.

mod batch;
mod fake;
mod interactive;

use std::io::Write;
use std::sync::Arc;

use tokio::sync::watch;

/// What was written, for a test to wait on.
#[derive(Clone)]
pub(super) struct Buffer(Arc<watch::Sender<String>>);

impl Buffer {
    pub(super) fn new() -> Self {
        Self(Arc::new(watch::channel(String::new()).0))
    }

    pub(super) fn text(&self) -> String {
        self.0.borrow().clone()
    }

    /// Waits until the text contains `part`.
    async fn shows(&self, part: &str) {
        let mut changes = self.0.subscribe();
        let wait = changes.wait_for(|text| text.contains(part));
        let in_time = tokio::time::timeout(std::time::Duration::from_secs(20), wait).await.is_ok();
        assert!(in_time, "{part:?} was never shown, only: {}", self.text());
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.send_modify(|text| text.push_str(std::str::from_utf8(bytes).unwrap()));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
