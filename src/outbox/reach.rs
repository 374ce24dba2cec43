//! Accounts whose platform has not taken anything for a while. What waits is tried again; an operator may want to know why nothing arrives.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use super::lock;
use crate::channel::messenger::ErrorClass;
use crate::domain::{Address, Timestamp};

/// How long nothing has got through before it is called trouble: a platform may be busy for a moment.
const TROUBLE: Duration = Duration::from_secs(60);

/// By account: since when every send has failed.
#[derive(Debug, Default)]
pub(super) struct Reach(Mutex<BTreeMap<(String, String), Timestamp>>);

impl Reach {
    pub(super) fn sent(&self, to: &Address) {
        lock(&self.0).remove(&key(to));
    }

    pub(super) fn failed(&self, to: &Address, class: ErrorClass, now: Timestamp) {
        match class {
            ErrorClass::Retry { .. } | ErrorClass::Ambiguous => drop(lock(&self.0).entry(key(to)).or_insert(now)),
            // the platform answered, and about something else
            ErrorClass::TooFast { .. } | ErrorClass::Closed | ErrorClass::Account | ErrorClass::Final => self.sent(to),
        }
    }

    /// The accounts that nothing gets through by, as `whatsapp:main`, each with the time since when.
    pub(super) fn troubles(&self, now: Timestamp) -> Vec<(String, Timestamp)> {
        let all = lock(&self.0);
        let troubles = all.iter().filter(|(_, since)| now.since(**since) > TROUBLE);
        troubles.map(|((channel, account), since)| (format!("{channel}:{account}"), *since)).collect()
    }
}

fn key(to: &Address) -> (String, String) {
    (to.channel.clone(), to.account.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Recipient;

    #[test]
    fn a_minute_of_failures_is_trouble_until_something_gets_through() {
        let to = Address { channel: "whatsapp".into(), account: "main".into(), to: Recipient::Phone("1".into()), message: None };
        let (reach, busy) = (Reach::default(), ErrorClass::Retry { after: None });
        reach.failed(&to, busy, Timestamp(1_000));
        reach.failed(&to, ErrorClass::Ambiguous, Timestamp(50_000));
        assert_eq!(reach.troubles(Timestamp(61_000)), []);
        assert_eq!(reach.troubles(Timestamp(61_001)), [("whatsapp:main".to_owned(), Timestamp(1_000))]);
        for answered in [ErrorClass::Final, ErrorClass::Closed, ErrorClass::TooFast { after: None }, ErrorClass::Account] {
            reach.failed(&to, answered, Timestamp(70_000));
            assert_eq!(reach.troubles(Timestamp(999_000)), [], "{answered:?}");
            reach.failed(&to, busy, Timestamp(71_000));
        }
        reach.sent(&to);
        assert_eq!(reach.troubles(Timestamp(999_000)), []);
    }
}
