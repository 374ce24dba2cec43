pub mod channel;
pub mod domain;
pub mod prompt;
pub mod provider;
pub mod store;
pub mod tool;
