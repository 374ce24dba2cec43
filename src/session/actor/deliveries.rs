//! Answers on their way: queued, handed out, and what became of them.

use super::{Actor, LedgerError};
use crate::session::command::SessionError;
use crate::session::command::outside::Outward;

impl Actor {
    pub(super) fn on_outward(&mut self, outward: Outward) -> Result<(), LedgerError> {
        outward.refuse(SessionError::Unavailable("deliveries are not kept yet".into()));
        Ok(())
    }
}
