pub mod config;
pub mod domain;
pub mod store;
pub mod provider;
pub mod telemetry;
pub mod tool;
