//! Parameters that more than one operation takes.

use utoipa::IntoParams;
use utoipa::openapi::Required;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::channel::{ADAPTERS, PROFILES};
use crate::domain::View;
use crate::domain::delivery::DeliveryState;
use crate::domain::pending::ItemStatus;
use crate::http::body;
use crate::http::routes::{DEFAULT_LIMIT, MAX_LIMIT};
use crate::http::sse;

/// Makes a parameter: a type that an annotation names in `params(..)`.
macro_rules! parameter {
    ($type:ident, $name:literal, $place:expr, $schema:expr, $($words:literal)+) => {
        #[doc = concat!($($words),+)]
        pub(crate) struct $type;

        impl IntoParams for $type {
            fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
                let required = if $place == ParameterIn::Path { Required::True } else { Required::False };
                let made = ParameterBuilder::new().name($name).parameter_in($place).required(required);
                vec![made.description(Some(concat!($($words),+))).schema(Some($schema)).build()]
            }
        }
    };
}

fn text() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String)
}

fn words(all: &[&str]) -> ObjectBuilder {
    text().enum_values(Some(all.iter().copied()))
}

/// Some of the events' names, with commas between them.
fn types() -> ObjectBuilder {
    let name = format!("({})", sse::filters().collect::<Vec<_>>().join("|"));
    text().pattern(Some(format!("^{name}(,{name})*$")))
}

fn limit() -> ObjectBuilder {
    let number = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1));
    number.default(Some(DEFAULT_LIMIT.into())).description(Some(format!("A page has at most {MAX_LIMIT} rows, whatever is asked.")))
}

parameter!(SessionPath, "id", ParameterIn::Path, text(), "The session.");
parameter!(MessagePath, "message_id", ParameterIn::Path, text(), "The message, as its 202 named it.");
parameter!(ApprovalPath, "approval_id", ParameterIn::Path, text(), "The approval.");
parameter!(QuestionPath, "question_id", ParameterIn::Path, text(), "The questions of one call.");
parameter!(ClientCallPath, "tool_call_id", ParameterIn::Path, text(), "The call that the client runs.");
parameter!(ArtifactPath, "artifact_id", ParameterIn::Path, text(), "The artifact.");
parameter!(DeliveryPath, "delivery_id", ParameterIn::Path, text(), "The delivery.");
parameter!(CodePath, "code", ParameterIn::Path, text(), "The code that the stranger was told.");
parameter!(IfNoneMatch, "If-None-Match", ParameterIn::Header, text(), "The `ETag` of what you have.");
parameter!(
    Limit,
    "limit",
    ParameterIn::Query,
    limit(),
    "How many rows at most; a page of long rows ends at about 4 MiB, with a `next_cursor`."
);
parameter!(AfterSession, "after", ParameterIn::Query, text().pattern(Some("^ses_")), "The `next_cursor` of the page before.");
parameter!(AfterApproval, "after", ParameterIn::Query, text().pattern(Some("^apr_")), "The `next_cursor` of the page before.");
parameter!(AfterDelivery, "after", ParameterIn::Query, text().pattern(Some("^dlv_")), "The `next_cursor` of the page before.");
parameter!(AfterPairing, "after", ParameterIn::Query, text(), "The `next_cursor` of the page before.");
parameter!(
    AfterSeq,
    "after",
    ParameterIn::Query,
    text().pattern(Some("^[0-9]{1,18}$")).default(Some("0".into())),
    "The `next_cursor` of the page before: rows behind that record of the ledger."
);
parameter!(
    AfterCursor,
    "after",
    ParameterIn::Query,
    text().default(Some("0".into())),
    "Where to begin: the id of the last event that was seen, or `head` for only what comes. "
    "One that cannot be honoured is answered with `reset` and a full replay."
);
parameter!(
    LastEventId,
    "Last-Event-ID",
    ParameterIn::Header,
    text(),
    "As `after`, and wins over it: a browser's `EventSource` sends it by itself when it reconnects."
);
parameter!(
    Types,
    "types",
    ParameterIn::Query,
    types(),
    "Only events of these types, separated by commas: names of records, of live events, of control events. A type of delta brings `message`, `retry` and `done` along, which end what deltas began."
);
parameter!(
    ViewOf,
    "view",
    ParameterIn::Query,
    words(&View::ALL.map(View::as_str)),
    "A narrower view than the credential's own: `chat` is the conversation, `owner` how the agent came to it, `admin` everything."
);
parameter!(
    OfChannel,
    "channel",
    ParameterIn::Query,
    words(&PROFILES.iter().chain(&ADAPTERS).map(|p| p.label).collect::<Vec<_>>()),
    "Only sessions of this channel."
);
parameter!(
    InState,
    "state",
    ParameterIn::Query,
    words(&DeliveryState::ALL.map(DeliveryState::as_str)),
    "Only deliveries that stand like this: by their first part that is not sent, else by the part that is least far."
);
parameter!(OfSession, "session", ParameterIn::Query, text().pattern(Some("^ses_")), "Only this session's.");
parameter!(PairingStands, "status", ParameterIn::Query, words(&["pending", "admitted"]), "Only pairings that stand like this.");
parameter!(OfStatus, "status", ParameterIn::Query, words(&ItemStatus::ALL.map(ItemStatus::as_str)), "Only approvals that stand like this.");
parameter!(
    IdempotencyKey,
    "Idempotency-Key",
    ParameterIn::Header,
    text().pattern(Some("^[!-~]([ -~]*[!-~])?$")).max_length(Some(body::KEY_CAP)),
    "Makes a repeat the same request: it gets the first answer again, with `Idempotency-Replayed`. Printable ASCII; kept for 8 days."
);
parameter!(
    Prefer,
    "Prefer",
    ParameterIn::Header,
    text(),
    "`wait=N` answers with the turn's end if it comes within N seconds, 1 to 120; else with 202."
);
