//! HTML of unknown origin to a tree that is safe to walk: bounded in nodes and in depth, and without what no reader of the page sees.
//!
//! The parser's own cost grows with the square of the nesting, and what comes after it walks trees by recursion, so a page is parsed piece
//! by piece and given up as soon as it is too deep.

use dom_query::{Document, NodeData, NodeRef};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{ParseOpts, parse_document};
use tokio_util::sync::CancellationToken;
use url::Url;

/// Bytes that are parsed between two looks at the tree.
const PIECE: usize = 4 * 1024;
/// New nodes between two measurements of its depth, each of which visits the whole tree.
const MEASURE_EVERY: usize = 4_096;
/// Nodes at which parsing stops; the longest articles have a fifth of it. About 50 MB at most.
pub(super) const MAX_NODES: usize = 200_000;
/// Nesting that no page needs: browsers themselves stop at 512, and pages that people write have less than 100. Recursion over as many levels
/// takes at most half of a blocking thread's 2 MiB of stack, in a debug build.
pub(super) const MAX_DEPTH: usize = 256;

/// Elements that are no text of the page, or none that is shown.
const NOT_SHOWN: [&str; 17] = [
    "script", "style", "template", "iframe", "frame", "object", "embed", "applet", "canvas", "svg", "audio", "video", "input", "select",
    "textarea", "button", "noembed",
];
/// Attributes that say something about the text. The others go: some have megabytes of data.
const KEPT_ATTRIBUTES: [&str; 20] = [
    "href", "src", "alt", "title", "id", "class", "lang", "dir", "datetime", "colspan", "rowspan", "start", "rel", "role", "itemprop",
    "itemtype", "name", "property", "content", "charset",
];
/// The most characters of a link; beyond it is data.
const MAX_LINK: usize = 2_000;

/// Why a page is not read; a sentence for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unreadable {
    #[error("its elements are nested more than {MAX_DEPTH} deep")]
    TooDeep,
    #[error("reading it was stopped")]
    Stopped,
}

/// A page's tree.
pub(super) struct Parsed {
    pub(super) document: Document,
    /// The page has more elements, which are not in it.
    pub(super) cut: bool,
}

/// Parses a page and takes out what is not shown; links are absolute afterwards. CPU work: seconds for megabytes. Looks at `stop` often.
///
/// # Errors
/// When the page is hostile, or `stop` fired.
pub(super) fn parse(html: &str, address: &Url, stop: &CancellationToken) -> Result<Parsed, Unreadable> {
    let parsed = bounded(html, stop)?;
    clean(&parsed.document, address);
    Ok(parsed)
}

fn bounded(html: &str, stop: &CancellationToken) -> Result<Parsed, Unreadable> {
    let mut options = ParseOpts::default();
    options.tree_builder.scripting_enabled = false; // what stands in `noscript` is for us
    let mut parser = parse_document(Document::default(), options);
    let (mut rest, mut measured, mut cut) = (html, 0, false);
    while !rest.is_empty() && !cut {
        if stop.is_cancelled() {
            return Err(Unreadable::Stopped);
        }
        let (piece, after) = rest.split_at(rest.floor_char_boundary(PIECE));
        parser.process(StrTendril::from(piece));
        rest = after;
        let document = &parser.tokenizer.sink.sink;
        document.errors.borrow_mut().clear(); // one for each bad byte otherwise
        let nodes = document.tree.len();
        if nodes >= measured + MEASURE_EVERY {
            measured = nodes;
            shallow(document)?;
        }
        cut = nodes > MAX_NODES;
    }
    let document = parser.finish();
    shallow(&document)?;
    Ok(Parsed { document, cut })
}

/// # Errors
/// When the tree is too deep.
fn shallow(document: &Document) -> Result<(), Unreadable> {
    let mut open = vec![(document.root(), 0)];
    while let Some((node, depth)) = open.pop() {
        if depth > MAX_DEPTH {
            return Err(Unreadable::TooDeep);
        }
        open.extend(node.children_it(false).map(|child| (child, depth + 1)));
    }
    Ok(())
}

fn clean(document: &Document, address: &Url) {
    let base = document.base_uri().and_then(|base| address.join(&base).ok());
    let base = base.as_ref().unwrap_or(address);
    let mut open = vec![document.root()];
    while let Some(node) = open.pop() {
        for child in node.children() {
            if is_shown(&child) {
                tidy(&child, base);
                open.push(child);
            } else {
                child.remove_from_parent();
            }
        }
    }
}

fn is_shown(node: &NodeRef<'_>) -> bool {
    let shown = node.query(|node| match &node.data {
        NodeData::Element(element) => {
            let name = element.name.local.as_ref();
            let says = |attribute: &str, value: &str| element.attr(attribute).is_some_and(|found| found.eq_ignore_ascii_case(value));
            let hidden = element.has_attr("hidden") && !says("hidden", "until-found");
            // an image needs words to be one for a reader of text
            let blank = name == "img" && element.attr("alt").is_none_or(|alt| alt.trim().is_empty());
            let styled_away = element.attr("style").is_some_and(|style| hides(&style));
            !(NOT_SHOWN.contains(&name) || hidden || blank || styled_away || says("aria-hidden", "true"))
        }
        NodeData::Text { .. } | NodeData::Doctype { .. } => true,
        NodeData::Comment { .. } | NodeData::ProcessingInstruction { .. } | NodeData::Document | NodeData::Fragment => false,
    });
    shown.unwrap_or(false)
}

fn hides(style: &str) -> bool {
    let style: String = style.chars().filter(|c| !c.is_whitespace()).map(|c| c.to_ascii_lowercase()).collect();
    ["display:none", "visibility:hidden", "visibility:collapse", "content-visibility:hidden"].iter().any(|rule| style.contains(rule))
}

fn tidy(node: &NodeRef<'_>, base: &Url) {
    node.update(|node| {
        node.retain_attrs(&KEPT_ATTRIBUTES);
        let Some(element) = node.as_element_mut() else { return };
        let (attribute, schemes): (_, &[&str]) = match element.name.local.as_ref() {
            "a" | "area" | "link" => ("href", &["http", "https", "mailto", "tel"]),
            "img" | "source" => ("src", &["http", "https"]),
            _ => return,
        };
        let Some(given) = element.attr(attribute) else { return };
        match absolute(&given, base, schemes) {
            Some(link) => element.set_attr(attribute, &link),
            None => element.remove_attr(attribute),
        }
    });
}

/// The whole link; `None` for one that leads nowhere else, or to what is no page.
fn absolute(given: &str, base: &Url, schemes: &[&str]) -> Option<String> {
    let given = given.trim();
    if given.starts_with('#') {
        return None;
    }
    let link = base.join(given).ok().filter(|link| schemes.contains(&link.scheme()))?;
    Some(link.to_string()).filter(|link| link.len() <= MAX_LINK)
}
