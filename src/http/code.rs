//! The codes of refusals: a stable word for why a request was refused, its status, and what to do about it.

use std::fmt;

use axum::http::StatusCode;
use serde::{Serialize, Serializer};

/// Makes the table: one line of it is a code with all that is said of it.
macro_rules! codes {
    ($($code:ident = $name:literal, $status:ident, $means:literal, $act:literal;)+) => {
        /// Why a request was refused.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code {
            $(#[doc = $means] $code,)+
        }

        impl Code {
            /// In the order of their statuses.
            pub const ALL: &[Self] = &[$(Self::$code),+];

            /// As it is on the wire.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$code => $name,)+
                }
            }

            /// What it is answered with, unless a place has one that says more.
            pub fn status(self) -> StatusCode {
                match self {
                    $(Self::$code => StatusCode::$status,)+
                }
            }

            /// What it means, for whoever gets it.
            pub fn means(self) -> &'static str {
                match self {
                    $(Self::$code => $means,)+
                }
            }

            /// What to do about it.
            pub fn act(self) -> &'static str {
                match self {
                    $(Self::$code => $act,)+
                }
            }
        }
    };
}

codes! {
    InvalidJson = "invalid_json", BAD_REQUEST,
        "The body is not JSON, or ended early.",
        "Mend the client; a repeat fails the same way.";
    Unauthorized = "unauthorized", UNAUTHORIZED,
        "No credential that counts here.",
        "Send a bearer that is valid; locally, ask from the machine itself.";
    Forbidden = "forbidden", FORBIDDEN,
        "The credential does not permit this.",
        "Use one with the scope that `detail` names.";
    LocalKeyRequired = "local_key_required", FORBIDDEN,
        "It acts on the gateway's machine.",
        "Send the local key, the file `local.key` of the store, as bearer.";
    NotFound = "not_found", NOT_FOUND,
        "It never existed, was deleted, or is not yours.",
        "Do not repeat it.";
    Conflict = "conflict", CONFLICT,
        "It exists already, in another way.",
        "Read its state, then decide.";
    AlreadyClaimed = "already_claimed", CONFLICT,
        "A turn has claimed the message.",
        "Cancel the turn instead, if it is to stop.";
    MessageRemoved = "message_removed", CONFLICT,
        "The message was removed before a turn claimed it.",
        "Post it again if it is still wanted.";
    IdempotencyConflict = "idempotency_conflict", CONFLICT,
        "The key was used with another body.",
        "Use a new key for a new request.";
    AlreadyDecided = "already_decided", CONFLICT,
        "Another answer was given before; it stands.",
        "Read it; nothing is left to do.";
    DigestMismatch = "digest_mismatch", CONFLICT,
        "The digest is not that of the call that waits.",
        "Read the approval again, and show the person what it says.";
    Expired = "expired", GONE,
        "It expired or was cancelled before the answer came.",
        "Nothing waits any more; the agent was told.";
    BodyTooLarge = "body_too_large", PAYLOAD_TOO_LARGE,
        "The body has more bytes than this path takes.",
        "Send less; `detail` says how many bytes are taken.";
    UnsupportedMediaType = "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE,
        "The body is not declared as JSON.",
        "Send `Content-Type: application/json`.";
    InvalidRequest = "invalid_request", UNPROCESSABLE_ENTITY,
        "A field, parameter or header is not what it must be.",
        "Each of `errors` points at one; mend it.";
    QueueFull = "queue_full", TOO_MANY_REQUESTS,
        "As much input waits in the session as may wait.",
        "Wait `Retry-After` seconds and post again with the same key.";
    RateLimited = "rate_limited", TOO_MANY_REQUESTS,
        "More is asked at once than can be taken.",
        "Wait `Retry-After` seconds and repeat.";
    Internal = "internal", INTERNAL_SERVER_ERROR,
        "The gateway failed.",
        "Repeat with the same key; report the `request_id`.";
    StoreUnavailable = "store_unavailable", SERVICE_UNAVAILABLE,
        "The ledger cannot be read or written now. Nothing was lost.",
        "Wait `Retry-After` seconds and repeat.";
}

impl Code {
    /// The code that is written so.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document groups neighbours of one status.
    #[test]
    fn they_stand_in_the_order_of_their_statuses_and_each_is_named_once() {
        assert!(Code::ALL.is_sorted_by_key(|code| code.status()));
        assert!(Code::ALL.iter().all(|code| Code::named(code.as_str()) == Some(*code)));
    }
}
