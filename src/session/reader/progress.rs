//! What the turn is doing, told when it changes and now and then in between.

use serde_json::json;
use tokio::time::{Duration, Instant};

use super::{FeedItem, Filter};
use crate::domain::live::StreamMode;
use crate::domain::overview::RunningTool;
use crate::session::live::Activity;

/// How often progress is sent while the mode stays.
const EVERY: Duration = Duration::from_millis(250);

/// What of it this reader was told.
#[derive(Debug, Default)]
pub(super) struct Progress {
    turn: u32,
    mode: Option<StreamMode>,
    chars: u64,
    at: Option<Instant>,
    reports: u64,
}

impl Progress {
    /// What is due: the mode changed, or text has come for a while; and new reports of the tools that run.
    pub(super) fn due(&mut self, activity: &Activity, running: &[RunningTool], filter: &Filter, of_turn: bool) -> Vec<FeedItem> {
        let mut items = Vec::new();
        let Some(mode) = activity.mode.filter(|_| of_turn) else {
            *self = Self::default();
            return items;
        };
        if self.turn != activity.turn {
            *self = Self { turn: activity.turn, ..Self::default() };
        }
        let late = activity.chars > self.chars && self.at.is_none_or(|at| at.elapsed() >= EVERY);
        if (self.mode != Some(mode) || late) && filter.wants("stream_progress") {
            let char_delta = activity.chars.saturating_sub(self.chars);
            let data = json!({"mode": mode, "char_delta": char_delta}).to_string().into();
            items.push(FeedItem::Passing { event: "stream_progress", data });
            *self = Self { mode: Some(mode), chars: activity.chars, at: Some(Instant::now()), ..*self };
        }
        if activity.reports > self.reports && filter.view.shows_live("tool_progress") && filter.wants("tool_progress") {
            // one that has ended is told of by its record
            let reports = running.iter().filter_map(|tool| activity.tools.get(tool.tool_call_id.as_str()));
            let newer = reports.filter(|(number, _)| *number > self.reports);
            items.extend(newer.map(|(_, data)| FeedItem::Passing { event: "tool_progress", data: data.clone() }));
        }
        self.reports = activity.reports;
        items
    }
}
