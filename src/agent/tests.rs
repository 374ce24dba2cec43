mod attempts;
mod dispatch;
pub(crate) mod port;
pub(crate) mod script;
mod steps;
