mod attempts;
mod dispatch;
pub(crate) mod port;
mod results;
pub(crate) mod script;
mod steps;
