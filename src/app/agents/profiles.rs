//! What each channel may do here, and on which of its accounts somebody can be asked for permission.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use crate::channel;
use crate::channel::access::recipient;
use crate::config::Config;
use crate::config::channels::whatsapp::WhatsApp;
use crate::domain::profile::Capabilities;
use crate::domain::toolset::Toolset;
use crate::domain::{Address, ChannelProfile, Recipient};

/// What a messaging channel is on one of its accounts.
#[derive(Debug)]
pub(super) struct AccountProfiles {
    pub(super) usual: Arc<ChannelProfile>,
    /// For turns that approvers wait for.
    pub(super) approving: Arc<ChannelProfile>,
    approvers: BTreeSet<Recipient>,
}

impl AccountProfiles {
    pub(super) fn has_approvers(&self) -> bool {
        !self.approvers.is_empty()
    }

    /// Whether all who wait at these places may decide: a group never is, for buttons reach everybody there.
    pub(super) fn can_decide(&self, places: &[Address]) -> bool {
        !places.is_empty() && places.iter().all(|place| !place.is_group() && self.approvers.contains(&place.to))
    }
}

/// What is usual on an account, where some turns have what approvers may permit.
pub(super) fn for_approvers_too(mut usual: Toolset, approving: &Toolset) -> Toolset {
    for absent in usual.absent.iter_mut().filter(|absent| approving.get(absent.tool).is_some()) {
        absent.reason = "it needs an approval: it is there only where an approver writes";
    }
    usual
}

/// Of each channel.
pub(super) fn channels(config: &Config) -> BTreeMap<&'static str, Arc<ChannelProfile>> {
    let adjusted = |profile: &ChannelProfile| match profile.label {
        "web" if config.channels.web.allow_ask_user => channel::web::with_questions(),
        _ => profile.clone(),
    };
    channel::PROFILES.iter().chain(&channel::ADAPTERS).map(|profile| (profile.label, Arc::new(adjusted(profile)))).collect()
}

/// Of each account, by channel and name.
pub(super) fn accounts(config: &Config) -> BTreeMap<(String, String), AccountProfiles> {
    let base = &channel::whatsapp::PROFILE;
    let own = |(name, account): (&String, &WhatsApp)| {
        let debounce = account.debounce_ms.map_or(base.debounce, Duration::from_millis);
        let usual = ChannelProfile { debounce, ..base.clone() };
        let approvers = account.approvers.iter().filter_map(|id| recipient(id).ok()).collect();
        let profiles = AccountProfiles { approving: Arc::new(with_approvals(&usual)), usual: Arc::new(usual), approvers };
        ((base.label.to_owned(), name.clone()), profiles)
    };
    config.channels.whatsapp.iter().map(own).collect()
}

/// The same channel where somebody can be asked for permission.
pub(super) fn with_approvals(profile: &ChannelProfile) -> ChannelProfile {
    let capabilities = Capabilities { approvals: true, ..profile.capabilities };
    ChannelProfile { capabilities, ..profile.clone() }
}
