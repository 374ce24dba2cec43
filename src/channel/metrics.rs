//! What messaging channels measure.

use crate::meter::Metric;

pub(super) const ITEMS: Metric = Metric::counter(
    "portico_channel_items_total",
    &["channel", "outcome"],
    "What webhooks brought, item by item, by what it led to: `accepted`, `duplicate`, `status`, `too_old`, `not_allowed`, ...",
);

/// Every metric of this layer.
pub const ALL: &[Metric] = &[ITEMS];
