mod files;
mod fold;
mod views;
pub(crate) mod walk;
