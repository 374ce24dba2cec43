pub mod client;
pub mod domain;
pub mod store;
pub mod provider;
pub mod tool;
