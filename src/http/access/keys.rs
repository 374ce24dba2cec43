//! API keys: a bearer is hashed and looked for among the hashes.

use crate::domain::Principal;
use crate::domain::api_key::{KeyHash, PREFIX};

/// A key by its hash, and who has it.
#[derive(Clone, Debug)]
pub struct ApiKey {
    pub hash: KeyHash,
    pub principal: Principal,
}

#[derive(Debug)]
pub(super) struct ApiKeys(Vec<ApiKey>);

impl ApiKeys {
    pub(super) fn new(keys: Vec<ApiKey>) -> Self {
        Self(keys)
    }

    /// Who has this key. Every hash is compared, and each in constant time: how long it takes tells nothing about any of them.
    pub(super) fn find(&self, token: &str) -> Option<&Principal> {
        if !token.starts_with(PREFIX) {
            return None;
        }
        let hash = KeyHash::of(token);
        self.0.iter().fold(None, |found, key| if key.hash == hash { Some(&key.principal) } else { found })
    }
}
