//! What of a page's tree is shown, and where its links lead.
//!
//! Only what stands in the page itself is known: style sheets are not read, so what one of them hides is still there.

use dom_query::{Document, Element, NodeData, NodeRef};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::html::Unreadable;
use super::tokens::MAX_VALUE;

/// Elements that are no text of the page, or none that is shown.
const NOT_SHOWN: [&str; 17] = [
    "script", "style", "template", "iframe", "frame", "object", "embed", "applet", "canvas", "svg", "audio", "video", "input", "select",
    "textarea", "button", "noembed",
];
/// Attributes that have said what they say.
const READ: [&str; 7] = ["style", "hidden", "aria-hidden", "open", "encoding", "type", "srcset"];
/// The most bytes of all links of a page together, a few times what the longest articles have: each is written out whole, and a page's base
/// makes a long one of a short one.
const MAX_LINKS: usize = 4 * 1024 * 1024;
/// Nodes between two looks at `stop`.
const LOOK_EVERY: usize = 1_024;

/// Takes out what is not shown, and makes links absolute; links beyond a number of bytes lose their address and keep their words.
///
/// # Errors
/// When `stop` fired.
pub(super) fn clean(document: &Document, address: &Url, stop: &CancellationToken) -> Result<(), Unreadable> {
    let base = document.base_uri().and_then(|base| address.join(&base).ok());
    let mut links = Links { base: base.as_ref().unwrap_or(address), left: MAX_LINKS };
    // with whether its text is too small to be seen
    let mut open = vec![(document.root(), false)];
    let mut seen = 0_usize;
    while let Some((node, tiny)) = open.pop() {
        for child in node.children() {
            seen += 1;
            if seen.is_multiple_of(LOOK_EVERY) && stop.is_cancelled() {
                return Err(Unreadable::Stopped);
            }
            match shown(&child, tiny) {
                Some(tiny) => {
                    links.tidy(&child);
                    open.push((child, tiny));
                }
                None => child.remove_from_parent(),
            }
        }
    }
    Ok(())
}

/// `None` for what is not shown; else whether text within it is too small to be seen, as it is around it if it says nothing.
fn shown(node: &NodeRef<'_>, tiny: bool) -> Option<bool> {
    let shown = node.query(|node| match &node.data {
        NodeData::Element(element) => {
            let style = Style::of(element.attr("style").as_deref().unwrap_or_default());
            if is_shown(element) && !style.hides { Some(style.tiny.unwrap_or(tiny)) } else { None }
        }
        NodeData::Text { .. } if tiny => None,
        NodeData::Text { .. } | NodeData::Doctype { .. } => Some(tiny),
        NodeData::Comment { .. } | NodeData::ProcessingInstruction { .. } | NodeData::Document | NodeData::Fragment => None,
    });
    shown.flatten()
}

fn is_shown(element: &Element) -> bool {
    let name = element.name.local.as_ref();
    let says = |attribute: &str, value: &str| element.attr(attribute).is_some_and(|found| found.eq_ignore_ascii_case(value));
    let hidden = element.has_attr("hidden") && !says("hidden", "until-found");
    let closed = name == "dialog" && !element.has_attr("open");
    // an image needs words to be one for a reader of text
    let blank = name == "img" && element.attr("alt").is_none_or(|alt| alt.trim().is_empty());
    !(NOT_SHOWN.contains(&name) || hidden || closed || blank || says("aria-hidden", "true"))
}

/// What the style of one element says about its text.
#[derive(Debug, Default, PartialEq, Eq)]
struct Style {
    hides: bool,
    /// The text has no size, or has one again; `None` where nothing is said.
    tiny: Option<bool>,
}

impl Style {
    fn of(style: &str) -> Self {
        let mut found = Self::default();
        for rule in without_comments(style).to_ascii_lowercase().split(';') {
            let Some((name, value)) = rule.split_once(':') else { continue };
            let value = value.trim_end().trim_end_matches("important").trim_end().trim_end_matches('!').trim();
            match (name.trim(), value) {
                ("display", "none") | ("visibility", "hidden" | "collapse") | ("content-visibility", "hidden") => found.hides = true,
                ("opacity", value) => found.hides |= is_zero(value),
                // a part of nothing is nothing
                ("font-size", value) if is_zero(value) => found.tiny = Some(true),
                ("font-size", value) if value.ends_with('%') || (value.ends_with("em") && !value.ends_with("rem")) => {}
                ("font-size", _) => found.tiny = Some(false),
                _ => {}
            }
        }
        found
    }
}

fn without_comments(style: &str) -> String {
    let mut parts = style.split("/*");
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        left.push_str(part.split_once("*/").map_or("", |(_, after)| after));
    }
    left
}

/// A number that is nothing, whatever its unit: `0`, `.0em`, `0%`.
fn is_zero(value: &str) -> bool {
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
    number.parse::<f64>().is_ok_and(|number| number <= 0.0)
}

/// The links of one page.
struct Links<'a> {
    base: &'a Url,
    /// Bytes that they may still have.
    left: usize,
}

impl Links<'_> {
    fn tidy(&mut self, node: &NodeRef<'_>) {
        node.update(|node| {
            node.remove_attrs(&READ);
            let Some(element) = node.as_element_mut() else { return };
            let (attribute, schemes): (_, &[&str]) = match element.name.local.as_ref() {
                "a" | "area" | "link" => ("href", &["http", "https", "mailto", "tel"]),
                "img" | "source" => ("src", &["http", "https"]),
                _ => return,
            };
            let Some(given) = element.attr(attribute) else { return };
            match self.absolute(&given, schemes) {
                Some(link) => element.set_attr(attribute, &link),
                None => element.remove_attr(attribute),
            }
        });
    }

    /// The whole link; `None` for one that leads nowhere else, or to what is no page, or is one too many.
    fn absolute(&mut self, given: &str, schemes: &[&str]) -> Option<String> {
        let given = given.trim();
        if given.starts_with('#') || self.left == 0 {
            return None;
        }
        let link = self.base.join(given).ok().filter(|link| schemes.contains(&link.scheme()))?;
        let link = Some(link.to_string()).filter(|link| link.len() <= MAX_VALUE)?;
        let left = self.left.checked_sub(link.len());
        self.left = left.unwrap_or_default();
        left.map(|_| link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_that_hide() {
        for style in [
            "display:none",
            "color:red; Display : NONE !important",
            "display:/**/none",
            "dis/* */play:none",
            "visibility:hidden",
            "opacity:0",
            "opacity: .0",
            "opacity:0%",
            "display:none/*",
        ] {
            assert!(Style::of(style).hides, "{style}");
        }
        for style in ["", "display:block", "opacity:0.5", "opacity:1", "x-display:none", "content:'display:none'", "/*display:none*/"] {
            assert!(!Style::of(style).hides, "{style}");
        }
    }

    #[test]
    fn text_without_size() {
        let tiny = |style: &str| Style::of(style).tiny;
        assert_eq!([tiny("font-size:0"), tiny("font-size: 0px !important"), tiny("font-size:0.0em")], [Some(true); 3]);
        assert_eq!([tiny("font-size:16px"), tiny("font-size:1rem"), tiny("font-size:small")], [Some(false); 3]);
        assert_eq!([tiny("font-size:2em"), tiny("font-size:100%"), tiny("")], [None; 3]);
    }
}
