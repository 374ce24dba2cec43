//! How fragments become tool calls.
//!
//! By the protocol a fragment's `index` says which call it belongs to, and the first brings id and name. Servers deviate in every way there
//! is; the rules here put each fragment where it was meant, and give every call an id that no other call of the conversation has.

use serde::de::IgnoredAny;

use super::chunk::{Fragment, Function};
use crate::domain::message::ToolCall;
use crate::domain::{Args, ToolCallId};
use crate::provider::call_ids::{CallIds, UNNAMED};
use crate::provider::text::said;

#[derive(Debug)]
pub(super) struct Calls {
    calls: Vec<Open>,
    ids: CallIds,
}

/// A call that takes shape.
#[derive(Debug)]
struct Open {
    index: Option<u64>,
    /// As the server gave it; empty for none.
    given_id: String,
    id: ToolCallId,
    name: String,
    args: String,
}

/// A call that got its name just now: its place among the calls, id and name.
pub(super) struct Named {
    pub(super) call: usize,
    pub(super) id: ToolCallId,
    pub(super) tool: String,
}

impl Calls {
    pub(super) fn new(ids: CallIds) -> Self {
        Self { calls: Vec::new(), ids }
    }

    /// Takes a fragment in.
    pub(super) fn take(&mut self, fragment: &Fragment<'_>) -> Option<Named> {
        let none = Function::default();
        let function = fragment.function.as_ref().unwrap_or(&none);
        let (id, name, args) = (said(&fragment.id), said(&function.name), function.arguments());
        if id.is_none() && name.is_none() && args.is_empty() && fragment.index.is_none() {
            return None;
        }
        let at = self.find(fragment.index, id, name, &args).unwrap_or_else(|| self.open(fragment.index, id));
        let call = &mut self.calls[at];
        if call.given_id.is_empty() {
            call.given_id = id.unwrap_or_default().into(); // Too late to be our id, but later fragments may be known by it.
        }
        call.args.push_str(&args);
        match name {
            Some(name) if call.name.is_empty() => {
                call.name = name.into(); // Set once: some servers repeat it on every fragment.
                Some(Named { call: at, id: call.id.clone(), tool: name.into() })
            }
            _ => None,
        }
    }

    /// Calls that never got a name although they have something to say; they get one now.
    pub(super) fn name_the_rest(&mut self) -> Vec<Named> {
        let unnamed = self.calls.iter_mut().enumerate().filter(|(_, c)| c.name.is_empty() && !(c.args.is_empty() && c.given_id.is_empty()));
        unnamed
            .map(|(call, open)| {
                open.name = UNNAMED.into();
                Named { call, id: open.id.clone(), tool: UNNAMED.into() }
            })
            .collect()
    }

    /// The call at this place, as far as it came.
    pub(super) fn whole(&self, at: usize) -> ToolCall {
        let Open { id, name, args, .. } = &self.calls[at];
        ToolCall { id: id.clone(), tool: name.clone(), args: Args::from_model(args) }
    }

    /// The call that a fragment goes on with; `None` where it begins one.
    fn find(&self, index: Option<u64>, id: Option<&str>, name: Option<&str>, args: &str) -> Option<usize> {
        let candidate = match (index, id) {
            (Some(_), _) => self.calls.iter().rposition(|c| c.index == index)?,
            (None, Some(id)) => self.calls.iter().rposition(|c| c.given_id == id)?,
            (None, None) => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[candidate];
        let other_id = id.is_some_and(|id| !call.given_id.is_empty() && call.given_id != id);
        // One index and one id are one call whatever else is said; with less to go by, a call that is whole is not gone on with.
        let sure = index.is_some() && id.is_some_and(|id| call.given_id == id);
        let begins_anew =
            !sure && name.is_some() && !call.name.is_empty() && (name != Some(&call.name) || (is_whole(&call.args) && is_whole(args)));
        (!other_id && !begins_anew).then_some(candidate)
    }

    fn open(&mut self, index: Option<u64>, id: Option<&str>) -> usize {
        let at = self.calls.len();
        let id = id.unwrap_or_default();
        self.calls.push(Open { index, given_id: id.into(), id: self.ids.give(id, at), name: String::new(), args: String::new() });
        at
    }
}

fn is_whole(args: &str) -> bool {
    args.starts_with('{') && serde_json::from_str::<IgnoredAny>(args).is_ok()
}
