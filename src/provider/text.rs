//! Text of a frame's field, borrowed from the frame where it holds no escape.

use std::borrow::Cow;

use serde::Deserialize;

/// Its own type, because serde borrows a `Cow` only where the field itself is one and not inside an `Option`.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// The text of a field, where it says something.
pub(super) fn said<'t>(text: &'t Option<Text<'_>>) -> Option<&'t str> {
    text.as_ref().map(|t| &*t.0).filter(|t| !t.is_empty())
}
