//! The values everything else is made of: records and their fold, what a model sees, what a reader may see.
//!
//! Pure: no tokio, no I/O, no clock of its own. Read in this order: [`ids`] and [`time`], [`message`], [`event`] (the vocabulary, one
//! file a family, each with its fold), [`record`] (the envelope), [`state`] (what a ledger means), then the projections of it:
//! [`surface`] (what the model sees), [`overview`] (what lists and `hello` show), [`view`] (what a reader may see), [`cursor`].
//! Beside them: [`args`] and [`digest`] (exact bytes), [`artifact`] (long results), [`address`], [`attachment`], [`delivery`] and [`outbox`]
//! (what comes from places outside and goes there), [`burst`] (when input begins a turn), [`live`] (what is never a record), [`mod@pending`],
//! [`profile`], [`toolset`] and [`taint`] (what may be done where, and after what), [`principal`] and [`api_key`] (who calls), [`usage`], [`visible`] (what text
//! hides), and [`sse`], which reads streams for clients and providers alike.

pub mod address;
pub mod api_key;
pub mod args;
pub mod artifact;
pub mod attachment;
pub mod burst;
pub mod cursor;
pub mod delivery;
pub mod digest;
pub mod event;
pub mod ids;
pub mod live;
pub mod message;
pub mod outbox;
pub mod overview;
pub mod pairing;
pub mod pending;
pub mod principal;
pub mod profile;
pub mod record;
pub mod sse;
pub mod state;
pub mod surface;
pub mod taint;
pub mod time;
pub mod toolset;
pub mod usage;
pub mod view;
pub mod visible;

pub use address::{Address, Recipient};
pub use args::Args;
pub use artifact::{Artifact, ArtifactId};
pub use attachment::{Attachment, AttachmentKind, File};
pub use cursor::Cursor;
pub use event::AgentEvent;
pub use ids::{ApprovalId, AttachmentId, DeliveryId, DigestId, IdSource, MessageId, QuestionId, Seq, SessionId, ToolCallId};
pub use live::LiveEvent;
pub use message::{Block, Finish};
pub use overview::Overview;
pub use principal::{Principal, Scope};
pub use profile::ChannelProfile;
pub use record::Record;
pub use state::SessionState;
pub use surface::SurfaceMessage;
pub use taint::Taint;
pub use time::{Clock, Timestamp};
pub use usage::Usage;
pub use view::View;

#[cfg(test)]
pub(crate) mod tests;
