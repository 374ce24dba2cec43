//! What the outbox measures.

use crate::meter::Metric;

pub(super) const STOPPED: Metric = Metric::gauge(
    "portico_channel_stopped",
    &["channel", "account"],
    "1 while nothing can be sent by that account because the platform refuses the account itself; the log and `/readyz` have the code.",
);
pub(super) const SENDS: Metric = Metric::counter(
    "portico_delivery_attempts_total",
    &["channel", "outcome"],
    "Attempts to send a part: `sent`, `failed` (tried again), `held` (until the receiver writes again), `unknown`, `dead`.",
);

/// Every metric of this layer.
pub const ALL: &[Metric] = &[STOPPED, SENDS];
