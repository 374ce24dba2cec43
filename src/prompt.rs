//! What the model is told before the conversation: pure functions from values to text.
//!
//! [`tones`] holds how the agent speaks where, [`research`] how it finds things out; [`system`] puts the system prompt together. Nothing here decides which tools there are: both
//! the list in the prompt and the schemas are written from the one [`Toolset`](crate::domain::toolset::Toolset) of the turn.

mod research;
pub mod system;
pub mod tones;

pub use system::{SystemParts, system_prompt, tools_json};
