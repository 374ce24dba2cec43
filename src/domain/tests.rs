mod fold;
mod views;
pub(crate) mod walk;
