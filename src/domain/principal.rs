//! Who calls, and what they may do.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

/// A caller whose credential was checked.
///
/// Ownership and the scope of an `Idempotency-Key` rest on tenant and name. So each kind of credential has a form of name that no other
/// kind can have, whatever the operator calls it: `local` and `admin` stand alone, all others have their kind in front, as `key:NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    /// As it stands in records; one in its tenant.
    pub name: String,
    pub tenant: String,
    pub rights: Rights,
}

/// What a principal may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rights {
    /// Of who can only be on this machine, and showed no credential: all but what acts on the machine.
    Ambient,
    /// Of a credential.
    Scoped(BTreeSet<Scope>),
}

/// A thing that a credential allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub enum Scope {
    /// Reading what is its own.
    SessionsRead,
    /// Making sessions, posting, cancelling, answering questions, changing, deleting.
    SessionsWrite,
    /// Making and posting to `cli` sessions, whose tools act on the gateway's machine.
    Cli,
    /// Deciding on approvals in the whole tenant.
    Approve,
    /// Deciding on approvals in its own sessions.
    ApproveOwn,
    /// Making narrower tokens.
    Tokens,
    /// Everything in its tenant but `cli`.
    Admin,
}

/// The tenant of the local administrator, and of keys that name none.
pub const DEFAULT_TENANT: &str = "default";

impl Principal {
    /// The local administrator, who showed nothing but to be here.
    pub fn local() -> Self {
        Self { name: "local".into(), tenant: DEFAULT_TENANT.into(), rights: Rights::Ambient }
    }

    /// The local administrator with the local key.
    pub fn local_with_key() -> Self {
        Self { rights: Rights::Scoped(Scope::ALL.into()), ..Self::local() }
    }

    /// Who has the generated administrator's key: the operator of a gateway that is not on the operator's machine.
    pub fn admin() -> Self {
        let scopes = [Scope::Admin, Scope::Cli].into();
        Self { name: "admin".into(), tenant: DEFAULT_TENANT.into(), rights: Rights::Scoped(scopes) }
    }

    /// Who has the API key of that name.
    pub fn key(name: &str, tenant: &str, scopes: BTreeSet<Scope>) -> Self {
        Self { name: format!("key:{name}"), tenant: tenant.into(), rights: Rights::Scoped(scopes) }
    }

    /// Whether this is allowed, where it is its own or its tenant's.
    pub fn may(&self, scope: Scope) -> bool {
        match &self.rights {
            Rights::Ambient => scope != Scope::Cli,
            // a shell reaches beyond any tenant: it is named or not had
            Rights::Scoped(scopes) => scopes.contains(&scope) || scope != Scope::Cli && scopes.contains(&Scope::Admin),
        }
    }

    /// Whether it sees all of its tenant.
    pub fn is_admin(&self) -> bool {
        self.may(Scope::Admin)
    }

    /// Whether a session of that tenant and owner exists for this principal at all.
    pub fn sees(&self, tenant: &str, owner: &str) -> bool {
        self.tenant == tenant && (self.is_admin() || self.name == owner)
    }

    /// Whether the approvals of a session of that tenant and owner exist for it: an approver finds all, and nothing else of the session.
    pub fn sees_approvals(&self, tenant: &str, owner: &str) -> bool {
        self.sees(tenant, owner) || self.tenant == tenant && self.may(Scope::Approve)
    }

    /// Whether it may decide on a call, with effects or without, in a session of its tenant that is this owner's.
    pub fn may_decide(&self, owner: &str, effects: bool) -> bool {
        match self.rights {
            Rights::Ambient => !effects,
            Rights::Scoped(_) => self.may(Scope::Approve) || self.may(Scope::ApproveOwn) && self.name == owner,
        }
    }
}

/// Whether a key or a tenant can have this name, which stands in records and on command lines.
///
/// # Errors
/// What a name may have, as a sentence about it.
pub fn check_name(name: &str) -> Result<(), &'static str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_.@+".contains(c);
    if (1..=64).contains(&name.len()) && name.chars().all(fits) {
        Ok(())
    } else {
        Err("must have 1 to 64 letters, digits, \"-\", \"_\", \".\", \"@\" and \"+\"")
    }
}

impl Scope {
    pub const ALL: [Self; 7] =
        [Self::SessionsRead, Self::SessionsWrite, Self::Cli, Self::Approve, Self::ApproveOwn, Self::Tokens, Self::Admin];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::SessionsRead => "sessions:read",
            Self::SessionsWrite => "sessions:write",
            Self::Cli => "cli",
            Self::Approve => "approve",
            Self::ApproveOwn => "approve:own",
            Self::Tokens => "tokens",
            Self::Admin => "admin",
        }
    }
}

impl JsonSchema for Scope {
    fn schema_name() -> Cow<'static, str> {
        "Scope".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "enum": Self::ALL.map(Self::as_str)})
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let there = || Self::ALL.map(Self::as_str).join(", ");
        Self::ALL.into_iter().find(|scope| scope.as_str() == text).ok_or_else(|| format!("there is no such scope; there are: {}", there()))
    }
}

impl TryFrom<String> for Scope {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(scopes: &[Scope]) -> Principal {
        Principal::key("ann", "acme", scopes.iter().copied().collect())
    }

    #[test]
    fn no_name_of_a_key_is_the_local_administrators() {
        for name in ["local", "admin", "key:local", ""] {
            let key = Principal::key(name, DEFAULT_TENANT, BTreeSet::new());
            assert!(![Principal::local().name, Principal::admin().name].contains(&key.name));
        }
        for name in ["", "a b", "key:local", "a\nb", "ä", "\"", &"x".repeat(65)] {
            assert!(check_name(name).is_err(), "{name:?}");
        }
        assert_eq!(check_name("ci-2.EU_x+y@z"), Ok(()));
    }

    #[test]
    fn each_scope_is_what_it_names_and_admin_all_but_the_shell() {
        for held in Scope::ALL {
            for asked in Scope::ALL {
                let may = held == asked || held == Scope::Admin && asked != Scope::Cli;
                assert_eq!(with(&[held]).may(asked), may, "{held} for {asked}");
            }
            assert!(!with(&[]).may(held) && Principal::local_with_key().may(held));
            assert_eq!(Principal::local().may(held), held != Scope::Cli);
            assert_eq!(held.as_str().parse(), Ok(held));
        }
        assert!("sessions".parse::<Scope>().is_err() && "Admin".parse::<Scope>().is_err());
    }

    #[test]
    fn an_approver_decides_in_its_tenant_and_reads_nothing_there() {
        let approver = with(&[Scope::Approve]);
        assert!(approver.sees_approvals("acme", "key:bob") && approver.may_decide("key:bob", true));
        assert!(!approver.sees("acme", "key:bob") && !approver.sees_approvals("globex", "key:ann"));
        let own = with(&[Scope::ApproveOwn]);
        assert!(own.may_decide("key:ann", true) && !own.may_decide("key:bob", false) && !own.sees_approvals("acme", "key:bob"));
        assert!(!with(&[Scope::SessionsRead, Scope::SessionsWrite]).may_decide("key:ann", false));
        assert!(Principal::local().may_decide("local", false) && !Principal::local().may_decide("local", true));
    }
}
