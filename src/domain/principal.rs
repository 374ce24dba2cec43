//! Who calls, and what they may do.

/// A caller whose credential was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// As it stands in records: `local` for the local administrator.
    pub name: String,
    pub tenant: String,
    pub scopes: Scopes,
}

/// What a principal may do beyond its own sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scopes {
    /// Sees its whole tenant.
    pub admin: bool,
    /// May create and post to `cli` sessions.
    pub cli: bool,
    /// May decide on calls without outside effect.
    pub approve: bool,
    /// May decide on calls with outside effects.
    pub approve_effects: bool,
}

impl Principal {
    /// The local administrator of a gateway without configured auth; `with_key` when it showed the local key.
    pub fn local(with_key: bool) -> Self {
        let scopes = Scopes { admin: true, cli: with_key, approve: true, approve_effects: with_key };
        Self { name: "local".into(), tenant: "default".into(), scopes }
    }

    /// Whether a session of that tenant and owner exists for this principal at all.
    pub fn sees(&self, tenant: &str, owner: &str) -> bool {
        self.tenant == tenant && (self.scopes.admin || self.name == owner)
    }

    pub fn may_decide(&self, effects: bool) -> bool {
        self.scopes.approve && (!effects || self.scopes.approve_effects)
    }
}
