//! How to find things out where nobody watches: nobody corrects a wrong turn there, and nobody sees what the answer rests on unless it says so.

use crate::domain::ChannelProfile;
use crate::domain::toolset::Toolset;

/// The tools that this is about.
const SEARCH: &str = "web_search";
const FETCH: &str = "web_fetch";

const PLAN: &str = "Decide first what has to be found out, and leave out what the question does not need. Facts that change (prices, people, laws, \
                    versions, opening hours) are looked up, never remembered.";
const SEARCHING: &str = "Search with a few telling words. When that finds nothing, try other words, another language or the name of whoever \
                         would publish it, twice or three times, before you give up.";
const READING: &str = "Read the pages themselves, first those of whoever is responsible for the fact; an excerpt of a search is a pointer and \
                       no evidence. A long page is read on where the result says how.";
const CHECKING: &str = "A figure that the answer depends on stands on two sources that do not copy each other, or is said to stand on one. Where \
                        sources differ, say so and which you follow.";
const FIGURES: &str = "Each figure with its unit and the day it holds for; a page's date is part of what it says.";
const STEPS: &str = "You have a limited number of steps: ask for several pages in one step, and stop when further reading would not change the \
                     answer. An answer that says what is open is better than none.";
const SOURCES: &str = "End with the pages the answer rests on, one a line, as \"title: address\", five at most, only pages that you read. None \
                       where you read none.";
const HONEST: &str = "When it cannot be found, say \"I could not find it\" and in one sentence what you tried. Never fill a gap: no invented \
                      figure, quotation, title or address.";

/// The rules of research for the turn's tools; empty where there is nothing to do it with, or somebody watches.
pub(super) fn rules(profile: &ChannelProfile, tools: &Toolset) -> Vec<&'static str> {
    let (searches, reads) = (tools.get(SEARCH).is_some(), tools.get(FETCH).is_some());
    if profile.capabilities.attended || !(searches || reads) {
        return Vec::new();
    }
    let all = [(PLAN, true), (SEARCHING, searches), (READING, reads), (CHECKING, true), (FIGURES, true), (STEPS, true), (SOURCES, reads)];
    all.into_iter().filter_map(|(rule, holds)| holds.then_some(rule)).chain([HONEST]).collect()
}
