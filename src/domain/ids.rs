//! Identifiers. Each is its own type over a shared string, so that a clone costs a counter and a mix-up does not compile.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A position in a session's ledger: the first record is 1, and there is no hole.
pub type Seq = u64;

/// Makes an id; with a prefix it is one that we mint.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident $(, $prefix:literal)?) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Arc<str>);

        $(impl $name {
            /// A new id from a random or time-ordered UUID.
            pub fn from_uuid(uuid: Uuid) -> Self {
                Self(format!(concat!($prefix, "{}"), uuid.simple()).into())
            }
        })?

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({"type": "string"})
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(text.into())
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text.into())
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id!(
    /// One conversation.
    SessionId,
    "ses_"
);
id!(
    /// A message of a person, or one attempt's answer of the model.
    MessageId,
    "msg_"
);
id!(
    /// A request for a person's permission to run one tool call.
    ApprovalId,
    "apr_"
);
id!(
    /// Questions put to a person by one tool call.
    QuestionId,
    "qst_"
);
id!(
    /// An answer on its way to one address.
    DeliveryId,
    "dlv_"
);
id!(
    /// A file that came with a message.
    AttachmentId,
    "att_"
);
id!(
    /// The id that the model's provider gave a tool call; minted by us where it gave none.
    ToolCallId
);
id!(
    /// What names a blob of a session: lower-case hex SHA-256 of a prompt or tool list, or [`ArtifactId::blob`](super::ArtifactId::blob).
    DigestId
);

impl SessionId {
    /// The id that follows from these parts and from nothing else: whoever comes with them again finds the same session.
    pub fn derived(secret: &[u8; 32], parts: &[&str]) -> Self {
        let hash = super::digest::keyed(secret, parts);
        Self::from(format!("ses_{}", hash.get(..32).unwrap_or(&hash)))
    }
}

/// Where new ids come from; tests put a counter here.
pub trait IdSource: fmt::Debug + Send + Sync {
    /// A UUID that was never given before. Version 7 in production, so that ids sort by time.
    fn uuid(&self) -> Uuid;
}
