//! The vocabulary: every durable thing an agent or a session does, in families of one file each.
//!
//! On the wire an event is flat and tagged with `type`. serde's tagged and flattened types buffer what they read, and raw JSON (the bytes of a
//! tool call's arguments) does not survive that, so an event is read in two steps: its `type` first, then that type's own plain struct
//! from the same text. Each family file has its structs and its fold; [`AgentEvent::apply`] only passes on.

pub mod delivery;
pub mod input;
pub mod model;
pub mod pending;
pub mod session;
pub mod tool;
pub mod turn;

use super::record::Head;
use super::state::{FoldError, SessionState};

/// Makes a family: an enum over plain structs, each with its wire name.
macro_rules! family {
    ($(#[$doc:meta])* $family:ident { $($kind:literal => $event:ident),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $family { $($event($event)),+ }

        impl $family {
            /// The wire names.
            pub(super) const KINDS: &[&str] = &[$($kind),+];

            /// The wire name.
            pub(super) fn kind(&self) -> &'static str {
                match self { $(Self::$event(_) => $kind),+ }
            }

            /// Reads this family's event of that name from a record's whole text; `None` when the name is not of this family.
            pub(super) fn read(kind: &str, text: &str) -> Option<serde_json::Result<crate::domain::event::AgentEvent>> {
                match kind {
                    $($kind => Some(serde_json::from_str::<$event>(text).map(Into::into)),)+
                    _ => None,
                }
            }

            /// The shapes of this family's events, by their wire names.
            pub(super) fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
                vec![$(($kind, <$event as schemars::JsonSchema>::json_schema(generator))),+]
            }

            pub(super) fn body(&self) -> serde_json::Result<String> {
                match self { $(Self::$event(event) => serde_json::to_string(event)),+ }
            }
        }

        $(impl From<$event> for crate::domain::event::AgentEvent {
            fn from(event: $event) -> Self {
                crate::domain::event::AgentEvent::$family($family::$event(event))
            }
        })+
    };
}
pub(crate) use family;

/// A durable event. What a session keeps for ever is a sequence of these.
#[derive(Clone, Debug, PartialEq)]
pub enum AgentEvent {
    Session(session::Session),
    Input(input::Input),
    Turn(turn::Turn),
    Model(model::Model),
    Tool(tool::Tool),
    Pending(pending::Pending),
    Outside(delivery::Outside),
    /// A type that a later build writes. Readers skip it; the fold refuses it unless it says that it may be ignored.
    Unknown(Unknown),
}

/// An event of a type, or a version of a type, that this build does not know.
#[derive(Clone, Debug, PartialEq)]
pub struct Unknown {
    pub kind: String,
    /// The record's whole text, kept so that a copy loses nothing.
    pub text: String,
    pub ignorable: bool,
}

impl AgentEvent {
    /// The wire name, as in `type` and in the SSE `event:` line.
    pub fn kind(&self) -> &str {
        match self {
            Self::Session(e) => e.kind(),
            Self::Input(e) => e.kind(),
            Self::Turn(e) => e.kind(),
            Self::Model(e) => e.kind(),
            Self::Tool(e) => e.kind(),
            Self::Pending(e) => e.kind(),
            Self::Outside(e) => e.kind(),
            Self::Unknown(e) => &e.kind,
        }
    }

    /// The wire names that this build knows.
    pub fn kinds() -> impl Iterator<Item = &'static str> {
        let families = [
            session::Session::KINDS,
            input::Input::KINDS,
            turn::Turn::KINDS,
            model::Model::KINDS,
            tool::Tool::KINDS,
            pending::Pending::KINDS,
            delivery::Outside::KINDS,
        ];
        families.into_iter().flatten().copied()
    }

    /// Reads the event of the given type from a record's whole text.
    pub(super) fn read(kind: &str, text: &str) -> serde_json::Result<Option<AgentEvent>> {
        session::Session::read(kind, text)
            .or_else(|| input::Input::read(kind, text))
            .or_else(|| turn::Turn::read(kind, text))
            .or_else(|| model::Model::read(kind, text))
            .or_else(|| tool::Tool::read(kind, text))
            .or_else(|| pending::Pending::read(kind, text))
            .or_else(|| delivery::Outside::read(kind, text))
            .transpose()
    }

    /// The shape of each event's own fields, by its wire name.
    pub fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<(&'static str, schemars::Schema)> {
        [
            session::Session::schemas(generator),
            input::Input::schemas(generator),
            turn::Turn::schemas(generator),
            model::Model::schemas(generator),
            tool::Tool::schemas(generator),
            pending::Pending::schemas(generator),
            delivery::Outside::schemas(generator),
        ]
        .concat()
    }

    /// The event's own fields as a JSON object, without `type`.
    pub(super) fn body(&self) -> serde_json::Result<String> {
        match self {
            Self::Session(e) => e.body(),
            Self::Input(e) => e.body(),
            Self::Turn(e) => e.body(),
            Self::Model(e) => e.body(),
            Self::Tool(e) => e.body(),
            Self::Pending(e) => e.body(),
            Self::Outside(e) => e.body(),
            Self::Unknown(e) => Ok(e.text.clone()),
        }
    }

    /// Where the event stands: input and session records have neither turn nor step, though they may come in the middle of one.
    pub fn place(&self) -> Place {
        match self {
            Self::Session(_) | Self::Outside(_) | Self::Unknown(_) => Place::Session,
            Self::Input(e) => e.place(),
            Self::Model(e) => e.place(),
            Self::Turn(_) | Self::Tool(_) | Self::Pending(_) => Place::Turn,
        }
    }

    /// What the event does to the attempt that is open: the live text of a reader lives and ends with it.
    pub fn attempt(&self) -> AttemptEffect {
        let of_person = matches!(self, Self::Model(model::Model::Message(m)) if m.author.is_some());
        AttemptEffect::of(self.kind(), of_person)
    }

    pub(super) fn apply(&self, state: &mut SessionState, head: &Head) -> Result<(), FoldError> {
        match self {
            Self::Session(e) => e.apply(state, head),
            Self::Input(e) => e.apply(state, head),
            Self::Turn(e) => e.apply(state, head),
            Self::Model(e) => e.apply(state, head),
            Self::Tool(e) => e.apply(state, head),
            Self::Pending(e) => e.apply(state, head),
            Self::Outside(e) => e.apply(state, head),
            Self::Unknown(e) if e.ignorable => Ok(()),
            Self::Unknown(e) => Err(FoldError::UnknownType(e.kind.clone())),
        }
    }
}

/// Whether a record carries `turn` and `step`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Session,
    Turn,
}

/// What a record does to the open attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptEffect {
    None,
    Opens,
    Closes,
}

impl AttemptEffect {
    /// By the record's type, so that one that is not parsed can be asked as well. `of_person`: it has an `author`, as a message of somebody
    /// who took over has; the model's own has none.
    pub fn of(kind: &str, of_person: bool) -> Self {
        match kind {
            "request" => Self::Opens,
            "message" if of_person => Self::None,
            "message" | "retry" | "done" => Self::Closes,
            _ => Self::None,
        }
    }
}
