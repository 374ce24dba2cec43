//! Who may write to an account, as its operator says.

use std::collections::BTreeSet;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::messenger::Person;
use crate::domain::Recipient;

/// Who is let in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Who is on the list, and strangers once an operator has let them in by their code.
    #[default]
    Pairing,
    /// Who is on the list.
    Allowlist,
    /// Everybody.
    Open,
    /// Nobody.
    Disabled,
}

impl Access {
    /// As the configuration has it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pairing => "pairing",
            Self::Allowlist => "allowlist",
            Self::Open => "open",
            Self::Disabled => "disabled",
        }
    }
}

/// Whether groups are answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Groups {
    /// None is.
    #[default]
    Disabled,
    /// What speaks to the account by name or answers it.
    Mention,
    /// Everything that is written there.
    All,
}

/// What the operator says about one account.
#[derive(Clone, Debug)]
pub struct Rules {
    pub tenant: String,
    pub agent: String,
    pub access: Access,
    pub allow: BTreeSet<Recipient>,
    /// Who may decide on approvals in a conversation of his own.
    pub approvers: BTreeSet<Recipient>,
    pub groups: Groups,
    /// How long the agent keeps out of a conversation after a person has answered in it.
    pub handoff_pause: Duration,
    /// Codes that one stranger is given, and wrong codes that one caller may try in ten minutes.
    pub pairing_attempts: u32,
    /// Older input is acknowledged and not run; `None` is any age.
    pub max_age: Option<Duration>,
}

impl Rules {
    pub fn is_listed(&self, person: &Person) -> bool {
        ids(person).iter().any(|id| self.allow.contains(id))
    }

    /// The id under which a person may decide.
    pub fn approver(&self, person: &Person) -> Option<Recipient> {
        ids(person).into_iter().find(|id| self.approvers.contains(id))
    }
}

/// All ids of a person; the one that outlives a change of number first.
pub fn ids(person: &Person) -> Vec<Recipient> {
    let user = person.user.clone().map(Recipient::User);
    let phone = person.phone.clone().map(Recipient::Phone);
    user.into_iter().chain(phone).collect()
}

/// The ids that a person has no more: of each kind that `new` has another of.
pub fn given_up(old: &Person, new: &Person) -> Vec<Recipient> {
    let user = old.user.clone().filter(|user| new.user.as_ref().is_some_and(|new| new != user)).map(Recipient::User);
    let phone = old.phone.clone().filter(|phone| new.phone.as_ref().is_some_and(|new| new != phone)).map(Recipient::Phone);
    user.into_iter().chain(phone).collect()
}

/// Where a person is written to: a number is taken by every kind of message, so it goes first.
pub fn reachable_at(person: &Person) -> Option<Recipient> {
    let user = || person.user.clone().map(Recipient::User);
    person.phone.clone().map(Recipient::Phone).or_else(user)
}

/// Reads an id as an operator writes it: a number in international form, with or without the plus, or the platform's own id of a person.
///
/// # Errors
/// What it must be.
pub fn recipient(text: &str) -> Result<Recipient, String> {
    let digits = text.strip_prefix('+').unwrap_or(text);
    if (5..=20).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) {
        return Ok(Recipient::Phone(digits.to_owned()));
    }
    let is_user = text.split_once('.').is_some_and(|(country, rest)| {
        let word = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.');
        country.len() == 2 && country.bytes().all(|b| b.is_ascii_uppercase()) && word(rest)
    });
    if is_user {
        return Ok(Recipient::User(text.to_owned()));
    }
    Err(format!(
        "must be a telephone number with its country code and nothing but digits, as 15550100001, or a user id, as US.1349, not {text:?}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_writes_numbers_and_user_ids() {
        let phone = |text: &str| Ok(Recipient::Phone(text.to_owned()));
        assert_eq!(recipient("15550100001"), phone("15550100001"));
        assert_eq!(recipient("+15550100001"), phone("15550100001"));
        assert_eq!(recipient("US.ENT.13A49"), Ok(Recipient::User("US.ENT.13A49".to_owned())));
        for wrong in ["", "+", "1", "+1 555 0100001", "ana", "us.1349", "US.", "USA.1", "US.1 3", "phone:15550100001"] {
            assert!(recipient(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_person_is_known_by_either_id_and_written_to_by_number() {
        let both = Person { phone: Some("15550100001".into()), user: Some("US.1".into()), name: None };
        assert_eq!(ids(&both), [Recipient::User("US.1".into()), Recipient::Phone("15550100001".into())]);
        assert_eq!(reachable_at(&both), Some(Recipient::Phone("15550100001".into())));
        let hidden = Person { phone: None, ..both };
        assert_eq!(reachable_at(&hidden), Some(Recipient::User("US.1".into())));
    }
}
