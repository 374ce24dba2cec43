mod attempts;
mod dispatch;
mod files;
pub(crate) mod port;
mod results;
pub(crate) mod script;
mod steps;
